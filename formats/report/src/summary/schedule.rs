//! Keeps the schedule of a stretch of the run, to be looked at as a whole.

use crate::report::Segment;
use solo_model::{CoreId, Instant, TaskId};

/// How many stretches of time are kept at most.
const MOST: usize = 16_000;

/// What cores ran between two times; where that is more than is kept, its beginning.
pub(super) struct ScheduleKeeper {
    from: Instant,
    to: Instant,
    segments: Vec<Segment>,
    full: bool,
}

impl ScheduleKeeper {
    pub(super) fn new(from: Instant, to: Instant) -> Self {
        Self { from, to, segments: Vec::new(), full: false }
    }

    /// A core ran `task` until now.
    pub(super) fn ran(&mut self, core: CoreId, task: Option<TaskId>, from: Instant, to: Instant) {
        let (from, to) = (from.max(self.from), to.min(self.to));
        let Some(task) = task.filter(|_| from < to) else { return };
        self.segments.push(Segment { core, from, to, task });
        if self.segments.len() == MOST && !self.full {
            // What other cores have begun before is still taken, up to here: nothing is missing before the end.
            self.to = to;
            self.full = true;
        }
    }

    /// The stretches in the order of their ends, and until when they are complete.
    pub(super) fn finish(self, end: Instant) -> (Vec<Segment>, Instant) {
        (self.segments, self.to.min(end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: usize) -> Instant {
        Instant::new(ns as u64)
    }

    #[test]
    fn what_is_kept_is_complete_until_its_end() {
        let mut keeper = ScheduleKeeper::new(at(5), Instant::MAX);
        for ns in 0..2 * MOST {
            keeper.ran(CoreId(0), Some(TaskId(0)), at(ns), at(ns + 1));
        }
        // A long stretch of another core that began before the end of what is kept and is told after it.
        keeper.ran(CoreId(1), Some(TaskId(1)), at(0), at(3 * MOST));
        keeper.ran(CoreId(1), Some(TaskId(1)), at(3 * MOST), at(4 * MOST));
        let (segments, end) = keeper.finish(Instant::MAX);
        assert_eq!(end, at(MOST + 5));
        assert_eq!(segments.len(), MOST + 1);
        assert_eq!(segments[0], Segment { core: CoreId(0), from: at(5), to: at(6), task: TaskId(0) });
        let other = Segment { core: CoreId(1), from: at(5), to: at(MOST + 5), task: TaskId(1) };
        assert_eq!(segments.last(), Some(&other));
    }
}
