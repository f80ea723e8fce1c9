//! Whether a policy can run these tasks on this machine: checked first, so that starting cannot fail.

use crate::criterion::{Criterion, Parameter, TaskParameters};
use alloc::vec::Vec;
use core::fmt;
use solo_model::migration::Stays;
use solo_model::names::{Explain, TaskNames, called};
use solo_model::policy::{Policy, Scope, Timing};
use solo_model::task::Release;
use solo_model::{Caps, CoreId, CoreSet, Duration, LockId, MonitorKind, TaskClass, TaskId};

/// The longest period, offset, deadline, execution time or quantum: about 36 years. Sums of a few of them
/// stay far from the end of time.
pub const LONGEST: Duration = Duration::new(1 << 60);

/// Why the windows of a core can't be kept to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WindowRefusal {
    /// Its queue serves other cores, too: their tasks would run in its windows.
    SharedQueue,
    /// A policy listens, which may move tasks out of their windows.
    Listener,
    /// A time of its windows lies between two ticks.
    BetweenTicks {
        /// The time.
        time: Duration,
        /// The tick.
        tick: Duration,
    },
    /// A time of its windows is finer than the machine's timer.
    TooFine {
        /// The time.
        time: Duration,
        /// The finest that the machine can do.
        finest: Duration,
    },
}

impl fmt::Display for WindowRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SharedQueue => f.write_str("its queue serves other cores, too"),
            Self::Listener => f.write_str("a policy that listens may move tasks out of them"),
            Self::BetweenTicks { time, tick } => write!(f, "{time} is no multiple of the tick of {tick}"),
            Self::TooFine { time, finest } => {
                write!(f, "{time} is finer than the machine's timer, which can do {finest}")
            }
        }
    }
}

/// Why a policy cannot run these tasks on this machine.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum PolicyRefusal {
    /// There is no core.
    NoCores,
    /// The windows of a core can't be kept to.
    Windows {
        /// The core.
        core: CoreId,
        /// What about them.
        why: WindowRefusal,
    },
    /// The machine lacks a core.
    NoSuchCore {
        /// The task that is assigned to it, or `None` where the experiment as a whole needs it.
        task: Option<TaskId>,
        /// The core.
        core: CoreId,
    },
    /// More threads than the machine takes.
    TooManyThreads {
        /// The tasks.
        threads: usize,
        /// The limit.
        most: u32,
    },
    /// The criterion orders by something that the task does not have.
    Missing {
        /// The task.
        task: TaskId,
        /// What it lacks.
        parameter: Parameter,
        /// The criterion.
        criterion: &'static str,
    },
    /// There is more than one queue and the task is assigned to none.
    Unassigned {
        /// The task.
        task: TaskId,
    },
    /// A time that must be above zero is zero.
    Zero {
        /// The task.
        task: TaskId,
        /// Which of its times.
        parameter: Parameter,
    },
    /// A time is longer than [`LONGEST`].
    TooLong {
        /// The task, or `None` for the policy's own times.
        task: Option<TaskId>,
    },
    /// A period or quantum is finer than the machine's timer.
    TooFine {
        /// The task, or `None` for the quantum.
        task: Option<TaskId>,
        /// The finest that the machine can do.
        finest: Duration,
    },
    /// A core belongs to two clusters.
    ClustersOverlap {
        /// The core.
        core: CoreId,
    },
    /// A core belongs to no cluster.
    Unclustered {
        /// The core.
        core: CoreId,
    },
    /// A cluster has no core.
    EmptyCluster {
        /// Its position in the list.
        cluster: usize,
    },
    /// The criterion preempts and the machine cannot.
    NoPreemption {
        /// The criterion.
        criterion: &'static str,
    },
    /// A thread may have to run on another core than the one that wakes it, and the machine has no
    /// reschedule requests.
    NoRescheduleRequests,
    /// The policy is event-driven and the machine's timer only ticks.
    NoOneShotTimer,
    /// The tick is zero or finer than the timer.
    TickTooFine {
        /// The tick.
        tick: Duration,
        /// The finest that the machine can do.
        finest: Duration,
    },
    /// The criterion needs a quantum and has none, or one of zero.
    NoQuantum {
        /// The criterion.
        criterion: &'static str,
    },
    /// Bandwidth is to be regulated, and the counters of the machine don't interrupt.
    NoCounterOverflow,
    /// Budgets and others need more counters than there are.
    TooFewCounters {
        /// How many who asked last needs.
        needed: usize,
        /// How many others have.
        taken: usize,
        /// How many each core has.
        counters: u8,
    },
    /// Somebody asked for counters twice.
    CountedTwice,
    /// Ways or locks of a cache are to be given and taken, and the machine has none.
    NoCacheControl,
    /// The metric that the scheduler listens to can't be made of the events or the expression that are said.
    NoMonitor(MonitorKind),
    /// A task is to migrate from core to core and can't.
    Stays {
        /// The task.
        task: TaskId,
        /// Why not.
        why: Stays,
    },
    /// A task uses a lock that does not exist.
    NoSuchLock {
        /// The task.
        task: TaskId,
        /// The lock.
        lock: LockId,
    },
}

