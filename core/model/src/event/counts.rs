//! Counts of some events. What was not counted is absent, which is not zero.

use super::{EventId, EventSet};
use alloc::vec::Vec;
use core::fmt;

/// A set of events and what was counted of each. An event that was not counted is absent: [`Counts::get`] says
/// `None`, never zero.
///
/// Without events it owns no memory, so the kernel can make a record and leave the counts to its machine.
#[derive(Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "Stored"))]
pub struct Counts {
    set: EventSet,
    /// One value for each event of the set, lowest id first.
    values: Vec<u64>,
}

/// As it is stored, before anybody has looked at it.
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
struct Stored {
    set: EventSet,
    values: Vec<u64>,
}

/// Why a set and some values are no counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CountsError {
    /// How many events the set has.
    pub events: usize,
    /// How many values there are.
    pub values: usize,
}

impl fmt::Display for CountsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} counts for {} events", self.values, self.events)
    }
}

impl core::error::Error for CountsError {}

impl TryFrom<Stored> for Counts {
    type Error = CountsError;
    fn try_from(Stored { set, values }: Stored) -> Result<Self, CountsError> {
        Self::new(set, values)
    }
}

impl Counts {
    /// Nothing was counted.
    pub const NONE: Self = Self { set: EventSet::EMPTY, values: Vec::new() };

    /// `values` of the events of `set`, lowest id first.
    ///
    /// # Errors
    /// Where there are not as many values as events.
    pub fn new(set: EventSet, values: Vec<u64>) -> Result<Self, CountsError> {
        match values.len() == set.len() {
            true => Ok(Self { set, values }),
            false => Err(CountsError { events: set.len(), values: values.len() }),
        }
    }

    /// What `count` says of each event of `set`.
    pub fn of(set: EventSet, count: impl FnMut(EventId) -> u64) -> Self {
        let mut values = Vec::with_capacity(set.len());
        values.extend(set.iter().map(count));
        Self { set, values }
    }

    /// Counts the same events anew: what `count` says of each. It takes no memory, for a kernel that keeps one and fills it
    /// again and again.
    pub fn refill(&mut self, mut count: impl FnMut(EventId) -> u64) {
        for (event, value) in self.set.iter().zip(&mut self.values) {
            *value = count(event);
        }
    }

    /// What was counted of `event`; `None` where it was not counted.
    pub fn get(&self, event: EventId) -> Option<u64> {
        self.set.contains(event).then(|| self.values[self.set.rank(event)])
    }

    /// The events that were counted.
    pub const fn set(&self) -> &EventSet {
        &self.set
    }

    /// True where nothing was counted.
    pub fn is_none(&self) -> bool {
        self.values.is_empty()
    }

    /// Each event that was counted with its count, lowest id first.
    pub fn iter(&self) -> impl Iterator<Item = (EventId, u64)> + '_ {
        self.set.iter().zip(self.values.iter().copied())
    }

    /// Adds `count` of `event`, which has been counted from now on. Stops at the maximum, as damaged records may hold
    /// anything.
    pub fn add(&mut self, event: EventId, count: u64) {
        let place = self.set.rank(event);
        if self.set.insert(event) {
            self.values.insert(place, count);
        } else {
            self.values[place] = self.values[place].saturating_add(count);
        }
    }

    /// Adds what was counted elsewhere or later; an event is absent only where neither counted it.
    pub fn merge(&mut self, other: &Self) {
        if self.set == other.set {
            let pairs = self.values.iter_mut().zip(&other.values);
            return pairs.for_each(|(sum, more)| *sum = sum.saturating_add(*more));
        }
        other.iter().for_each(|(event, count)| self.add(event, count));
    }
}

impl FromIterator<(EventId, u64)> for Counts {
    fn from_iter<I: IntoIterator<Item = (EventId, u64)>>(counts: I) -> Self {
        let mut sum = Self::NONE;
        counts.into_iter().for_each(|(event, count)| sum.add(event, count));
        sum
    }
}

impl fmt::Debug for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn absent_is_not_zero() {
        let mut counts = Counts::NONE;
        assert_eq!(counts.get(EventId::LLC_MISSES), None);
        counts.add(EventId::LLC_MISSES, 0);
        assert_eq!((counts.get(EventId::LLC_MISSES), counts.get(EventId::CYCLES)), (Some(0), None));
        assert!(!counts.is_none());
    }

    #[test]
    fn sums_keep_apart_what_each_counted() {
        let own = EventId::new(200).unwrap();
        let mut sum: Counts = [(EventId::CYCLES, 5), (own, 7)].into_iter().collect();
        let more: Counts = [(EventId::INSTRUCTIONS, 1), (EventId::CYCLES, u64::MAX)].into_iter().collect();
        sum.merge(&more);
        sum.merge(&Counts::NONE);
        let all = vec![(EventId::INSTRUCTIONS, 1), (EventId::CYCLES, u64::MAX), (own, 7)];
        assert_eq!(sum.iter().collect::<Vec<_>>(), all);
        let same = sum.clone();
        sum.merge(&same);
        assert_eq!((sum.get(EventId::CYCLES), sum.get(own)), (Some(u64::MAX), Some(14)));
    }

    #[test]
    fn values_without_events_are_refused() {
        let set = EventSet::EMPTY.with(EventId::CYCLES);
        assert_eq!(Counts::new(set, vec![1, 2]), Err(CountsError { events: 1, values: 2 }));
        assert_eq!(Counts::new(set, vec![]), Err(CountsError { events: 1, values: 0 }));
        assert_eq!(Counts::new(set, vec![9]).unwrap().get(EventId::CYCLES), Some(9));
    }
}
