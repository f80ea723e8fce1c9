//! Hardware events: what can be counted, and vectors of counts in which what was not counted is absent.
//!
//! ```text
//!   canonical ids, the same everywhere    0 ..= 127   one line each in `canonical.rs`
//!   ids of a platform or a watch        128 ..= 255   `[events]` of a platform file; codes that a user gave
//! ```
//! * [`EventId`]: an event, as an index into an [`EventTable`]
//! * [`EventTable`]: what the ids of a run mean; it travels with the platform of an experiment
//! * [`EventSet`], [`Counts`]: some events, and what was counted of them
//! * [`Signal`], [`SignalCounts`]: what the simulated hardware can count, before anybody names it
//!
//! How processors and operating systems count the canonical events is written down in `solo-observe`.

mod canonical;
mod counts;
mod definition;
mod set;
mod signal;
mod table;

pub use canonical::CANONICAL;
pub use counts::{Counts, CountsError};
pub use definition::{Definition, ProcessorCode, Unit};
pub use set::EventSet;
pub use signal::{Signal, SignalCounts};
pub use table::{EventTable, TableError};

use core::fmt;

/// An event: an index into the [`EventTable`] of the run. Canonical events have the same index in every table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "u16", into = "u16"))]
pub struct EventId(u16);

impl EventId {
    /// Ids are below this: a set of events is a few words.
    pub const CAPACITY: usize = 256;
    /// The first id that a platform or a watch gives to an event of its own.
    pub const FIRST_OWN: usize = 128;

    /// The id of that number; `None` from [`Self::CAPACITY`] on.
    pub const fn new(number: u16) -> Option<Self> {
        if (number as usize) < Self::CAPACITY { Some(Self(number)) } else { None }
    }

    /// The index in the table.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// What a canonical id means; `None` for other ids, which only their table knows.
    pub fn canonical(self) -> Option<&'static Definition> {
        CANONICAL.get(self.index())
    }
}

/// A canonical event by its name, another by its number.
impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.canonical() {
            Some(definition) => f.write_str(&definition.name),
            None => write!(f, "event {}", self.0),
        }
    }
}

impl fmt::Debug for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EventId({}: {self})", self.0)
    }
}

/// A number that is no event's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoSuchEvent(pub u16);

impl fmt::Display for NoSuchEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is no event's number: they are below {}", self.0, EventId::CAPACITY)
    }
}

impl core::error::Error for NoSuchEvent {}

impl TryFrom<u16> for EventId {
    type Error = NoSuchEvent;
    fn try_from(number: u16) -> Result<Self, NoSuchEvent> {
        Self::new(number).ok_or(NoSuchEvent(number))
    }
}

impl From<EventId> for u16 {
    fn from(event: EventId) -> Self {
        event.0
    }
}
