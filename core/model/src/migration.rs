//! Forced migrations: a task that goes on on another core each time a job is released.
//!
//! ```text
//!   C-AFFINITY, clusters = [[0, 2, 3], [1]], core = 2
//!   release   0   1   2   3   4
//!   core      2   3   0   2   3     the next core of the scope, from the lowest again after the highest
//! ```
//! The core follows from the number of the release alone: a job that is late, or was given up, changes nothing about the cores of those
//! that come after it.

use crate::experiment::Experiment;
use crate::id::{CoreId, CoreSet, TaskId};
use crate::policy::{Policy, Scope};
use crate::task::{Release, Task};
use core::fmt;

/// Why a task can't be moved from core to core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stays {
    /// The criterion doesn't bind tasks to cores: which core a job has is decided by who else is ready.
    Unbound,
    /// Its scope has one core.
    OneCore,
    /// Its jobs are not released by the clock, period by period.
    NotPeriodic,
    /// It names no core to begin with.
    NoCore,
    /// A policy that listens may move tasks, too.
    Listener,
    /// Bandwidth is regulated: budgets, and what is reserved for a core, are those of the tasks at home there.
    Budgets,
    /// Time is divided into windows of the tasks of a core.
    Windows,
    /// Ways of the last level are given to cores or tasks, or pages are locked there for tasks.
    CacheParts,
}

impl fmt::Display for Stays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unbound => "only C-AFFINITY and G-AFFINITY bind a task to one core of several at a time",
            Self::OneCore => "there is one core for it",
            Self::NotPeriodic => "it is no periodic task",
            Self::NoCore => "it names no core to begin with",
            Self::Listener => "a policy that listens may move tasks as well",
            Self::Budgets => "budgets are those of the tasks of a core",
            Self::Windows => "windows are those of the tasks of a core",
            Self::CacheParts => "ways and locked pages belong to the tasks of a core",
        })
    }
}

impl Policy {
    /// The cores of a machine with `cores` cores that a task goes through which is bound to `home` and migrates: those of the scope.
    pub fn migrates_among(&self, home: CoreId, cores: usize) -> CoreSet {
        let all = CoreSet::first(cores);
        match &self.scope {
            Scope::Partitioned => CoreSet::only(home),
            Scope::Clustered(clusters) => {
                clusters.iter().copied().find(|set| set.contains(home)).unwrap_or(CoreSet::only(home))
            }
            Scope::Global => all,
        }
    }
}

impl Experiment {
    /// The first task that is to migrate and can't, and why; `None` where all can that are to.
    pub fn cannot_migrate(&self) -> Option<(TaskId, Stays)> {
        let migrating = (0_u32..).zip(&self.tasks).filter(|(_, task)| task.migrate.is_some());
        migrating.map(|(at, task)| (TaskId(at), self.stays(task))).find_map(|(at, why)| Some((at, why?)))
    }

    fn stays(&self, task: &Task) -> Option<Stays> {
        let isolation = &self.isolation;
        let cores = self.platform.cores.len();
        let among = task.core.map(|home| self.policy.migrates_among(home, cores));
        if !self.policy.criterion.is_bound() {
            Some(Stays::Unbound)
        } else if among.is_none() {
            Some(Stays::NoCore)
        } else if among.is_some_and(|among| among.len() < 2) {
            Some(Stays::OneCore)
        } else if !matches!(task.release, Release::Periodic { .. }) {
            Some(Stays::NotPeriodic)
        } else if self.listening.is_some() {
            Some(Stays::Listener)
        } else if isolation.bandwidth.is_some() {
            Some(Stays::Budgets)
        } else if isolation.partitions.is_some() {
            Some(Stays::Windows)
        } else if !isolation.ways.is_empty() || isolation.lockdown.is_some() {
            Some(Stays::CacheParts)
        } else {
            None
        }
    }
}
