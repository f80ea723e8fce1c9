//! Who takes the most urgent threads in SCHED_FIFO's place: a scheduler that is told how urgent each job is.

use crate::cpus::CpuCores;
use crate::host::Host;
use crate::lack::ThreadsLack;
use crate::priorities;
use solo_model::work::LockProtocol;
use solo_model::{CoreId, CoreSet, Experiment, Instant, LockId, TaskId};
use std::io;

/// A scheduler of a live system that runs those threads of a domain that have the lowest keys. Threads of one key go by the numbers of
/// their tasks.
pub trait Plane: Sync {
    /// From now on the thread of this number, as the kernel knows it, is that of a task, and has a key.
    ///
    /// # Errors
    /// What the system says.
    fn enter(&self, task: TaskId, thread: u32, key: u64) -> io::Result<()>;

    /// A task's thread has another key from when it is ready next, or yields.
    ///
    /// # Errors
    /// What the system says.
    fn rank(&self, task: TaskId, key: u64) -> io::Result<()>;

    /// Which locks raise who holds them.
    fn raises(&self) -> Raises {
        Raises::NONE
    }

    /// A task's thread, which takes a lock with a ceiling or is about to, comes before those of `others`, which may ask for the lock, until it
    /// gives it back. Only where the plane [`raises`](Self::raises) to ceilings.
    ///
    /// # Errors
    /// What the system says.
    fn raise(&self, _task: TaskId, _lock: LockId, _others: &[TaskId]) -> io::Result<()> {
        Ok(())
    }

    /// It has given the lock back.
    ///
    /// # Errors
    /// What the system says.
    fn lower(&self, _task: TaskId, _lock: LockId) -> io::Result<()> {
        Ok(())
    }

    /// Looks after itself: called some hundred times a second, by a thread that is more urgent than all others.
    fn look(&self);
}

/// Which locks raise who holds them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Raises {
    /// To the most urgent who waits.
    pub by_inheritance: bool,
    /// Above all who may ask, at once.
    pub to_ceiling: bool,
}

impl Raises {
    /// None does.
    pub const NONE: Self = Self { by_inheritance: false, to_ceiling: false };
}

/// A plane, and how urgent jobs are there.
#[derive(Clone, Copy)]
pub struct Ranking<'p> {
    /// Who schedules.
    pub plane: &'p dyn Plane,
    /// The key of a task's job with this absolute deadline.
    pub key: &'p (dyn Fn(TaskId, Option<Instant>) -> u64 + Sync),
}

/// CPUs of a plane have numbers below this.
const CPUS: usize = 64;

/// The domains of an experiment on this host's CPUs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlaneDomains {
    /// The CPUs of each, as cores of these numbers.
    pub cpus: Vec<CoreSet>,
    /// The domain of each task.
    pub of_task: Vec<usize>,
}

/// Which CPUs share threads when an experiment runs here.
///
/// # Errors
/// Where a plane can't keep the meaning of the experiment: a criterion whose ranks change while a job waits, or locks that raise who
/// holds them, unless it [`raises`](Plane::raises) them so.
pub fn plane_domains(
    experiment: &Experiment,
    host: &Host,
    raises: Raises,
) -> Result<PlaneDomains, ThreadsLack> {
    admit(experiment, raises)?;
    let used = priorities::used_cores(experiment);
    if used.len() > host.cpus.len() {
        return Err(ThreadsLack::Cpus { needed: used.len(), available: host.cpus.len() });
    }
    let cores = CpuCores::new(used, &host.cpus);
    let numbers = cores.pairs().iter().map(|(cpu, _)| *cpu);
    if let Some(cpu) = numbers.max().filter(|cpu| *cpu >= CPUS) {
        return Err(ThreadsLack::Number { cpu, most: CPUS - 1 });
    }
    let cpus = |task| {
        let cpus = cores.cpus(priorities::cores(experiment, task));
        cpus.into_iter().fold(CoreSet::EMPTY, |set, cpu| set.with(CoreId(cpu as u16)))
    };
    let mut domains = PlaneDomains { cpus: Vec::new(), of_task: Vec::new() };
    for own in experiment.tasks.iter().map(cpus) {
        let known = domains.cpus.iter().position(|known| *known == own);
        domains.of_task.push(known.unwrap_or(domains.cpus.len()));
        if known.is_none() {
            domains.cpus.push(own);
        }
    }
    Ok(domains)
}

/// What a plane can't do that raises who holds locks so.
pub(crate) fn admit(experiment: &Experiment, raises: Raises) -> Result<(), ThreadsLack> {
    let criterion = experiment.policy.criterion;
    let facts = criterion.facts();
    // Who has a quantum ranks jobs by the time or in turns; who does not preempt lets ranks wait.
    if facts.quantum.is_some() || !facts.preemptive {
        return Err(ThreadsLack::NoRank(criterion));
    }
    let unknown = |protocol| match protocol {
        LockProtocol::Inheritance => !raises.by_inheritance,
        LockProtocol::Ceiling => !raises.to_ceiling,
        LockProtocol::Plain | LockProtocol::Semaphore { .. } => false,
    };
    match experiment.locks.iter().find(|lock| unknown(lock.protocol)) {
        Some(lock) => Err(ThreadsLack::Raising { lock: lock.name.clone() }),
        None => Ok(()),
    }
}
