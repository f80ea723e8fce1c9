//! How a run ends, and why it may not begin.

use crate::frames::FrameError;
use crate::memory::HierarchyError;
use core::fmt;
use solo_isolate::heap::HeapError;
use solo_model::check::Implausible;
use solo_model::listening::CoreHeard;
use solo_model::names::{Explain, TaskNames};
use solo_model::text::counted;
use solo_model::{EventId, Instant, MissRateCurve, TaskId};
use solo_schedule::PolicyRefusal;
use solo_workload::WorkError;

/// Why a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// Each task finished the jobs it was asked for, or nothing was left to do.
    JobsDone,
    /// The duration was over.
    TimeOver,
    /// Some task could not finish its jobs within twice the time they should have taken.
    CutOff,
    /// The observer asked to stop.
    Interrupted,
}

/// What is known at the end of a run beside its records.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SimulationEnd {
    /// Why it ended.
    pub stop: Stop,
    /// When, in simulated time.
    pub end: Instant,
    /// Memory accesses that were simulated, groups of accesses to one line counted once.
    pub accesses: u64,
    /// Lines that were to be locked during the run and were not, because their set had no room at that time.
    pub unlocked_lines: u64,
    /// What the kernel asked of performance counters and was refused during the run.
    pub refused_counters: u64,
    /// Tasks that ended before their time because a heap had not what they asked for.
    pub exhausted: Vec<Exhausted>,
    /// What a scheduler that listens heard of each core and did there; empty without one.
    pub heard: Vec<CoreHeard>,
    /// What was found out of tasks' misses by what their processes held of the cache; empty without such a monitor.
    pub curves: Vec<MissRateCurve>,
}

/// A task that ended because its heap had not what it asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exhausted {
    /// Which.
    pub task: TaskId,
    /// When.
    pub at: Instant,
    /// Why.
    pub error: HeapError,
}

/// With the names of the tasks in it.
impl Explain for SimError {
    fn explain(&self, names: &dyn TaskNames, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => write!(f, "the kernel refuses the experiment: {}", refusal.with(names)),
            Self::Isolation(refusal) => write!(f, "isolation: {}", refusal.with(names)),
            other => write!(f, "{other}"),
        }
    }
}

/// Why an experiment can't run on the simulated machine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// No machine can work with a number of the experiment.
    #[error("no machine can work with it: {0}")]
    Implausible(Implausible),
    /// The experiment names an event that its platform's table does not have.
    #[error("it names the {0}, which its table of events does not have")]
    UnknownEvent(EventId),
    /// Other recordings than the experiment names.
    #[error("it names {}, and {given} are given", counted(*named, "recording"))]
    Recordings {
        /// How many it names.
        named: usize,
        /// How many there are.
        given: usize,
    },
    /// More or fewer bodies than tasks.
    #[error("it has {}, and the bodies of {given} are given", counted(*tasks, "task"))]
    Bodies {
        /// How many tasks it has.
        tasks: usize,
        /// How many bodies there are.
        given: usize,
    },
    /// The kernel refuses the tasks under this policy.
    #[error("the kernel refuses the experiment: {0}")]
    Refused(PolicyRefusal),
    /// A placement or a monitor stands in for one that is not there.
    #[error(
        "a placement or a monitor is to stand in, and the experiment listens to nothing: it has no [scheduler.monitor]"
    )]
    NothingHeard,
    /// The machine can't do what the experiment needs.
    #[error("the simulated machine can't do it: {0}")]
    Lacks(solo_hal::Lack),
    /// The platform's caches or DRAM contradict themselves.
    #[error("the platform can't be built: {0}")]
    Hierarchy(#[from] HierarchyError),
    /// Isolation as the experiment describes it can't be had.
    #[error("isolation: {0}")]
    Isolation(solo_isolate::IsolationRefusal),
    /// The pages of a task's colors or banks don't suffice.
    #[error("buffer `{buffer}`: {error} ({free} frames of memory are free)")]
    ColoredFrames {
        /// The buffer.
        buffer: String,
        /// What is wrong.
        error: solo_isolate::frames::FramesError,
        /// Frames of any color and bank that nobody holds.
        free: u64,
    },
    /// The buffers don't fit into memory.
    #[error("the buffers don't fit into the platform's memory: {0}")]
    Frames(FrameError),
    /// A task's work can't be turned into operations.
    #[error("task `{task}`: {error}")]
    Work {
        /// The task.
        task: String,
        /// What is wrong.
        error: WorkError,
    },
}
