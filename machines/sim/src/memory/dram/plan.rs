//! A channel's next command.

/// The bank that gets the next command, if nothing changes before; which command, its [`Candidate`](super::queue::Candidate) says. Small
/// enough to be returned in registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Plan {
    pub(super) at: u64,
    pub(super) bank: usize,
}

impl Plan {
    /// The next command must be chosen, or there is none.
    pub(super) const NONE: Self = Self { at: u64::MAX, bank: 0 };

    #[inline]
    pub(super) fn is_none(&self) -> bool {
        self.at == u64::MAX
    }
}
