//! What an event is: its name, what one of it is, what it means, and how a platform counts it.

use super::signal::Signal;
use alloc::borrow::Cow;
use alloc::string::String;

/// What one of an event is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Unit {
    /// Something that happened once.
    Times,
    /// An instruction.
    Instructions,
    /// A cycle of the core's, or another named clock.
    Cycles,
    /// An access to memory.
    Accesses,
    /// A cache line.
    Lines,
    /// A transaction of a bus.
    Transactions,
    /// A cycle of the bus clock.
    BusClocks,
    /// A nanosecond.
    Nanoseconds,
}

impl Unit {
    /// All units.
    pub const ALL: [Self; 8] = [
        Self::Times,
        Self::Instructions,
        Self::Cycles,
        Self::Accesses,
        Self::Lines,
        Self::Transactions,
        Self::BusClocks,
        Self::Nanoseconds,
    ];

    /// Its name in files and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Times => "times",
            Self::Instructions => "instructions",
            Self::Cycles => "cycles",
            Self::Accesses => "accesses",
            Self::Lines => "lines",
            Self::Transactions => "transactions",
            Self::BusClocks => "bus-clocks",
            Self::Nanoseconds => "nanoseconds",
        }
    }
}

/// How the processor of a platform counts one of its own events: number and mask, as its manual gives them.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ProcessorCode {
    /// Whose code it is, by libpfm4's name of the unit: `core`, `hsw`. Another processor does not understand it.
    pub processor: String,
    /// The event's number; AMD's have 12 bits, Intel's 8, Arm's 16.
    pub number: u16,
    /// The mask of x86 processors; 0 elsewhere.
    pub mask: u8,
}

/// An event.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Definition {
    /// The name in scenario files, tables and exports: lower-case letters, digits and `_`.
    pub name: Cow<'static, str>,
    /// What one of it is.
    pub unit: Unit,
    /// What is counted, in a sentence.
    pub meaning: Cow<'static, str>,
    /// What the simulated machine counts for it; `None` where it cannot.
    pub signal: Option<Signal>,
    /// How the platform's processor counts it, where a platform says so; `solo-observe` knows those of canonical
    /// events.
    pub code: Option<ProcessorCode>,
}

impl Definition {
    /// A canonical event; the documentation of its line is its meaning.
    pub(super) const fn fixed(
        name: &'static str,
        unit: Unit,
        meaning: &'static str,
        signal: Option<Signal>,
    ) -> Self {
        let meaning = Cow::Borrowed(meaning.trim_ascii());
        Self { name: Cow::Borrowed(name), unit, meaning, signal, code: None }
    }
}
