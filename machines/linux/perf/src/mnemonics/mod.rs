//! Mnemonics of PMCTrack's event strings and its raw strings, one translated into the other for a processor model.
//!
//! ```text
//!   instr,llc_misses  ──▶  pmc0,pmc3=0x2e,umask3=0x41   (haswell; PMCTrack 3.2.2)
//! ```
//!
//! A raw string says which counter counts what; kernel modules read it. A mnemonic names the event: the model's table says its
//! code, and counters are given out as PMCTrack's tool does. Fixed counters come first; whatever has no counter yet takes the first
//! programmable one that is free; what finds none is of the next set, which takes its turn.
//! Source: the public tables and command line of PMCTrack 4.0, as facts. Names of this house work beside them, where the code is known.

mod arm;
mod model;
mod row;
mod x86;

pub use model::{MODELS, Model};
pub use row::{Mnemonic, Place};

/// Flags that a counter may have.
const FLAGS: [&str; 14] = [
    "umask",
    "um",
    "cmask",
    "cm",
    "usr",
    "os",
    "edge",
    "inv",
    "any",
    "ebs",
    "pmu",
    "systemwide",
    "config1",
    "config2",
];

/// Why a string can't be translated.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MnemonicError {
    /// The model has no such event.
    #[error("item {position}: {model} has no event `{name}`{}", .near.as_ref().map_or_else(String::new, |near| format!("; did you mean `{near}`?")))]
    Event {
        /// Which item, from 1.
        position: usize,
        /// The name.
        name: String,
        /// The model.
        model: &'static str,
        /// A name that begins alike.
        near: Option<&'static str>,
    },
    /// A counter that the model does not have, or that is not programmable.
    #[error(
        "item {position}: counter {counter} is none of the programmable counters {low} to {high} of {model}"
    )]
    Counter {
        /// Which item, from 1.
        position: usize,
        /// The counter.
        counter: u64,
        /// The first programmable one.
        low: u8,
        /// The last one.
        high: u8,
        /// The model.
        model: &'static str,
    },
    /// No flag of a counter.
    #[error("item {position}: `{flag}` is no flag of a counter; there are pmc, {}", FLAGS.join(", "))]
    Flag {
        /// Which item, from 1.
        position: usize,
        /// What stands there.
        flag: String,
    },
    /// A value that is no number.
    #[error("item {position}: expected a number, found `{found}`")]
    Value {
        /// Which item, from 1.
        position: usize,
        /// What stands there.
        found: String,
    },
    /// A flag of a counter without an event, or a counter twice.
    #[error("item {position}: counter {counter} {}", if *.twice { "has an event already" } else { "has a flag but no event" })]
    Lonely {
        /// Which item, from 1.
        position: usize,
        /// The counter.
        counter: u64,
        /// It is there twice.
        twice: bool,
    },
    /// Nothing.
    #[error("item {position}: expected an event, found nothing")]
    Empty {
        /// Which item, from 1.
        position: usize,
    },
}

/// An event on its way between the two forms.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Asked {
    place: Place,
    /// Keys and values, `None` for a flag that is only there.
    flags: Vec<(String, Option<u64>)>,
    /// The counter that is asked for, or has been given.
    counter: Option<u8>,
    set: usize,
}

/// True for a string whose items are counters and their flags.
pub fn is_raw(text: &str) -> bool {
    let item = |item: &str| item.starts_with("coretype=") || token(item.trim()).is_some();
    text.split(',').all(item) && text.split(',').any(|item| item.trim().starts_with("pmc"))
}

/// `umask3=0x41`: key, counter, value.
fn token(item: &str) -> Option<(&str, u64, Option<&str>)> {
    let (left, value) = item.split_once('=').map_or((item, None), |(left, value)| (left, Some(value)));
    let digits = left.trim_end_matches(|c: char| c.is_ascii_digit());
    let counter = left.get(digits.len()..)?.parse().ok()?;
    (digits == "pmc" || FLAGS.contains(&digits)).then_some((digits, counter, value))
}

/// The raw strings of mnemonics on a model, one for each set that takes its turn.
///
/// # Errors
/// The first item that can't be translated.
pub fn to_raw(text: &str, model: &Model) -> Result<Vec<String>, MnemonicError> {
    let mut asked = Vec::new();
    let mut core_type = None;
    for (at, item) in text.split(',').map(str::trim).enumerate() {
        let position = at + 1;
        match item.strip_prefix("coretype=") {
            Some(value) => core_type = Some(valued(value, position)?),
            None => asked.push(one(item, position, model)?),
        }
    }
    place(&mut asked, model);
    let sets = asked.iter().map(|event| event.set + 1).max().unwrap_or(0);
    let tail = core_type.map_or_else(String::new, |kind| format!(",coretype={kind}"));
    let string = |set| {
        let own = asked.iter().filter(|event| event.set == set).map(Asked::raw);
        own.collect::<Vec<_>>().join(",") + &tail
    };
    Ok((0..sets).map(string).collect())
}

