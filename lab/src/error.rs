//! Why work in the laboratory came to nothing: enums that carry what a caller may want to ask.

use solo_hal::PmuError;
use solo_isolate::lockdown::LockError;
use solo_isolate::map::InferenceError;
use solo_model::text::{Printable, counted};
use solo_model::{Bytes, EventId, Experiment, Explain};
use solo_sim::memory::DramError;
use std::fmt;
use std::path::PathBuf;

/// Why an experiment, a comparison or a campaign has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// The experiment can't run on the simulated machine.
    #[error("{0}")]
    Simulation(Named<solo_sim::SimError>),
    /// The kernel can't run the tasks under their policy.
    #[error("the kernel refuses the experiment: {0}")]
    Refused(Named<solo_schedule::PolicyRefusal>),
    /// The bare-metal machine can't run the experiment.
    #[error("{0}")]
    Metal(#[from] solo_qemu::QemuError),
    /// A user's program can't be built or did not come to its end.
    #[error("{0}")]
    Program(#[from] crate::program_error::ProgramError),
    /// Linux refused a thread, or something that it needs.
    #[error("{0}")]
    Threads(solo_threads::ThreadsError),
    /// This kernel takes no scheduler in eBPF.
    #[error(
        "Linux cannot run `{scenario}`: {error}; criteria of fixed priorities run without, and --on sim can"
    )]
    Scheduler {
        /// The scenario.
        scenario: String,
        /// Why.
        error: solo_scx::ScxError,
    },
    /// What a PC is said to have reported on its serial line is no report of this experiment.
    #[error("{}: {error}", Printable(path.display()))]
    Serial {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: solo_qemu::QemuError,
    },
    /// The machine lacks what the scenario needs.
    #[error("{} cannot run `{scenario}`: {lack}", lack.machine())]
    Lacks {
        /// The scenario.
        scenario: String,
        /// What the machine lacks.
        lack: MachineLack,
    },
    /// A run directory can't be written or read.
    #[error("{0}")]
    Run(#[from] solo_report::RunError),
    /// A recording can't be read.
    #[error("{0}")]
    Trace(#[from] solo_trace::TraceError),
    /// A recorded program is not the one that the experiment was made with.
    #[error("{} has changed: expected BLAKE3 {expected}, found {found}", Printable(path.display()))]
    RecordingChanged {
        /// The recording.
        path: PathBuf,
        /// The hash in the experiment.
        expected: String,
        /// The hash of the file.
        found: String,
    },
    /// A file can't be read, a folder can't be taken.
    #[error("{0}")]
    Store(#[from] solo_store::StoreError),
    /// A campaign can't measure what it was asked for.
    #[error("{0}")]
    Campaign(#[from] CampaignError),
    /// A platform that comes with the program is not as it should be.
    #[error("{0}")]
    Platform(Box<solo_scenario::Diagnostics>),
    /// The journal of a sweep or an evaluation can't be gone on with.
    #[error("{}: line {line}: {fault}", Printable(path.display()))]
    Journal {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        fault: JournalFault,
    },
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// What is wrong with the journal of a sweep or an evaluation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum JournalFault {
    /// It is no journal.
    #[error("this is no journal of a sweep or an evaluation")]
    Form,
    /// Of another version.
    #[error("version {found}; this program reads version {known}")]
    Version {
        /// The file's.
        found: u32,
        /// This program's.
        known: u32,
    },
    /// The scenario, the keys, their values or the size are others.
    #[error("it is of another sweep or evaluation; name another folder with --out")]
    OtherWork,
    /// A line is no point, or not as it was written.
    #[error("it is not as it was written")]
    Damaged,
}

impl LabError {
    /// True where one experiment can't run, which says nothing about others; false where going on makes no sense: the
    /// disk is full, somebody asked to stop.
    pub const fn refuses(&self) -> bool {
        matches!(
            self,
            Self::Simulation(_)
                | Self::Refused(_)
                | Self::Lacks { .. }
                | Self::Trace(_)
                | Self::RecordingChanged { .. }
        )
    }
}

/// An error that is about tasks, with what they are called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named<E> {
    /// The error, which knows tasks by number.
    pub error: E,
    /// The names of the experiment's tasks.
    pub names: Vec<String>,
}

impl<E> Named<E> {
    pub(crate) fn new(error: E, experiment: &Experiment) -> Self {
        Self { error, names: experiment.tasks.iter().map(|task| task.name.clone()).collect() }
    }

    pub(crate) fn nameless(error: E) -> Self {
        Self { error, names: Vec::new() }
    }
}

impl<E: Explain> fmt::Display for Named<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.explain(&self.names, f)
    }
}