const NO_REQUESTS: &str = "threads are woken across cores, and the machine has no reschedule requests";

impl fmt::Display for PolicyRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.explain(&(), f)
    }
}

impl Explain for PolicyRefusal {
    fn explain(&self, names: &dyn TaskNames, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let called = |task: &TaskId| called(names, *task);
        match self {
            Self::NoCores => write!(f, "there is no core to run on"),
            Self::Windows { core, why } => write!(f, "the windows of {core} can't be kept to: {why}"),
            Self::NoSuchCore { task: Some(task), core } => {
                write!(f, "{} is assigned to {core}, which does not exist", called(task))
            }
            Self::NoSuchCore { task: None, core } => write!(f, "{core} does not exist"),
            Self::TooManyThreads { threads, most } => {
                write!(f, "{threads} tasks, but the machine takes at most {most} threads")
            }
            Self::Missing { task, parameter, criterion } => {
                write!(f, "{criterion} orders by {}, and {} has none", parameter.name(), called(task))
            }
            Self::Unassigned { task } => {
                write!(
                    f,
                    "{} is not assigned to a core, and each core or cluster has its own queue",
                    called(task)
                )
            }
            Self::Zero { task, parameter } => {
                write!(f, "the {} of {} is zero", parameter.name(), called(task))
            }
            Self::TooLong { task: Some(task) } => {
                write!(f, "{} has a time longer than {LONGEST}", called(task))
            }
            Self::TooLong { task: None } => write!(f, "a tick or quantum is longer than {LONGEST}"),
            Self::TooFine { task: Some(task), finest } => {
                write!(
                    f,
                    "the period of {} is finer than the machine's timer, which can do {finest}",
                    called(task)
                )
            }
            Self::TooFine { task: None, finest } => {
                write!(f, "the quantum is finer than the machine's timer, which can do {finest}")
            }
            Self::ClustersOverlap { core } => write!(f, "{core} belongs to two clusters"),
            Self::Unclustered { core } => write!(f, "{core} belongs to no cluster"),
            Self::EmptyCluster { cluster } => write!(f, "cluster {cluster} has no core"),
            Self::NoPreemption { criterion } => {
                write!(f, "{criterion} preempts, and the machine cannot take a core from a thread")
            }
            Self::NoRescheduleRequests => f.write_str(NO_REQUESTS),
            Self::NoOneShotTimer => write!(f, "the machine's timer only ticks: give the policy a tick"),
            Self::TickTooFine { tick, finest } => {
                write!(f, "a tick of {tick} is finer than the machine's timer, which can do {finest}")
            }
            Self::NoQuantum { criterion } => write!(f, "{criterion} needs a quantum above zero"),
            Self::NoCounterOverflow => {
                write!(f, "bandwidth is to be regulated, and the machine's counters raise no interrupt")
            }
            Self::TooFewCounters { needed, taken, counters } => write!(
                f,
                "{needed} programmable counters are needed beside {taken} in use; each core has {counters}"
            ),
            Self::NoCacheControl => {
                write!(f, "the machine can't give away ways of its cache or lock pages there")
            }
            Self::NoMonitor(monitor) => write!(f, "monitor `{}` can't be made of that", monitor.name()),
            Self::CountedTwice => write!(f, "the same user asks for counters twice"),
            Self::Stays { task, why } => write!(f, "{} can't migrate each period: {why}", called(task)),
            Self::NoSuchLock { task, lock } => {
                write!(f, "{} uses {lock}, which does not exist", called(task))
            }
        }
    }
}

