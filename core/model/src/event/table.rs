//! What the event ids of a run mean.

use super::canonical::CANONICAL;
use super::definition::Definition;
use super::signal::Signal;
use super::{EventId, EventSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// What the event ids of a run mean: the canonical events, and those that a platform or a watch adds.
///
/// It travels with the [`Platform`](crate::Platform) of an experiment, so that a run can be read without knowing who
/// wrote it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "StoredTable", into = "StoredTable"))]
pub struct EventTable {
    own: Vec<Definition>,
    /// What a run counts in addition to what the simulated machine counts.
    also_counted: EventSet,
}

/// As it is stored: the canonical names are written down, so that other lists of them are noticed.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct StoredTable {
    canonical: Vec<String>,
    own: Vec<Definition>,
    #[cfg_attr(feature = "serde", serde(default))]
    also_counted: Vec<EventId>,
}

/// Why events make no table.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum TableError {
    /// More events of its own than there are ids for.
    TooMany {
        /// How many there can be.
        most: usize,
    },
    /// Two events of one name.
    Twice {
        /// The name.
        name: String,
    },
    /// A name that is none.
    Name {
        /// The name.
        name: String,
    },
    /// The table was written by a version with other canonical events.
    Foreign {
        /// The first place at which the lists differ.
        place: usize,
        /// The event that stands there.
        name: String,
    },
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooMany { most } => write!(f, "more than {most} events beside the canonical ones"),
            Self::Twice { name } => write!(f, "the event `{name}` is defined twice"),
            Self::Name { name } => write!(
                f,
                "`{name}` is no name of an event: 1 to 64 lower-case letters, digits and `_`, a letter first"
            ),
            Self::Foreign { place, name } => {
                write!(f, "event {place} is `{name}`, which another version of the program has there")
            }
        }
    }
}

impl core::error::Error for TableError {}

impl From<EventTable> for StoredTable {
    fn from(table: EventTable) -> Self {
        let canonical = CANONICAL.iter().map(|definition| definition.name.clone().into_owned()).collect();
        Self { canonical, own: table.own, also_counted: table.also_counted.iter().collect() }
    }
}

impl TryFrom<StoredTable> for EventTable {
    type Error = TableError;
    /// An older version's list is the beginning of this one's: its ids mean the same.
    fn try_from(stored: StoredTable) -> Result<Self, TableError> {
        for (place, name) in stored.canonical.iter().enumerate() {
            if CANONICAL.get(place).is_none_or(|known| known.name != *name) {
                return Err(TableError::Foreign { place, name: name.clone() });
            }
        }
        let mut table = Self::with(stored.own)?;
        table.count_also(stored.also_counted);
        Ok(table)
    }
}

impl EventTable {
    /// The most events beside the canonical ones.
    const MOST_OWN: usize = EventId::CAPACITY - EventId::FIRST_OWN;

    /// The canonical events and `own`.
    ///
    /// # Errors
    /// If there are more than 128, or a name is none, or stands for two events.
    pub fn with(own: impl IntoIterator<Item = Definition>) -> Result<Self, TableError> {
        let mut table = Self::default();
        own.into_iter().try_for_each(|definition| table.define(definition).map(drop))?;
        Ok(table)
    }

    /// Adds an event; its id.
    ///
    /// # Errors
    /// As for [`Self::with`].
    pub fn define(&mut self, definition: Definition) -> Result<EventId, TableError> {
        let name = &definition.name;
        if !is_name(name) {
            return Err(TableError::Name { name: name.clone().into_owned() });
        }
        if self.find(name).is_some() {
            return Err(TableError::Twice { name: name.clone().into_owned() });
        }
        let id = u16::try_from(EventId::FIRST_OWN + self.own.len()).ok().and_then(EventId::new);
        let id = id.ok_or(TableError::TooMany { most: Self::MOST_OWN })?;
        self.own.push(definition);
        Ok(id)
    }

    /// What `event` is; `None` for an id that the table does not have.
    pub fn get(&self, event: EventId) -> Option<&Definition> {
        match event.index().checked_sub(EventId::FIRST_OWN) {
            Some(place) => self.own.get(place),
            None => CANONICAL.get(event.index()),
        }
    }

    /// The name of `event`, or that of an unknown one.
    pub fn name(&self, event: EventId) -> &str {
        self.get(event).map_or("unknown", |definition| &definition.name)
    }

