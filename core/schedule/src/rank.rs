//! How urgent a job is: a key that orders all jobs of a domain.

use crate::job::JobView;
use core::fmt;
use solo_model::{TaskClass, TaskId};

/// The place in line of a job that holds a priority ceiling.
const CEILING: u64 = 0;
/// The place in line of a job that the criterion's key and its task's index order.
const FRONT: u64 = 1;

/// The place in line of a job by its turn: after all that stand in front.
const fn behind(turn: u64) -> u64 {
    turn.saturating_add(FRONT + 1)
}

/// How urgent a job is. The lower rank runs first; no two ready jobs share a rank.
///
/// Compared part by part:
///
/// 1. the class: hard before soft before best effort, whatever the criterion says (the priority ranges of
///    thesis 8.1, without their limits: a class never runs out of priorities),
/// 2. the criterion's key,
/// 3. the place in line: holders of a priority ceiling first, then jobs that never gave their core away, then
///    the others by their turn,
/// 4. the task: the lowest index wins (thesis 2.4.1.2).
///
/// An idle core has no rank: it is below every job.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank {
    class: TaskClass,
    key: i64,
    line: u64,
    task: u32,
}

impl Rank {
    /// The rank of `job` by a criterion's `key`: the lower, the more urgent. A job that has yielded comes
    /// after the jobs of the same key that have not.
    pub fn by_key(job: &JobView<'_>, key: i64) -> Self {
        let line = if job.yielded { behind(job.turn) } else { FRONT };
        Self { class: job.parameters.class, key, line, task: job.task.0 }
    }

    /// The rank of a job in a line of its class: first come, first served by its turn.
    pub fn in_line(job: &JobView<'_>) -> Self {
        Self { class: job.parameters.class, key: 0, line: behind(job.turn), task: job.task.0 }
    }

    /// The rank of a job that the criterion can't order, for example a best-effort job without deadline under
    /// EDF: after all jobs of its class that it can, first come, first served.
    pub fn unordered(job: &JobView<'_>) -> Self {
        Self { class: job.parameters.class, key: i64::MAX, line: behind(job.turn), task: job.task.0 }
    }

    /// The rank just above this one, for `holder`: what a priority ceiling needs to come before the task it
    /// protects.
    #[must_use]
    pub const fn ceiling(self, holder: TaskId) -> Self {
        Self { line: CEILING, task: holder.0, ..self }
    }

    /// The class.
    pub const fn class(self) -> TaskClass {
        self.class
    }

    /// The criterion's key.
    pub const fn key(self) -> i64 {
        self.key
    }
}

impl fmt::Debug for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}:{}:{}:{}", self.class, self.key, self.line, self.task)
    }
}