/// A number in decimal or, with `0x`, in hexadecimal.
fn number(text: &str) -> Option<u64> {
    text.strip_prefix("0x").map_or_else(|| text.parse().ok(), |digits| u64::from_str_radix(digits, 16).ok())
}

fn valued(text: &str, position: usize) -> Result<u64, MnemonicError> {
    number(text).ok_or_else(|| MnemonicError::Value { position, found: text.to_string() })
}

/// An event of a string of mnemonics.
fn one(item: &str, position: usize, model: &Model) -> Result<Asked, MnemonicError> {
    let mut parts = item.split(':');
    let name = parts.next().filter(|name| !name.is_empty()).ok_or(MnemonicError::Empty { position })?;
    let (place, flags) = match number(name).filter(|_| name.starts_with("0x")) {
        Some(code) => (Place::Code(code), Vec::new()),
        None => model.event(name).ok_or_else(|| unknown(name, position, model))?,
    };
    let flags = flags.into_iter().map(|(key, value)| (key, Some(value))).collect();
    let counter = if let Place::Fixed(counter) = place { Some(counter) } else { None };
    let mut event = Asked { place, flags, counter, set: 0 };
    for flag in parts {
        let (key, value) = flag.split_once('=').map_or((flag, None), |(key, value)| (key, Some(value)));
        let value = value.map(|value| valued(value, position)).transpose()?;
        if key == "pmc" {
            let (low, high) = model.range();
            let counter = value.unwrap_or(u64::MAX);
            let fits = u8::try_from(counter).ok().filter(|counter| (low..=high).contains(counter));
            let outside = || MnemonicError::Counter { position, counter, low, high, model: model.name };
            let asked = fits.ok_or_else(outside)?;
            event.counter.get_or_insert(asked);
            continue;
        }
        if !FLAGS.contains(&key) {
            return Err(MnemonicError::Flag { position, flag: flag.to_string() });
        }
        match event.flags.iter_mut().find(|(known, _)| known == key) {
            Some(known) => known.1 = value.or(known.1),
            None => event.flags.push((key.to_string(), value)),
        }
    }
    Ok(event)
}

fn unknown(name: &str, position: usize, model: &Model) -> MnemonicError {
    let alike = |known: &&str| known.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
    let names = model.mnemonics().map(|mnemonic| mnemonic.name);
    let near = names.max_by_key(|near| (alike(near), std::cmp::Reverse(near.len())));
    let near = near.filter(|near| alike(near) >= 4);
    MnemonicError::Event { position, name: name.to_string(), model: model.name, near }
}

/// Gives out counters as PMCTrack does.
fn place(asked: &mut [Asked], model: &Model) {
    for at in 0..asked.len() {
        if let Some(counter) = asked[at].counter {
            asked[at].set = asked[..at].iter().filter(|other| other.counter == Some(counter)).count();
        }
    }
    let (low, high) = model.range();
    let (mut set, mut next) = (0, low);
    for at in 0..asked.len() {
        if asked[at].counter.is_some() {
            continue;
        }
        let taken = |counter: u8, set: usize| {
            asked.iter().any(|other| other.counter == Some(counter) && other.set == set)
        };
        loop {
            while next <= high && taken(next, set) {
                next += 1;
            }
            if next <= high {
                break;
            }
            (set, next) = (set + 1, low);
        }
        (asked[at].counter, asked[at].set) = (Some(next), set);
    }
}

impl Asked {
    /// As a raw string has it.
    fn raw(&self) -> String {
        let counter = self.counter.unwrap_or(0);
        let mut text = match self.place {
            Place::Fixed(_) => format!("pmc{counter}"),
            Place::Code(code) => format!("pmc{counter}={code:#x}"),
        };
        for (key, value) in &self.flags {
            text += &match value {
                Some(value) if is_mask(key) => format!(",{key}{counter}={value:#x}"),
                Some(value) => format!(",{key}{counter}={value}"),
                None => format!(",{key}{counter}"),
            };
        }
        text
    }

