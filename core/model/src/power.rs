//! What cores and memory draw: the power model behind the energy meter of the simulated machine (PMCTrack 4.2).
//!
//! ```text
//!   energy of a cluster = events times their costs (CoreKind::energy) + cores that work, by time + cores that idle, by time
//!                         + what its cores share, by time
//!   energy of memory    = commands times their costs + refreshes + background, by time
//! ```
//! A milliwatt for a picosecond is a femtojoule, so that all of it is exact in whole femtojoules.

use crate::id::{JobIndex, KindId, TaskId};
use crate::units::{Duration, Energy, Events, Instant, Power};
use alloc::vec::Vec;

/// What the meter of a platform knows.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PowerModel {
    /// By kind of core, as in [`Platform`](crate::Platform): the cores of a kind are a cluster and have one meter.
    pub clusters: Vec<ClusterPower>,
    /// Memory's, where it has a meter.
    pub dram: Option<DramPower>,
}

/// What a cluster draws whatever it counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ClusterPower {
    /// A core that runs a thread or the kernel.
    #[cfg_attr(feature = "serde", serde(rename = "on_mw"))]
    pub on: Power,
    /// A core that does neither: its clock and its supply are gated at once.
    #[cfg_attr(feature = "serde", serde(rename = "gated_mw"))]
    pub gated: Power,
    /// What its cores share, all the time.
    #[cfg_attr(feature = "serde", serde(rename = "shared_mw"))]
    pub shared: Power,
}

/// What memory draws.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DramPower {
    /// A row is opened, and closed again.
    #[cfg_attr(feature = "serde", serde(rename = "activate_fj"))]
    pub activate: Energy,
    /// A line is read from an open row.
    #[cfg_attr(feature = "serde", serde(rename = "read_fj"))]
    pub read: Energy,
    /// A line is written to an open row.
    #[cfg_attr(feature = "serde", serde(rename = "write_fj"))]
    pub write: Energy,
    /// A rank is refreshed.
    #[cfg_attr(feature = "serde", serde(rename = "refresh_fj"))]
    pub refresh: Energy,
    /// All of it, all the time.
    #[cfg_attr(feature = "serde", serde(rename = "background_mw"))]
    pub background: Power,
}

/// What has a meter of its own; its register can be read at any instant (PMCTrack 4.2.1: per cluster and for memory).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum PowerDomain {
    /// The cores of a kind, with their caches.
    Cluster(KindId),
    /// Memory.
    Dram,
}

/// Who used energy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Consumer {
    /// A job, on cores of one kind: one that has moved between kinds has a record for each.
    Job {
        /// The task.
        task: TaskId,
        /// The job.
        job: JobIndex,
        /// The kind of the cores.
        kind: KindId,
    },
    /// What has a meter, since its last record.
    Domain(PowerDomain),
    /// All that has a meter, in a window of a task: read together with its counters.
    Window {
        /// The task, which need not have used it.
        task: TaskId,
        /// The kind of the core that it was on.
        kind: KindId,
        /// What the first counter counted in the window.
        events: Events,
        /// How long the task was on the core in it.
        #[cfg_attr(feature = "serde", serde(rename = "span_ns"))]
        span: Duration,
    },
}

/// Energy that was used: of a job right behind its record or at the end of the run, of what has a meter at the end of each sampling
/// interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct EnergyRecord {
    /// The end of the time in which it was used.
    pub at: Instant,
    /// Who used it.
    pub of: Consumer,
    /// By events on cores, or by commands of memory; of a window all that was used.
    #[cfg_attr(feature = "serde", serde(rename = "dynamic_fj"))]
    pub dynamic: Energy,
    /// By time: of a job that of its core while it was there, of memory that of refreshes and background.
    #[cfg_attr(feature = "serde", serde(rename = "static_fj"))]
    pub fixed: Energy,
    /// By commands of memory for a job, which memory's own meter counts as well; zero of what has a meter.
    #[cfg_attr(feature = "serde", serde(rename = "dram_fj"))]
    pub dram: Energy,
}

impl EnergyRecord {
    /// All of it.
    pub const fn total(&self) -> Energy {
        self.dynamic.saturating_add(self.fixed).saturating_add(self.dram)
    }
}
