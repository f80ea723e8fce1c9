//! Tasks that name no core are given one, where the request says how.
//!
//! What is placed are periodic tasks, by declared execution times or, where a job only computes, by its steps. Times of kernel
//! paths are not counted: whether the whole holds is for `solo check` to say.

use crate::objection::NoRoom;
use crate::place::Wish;
use crate::rationale::{Decided, Of, Reason, Rule};
use crate::request::{Heuristic, Partitioner};
use crate::suits::longest_computation;
use crate::{Doubtful, Draft, Fault};
use alloc::vec::Vec;
use solo_model::policy::{FixedBy, Scope, Theory};
use solo_model::work::{Step, Visit};
use solo_model::{CoreId, Duration, Platform, Policy, RelativeSpeed, Task, TaskClass, TaskId};
use solo_prove::Effort;
use solo_prove::pack::{Capacity, Full, Sizes, Unplaced, place_among};

/// Work for finding cores: a second at most.
const STEPS: u64 = 1 << 26;

impl Draft<'_> {
    /// True where a task that names no core is given one.
    pub(crate) fn assigns(&self, task: &Task) -> bool {
        let asked = self.request.scheduler.value().and_then(|wish| wish.partition.value());
        let placed = match asked {
            Some(Partitioner::Tasks(_)) => task.release.period().is_some(),
            Some(Partitioner::Colors(_)) => is_placed_by_color(task),
            None => false,
        };
        placed && self.policy.as_ref().is_some_and(is_partitioned)
    }

    /// Gives cores to tasks that name none.
    pub(crate) fn assign(&mut self) {
        let request = self.request;
        let (Some(scheduler), Some(policy)) = (request.scheduler.value(), self.policy.clone()) else {
            return;
        };
        let (Some(wish), Some(platform)) = (scheduler.partition.wish(), request.platform.value()) else {
            return;
        };
        if !is_partitioned(&policy) {
            if self.is_whole() {
                self.doubt(wish.at, Doubtful::UnusedPartition);
            }
            return;
        }
        // What can't be had already would be said about the wrong tasks again.
        if !self.objections.is_empty() {
            return;
        }
        let Heuristic { fit, order } = match wish.value {
            Partitioner::Colors(method) => {
                return self.assign_by_color(Wish::new(method, wish.at), scheduler, platform, &policy);
            }
            Partitioner::Tasks(heuristic) => heuristic,
        };
        let sized = |task: &Task| task.class != TaskClass::BestEffort || task.core.is_none();
        let placed: Vec<usize> = (0..self.tasks.len())
            .filter(|&at| self.tasks[at].release.period().is_some() && sized(&self.tasks[at]))
            .collect();
        let usable: Vec<CoreId> = platform.core_set().iter().collect();
        let sized = by_speed(platform, &usable, |speed| {
            placed.iter().map(|&at| as_sporadic(&self.tasks[at], speed).ok_or(at)).collect()
        });
        let (kinds, kind_of) = match sized {
            Ok(sized) => sized,
            Err(at) => return self.object_unsized(at),
        };
        let keys: Vec<u64> = placed.iter().map(|&at| key(&policy, &self.tasks[at])).collect();
        let Some(capacity) = capacity(&policy, &keys) else {
            return self.object(wish.at, Fault::NoCapacity { policy });
        };
        let held: Vec<Option<usize>> =
            placed.iter().map(|&at| self.tasks[at].core.map(CoreId::index)).collect();
        let sizes = Sizes { kinds: &kinds, kind_of: &kind_of };
        match place_among(sizes, &held, (fit, order), capacity, &mut Effort::steps(STEPS)) {
            Ok(homes) => {
                for (&at, &home) in placed.iter().zip(&homes) {
                    self.settle(at, home, wish.value);
                }
            }
            Err(unplaced) => self.object_unplaced(&placed, unplaced),
        }
    }

    /// Gives a task a core, unless it has one.
    pub(crate) fn settle(&mut self, at: usize, home: usize, by: Partitioner) {
        let core = CoreId(home as u16);
        if self.tasks[at].core.replace(core).is_none() {
            let of = Of::Tasks { first: TaskId(at as u32), count: 1 };
            self.rationale.push(Reason { of, what: Decided::Core(core), rule: Rule::Packed(by) });
        }
    }

    pub(crate) fn object_unsized(&mut self, at: usize) {
        let place = self.wish_of(at as u32).map_or(self.request.at, |wish| wish.at);
        self.object(place, Fault::Unsized { task: self.tasks[at].name.clone() });
    }

    fn object_unplaced(&mut self, placed: &[usize], unplaced: Unplaced) {
        let at = placed[unplaced.task];
        let no_room = |(core, full): (usize, Full)| NoRoom {
            core: CoreId(core as u16),
            full,
            late: match full {
                Full::Response { late, .. } => Some(TaskId(placed[late] as u32)),
                Full::Utilization { .. } | Full::Demand { .. } | Full::Undecided | Full::Behind => None,
            },
        };
        let tried = unplaced.tried.into_iter().enumerate().map(no_room).collect();
        let place = self.wish_of(at as u32).map_or(self.request.at, |wish| wish.name.at);
        self.object(place, Fault::Unplaced { task: self.tasks[at].name.clone(), tried });
    }
}

