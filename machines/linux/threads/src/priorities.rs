//! Which priority of SCHED_FIFO a task has and on which CPUs it runs: the scenario's criterion and scope in Linux's words.

use crate::host::Host;
use crate::lack::ThreadsLack;
use solo_model::policy::{FixedBy, Theory};
use solo_model::task::Release;
use solo_model::work::{Step, Visit};
use solo_model::{CoreId, CoreSet, Duration, Experiment, LockId, Scope, Task, TaskClass};
use std::collections::BTreeSet;

/// How a thread is scheduled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Scheduling {
    /// SCHED_OTHER.
    Other,
    /// SCHED_FIFO with this priority; the higher, the more urgent.
    Fifo(i32),
    /// SCHED_RR with this priority: equals take turns, a slice each.
    RoundRobin(i32),
    /// By the ranks of its jobs.
    Ranked,
    /// SCHED_DEADLINE: so much of a CPU in each period, by deadlines.
    Deadline {
        /// What it may run in a period.
        runtime: Duration,
        /// By when, after it is ready.
        deadline: Duration,
        /// The period.
        period: Duration,
    },
}

impl Scheduling {
    /// The priority, where it has one.
    pub(crate) fn priority(self) -> Option<i32> {
        match self {
            Self::Other | Self::Ranked | Self::Deadline { .. } => None,
            Self::Fifo(priority) | Self::RoundRobin(priority) => Some(priority),
        }
    }
}

/// How each task is scheduled on a plane, by its position. Tasks of best effort have no place there: they take what is left, as all
/// others of the system.
pub(crate) fn ranked(experiment: &Experiment) -> Vec<Scheduling> {
    let one = |task: &Task| match task.class {
        TaskClass::Hard | TaskClass::Soft => Scheduling::Ranked,
        TaskClass::BestEffort => Scheduling::Other,
    };
    experiment.tasks.iter().map(one).collect()
}

/// How each task is scheduled under SCHED_DEADLINE, by its position: its worst execution time in each period. Tasks of best effort take
/// what is left.
///
/// # Errors
/// The first task that does not say what it needs, or needs what the kernel reserves for nobody.
pub(crate) fn reserved(experiment: &Experiment) -> Result<Vec<Scheduling>, ThreadsLack> {
    let one = |task: &Task| {
        let lacks = |what| ThreadsLack::Unreserved { task: task.name.clone(), what };
        if task.class == TaskClass::BestEffort {
            return Ok(Scheduling::Other);
        }
        let period = match task.release {
            Release::Periodic { period, .. } => period,
            Release::Sporadic { distance } => distance,
            Release::Once { .. } | Release::Continuous { .. } => return Err(lacks("a period")),
        };
        let runtime = task.wcet.ok_or_else(|| lacks("a wcet"))?;
        let deadline = task.relative_deadline().unwrap_or(period);
        if runtime < ThreadsLack::SHORTEST_RUNTIME || runtime > deadline || deadline > period {
            return Err(ThreadsLack::NoReservation { task: task.name.clone(), runtime, deadline, period });
        }
        Ok(Scheduling::Deadline { runtime, deadline, period })
    };
    experiment.tasks.iter().map(one).collect()
}

/// How each task is scheduled, by its position: hard tasks above soft ones, within a class by the criterion; tasks of best
/// effort below all. Equals share a priority, and take turns where the criterion is round robin. The highest one stays free for who ends the
/// run.
///
/// # Errors
/// Where the criterion is neither of fixed priorities nor round robin, has more priorities than SCHED_FIFO, or another quantum than SCHED_RR.
pub(crate) fn assign(experiment: &Experiment, host: &Host) -> Result<Vec<Scheduling>, ThreadsLack> {
    let criterion = experiment.policy.criterion;
    let facts = criterion.facts();
    // Who is ordered by nothing, and has a quantum, is round robin.
    let take_turns = facts.needs.is_empty() && facts.quantum.is_some();
    let by = if let Theory::Fixed(by) = facts.theory { Some(by) } else { None };
    if by.is_none() && !take_turns {
        return Err(ThreadsLack::Criterion(criterion));
    }
    let quantum = experiment.policy.quantum.unwrap_or(Duration::ZERO);
    if take_turns && host.slice != Some(quantum) {
        return Err(ThreadsLack::Slice { quantum, slice: host.slice });
    }
    let key = |task: &Task| {
        let key = match by {
            Some(FixedBy::Period) => task.release.period().map(|period| period.get()),
            Some(FixedBy::Deadline) => task.relative_deadline().map(|deadline| deadline.get()),
            Some(FixedBy::Priority) => task.priority.map(u64::from),
            // All of a class are equals.
            None => None,
        };
        (task.class, key.unwrap_or(u64::MAX))
    };
    let scheduling = if take_turns { Scheduling::RoundRobin } else { Scheduling::Fifo };
    let real_time = |task: &&Task| task.class != TaskClass::BestEffort;
    let ranks: BTreeSet<_> = experiment.tasks.iter().filter(real_time).map(key).collect();
    let (lowest, highest) = host.priorities;
    let available = usize::try_from(highest - lowest).unwrap_or(0);
    if ranks.len() > available {
        return Err(ThreadsLack::Priorities { needed: ranks.len(), available });
    }
    let one = |task: &Task| match ranks.iter().position(|rank| real_time(&task) && *rank == key(task)) {
        Some(rank) => scheduling(highest - 1 - rank as i32),
        None => Scheduling::Other,
    };
    Ok(experiment.tasks.iter().map(one).collect())
}

/// The cores on which a task may run.
pub(crate) fn cores(experiment: &Experiment, task: &Task) -> CoreSet {
    let all = experiment.platform.core_set();
    let home = |core: CoreId| match &experiment.policy.scope {
        _ if task.migrate.is_some() => {
            experiment.policy.migrates_among(core, experiment.platform.cores.len())
        }
        _ if experiment.policy.criterion.is_bound() => CoreSet::only(core),
        Scope::Partitioned => CoreSet::only(core),
        Scope::Clustered(clusters) => {
            clusters.iter().copied().find(|cluster| cluster.contains(core)).unwrap_or(all)
        }
        Scope::Global => all,
    };
    task.core.map_or(all, home)
}

/// The cores on which any task may run.
pub(crate) fn used_cores(experiment: &Experiment) -> CoreSet {
    experiment.tasks.iter().fold(CoreSet::first(0), |sum, task| sum.or(cores(experiment, task)))
}

/// The locks that a task takes or gives back.
pub(crate) fn locks_of(task: &Task) -> BTreeSet<LockId> {
    let lock = |visit| match visit {
        Visit::Step(Step::Acquire(lock) | Step::Release(lock)) => Some(*lock),
        _ => None,
    };
    task.work.walk().filter_map(lock).collect()
}
