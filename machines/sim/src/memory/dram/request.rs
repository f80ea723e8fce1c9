//! The requests of a channel.

use super::map::Place;
use super::{RequestId, RowOutcome};
use core::ops::{Index, IndexMut};
use solo_model::CoreId;

/// A read or write of one line, with what is known about where its time went. As large as a line of the host's
/// caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Request {
    pub(super) id: RequestId,
    /// When it left the caches, in picoseconds.
    pub(super) submitted: u64,
    /// The clock at which the controller sees it.
    pub(super) arrival: u64,
    /// Its place in the order in which requests entered the queues.
    pub(super) order: u64,
    /// What its core's sum of others' clocks was when it arrived; see [`Account`](super::account::Account).
    pub(super) others_before: u64,
    pub(super) place: Place,
    /// Clocks of refreshes in its way.
    pub(super) refresh: u32,
    pub(super) core: CoreId,
    pub(super) write: bool,
    /// How it found its row, as soon as a command has been issued for it.
    pub(super) outcome: Option<RowOutcome>,
    /// The sum `others_before` is not known yet.
    pub(super) fresh: bool,
    /// When its first command was issued, another core had used the bank last.
    pub(super) disturbed: bool,
}

const _: () = assert!(size_of::<Request>() <= 64);

impl Request {
    pub(super) fn new(
        id: RequestId,
        core: CoreId,
        write: bool,
        place: Place,
        submitted: u64,
        arrival: u64,
    ) -> Self {
        Self {
            id,
            core,
            write,
            place,
            submitted,
            arrival,
            outcome: None,
            order: 0,
            others_before: 0,
            fresh: true,
            refresh: 0,
            disturbed: false,
        }
    }
}

/// The place of a request in its channel's [`Requests`]. A request stays in its place until it is done: queues move
/// these numbers only.
pub(super) type Slot = u32;

/// All requests that a channel has taken and not served.
#[derive(Clone, Debug, Default)]
pub(super) struct Requests {
    slots: Vec<Request>,
    free: Vec<Slot>,
}

impl Requests {
    #[inline]
    pub(super) fn add(&mut self, request: Request) -> Slot {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = request;
            return slot;
        }
        self.slots.push(request);
        self.slots.len() as Slot - 1
    }

    /// The request in `slot` is done. What stands there is valid until another one is added.
    #[inline]
    pub(super) fn release(&mut self, slot: Slot) {
        self.free.push(slot);
    }
}

impl Index<Slot> for Requests {
    type Output = Request;

    #[inline]
    fn index(&self, slot: Slot) -> &Request {
        &self.slots[slot as usize]
    }
}

impl IndexMut<Slot> for Requests {
    #[inline]
    fn index_mut(&mut self, slot: Slot) -> &mut Request {
        &mut self.slots[slot as usize]
    }
}
