//! What devices have asked for of a sporadic task, and when its jobs may be released.

use alloc::collections::VecDeque;
use solo_model::{Duration, Instant};

/// How many releases of a sporadic task wait while an earlier job runs on, at most: each has a time of its own to be kept.
pub(crate) const MOST_ARRIVALS: u64 = 1024;

/// What devices have asked for of a sporadic task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Arrivals {
    distance: Duration,
    /// No job is released before.
    earliest: Instant,
    /// One is to be released then.
    held: bool,
    /// The nominal releases of jobs that have not begun.
    waiting: VecDeque<Instant>,
}

impl Arrivals {
    /// Nothing has come yet.
    pub(crate) fn new(distance: Duration) -> Self {
        // One more for the moment in which the oldest is given up.
        let waiting = VecDeque::with_capacity(MOST_ARRIVALS as usize + 1);
        Self { distance, earliest: Instant::ZERO, held: false, waiting }
    }

    /// A job is released at its nominal time `due`.
    pub(crate) fn released(&mut self, due: Instant) {
        self.held = false;
        self.earliest = due + self.distance;
        self.waiting.push_back(due);
    }

    /// The oldest job that waits has begun, or was given up.
    pub(crate) fn begun(&mut self) {
        self.waiting.pop_front();
    }

    /// Nobody waits any more.
    pub(crate) fn clear(&mut self) {
        (self.held, self.waiting) = (false, VecDeque::new());
    }

    /// The nominal release of the job that has so many waiting before it.
    pub(crate) fn waiting(&self, before: u64) -> Option<Instant> {
        self.waiting.get(usize::try_from(before).ok()?).copied()
    }

    /// When the job is released that is held back, where one is.
    pub(crate) fn held(&self) -> Option<Instant> {
        self.held.then_some(self.earliest)
    }

    /// A job is held back until `due`.
    pub(crate) fn hold(&mut self, due: Instant) {
        (self.held, self.earliest) = (true, due);
    }

    /// When an interrupt that was raised at `raised` may release a job; `None` where it is merged with one that is held back.
    pub(crate) fn admits(&self, raised: Instant) -> Option<Instant> {
        (!self.held).then_some(raised.max(self.earliest))
    }
}
