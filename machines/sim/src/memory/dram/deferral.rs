//! The read that a channel defers: see [`alone`](super::alone).

/// When the commands of a read are issued that closes and opens its row; `u64::MAX` for one that it does not need. Plain
/// numbers: of anything larger a copy would have to wait for its parts.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Commands {
    pub(super) precharge: u64,
    pub(super) activate: u64,
    pub(super) column: u64,
}

/// The read that is deferred, and whether that is worth while: what has to be taken up again clock by clock has cost
/// more than if it had not been deferred. What is decided is the same.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Deferral {
    pub(super) commands: Commands,
    /// Of late, more deferred reads were served than were taken up again.
    luck: i32,
}

impl Deferral {
    const BOUND: i32 = 64;

    /// True where the next request should be deferred.
    #[inline]
    pub(super) fn tries(&mut self) -> bool {
        self.luck += i32::from(self.luck < 0);
        self.luck >= 0
    }

    pub(super) fn served(&mut self) {
        self.luck = (self.luck + 8).min(Self::BOUND);
    }

    pub(super) fn taken_up(&mut self) {
        self.luck = (self.luck - 16).max(-Self::BOUND);
    }
}
