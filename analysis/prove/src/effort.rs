//! How much work a test may do before it must answer "out of time".
//!
//! Work is counted, not clocked, so that a verdict does not depend on the machine. A caller that wants a wall
//! clock as well hands in a question that is asked now and then.

use crate::verdict::Stop;

/// Work left to a test.
pub struct Effort<'a> {
    left: u64,
    until_question: u64,
    expired: Option<&'a dyn Fn() -> bool>,
}

/// So many steps pass between two questions to the caller's clock: a few tenths of a millisecond.
const QUESTION_EVERY: u64 = 1 << 16;

impl<'a> Effort<'a> {
    /// Enough for every set of the thesis's study, spent within seconds.
    pub const DEFAULT_STEPS: u64 = 1 << 30;

    /// `steps` evaluations of one task's term in a test's inequality.
    pub const fn steps(steps: u64) -> Self {
        Self { left: steps, until_question: QUESTION_EVERY, expired: None }
    }
    /// No limit.
    pub const fn unlimited() -> Self {
        Self::steps(u64::MAX)
    }
    /// The same effort, which also ends as soon as `expired` answers true.
    #[must_use]
    pub(crate) fn with_clock(mut self, expired: &'a dyn Fn() -> bool) -> Self {
        self.expired = Some(expired);
        self
    }

    /// Takes `steps` from the effort.
    pub(crate) fn spend(&mut self, steps: usize) -> Result<(), Stop> {
        let steps = steps as u64;
        if steps > self.left {
            self.left = 0;
            return Err(Stop::OutOfTime);
        }
        self.left -= steps;
        if steps < self.until_question {
            self.until_question -= steps;
            return Ok(());
        }
        self.until_question = QUESTION_EVERY;
        if self.expired.is_some_and(|expired| expired()) {
            self.left = 0;
            return Err(Stop::OutOfTime);
        }
        Ok(())
    }
}

impl Default for Effort<'_> {
    fn default() -> Self {
        Self::steps(Self::DEFAULT_STEPS)
    }
}
