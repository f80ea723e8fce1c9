//! What changes of an order of priorities were made, and by which system calls: kept in memory that is taken before the run.

use crate::priorities;
use solo_model::task::Release;
use solo_model::work::{LockProtocol, Step, Visit};
use solo_model::{Experiment, LockId, Task, TaskId};

/// The most changes that are kept of all orders together, and the least of each.
const MOST: usize = 1 << 19;
const LEAST: usize = 1 << 10;
/// As many system calls are kept for a change on average, and of all orders together.
const CALLS: usize = 16;
const MOST_CALLS: usize = 1 << 21;

/// What was changed of a thread's place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// It has its first one, for its task's first job.
    Enter {
        /// The kernel's number of the thread.
        thread: u32,
    },
    /// It takes that of its task's next job.
    Rank,
    /// It comes before all who may ask for a lock.
    Raise(LockId),
    /// It has given the lock back.
    Lower(LockId),
}

/// A change of an order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Changed {
    /// How many changes of the order came before it.
    pub number: u64,
    /// When it was decided, in nanoseconds of the monotonic clock.
    pub at: u64,
    /// Whose place it is.
    pub task: TaskId,
    /// What was changed.
    pub change: Change,
    /// The key of the task's job, without locks.
    pub key: u64,
    /// The place that the task has now; 0 is the most urgent one.
    pub place: u32,
    /// How many system calls were made for it.
    pub calls: u32,
}

/// A system call that gave a thread a priority of SCHED_FIFO.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    /// The kernel's number of the thread.
    pub thread: u32,
    /// The priority.
    pub priority: i32,
    /// The number of the error with which it was refused; 0 where it was not.
    pub refused: i32,
}

/// All changes of one order, from an empty one on, as far as there was room.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChangeLog {
    /// In the order in which they were made.
    pub changes: Vec<Changed>,
    /// Those of the first change, of the second one and so on.
    pub calls: Vec<Call>,
    /// Changes for which there was no room; all of them came after those that were kept.
    pub not_kept: u64,
    /// The priority of the most urgent thread.
    pub highest: i32,
    room: Room,
}

/// How much is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Room {
    changes: usize,
    calls: usize,
}

impl Room {
    /// For so many changes of an order of so many threads, which is one of `orders`.
    pub(crate) fn new(changes: usize, threads: usize, orders: usize) -> Self {
        let calls = changes.saturating_mul(threads.clamp(1, CALLS)).min(MOST_CALLS / orders.max(1));
        Self { changes, calls: calls.max(threads) }
    }

    /// For as many as an order of these tasks sees in a run of an experiment, where that can be known, which is one of `orders`.
    pub(crate) fn expected(experiment: &Experiment, tasks: &[TaskId], orders: usize) -> Self {
        let one =
            |id: &TaskId| experiment.tasks.get(id.index()).map_or(0, |task| changes_of(experiment, task));
        let changes = tasks.iter().fold(0_u64, |sum, task| sum.saturating_add(one(task)));
        let most = (MOST / orders.max(1)).max(LEAST);
        let changes = usize::try_from(changes).unwrap_or(most).clamp(LEAST, most);
        Self::new(changes, tasks.len(), orders)
    }
}

/// The most changes that a task makes in a run, where that can be known.
fn changes_of(experiment: &Experiment, task: &Task) -> u64 {
    let latest = experiment.end.goal(&experiment.tasks).latest;
    let jobs = match (task.release, latest) {
        (Release::Once { .. }, _) => 1,
        (Release::Periodic { period, .. } | Release::Sporadic { distance: period }, Some(latest)) => {
            latest.get() / period.get().max(1)
        }
        (Release::Continuous { .. }, _) | (_, None) => MOST as u64,
    };
    let rises = |lock: LockId| {
        experiment.locks.get(lock.index()).is_some_and(|lock| lock.protocol == LockProtocol::Ceiling)
    };
    let (mut sections, mut times) = (0_u64, vec![1_u64]);
    for visit in task.work.walk() {
        let innermost = times.last().copied().unwrap_or(1);
        match visit {
            Visit::Begin { times: each } => times.push(innermost.saturating_mul(u64::from(each))),
            Visit::End { .. } => drop(times.pop()),
            Visit::Step(Step::Acquire(lock)) if rises(*lock) => {
                sections = sections.saturating_add(innermost);
            }
            Visit::Step(_) => {}
        }
    }
    // Two more: the first place, and that of a job that comes after the end.
    jobs.saturating_add(2).saturating_mul(sections.saturating_mul(2).saturating_add(1)).saturating_add(2)
}

impl ChangeLog {
    /// Of an order whose most urgent thread has this priority. All memory is taken, and was touched once.
    pub(crate) fn new(highest: i32, room: Room) -> Self {
        let change = Changed {
            number: u64::MAX,
            at: 0,
            task: TaskId(u32::MAX),
            change: Change::Rank,
            key: 0,
            place: 0,
            calls: 0,
        };
        let (mut changes, mut calls) = (Vec::new(), Vec::new());
        changes.resize(room.changes, change);
        changes.clear();
        calls.resize(room.calls, Call { thread: u32::MAX, priority: 0, refused: 0 });
        calls.clear();
        Self { changes, calls, not_kept: 0, highest, room }
    }

    /// Keeps a change for which `calls` system calls follow, or counts it.
    pub(crate) fn keep(&mut self, changed: Changed, calls: usize) {
        let Room { changes: most, calls: most_calls } = self.room;
        // Nothing after what is missing could be compared.
        if self.not_kept > 0 || self.changes.len() >= most || self.calls.len() + calls > most_calls {
            self.not_kept += 1;
            return;
        }
        self.changes.push(changed);
    }

    /// Keeps a system call of the last change.
    pub(crate) fn called(&mut self, call: Call) {
        if self.not_kept > 0 {
            return;
        }
        if let Some(last) = self.changes.last_mut() {
            last.calls += 1;
            self.calls.push(call);
        }
    }
}

/// Those who may ask for a lock, by the work of all tasks.
pub(crate) fn users_of(experiment: &Experiment, lock: LockId) -> Vec<TaskId> {
    let users = (0..).map(TaskId).zip(&experiment.tasks);
    users.filter(|(_, task)| priorities::locks_of(task).contains(&lock)).map(|(id, _)| id).collect()
}
