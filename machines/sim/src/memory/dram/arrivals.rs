//! Requests on their way to the controller, or outside a full queue.

use super::request::Request;
use std::collections::VecDeque;

/// By arrival, then number.
#[derive(Clone, Debug)]
pub(super) struct Arrivals {
    requests: VecDeque<Request>,
    /// The clock of the first one's arrival; `u64::MAX` without any.
    first: u64,
    /// How many of them are writes.
    writes: usize,
}

impl Arrivals {
    pub(super) fn new() -> Self {
        Self { requests: VecDeque::new(), first: u64::MAX, writes: 0 }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.requests.len()
    }

    /// Those that will take a place in the queue of writes (or reads).
    pub(super) fn held(&self, write: bool) -> usize {
        if write { self.writes } else { self.requests.len() - self.writes }
    }

    /// The clock of the first arrival; `u64::MAX` without any.
    #[inline]
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// The request that arrives first.
    #[inline]
    pub(super) fn front(&self) -> Option<&Request> {
        self.requests.front()
    }

    /// The request at `position`, the first one at zero.
    #[inline]
    pub(super) fn get_mut(&mut self, position: usize) -> Option<&mut Request> {
        self.requests.get_mut(position)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Request> {
        self.requests.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Request> {
        self.requests.iter_mut()
    }

    /// Adds a request at its position, which is returned: nearly always the end. It is written there part by part: a copy
    /// of the whole would have to wait for its parts.
    #[inline(always)]
    pub(super) fn add(&mut self, request: Request) -> usize {
        self.writes += usize::from(request.write);
        self.first = self.first.min(request.arrival);
        let end = self.requests.len();
        let key = (request.arrival, request.id);
        let overtakes = self.requests.back().is_some_and(|last| (last.arrival, last.id) > key);
        self.requests.push_back(request);
        if overtakes { self.sort_in_last() } else { end }
    }

    #[cold]
    #[inline(never)]
    fn sort_in_last(&mut self) -> usize {
        let Some(last) = self.requests.pop_back() else { return 0 };
        let before = |other: &Request| (other.arrival, other.id) < (last.arrival, last.id);
        let position = self.requests.partition_point(before);
        self.requests.insert(position, last);
        position
    }

    /// The first one, which is a `write` or a read, leaves.
    #[inline]
    pub(super) fn leave(&mut self, write: bool) {
        self.requests.pop_front();
        self.writes -= usize::from(write);
        self.first = self.requests.front().map_or(u64::MAX, |request| request.arrival);
    }
}