/// What a machine lacks of what an experiment needs.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MachineLack {
    /// Bare metal can't do it.
    #[error("{0}; take a variant without, or --on sim")]
    Metal(solo_hal::Lack),
    /// A machine that is to boot a medium can't do it.
    #[error("{lack}; take a variant without")]
    Booted {
        /// The machine.
        machine: &'static str,
        /// What it lacks.
        lack: solo_hal::Lack,
    },
    /// Threads of this Linux can't do it.
    #[error("{0}{on_sim}", on_sim = if .0.is_of_programs() { "" } else { "; --on sim can" })]
    Linux(solo_threads::ThreadsLack),
    /// The platform's last level takes in what nearer levels evict, so that no page can be kept in it.
    #[error(
        "the last level of {platform} only holds what the nearer levels have evicted, so that nothing can be locked \
         in it; name a platform whose last level is inclusive or non-inclusive"
    )]
    ExclusiveLastLevel {
        /// The platform.
        platform: String,
    },
}

impl MachineLack {
    /// The machine that lacks it.
    pub const fn machine(&self) -> &'static str {
        match self {
            Self::ExclusiveLastLevel { .. } => "the simulated machine",
            Self::Metal(_) => "bare metal under QEMU",
            Self::Booted { machine, .. } => machine,
            Self::Linux(_) => "Linux",
        }
    }
}

/// Why a campaign can't measure what it was asked for.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CampaignError {
    /// A platform without the prefetcher that is to be switched.
    #[error("{platform} has no prefetcher; a platform file describes one in [prefetcher]")]
    NoPrefetcher {
        /// The platform.
        platform: String,
    },
    /// More events than counters of their own, and none that can be programmed.
    #[error("{platform} has no programmable counter")]
    NoCounter {
        /// The platform.
        platform: String,
    },
    /// A counter can't count an event.
    #[error("{error}")]
    Counter {
        /// The event.
        event: EventId,
        /// Why.
        error: PmuError,
    },
    /// A task whose pages are to be locked touches none.
    #[error("the task `{task}` touches no memory: there is nothing to lock")]
    TouchesNothing {
        /// The task.
        task: String,
    },
    /// More pages than can be locked.
    #[error(
        "{asked} pages can't be locked: the task's profile has {profiled}, and its colors hold {most} at most beside \
         one free way"
    )]
    TooManyPages {
        /// The pages that were asked for.
        asked: u64,
        /// Pages that the task's work touches.
        profiled: u64,
        /// Pages that can be locked.
        most: u64,
    },
    /// The pages can't be locked together.
    #[error("{0}")]
    Lock(Named<LockError>),
    /// A point of a curve without a job.
    #[error("`{task}` finished no job with {} locked", counted(*pages, "page"))]
    NoJob {
        /// The task.
        task: String,
        /// The locked pages.
        pages: u64,
    },
    /// A task whose jobs don't end.
    #[error("`{task}` finished {seen} of {} within the time of the measurement", counted(*wanted, "job"))]
    NoJobEnds {
        /// The task.
        task: String,
        /// Jobs that were wanted.
        wanted: u64,
        /// Jobs that ended.
        seen: u64,
    },
    /// More active cores than a platform has, or none.
    #[error("{asked} active cores: {platform} has 1 to {most} that share no core with a sibling")]
    TooManyCores {
        /// What was asked for.
        asked: usize,
        /// What there is.
        most: usize,
        /// The platform.
        platform: String,
    },
    /// A task whose time beside other cores has no bound.
    #[error("nothing bounds the time of `{task}` beside other cores: {why}")]
    Unbounded {
        /// The task.
        task: String,
        /// Why.
        why: Unbounded,
    },
    /// The DRAM of a platform can't be built.
    #[error("{platform}: {error}")]
    Dram {
        /// The platform.
        platform: String,
        /// Why.
        error: DramError,
    },
    /// Addresses whose granule is no power of two.
    #[error("a granule of {0}: expected a power of two")]
    Granule(Bytes),
    /// Times from which no functions of banks can be told.
    #[error("{0}")]
    Unsolved(InferenceError),
}

/// Why no model bounds a task's time beside other cores.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unbounded {
    /// Nobody regulates bandwidth.
    #[error("no core has a bandwidth budget; say [isolation.bandwidth]")]
    NoBudgets,
    /// A core may get more than its budget, or others than cores use memory.
    #[error("`{key}` of [isolation.bandwidth] lets others use more than equal budgets of last-level misses")]
    LooseBudgets {
        /// The key.
        key: &'static str,
    },
    /// Other tasks may evict lines of the task from the last level.
    #[error("others may evict its lines; give it ways or colors of its own, and leave some to others")]
    SharedCache,
    /// A cache before the last level is shared by active cores.
    #[error("it shares a cache before the last level with an active core")]
    InnerCache,
    /// A task empties caches.
    #[error("a task empties caches (`flush`), which takes everybody's lines; measure it without that step")]
    Flush,
    /// A prefetcher reads lines that are not counted as misses.
    #[error("the platform's prefetcher reads lines that no budget counts")]
    Prefetcher,
    /// Pages are loaded and locked while tasks run.
    #[error("pages are locked while tasks run; say when = \"boot\"")]
    LockedLater,
    /// A device uses memory, too.
    #[error(
        "a device moves data, which equal budgets of cores do not count; solo check does, where bandwidth is reserved for it"
    )]
    Device,
    /// A period has no transaction for each of so many cores.
    #[error("the regulation period has no room for a miss of each of {cores} cores")]
    ShortPeriod {
        /// The cores.
        cores: usize,
    },
}
