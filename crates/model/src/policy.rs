//! Scheduling policies as a description: a criterion composed with the number of queues and heads.

use crate::id::CoreSet;
use crate::units::Duration;
use alloc::vec::Vec;
use core::fmt;

/// The ordering rule of a policy (EPOS's `Criterion`, thesis 4.2): which job is more urgent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Criterion {
    /// Earliest deadline first (thesis 2.4.1.2).
    Edf,
    /// Rate monotonic: the shorter the period, the more urgent (thesis 2.4.1.1).
    Rm,
    /// Deadline monotonic: the shorter the relative deadline, the more urgent.
    Dm,
    /// Least laxity first: release + deadline - now - remaining execution time (thesis 2.4.1.3).
    Llf,
    /// Shortest job first, by declared execution time.
    Sjf,
    /// First come, first served; a job runs until it finishes or blocks.
    Fcfs,
    /// Round robin with a quantum.
    RoundRobin,
    /// The scenario's priorities.
    StaticPriority,
    /// The scenario's priorities, where each task is bound to its own core's queue (EPOS's `CPU_Affinity`).
    CpuAffinity,
}

impl Criterion {
    /// All criteria, in the order of the documentation.
    pub const ALL: [Self; 9] = [
        Self::Edf,
        Self::Rm,
        Self::Dm,
        Self::Llf,
        Self::Sjf,
        Self::Fcfs,
        Self::RoundRobin,
        Self::StaticPriority,
        Self::CpuAffinity,
    ];

    /// The name in scenario files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Edf => "EDF",
            Self::Rm => "RM",
            Self::Dm => "DM",
            Self::Llf => "LLF",
            Self::Sjf => "SJF",
            Self::Fcfs => "FCFS",
            Self::RoundRobin => "RR",
            Self::StaticPriority => "FP",
            Self::CpuAffinity => "AFFINITY",
        }
    }

    /// True where each task is bound to its core, whatever the scope: then each core has a queue of its own.
    pub const fn is_bound(self) -> bool {
        matches!(self, Self::CpuAffinity)
    }
}

/// Which cores share a ready queue. EPOS's QUEUES is the number of domains, HEADS the cores in each.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Scope {
    /// A queue for each core; tasks stay where they are assigned.
    Partitioned,
    /// A queue for each of these disjoint sets; tasks move within their set.
    Clustered(Vec<CoreSet>),
    /// One queue for all cores.
    Global,
}

impl Scope {
    /// The scheduling domains on a machine with `cores` cores, in order of their lowest core.
    pub fn domains(&self, cores: usize) -> Vec<CoreSet> {
        let all = CoreSet::first(cores);
        match self {
            Self::Partitioned => all.iter().map(CoreSet::only).collect(),
            Self::Global => alloc::vec![all],
            Self::Clustered(clusters) => clusters.clone(),
        }
    }

    /// The letter before the criterion: `P`, `C` or `G`.
    pub const fn letter(&self) -> char {
        match self {
            Self::Partitioned => 'P',
            Self::Clustered(_) => 'C',
            Self::Global => 'G',
        }
    }
}

/// How the kernel learns of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Timing {
    /// The timer is programmed for the next event.
    OneShot,
    /// The timer interrupts at every multiple of this period, and releases happen at ticks (thesis 2.5).
    Tick(Duration),
}

/// How tasks share cores.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Policy {
    /// Partitioned, clustered or global.
    pub scope: Scope,
    /// The ordering rule.
    pub criterion: Criterion,
    /// Tick-driven or one-shot.
    pub timing: Timing,
    /// The time slice of round robin and the interval at which LLF looks again; `None` where the criterion
    /// needs none.
    pub quantum: Option<Duration>,
}

impl Policy {
    /// With one-shot timers and without a quantum.
    pub const fn new(scope: Scope, criterion: Criterion) -> Self {
        Self { scope, criterion, timing: Timing::OneShot, quantum: None }
    }

    /// The scheduling domains on a machine with `cores` cores, in the order of their lowest core: those of the scope,
    /// or one for each core where the criterion binds tasks to cores.
    pub fn domains(&self, cores: usize) -> Vec<CoreSet> {
        let scope = if self.criterion.is_bound() { &Scope::Partitioned } else { &self.scope };
        scope.domains(cores)
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.scope.letter(), self.criterion.name())
    }
}