impl core::error::Error for PolicyRefusal {}

impl PolicyRefusal {
    /// The task that is the reason, where it is a single one: for a message that points at its line.
    pub const fn task(&self) -> Option<TaskId> {
        match self {
            Self::NoSuchCore { task, .. } | Self::TooLong { task } | Self::TooFine { task, .. } => *task,
            Self::Missing { task, .. }
            | Self::Unassigned { task }
            | Self::Zero { task, .. }
            | Self::Stays { task, .. }
            | Self::NoSuchLock { task, .. } => Some(*task),
            Self::NoCores
            | Self::Windows { .. }
            | Self::TooManyThreads { .. }
            | Self::ClustersOverlap { .. }
            | Self::Unclustered { .. }
            | Self::EmptyCluster { .. }
            | Self::NoPreemption { .. }
            | Self::NoRescheduleRequests
            | Self::NoCounterOverflow
            | Self::TooFewCounters { .. }
            | Self::CountedTwice
            | Self::NoMonitor(_)
            | Self::NoCacheControl
            | Self::NoOneShotTimer
            | Self::TickTooFine { .. }
            | Self::NoQuantum { .. } => None,
        }
    }
}

/// Checks whether criterion `C` under `policy` can run `tasks` on cores 0 to `cores` - 1 of a machine, and
/// returns the scheduling domains.
///
/// # Errors
/// The first [`PolicyRefusal`] found: machine first, then the policy, then the tasks in their order.
pub fn admit<C: Criterion>(
    policy: &Policy,
    tasks: &[TaskParameters],
    cores: usize,
    caps: &Caps,
) -> Result<Vec<CoreSet>, PolicyRefusal> {
    admit_by(&Demands::of::<C>(), policy, tasks, cores, caps)
}

/// What a criterion demands, as a value: the checks are compiled once.
struct Demands {
    name: &'static str,
    preemptive: bool,
    rotates: bool,
    timed: bool,
    bound: bool,
    missing: fn(&TaskParameters) -> Option<Parameter>,
}

impl Demands {
    fn of<C: Criterion>() -> Self {
        Self {
            name: C::NAME,
            preemptive: C::PREEMPTIVE,
            rotates: C::ROTATES,
            timed: C::TIMED,
            bound: C::BOUND,
            missing: C::missing,
        }
    }
}

#[inline(never)] // once, not for each criterion
fn admit_by(
    criterion: &Demands,
    policy: &Policy,
    tasks: &[TaskParameters],
    cores: usize,
    caps: &Caps,
) -> Result<Vec<CoreSet>, PolicyRefusal> {
    check_machine(tasks, cores, caps)?;
    check_timing(criterion, policy, caps)?;
    let domains = domains(criterion, policy, cores)?;
    if criterion.preemptive && !caps.preemption {
        return Err(PolicyRefusal::NoPreemption { criterion: criterion.name });
    }
    if !caps.reschedule_ipi && domains.iter().any(|domain| domain.len() > 1) {
        return Err(PolicyRefusal::NoRescheduleRequests);
    }
    for (index, task) in tasks.iter().enumerate() {
        check_task(criterion, TaskId(index as u32), task, &domains, caps.timer_resolution)?;
    }
    Ok(domains)
}

fn check_machine(tasks: &[TaskParameters], cores: usize, caps: &Caps) -> Result<(), PolicyRefusal> {
    if cores == 0 {
        return Err(PolicyRefusal::NoCores);
    }
    if let Some(core) = (0..cores).map(|core| CoreId(core as u16)).find(|&core| !caps.cores.contains(core)) {
        return Err(PolicyRefusal::NoSuchCore { task: None, core });
    }
    if tasks.len() > caps.threads_max as usize {
        return Err(PolicyRefusal::TooManyThreads { threads: tasks.len(), most: caps.threads_max });
    }
    Ok(())
}