    /// As a string of mnemonics has it, without its counter.
    fn mnemonic(&self, model: &Model) -> String {
        let has =
            |key: &str, value: u64| self.flags.iter().any(|(known, own)| known == key && *own == Some(value));
        let fits = |mnemonic: &&Mnemonic| {
            mnemonic.place == self.place && mnemonic.flags.iter().all(|(key, value)| has(key, *value))
        };
        // The one that says most; of equals the shortest, the first of those.
        let known = model.mnemonics().filter(fits);
        let best = known.min_by_key(|mnemonic| (usize::MAX - mnemonic.flags.len(), mnemonic.name.len()));
        let mask = self.flags.iter().find(|(key, _)| key == "umask").and_then(|(_, value)| *value);
        let (name, said): (String, Vec<&str>) = match (best, self.place) {
            (Some(best), _)
                if best.flags.iter().any(|(key, _)| *key == "umask") || mask.is_none_or(|mask| mask == 0) =>
            {
                (best.name.to_string(), best.flags.iter().map(|(key, _)| *key).collect())
            }
            (_, Place::Code(code)) => match model.canonical(code, mask) {
                Some(name) => (name.to_string(), Vec::from(["umask"])),
                None => (format!("{code:#x}"), Vec::new()),
            },
            (best, Place::Fixed(counter)) => {
                (best.map_or_else(|| format!("pmc{counter}"), |best| best.name.to_string()), Vec::new())
            }
        };
        let mut text = name;
        for (key, value) in self.flags.iter().filter(|(key, _)| !said.contains(&key.as_str())) {
            text += &match value {
                Some(value) if is_mask(key) => format!(":{key}={value:#x}"),
                Some(value) => format!(":{key}={value}"),
                None => format!(":{key}"),
            };
        }
        text
    }
}

fn is_mask(key: &str) -> bool {
    matches!(key, "umask" | "um" | "cmask" | "cm" | "config1" | "config2")
}

/// The mnemonics of a raw string on a model: translated again they give this string. A counter is named only where PMCTrack would
/// give another.
///
/// # Errors
/// The first item that can't be translated.
pub fn to_mnemonics(text: &str, model: &Model) -> Result<String, MnemonicError> {
    let mut asked: Vec<Asked> = Vec::new();
    let mut core_type = None;
    for (at, item) in text.split(',').map(str::trim).enumerate() {
        let position = at + 1;
        if let Some(value) = item.strip_prefix("coretype=") {
            core_type = Some(valued(value, position)?);
            continue;
        }
        let strange = || MnemonicError::Flag { position, flag: item.to_string() };
        let (key, counter, value) = token(item).ok_or_else(strange)?;
        let known = asked.iter_mut().find(|event| event.counter.map(u64::from) == Some(counter));
        match (key, known) {
            ("pmc", Some(_)) => return Err(MnemonicError::Lonely { position, counter, twice: true }),
            ("pmc", None) => asked.push(counted(counter, value, position, model)?),
            (_, Some(event)) => {
                let value = value.map(|value| flag(key, value, position)).transpose()?;
                event.flags.push((key.to_string(), value));
            }
            (_, None) => return Err(MnemonicError::Lonely { position, counter, twice: false }),
        }
    }
    let mut given = asked.clone();
    for event in given.iter_mut().filter(|event| matches!(event.place, Place::Code(_))) {
        event.counter = None;
    }
    place(&mut given, model);
    let moved =
        asked.iter().zip(&given).any(|(asked, given)| asked.counter != given.counter || given.set > 0);
    let item = |event: &Asked| match (event.place, event.counter) {
        (Place::Code(_), Some(counter)) if moved => format!("{}:pmc={counter}", event.mnemonic(model)),
        _ => event.mnemonic(model),
    };
    let mut items: Vec<String> = asked.iter().map(item).collect();
    items.extend(core_type.map(|kind| format!("coretype={kind}")));
    Ok(items.join(","))
}

/// The event of a counter in a raw string.
fn counted(counter: u64, code: Option<&str>, position: usize, model: &Model) -> Result<Asked, MnemonicError> {
    let (low, high) = model.range();
    let outside = MnemonicError::Counter { position, counter, low, high, model: model.name };
    let own = u8::try_from(counter).map_err(|_| outside.clone())?;
    let place = match code {
        Some(code) if (low..=high).contains(&own) => Place::Code(hexadecimal(code, position)?),
        // AMD's counters of the shared cache are a unit of their own and numbered from 0, too.
        None if own < low || model.mnemonics().any(|known| known.place == Place::Fixed(own)) => {
            Place::Fixed(own)
        }
        _ => return Err(outside),
    };
    Ok(Asked { place, flags: Vec::new(), counter: Some(own), set: 0 })
}

/// Raw strings write codes and masks in hexadecimal, with or without `0x`.
fn hexadecimal(text: &str, position: usize) -> Result<u64, MnemonicError> {
    let wrong = |_| MnemonicError::Value { position, found: text.to_string() };
    u64::from_str_radix(text.trim_start_matches("0x"), 16).map_err(wrong)
}

fn flag(key: &str, value: &str, position: usize) -> Result<u64, MnemonicError> {
    if is_mask(key) { hexadecimal(value, position) } else { valued(value, position) }
}

#[cfg(test)]
mod tests;
