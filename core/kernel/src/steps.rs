//! Steps of loops whose bounds no type shows.

/// The steps that a loop has left. They are counted where assertions are on, as in all tests; a kernel that is released has the loop alone.
pub(crate) struct Steps(usize);

impl Steps {
    /// A loop of at most so many steps.
    #[inline(always)]
    pub(crate) const fn at_most(most: usize) -> Self {
        Self(most)
    }

    /// One step.
    #[inline(always)]
    pub(crate) fn take(&mut self) {
        debug_assert!(self.0 > 0, "a loop of the kernel goes beyond its bound");
        self.0 = self.0.wrapping_sub(1);
    }
}