fn check_timing(criterion: &Demands, policy: &Policy, caps: &Caps) -> Result<(), PolicyRefusal> {
    match policy.timing {
        Timing::OneShot if !caps.one_shot_timer => return Err(PolicyRefusal::NoOneShotTimer),
        Timing::Tick(tick) if tick.is_zero() || tick < caps.timer_resolution => {
            return Err(PolicyRefusal::TickTooFine { tick, finest: caps.timer_resolution });
        }
        Timing::Tick(tick) if tick > LONGEST => return Err(PolicyRefusal::TooLong { task: None }),
        _ => {}
    }
    match policy.quantum {
        None if criterion.rotates => Err(PolicyRefusal::NoQuantum { criterion: criterion.name }),
        Some(quantum) if criterion.timed && quantum.is_zero() => {
            Err(PolicyRefusal::NoQuantum { criterion: criterion.name })
        }
        Some(quantum) if quantum > LONGEST => Err(PolicyRefusal::TooLong { task: None }),
        Some(quantum) if criterion.timed && quantum < caps.timer_resolution => {
            Err(PolicyRefusal::TooFine { task: None, finest: caps.timer_resolution })
        }
        _ => Ok(()),
    }
}

fn domains(criterion: &Demands, policy: &Policy, cores: usize) -> Result<Vec<CoreSet>, PolicyRefusal> {
    let all = CoreSet::first(cores);
    if let Scope::Clustered(clusters) = &policy.scope {
        let mut seen = CoreSet::EMPTY;
        for (position, cluster) in clusters.iter().enumerate() {
            if cluster.is_empty() {
                return Err(PolicyRefusal::EmptyCluster { cluster: position });
            }
            if let Some(core) = CoreSet::from_bits(cluster.bits() & !all.bits()).lowest() {
                return Err(PolicyRefusal::NoSuchCore { task: None, core });
            }
            if let Some(core) = cluster.and(seen).lowest() {
                return Err(PolicyRefusal::ClustersOverlap { core });
            }
            seen = seen.or(*cluster);
        }
        if let Some(core) = CoreSet::from_bits(all.bits() & !seen.bits()).lowest() {
            return Err(PolicyRefusal::Unclustered { core });
        }
    }
    let scope = if criterion.bound { &Scope::Partitioned } else { &policy.scope };
    Ok(scope.domains(cores))
}

fn check_task(
    criterion: &Demands,
    id: TaskId,
    task: &TaskParameters,
    domains: &[CoreSet],
    finest: Duration,
) -> Result<(), PolicyRefusal> {
    let period = task.release.period();
    let times = [Some(task.release.offset()), period, task.deadline, task.wcet];
    if times.into_iter().flatten().any(|time| time > LONGEST) {
        return Err(PolicyRefusal::TooLong { task: Some(id) });
    }
    if matches!(task.release, Release::Periodic { .. } | Release::Sporadic { .. })
        && period.is_some_and(Duration::is_zero)
    {
        return Err(PolicyRefusal::Zero { task: id, parameter: Parameter::Period });
    }
    // A handler would have to release one job after the other without end.
    if period.is_some_and(|period| period < finest) {
        return Err(PolicyRefusal::TooFine { task: Some(id), finest });
    }
    if task.deadline.is_some_and(Duration::is_zero) {
        return Err(PolicyRefusal::Zero { task: id, parameter: Parameter::Deadline });
    }
    if task.class != TaskClass::BestEffort
        && let Some(parameter) = (criterion.missing)(task)
    {
        return Err(PolicyRefusal::Missing { task: id, parameter, criterion: criterion.name });
    }
    match task.core {
        Some(core) if !domains.iter().any(|domain| domain.contains(core)) => {
            Err(PolicyRefusal::NoSuchCore { task: Some(id), core })
        }
        None if domains.len() > 1 => Err(PolicyRefusal::Unassigned { task: id }),
        _ => Ok(()),
    }
}
