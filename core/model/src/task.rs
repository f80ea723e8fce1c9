//! Tasks: what they promise (execution time, period) and what they are promised (a deadline).
//!
//! The periodic task model of thesis 2.3: task `T_i = (e_i, p_i, d_i)` releases job `J_ij` at `r_ij`, which is
//! due at `r_ij + d_i`. The response time is `f_ij - r_ij`, and a job that completes after its absolute
//! deadline is *tardy*: it has missed its deadline.

use crate::id::CoreId;
use crate::units::Duration;
use crate::work::Work;
use alloc::string::String;

/// How many releases of a task wait while an earlier job runs on, unless a kernel is told otherwise; at one more the
/// oldest is given up.
pub const BACKLOG_LIMIT: u32 = 1 << 16;

/// How much a deadline weighs (thesis 2.3.1) and which priority range a task belongs to (thesis 8.1).
///
/// ```text
///  hard      0 ..= HRT_PRIORITY_LIMIT                       a miss is a failure
///  soft      HRT_PRIORITY_LIMIT + 1 ..= SRT_PRIORITY_LIMIT  a miss lowers quality
///  best effort  above SRT_PRIORITY_LIMIT                    no deadline
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum TaskClass {
    /// Every deadline must hold.
    Hard,
    /// Tardiness is accounted for, and tolerated.
    Soft,
    /// Runs on what the others leave.
    BestEffort,
}

/// When the jobs of a task are released.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Release {
    /// A job at `offset`, and one each `period` after it.
    Periodic {
        /// The release time of the first job.
        offset: Duration,
        /// The time between releases; above zero.
        period: Duration,
    },
    /// One job at `offset`.
    Once {
        /// The release time.
        offset: Duration,
    },
    /// A job when a device interrupts, and none sooner than `distance` after the one before: a sporadic task (thesis 2.3).
    Sporadic {
        /// The least time between releases; above zero.
        distance: Duration,
    },
    /// A job at `offset`, and the next one as soon as the last has finished: a program that never rests.
    Continuous {
        /// The release time of the first job.
        offset: Duration,
    },
}

impl Release {
    /// True where the clock releases one job after the other, so that a run can wait for a number of them.
    pub const fn is_periodic(&self) -> bool {
        matches!(self, Self::Periodic { .. })
    }
    /// The release time of the first job, since the start.
    pub const fn offset(&self) -> Duration {
        match *self {
            Self::Periodic { offset, .. } | Self::Once { offset } | Self::Continuous { offset } => offset,
            Self::Sporadic { .. } => Duration::ZERO,
        }
    }
    /// The time between releases of a periodic task, the least of a sporadic one.
    pub const fn period(&self) -> Option<Duration> {
        match *self {
            Self::Periodic { period, .. } => Some(period),
            Self::Sporadic { distance } => Some(distance),
            Self::Once { .. } | Self::Continuous { .. } => None,
        }
    }
}

/// When a task is moved to another core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Migration {
    /// At each release, to the next core of its scope (thesis 5.8, where the affinity of a thread is changed each period).
    EachPeriod,
}

impl Migration {
    /// The word in scenario files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::EachPeriod => "each-period",
        }
    }
}

/// One task of an experiment.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Task {
    /// The name in the scenario; unique.
    pub name: String,
    /// Hard, soft or best effort.
    pub class: TaskClass,
    /// When jobs are released.
    pub release: Release,
    /// The relative deadline `d_i`, where the task has one.
    pub deadline: Option<Duration>,
    /// The declared worst-case execution time `e_i` on the slowest core that it may run on, which LLF and SJF order by.
    pub wcet: Option<Duration>,
    /// Misses of the last-level cache of a job at most, alone in its part of it: what budgets and other users of memory delay.
    #[cfg_attr(feature = "serde", serde(default))]
    pub misses: Option<u64>,
    /// The static priority within the class, 0 highest. Policies other than static priority ignore it.
    pub priority: Option<u32>,
    /// The core (partitioned), or one core of the cluster (clustered), that the task is assigned to.
    pub core: Option<CoreId>,
    /// When it is moved to another core; `None` where it stays.
    #[cfg_attr(feature = "serde", serde(default))]
    pub migrate: Option<Migration>,
    /// What each job does.
    pub work: Work,
}

impl Task {
    /// A task that does nothing yet and of which no more is declared. What differs, a caller changes.
    pub fn new(name: impl Into<String>, class: TaskClass, release: Release) -> Self {
        Self {
            name: name.into(),
            class,
            release,
            deadline: None,
            wcet: None,
            misses: None,
            priority: None,
            core: None,
            migrate: None,
            work: Work::default(),
        }
    }

    /// The relative deadline that counts: the declared one, else the period (implicit deadline).
    pub fn relative_deadline(&self) -> Option<Duration> {
        match self.class {
            TaskClass::BestEffort => self.deadline,
            TaskClass::Hard | TaskClass::Soft => self.deadline.or(self.release.period()),
        }
    }
}
