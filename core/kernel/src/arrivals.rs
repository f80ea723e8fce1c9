//! What devices and threads have asked for of a sporadic task: when its jobs are released, and which of them wait.

use alloc::collections::VecDeque;
use solo_model::spacing::Spacing;
use solo_model::{Duration, Instant};

/// How many releases of a sporadic task wait while an earlier job runs on, at most: each has a time of its own to be kept.
pub(crate) const MOST_ARRIVALS: u64 = 1024;

/// What was asked for of a sporadic task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Arrivals {
    /// What is released when.
    pub(crate) spacing: Spacing,
    /// The nominal releases of jobs that have not begun.
    waiting: VecDeque<Instant>,
}

impl Arrivals {
    /// Nothing has come yet.
    pub(crate) fn new(distance: Duration) -> Self {
        // One more for the moment in which the oldest is given up.
        let waiting = VecDeque::with_capacity(MOST_ARRIVALS as usize + 1);
        Self { spacing: Spacing::new(distance), waiting }
    }

    /// A job is released at its nominal time `due`.
    pub(crate) fn released(&mut self, due: Instant) {
        self.waiting.push_back(due);
    }

    /// The oldest job that waits has begun, or was given up.
    pub(crate) fn begun(&mut self) {
        self.waiting.pop_front();
    }

    /// Nobody waits any more.
    pub(crate) fn clear(&mut self) {
        self.spacing.clear();
        self.waiting = VecDeque::new();
    }

    /// The nominal release of the job that has so many waiting before it.
    pub(crate) fn waiting(&self, before: u64) -> Option<Instant> {
        self.waiting.get(usize::try_from(before).ok()?).copied()
    }
}
