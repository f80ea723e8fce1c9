//! Requests on their way to the controller, or outside a full queue.

use super::RequestId;
use super::request::{Request, Slot};
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug)]
struct Entry {
    arrival: u64,
    id: RequestId,
    slot: Slot,
}

/// By arrival, then number.
#[derive(Clone, Debug)]
pub(super) struct Arrivals {
    entries: VecDeque<Entry>,
    /// The clock of the first one's arrival; `u64::MAX` without any.
    first: u64,
    /// How many of them are writes.
    writes: usize,
}

impl Arrivals {
    pub(super) fn new() -> Self {
        Self { entries: VecDeque::new(), first: u64::MAX, writes: 0 }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Those that will take a place in the queue of writes (or reads).
    pub(super) fn held(&self, write: bool) -> usize {
        if write { self.writes } else { self.entries.len() - self.writes }
    }

    /// The clock of the first arrival; `u64::MAX` without any.
    #[inline]
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// The request that arrives first.
    #[inline]
    pub(super) fn front(&self) -> Option<Slot> {
        self.entries.front().map(|entry| entry.slot)
    }

    /// The request at `place`, the first one at zero.
    #[inline]
    pub(super) fn get(&self, place: usize) -> Option<Slot> {
        self.entries.get(place).map(|entry| entry.slot)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Slot> + '_ {
        self.entries.iter().map(|entry| entry.slot)
    }

    /// Where a request belongs: nearly always at the end.
    #[inline]
    pub(super) fn place_of(&self, request: &Request) -> usize {
        match self.entries.back() {
            Some(last) if (last.arrival, last.id) > (request.arrival, request.id) => self
                .entries
                .partition_point(|other| (other.arrival, other.id) < (request.arrival, request.id)),
            _ => self.entries.len(),
        }
    }

    /// Adds the request in `slot` at its place.
    #[inline]
    pub(super) fn add(&mut self, place: usize, slot: Slot, request: &Request) {
        let entry = Entry { arrival: request.arrival, id: request.id, slot };
        self.writes += usize::from(request.write);
        self.first = self.first.min(request.arrival);
        if place == self.entries.len() {
            self.entries.push_back(entry);
        } else {
            self.entries.insert(place, entry);
        }
    }

    /// The first one, which is a `write` or a read, leaves.
    #[inline]
    pub(super) fn leave(&mut self, write: bool) {
        self.entries.pop_front();
        self.writes -= usize::from(write);
        self.first = self.entries.front().map_or(u64::MAX, |entry| entry.arrival);
    }
}
