//! Sets of events.

use super::EventId;

const WORDS: usize = EventId::CAPACITY / 64;

/// Some events, whatever their order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct EventSet([u64; WORDS]);

impl EventSet {
    /// No event.
    pub const EMPTY: Self = Self([0; WORDS]);

    /// Every event that can be.
    pub const ALL: Self = Self([u64::MAX; WORDS]);

    /// With `event`.
    #[must_use]
    pub const fn with(mut self, event: EventId) -> Self {
        self.0[event.index() / 64] |= 1 << (event.index() % 64);
        self
    }

    /// Takes `event` in; true where it was not there.
    pub const fn insert(&mut self, event: EventId) -> bool {
        let new = !self.contains(event);
        *self = self.with(event);
        new
    }

    /// True where `event` belongs to it.
    pub const fn contains(&self, event: EventId) -> bool {
        self.0[event.index() / 64] >> (event.index() % 64) & 1 != 0
    }

    /// How many events.
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// True for no event.
    pub fn is_empty(&self) -> bool {
        self.0 == [0; WORDS]
    }

    /// True where every event of it belongs to `other` too.
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(mine, theirs)| mine & !theirs == 0)
    }

    /// How many of its events come before `event`.
    pub fn rank(&self, event: EventId) -> usize {
        let (word, bit) = (event.index() / 64, event.index() % 64);
        let before: u32 = self.0[..word].iter().map(|word| word.count_ones()).sum();
        (before + (self.0[word] & ((1 << bit) - 1)).count_ones()) as usize
    }

    /// Its events, lowest id first.
    pub fn iter(&self) -> impl Iterator<Item = EventId> + '_ {
        self.0.iter().enumerate().flat_map(|(number, &word)| {
            let mut left = word;
            core::iter::from_fn(move || {
                let bit = left.trailing_zeros();
                left &= left.checked_sub(1)?;
                Some(EventId((number * 64) as u16 + bit as u16))
            })
        })
    }
}

impl FromIterator<EventId> for EventSet {
    fn from_iter<I: IntoIterator<Item = EventId>>(events: I) -> Self {
        events.into_iter().fold(Self::EMPTY, Self::with)
    }
}
