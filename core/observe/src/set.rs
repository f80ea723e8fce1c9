//! Event sets, and the strings that people write them as.
//!
//! Three ways of writing are understood, the first two in one string:
//!
//! ```text
//! instructions,llc_misses:u,page-faults        names, of this catalogue or of other tools
//! 0x2e:umask=0x41:ebs=100000,coretype=1        PMCTrack's mnemonics: a name or code, then flags
//! pmc0,pmc3=0x2e,umask3=0x41,ebs3=100000       PMCTrack's raw strings: a counter each, then its flags
//! cpu/event=0x2e,umask=0x41/,sched:sched_switch  a PMU that describes itself; a tracepoint
//! ```
//!
//! Source: PMCTrack 2.1 and its public command line; the grammar is written anew.

mod mnemonic;
mod raw;

use crate::event::{Code, CountedEvent};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use solo_model::EventId;

/// The window of event-based sampling where a string names none (PMCTrack's default).
pub(crate) const DEFAULT_WINDOW: u64 = 500_000_000;

/// Events that are counted at the same time.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct EventGroup {
    /// The events, in the order of their columns.
    pub events: Vec<CountedEvent>,
}

impl EventGroup {
    /// The event whose every N-th occurrence gives a row, where there is one.
    pub fn sampled(&self) -> Option<usize> {
        self.events.iter().position(|event| event.every.is_some())
    }
}

/// Names beyond the catalogue: what a machine's own descriptions or libpfm4 know.
pub trait Names {
    /// The encoding of `name`, where it is known.
    fn find(&self, name: &str) -> Option<Code>;

    /// The processor's own code of a canonical event that the kernel has no generic one for, where it is known.
    fn canonical(&self, _event: EventId) -> Option<Code> {
        None
    }
}

/// Knows no name.
#[derive(Clone, Copy, Debug)]
pub struct NoNames;

impl Names for NoNames {
    fn find(&self, _: &str) -> Option<Code> {
        None
    }
}

/// How a processor lays out a raw code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RawLayout {
    /// Event code, unit mask, edge, any, invert and counter mask, as Intel and AMD lay them out. AMD's event
    /// codes have twelve bits.
    X86,
    /// The event code alone.
    Plain,
}

/// Why a string is no event set.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    /// Nothing between two commas, or nothing at all.
    #[error("item {position}: expected an event, found nothing")]
    Empty {
        /// Which item, from 1.
        position: usize,
    },
    /// A name that nobody knows.
    #[error("item {position}: no event is called `{name}`{}", hint(near.as_deref()))]
    Unknown {
        /// Which item, from 1.
        position: usize,
        /// The name.
        name: String,
        /// A known name that is much like it.
        near: Option<String>,
    },
    /// A canonical event that the kernel has no generic code for, and this processor none that is known.
    #[error(
        "item {position}: `{name}` cannot be counted here: the kernel has no name for it, and this processor no known code{}",
        loads.as_ref().map_or_else(String::new, |loads| alloc::format!("; `{loads}` counts the loads alone"))
    )]
    NotHere {
        /// Which item, from 1.
        position: usize,
        /// The event.
        name: String,
        /// The event of its loads, where the kernel can count those.
        loads: Option<String>,
    },
    /// A flag that nobody knows, or one that this processor does not have.
    #[error("item {position}: `{flag}` is no flag of an event{}", if *layout == RawLayout::Plain { " on this processor" } else { "" })]
    Flag {
        /// Which item, from 1.
        position: usize,
        /// The flag.
        flag: String,
        /// The processor's layout.
        layout: RawLayout,
    },
    /// A value that is no number of the expected range.
    #[error("item {position}: expected {expected}, found `{found}`")]
    Value {
        /// Which item, from 1.
        position: usize,
        /// What belongs there.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// A flag of a counter that no code was given to.
    #[error("item {position}: counter {counter} has a flag but no `pmc{counter}`")]
    NoCounter {
        /// Which item, from 1.
        position: usize,
        /// The counter.
        counter: u8,
    },
    /// The same counter or column twice.
    #[error("item {position}: `{name}` is in the set already")]
    Twice {
        /// Which item, from 1.
        position: usize,
        /// Its name.
        name: String,
    },
    /// Two events with event-based sampling; one row can't mean both.
    #[error("item {position}: a set samples on one event at most, and {first} does already")]
    TwoSampled {
        /// Which item, from 1.
        position: usize,
        /// The other event.
        first: String,
    },
}

fn hint(near: Option<&str>) -> String {
    near.map_or_else(
        || "; `solo events` lists those that are known".to_string(),
        |near| alloc::format!("; did you mean `{near}`? `solo events` lists those that are known"),
    )
}

/// Reads an event set.
///
/// # Errors
/// The first item that can't be understood, counted from 1.
pub fn parse_set(text: &str, names: &dyn Names, layout: RawLayout) -> Result<EventGroup, ParseError> {
    let items = split(text);
    let set = if raw::looks_raw(&items) {
        raw::parse(&items, layout)?
    } else {
        mnemonic::parse(&items, names, layout)?
    };
    checked(set)
}

/// Splits at commas, but not inside `pmu/.../`.
fn split(text: &str) -> Vec<&str> {
    let mut items = Vec::new();
    let (mut start, mut inside) = (0, false);
    for (at, c) in text.char_indices() {
        match c {
            '/' => inside = !inside,
            ',' if !inside => {
                items.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    items.push(text[start..].trim());
    items
}

/// Columns are named once, and one event at most is sampled on.
fn checked(set: EventGroup) -> Result<EventGroup, ParseError> {
    let mut sampled: Option<&CountedEvent> = None;
    for (i, event) in set.events.iter().enumerate() {
        let position = i + 1;
        let same = |other: &&CountedEvent| other.name == event.name && other.core_type == event.core_type;
        if set.events[..i].iter().any(|other| same(&other)) {
            return Err(ParseError::Twice { position, name: event.name.clone() });
        }
        if event.every.is_some() {
            if let Some(first) = sampled {
                return Err(ParseError::TwoSampled { position, first: first.name.clone() });
            }
            sampled = Some(event);
        }
    }
    Ok(set)
}

/// A number in decimal or, with `0x`, in hexadecimal.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// A processor's code under construction.
#[derive(Clone, Copy, Default)]
struct RawCode {
    event: u64,
    umask: u64,
    cmask: u64,
    edge: bool,
    invert: bool,
    any: bool,
    config1: u64,
    config2: u64,
}

impl RawCode {
    fn code(self, layout: RawLayout) -> Code {
        let config = match layout {
            RawLayout::Plain => self.event,
            RawLayout::X86 => {
                let low = self.event & 0xff;
                let high = self.event & !0xff;
                // Twelve-bit codes of AMD: bits 8 to 11 lie at 32. Longer ones are whole configuration words.
                let event = if high <= 0xf00 { low | (high >> 8) << 32 } else { self.event };
                event
                    | self.umask << 8
                    | u64::from(self.edge) << 18
                    | u64::from(self.any) << 21
                    | u64::from(self.invert) << 23
                    | self.cmask << 24
            }
        };
        Code::Raw { config, config1: self.config1, config2: self.config2 }
    }
}

#[cfg(test)]
mod tests;
