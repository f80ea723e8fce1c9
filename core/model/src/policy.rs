//! Scheduling policies as a description: a criterion composed with the number of queues and heads.

use crate::id::CoreSet;
use crate::units::Duration;
use alloc::vec::Vec;
use core::fmt;

/// The criteria, a line each: the line registers a criterion for the whole house.
///
/// ```text
/// /// What it is.
/// Type = "NAME in scenario files", file: facts;
/// ```
/// `$with!` is called with all lines: here it makes [`Criterion`], in `solo-schedule` the list of the criteria's files.
#[macro_export]
macro_rules! criteria {
    ($with:ident) => {
        $with! {
            /// Earliest deadline first (thesis 2.4.1.2).
            Edf = "EDF", edf: Facts::by(&[Parameter::Deadline]).proved_as(Theory::Edf);
            /// Rate monotonic: the shorter the period, the more urgent (thesis 2.4.1.1).
            Rm = "RM", rm: Facts::by(&[Parameter::Period]).proved_as(Theory::Fixed(FixedBy::Period));
            /// Deadline monotonic: the shorter the relative deadline, the more urgent.
            Dm = "DM", dm: Facts::by(&[Parameter::Deadline]).proved_as(Theory::Fixed(FixedBy::Deadline));
            /// Least laxity first: release + deadline - now - remaining execution time (thesis 2.4.1.3).
            Llf = "LLF", llf: Facts::by(&[Parameter::Deadline, Parameter::Wcet]).sliced(1, None);
            /// Shortest job first, by declared execution time.
            Sjf = "SJF", sjf: Facts::by(&[Parameter::Wcet]);
            /// First come, first served; a job runs until it finishes or blocks.
            Fcfs = "FCFS", fcfs: Facts::by(&[]).without_preemption();
            /// Round robin with a quantum.
            RoundRobin = "RR", round_robin: Facts::by(&[]).sliced(10, Some("thesis 8.4"));
            /// The scenario's priorities.
            StaticPriority = "FP", static_priority:
                Facts::by(&[Parameter::Priority]).proved_as(Theory::Fixed(FixedBy::Priority));
            /// The scenario's priorities, where each task is bound to its own core's queue (EPOS's `CPU_Affinity`).
            CpuAffinity = "AFFINITY", cpu_affinity:
                Facts::by(&[Parameter::Priority]).proved_as(Theory::Fixed(FixedBy::Priority)).bound();
        }
    };
}

macro_rules! define {
    ($($(#[$doc:meta])* $name:ident = $word:literal, $file:ident: $facts:expr;)+) => {
        /// The ordering rule of a policy (EPOS's `Criterion`, thesis 4.2): which job is more urgent.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
        pub enum Criterion { $($(#[$doc])* $name,)+ }

        impl Criterion {
            /// All criteria, in the order of the documentation.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$name),+];

            /// The name in scenario files.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $word),+ }
            }

            /// What others than the scheduler have to know of it.
            pub const fn facts(self) -> Facts {
                match self { $(Self::$name => $facts),+ }
            }
        }
    };
}

criteria!(define);

impl Criterion {
    /// True where each task is bound to its core, whatever the scope: then each core has a queue of its own.
    pub const fn is_bound(self) -> bool {
        self.facts().bound
    }

    /// True where hard and soft tasks need this parameter to be ordered.
    pub fn needs(self, parameter: Parameter) -> bool {
        self.facts().needs.contains(&parameter)
    }
}

/// What a criterion's registration says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Facts {
    /// What hard and soft tasks need to be ordered; the core apart.
    pub needs: &'static [Parameter],
    /// By which analysis its schedules can be judged.
    pub theory: Theory,
    /// The usual quantum, where one has a meaning, and who published it.
    pub quantum: Option<(Duration, Option<&'static str>)>,
    /// Each task is bound to its core.
    pub bound: bool,
    /// A more urgent job takes a core away from one that runs there.
    pub preemptive: bool,
}

impl Facts {
    /// Of a criterion that orders by these parameters, without a quantum, and which no analysis judges.
    const fn by(needs: &'static [Parameter]) -> Self {
        Self { needs, theory: Theory::None, quantum: None, bound: false, preemptive: true }
    }

    const fn proved_as(self, theory: Theory) -> Self {
        Self { theory, ..self }
    }

    const fn sliced(self, milliseconds: u64, source: Option<&'static str>) -> Self {
        Self { quantum: Some((Duration::from_millis(milliseconds), source)), ..self }
    }

    const fn bound(self) -> Self {
        Self { bound: true, ..self }
    }

    const fn without_preemption(self) -> Self {
        Self { preemptive: false, ..self }
    }
}

/// The analysis that judges a criterion's schedules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Theory {
    /// That of earliest deadline first.
    Edf,
    /// That of fixed priorities.
    Fixed(FixedBy),
    /// None is known here: such schedules are run and not proved.
    None,
}

/// What gives tasks their fixed priorities: the lower, the more urgent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FixedBy {
    /// The period.
    Period,
    /// The relative deadline.
    Deadline,
    /// The scenario.
    Priority,
}

/// Something a criterion needs to know of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parameter {
    /// The relative deadline.
    Deadline,
    /// The period.
    Period,
    /// The worst-case execution time.
    Wcet,
    /// The static priority.
    Priority,
    /// The core it is assigned to.
    Core,
}

impl Parameter {
    /// The key in a scenario file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Deadline => "deadline",
            Self::Period => "period",
            Self::Wcet => "wcet",
            Self::Priority => "priority",
            Self::Core => "core",
        }
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
    /// Of cores that share a queue the fastest has the most urgent job, the next fastest the next: jobs move up when a faster core
    /// becomes free, and down when a more urgent job comes. Otherwise a job stays where it is until it is preempted.
    #[cfg_attr(feature = "serde", serde(default))]
    pub fastest_first: bool,
}

impl Policy {
    /// With one-shot timers, without a quantum, and whichever core is free for a job.
    pub const fn new(scope: Scope, criterion: Criterion) -> Self {
        Self { scope, criterion, timing: Timing::OneShot, quantum: None, fastest_first: false }
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