/// True for tasks that a core can be found for: those with a period, and best effort, which counts as utilisation zero.
pub(crate) fn is_placed_by_color(task: &Task) -> bool {
    task.release.period().is_some() || task.class == TaskClass::BestEffort
}

pub(crate) fn is_partitioned(policy: &Policy) -> bool {
    policy.scope == Scope::Partitioned || policy.criterion.is_bound()
}

/// What a core can take under a policy; `None` where no test is exact.
pub(crate) fn capacity<'k>(policy: &Policy, keys: &'k [u64]) -> Option<Capacity<'k>> {
    match policy.criterion.facts().theory {
        Theory::Edf => Some(Capacity::Edf),
        Theory::Fixed(_) => Some(Capacity::Fixed(keys)),
        Theory::None => None,
    }
}

/// How urgent a task is under fixed priorities, 0 most.
pub(crate) fn key(policy: &Policy, task: &Task) -> u64 {
    match policy.criterion.facts().theory {
        Theory::Fixed(FixedBy::Period) => task.release.period().map_or(u64::MAX, Duration::get),
        Theory::Fixed(FixedBy::Priority) => task.priority.map_or(u64::MAX, u64::from),
        Theory::Fixed(FixedBy::Deadline) | Theory::Edf | Theory::None => {
            task.relative_deadline().map_or(u64::MAX, Duration::get)
        }
    }
}

/// Tasks on each kind of these cores, and the kind of each core: kinds are cores of one speed, the slowest first.
type BySpeed = (Vec<Vec<solo_prove::Task>>, Vec<usize>);

/// Sizes tasks for each speed that some of `cores` have.
pub(crate) fn by_speed<E>(
    platform: &Platform,
    cores: &[CoreId],
    sized: impl Fn(RelativeSpeed) -> Result<Vec<solo_prove::Task>, E>,
) -> Result<BySpeed, E> {
    let mut speeds = platform.speeds();
    speeds.reverse();
    speeds.retain(|alike| cores.iter().any(|&core| alike.contains(core)));
    let kinds: Result<Vec<_>, E> = speeds.iter().map(|&alike| sized(platform.slowest(alike))).collect();
    let kind_of = |&core: &CoreId| speeds.iter().position(|alike| alike.contains(core)).unwrap_or(0);
    Ok((kinds?, cores.iter().map(kind_of).collect()))
}

/// A task as proofs see it on a core of that speed, in nanoseconds; `None` where nothing says how long its jobs take. A declared
/// time holds on each core that the task may run on, unless the work computes for longer there.
pub(crate) fn as_sporadic(task: &Task, speed: RelativeSpeed) -> Option<solo_prove::Task> {
    let period = task.release.period()?;
    let deadline = task.relative_deadline().unwrap_or(period);
    // Waiting is nobody's execution; the other steps take as long as the machine makes them.
    let is_said = |visit: Visit<'_>| {
        !matches!(visit, Visit::Step(Step::Touch(_) | Step::Execute(_) | Step::Replay(_) | Step::Flush(_)))
    };
    let computes = |visit: Visit<'_>| matches!(visit, Visit::Step(Step::Compute(_)));
    let computed = speed.longest(longest_computation(&task.work.steps));
    let wcet = match task.wcet {
        Some(declared) => declared.max(computed),
        None => (task.work.walk().any(computes) && task.work.walk().all(is_said)).then_some(computed)?,
    };
    Some(solo_prove::Task::new(wcet.get().max(1), period.get(), deadline.get()))
}
