//! A request of a channel.

use super::map::Place;
use super::{RequestId, RowOutcome};
use crate::memory::Requester;

/// A read or write of one line, with what is known about where its time went. As large as a line of the host's
/// caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Request {
    pub(super) id: RequestId,
    /// When it left the caches, in picoseconds.
    pub(super) submitted: u64,
    /// The clock at which the controller sees it.
    pub(super) arrival: u64,
    /// What its requester's sum of others' clocks was when it arrived; see [`Account`](super::account::Account).
    pub(super) others_before: u64,
    pub(super) place: Place,
    /// Clocks of refreshes in its way.
    pub(super) refresh: u32,
    pub(super) requester: Requester,
    pub(super) write: bool,
    /// How it found its row, as soon as a command has been issued for it.
    pub(super) outcome: Option<RowOutcome>,
    /// The sum `others_before` is not known yet.
    pub(super) fresh: bool,
    /// When its first command was issued, another requester had used the bank last.
    pub(super) disturbed: bool,
}

const _: () = assert!(size_of::<Request>() <= 64);

impl Request {
    /// Stands where there is none.
    pub(super) const NONE: Self = Self {
        id: RequestId(0),
        requester: Requester(0),
        write: false,
        place: Place::NONE,
        submitted: 0,
        arrival: 0,
        outcome: None,
        others_before: 0,
        fresh: false,
        refresh: 0,
        disturbed: false,
    };

    #[inline(always)]
    pub(super) fn new(
        id: RequestId,
        requester: Requester,
        write: bool,
        place: Place,
        submitted: u64,
        arrival: u64,
    ) -> Self {
        Self {
            id,
            requester,
            write,
            place,
            submitted,
            arrival,
            outcome: None,
            others_before: 0,
            fresh: true,
            refresh: 0,
            disturbed: false,
        }
    }
}