    /// The event of that name.
    pub fn find(&self, name: &str) -> Option<EventId> {
        self.iter().find(|(_, definition)| definition.name == name).map(|(event, _)| event)
    }

    /// Every event with its definition, lowest id first.
    pub fn iter(&self) -> impl Iterator<Item = (EventId, &Definition)> {
        let canonical = (0..).zip(CANONICAL);
        let own = (EventId::FIRST_OWN as u16..).zip(&self.own);
        canonical.chain(own).map(|(number, definition)| (EventId(number), definition))
    }

    /// The events that it adds to the canonical ones.
    pub fn own(&self) -> &[Definition] {
        &self.own
    }

    /// The events that the simulated machine can count.
    pub fn simulated(&self) -> impl Iterator<Item = (EventId, Signal)> + '_ {
        self.iter().filter_map(|(event, definition)| Some((event, definition.signal?)))
    }

    /// The events that a run of any machine may tell of jobs and cores, lowest id first: those that the simulated machine can count, and
    /// those that [another counts](Self::count_also).
    pub fn told(&self) -> impl Iterator<Item = EventId> + '_ {
        let told = |event: EventId, definition: &Definition| {
            definition.signal.is_some() || self.also_counted.contains(event)
        };
        self.iter().filter(move |(event, definition)| told(*event, definition)).map(|(event, _)| event)
    }

    /// A run counts these, too.
    pub fn count_also(&mut self, events: impl IntoIterator<Item = EventId>) {
        self.also_counted = events.into_iter().fold(self.also_counted, EventSet::with);
    }

    /// Every event.
    pub fn set(&self) -> EventSet {
        self.iter().map(|(event, _)| event).collect()
    }
}

fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    (1..=64).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::super::definition::Unit;
    use super::*;
    use alloc::borrow::Cow;
    use alloc::format;

    fn event(name: String) -> Definition {
        let meaning = Cow::Borrowed("Something.");
        Definition { name: Cow::Owned(name), unit: Unit::Times, meaning, signal: None, code: None }
    }

    #[test]
    fn events_beyond_the_canonical_ones_have_ids_of_their_own() {
        let mut table = EventTable::default();
        assert_eq!(table.find("llc_misses"), Some(EventId::LLC_MISSES));
        let id = table.define(event("my_event".into())).unwrap();
        assert_eq!((id.index(), table.name(id), table.find("my_event")), (128, "my_event", Some(id)));
        assert!(table.set().contains(id) && table.set().contains(EventId::CYCLES));
        assert_eq!(table.get(EventId::new(129).unwrap()), None);
        assert_eq!(table.get(EventId::new(127).unwrap()), None);
    }

    #[test]
    fn names_that_are_none_or_stand_twice_are_refused() {
        let twice = EventTable::with(["a".into(), "b".into(), "a".into()].map(event));
        assert_eq!(twice, Err(TableError::Twice { name: "a".into() }));
        let canonical = EventTable::with([event("cycles".into())]);
        assert_eq!(canonical, Err(TableError::Twice { name: "cycles".into() }));
        for name in ["", "9a", "A", "a-b", "a b", "ä", &"a".repeat(65)] {
            let refused = EventTable::with([event(name.into())]);
            assert_eq!(refused, Err(TableError::Name { name: name.into() }), "{name}");
        }
    }

    #[test]
    fn a_table_has_an_end() {
        let full = EventTable::with((0..EventTable::MOST_OWN).map(|n| event(format!("e{n}"))));
        let last = full.unwrap().find("e127").unwrap();
        assert_eq!(last.index() + 1, EventId::CAPACITY);
        let more = EventTable::with((0..65_535).map(|n| event(format!("e{n}"))));
        assert_eq!(more, Err(TableError::TooMany { most: 128 }));
    }

    /// What the page promises: one more line, and everything that carries events carries the new one.
    #[test]
    fn more_than_thirty_two_events_are_counted_together() {
        let table = EventTable::with((0..100).map(|n| event(format!("e{n}")))).unwrap();
        let counts = super::super::Counts::of(table.set(), |event| event.index() as u64);
        assert_eq!(counts.set().len(), CANONICAL.len() + 100);
        assert!(table.iter().all(|(event, _)| counts.get(event) == Some(event.index() as u64)));
    }
}
