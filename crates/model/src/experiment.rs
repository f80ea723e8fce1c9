//! A resolved scenario: everything a machine needs to run, in the words of this crate.
//!
//! The scenario file is for people; an experiment has every default filled in, every name resolved to an
//! index and nothing left to decide. It is serialised into the run directory and sent to the bare-metal
//! machine as its boot module.

use crate::isolation::Isolation;
use crate::overhead::OverheadTable;
use crate::platform::Platform;
use crate::policy::Policy;
use crate::task::Task;
use crate::units::Duration;
use crate::work::{Buffer, Lock, TraceSource};
use alloc::string::String;
use alloc::vec::Vec;

/// When a run ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum End {
    /// When each periodic task has finished this many jobs (a task that cannot finish them is cut off at
    /// twice the time that the slowest would take by its period).
    Jobs(u64),
    /// At this time.
    At(Duration),
}

/// A resolved scenario.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Experiment {
    /// The scenario's name.
    pub name: String,
    /// The variant's name; empty for the scenario as it stands.
    pub variant: String,
    /// The chip.
    pub platform: Platform,
    /// The scheduling policy.
    pub policy: Policy,
    /// What kernel paths cost on the simulated machine; other machines measure.
    pub overheads: OverheadTable,
    /// The tasks, in the order of the file: `TaskId(i)` is `tasks[i]`.
    pub tasks: Vec<Task>,
    /// Memory that tasks touch.
    pub buffers: Vec<Buffer>,
    /// Semaphores and mutexes.
    pub locks: Vec<Lock>,
    /// Recorded programs.
    pub traces: Vec<TraceSource>,
    /// Who owns which colors, banks, ways and locked pages, and how much bandwidth.
    #[cfg_attr(feature = "serde", serde(default))]
    pub isolation: Isolation,
    /// When the run ends.
    pub end: End,
    /// The interval at which each core's counters are sampled.
    pub sample_every: Duration,
    /// The source of all randomness.
    pub seed: u64,
    /// On the simulated machine, more jobs than this are spread over several independent runs; see
    /// [`replication`](crate::replication). At least 1.
    #[cfg_attr(feature = "serde", serde(default))]
    pub jobs_per_replication: Option<u64>,
}

impl Experiment {
    /// Tasks under a policy on a chip until `end`, and nothing else: no buffers, locks, recordings and isolation, kernel
    /// paths that cost nothing, seed 1. Counters are sampled at the end, or each millisecond where that is no time.
    pub fn new(name: &str, platform: Platform, policy: Policy, tasks: Vec<Task>, end: End) -> Self {
        Self {
            name: name.into(),
            variant: String::new(),
            platform,
            policy,
            overheads: OverheadTable::free(),
            tasks,
            buffers: Vec::new(),
            locks: Vec::new(),
            traces: Vec::new(),
            isolation: Isolation::default(),
            end,
            sample_every: match end {
                End::At(time) => time,
                End::Jobs(_) => Duration::from_millis(1),
            },
            seed: 1,
            jobs_per_replication: None,
        }
    }
}
