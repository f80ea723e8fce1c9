//! What a kernel is built from.

use crate::caching::Caching;
use crate::listen::{Interrupts, ListeningConfig};
use alloc::vec::Vec;
use solo_isolate::regulator::Config;
use solo_model::listening::Takes;
use solo_model::partition::Partitions;
use solo_model::work::{LockProtocol, Step, Work};
use solo_model::{
    ApplicationId, CoreSet, EventId, Events, Experiment, Listening, LockId, MetricId, Policy, TaskId,
};
use solo_observe::RmidPool;
use solo_observe::monitor;
use solo_observe::plan::User;
use solo_schedule::{KindId, Membership, PolicyRefusal, TaskParameters, placements};

/// A semaphore or mutex.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LockConfig {
    /// The protocol.
    pub protocol: LockProtocol,
    /// The tasks that ever take it: the most urgent of them is the priority ceiling. Each once, ascending.
    pub users: Vec<TaskId>,
}

/// Counters that somebody beside the budgets wants to have on each core.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CounterWish {
    /// Who.
    pub user: User,
    /// What is to be counted, a counter for each event; several sets take turns.
    pub sets: Vec<Vec<EventId>>,
    /// Whether the counters have to interrupt.
    pub interrupt: bool,
}

/// What a kernel is built from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelConfig {
    /// The number of cores; the kernel runs on cores 0 to `cores` - 1.
    pub cores: usize,
    /// The policy. The criterion is that of the kernel's type; its name here is not consulted.
    pub policy: Policy,
    /// Cores that are equally fast, the fastest first, where the most urgent jobs are to have these; otherwise none.
    pub speeds: Vec<CoreSet>,
    /// The tasks; thread `i` runs task `i`.
    pub tasks: Vec<TaskParameters>,
    /// The locks.
    pub locks: Vec<LockConfig>,
    /// How many releases of a task can wait while it overruns its periods; at least 1. At one more the oldest
    /// waiting job is skipped, and counted as skipped.
    pub backlog_limit: u32,
    /// Bandwidth budgets, where there are any.
    pub regulation: Option<Config>,
    /// Who else counts on each core, and what.
    pub counting: Vec<CounterWish>,
    /// A policy that listens, where there is one.
    pub listening: Option<ListeningConfig>,
    /// When the last-level cache is divided anew during the run, where it is.
    pub caching: Option<Caching>,
    /// Who runs when, where time is divided into windows.
    pub partitions: Option<Partitions>,
}

impl KernelConfig {
    /// The backlog that a task is allowed unless said otherwise.
    pub const BACKLOG_LIMIT: u32 = solo_model::task::BACKLOG_LIMIT;

    /// The kernel's part of an experiment: who uses which lock is read from the tasks' steps.
    ///
    /// # Errors
    /// [`PolicyRefusal::Stays`] if a task is to migrate and can't, [`PolicyRefusal::NoSuchLock`] if a step names a lock that the experiment does not have, [`PolicyRefusal::NoMonitor`] if the metric
    /// that it listens to can't be made of what it says.
    pub fn from_experiment(experiment: &Experiment) -> Result<Self, PolicyRefusal> {
        if let Some((task, why)) = experiment.cannot_migrate() {
            return Err(PolicyRefusal::Stays { task, why });
        }
        let unused = |protocol| LockConfig { protocol, users: Vec::new() };
        let mut locks: Vec<_> = experiment.locks.iter().map(|lock| unused(lock.protocol)).collect();
        for (index, task) in experiment.tasks.iter().enumerate() {
            register_user(TaskId(index as u32), &task.work, &mut locks)?;
        }
        let regulation = |wanted| Config::new(wanted, &experiment.platform, &experiment.tasks);
        Ok(Self {
            cores: experiment.platform.cores.len(),
            policy: experiment.policy.clone(),
            speeds: if experiment.policy.fastest_first { experiment.platform.speeds() } else { Vec::new() },
            tasks: parameters(experiment),
            locks,
            backlog_limit: Self::BACKLOG_LIMIT,
            regulation: experiment.isolation.bandwidth.as_ref().map(regulation),
            counting: Vec::new(),
            listening: experiment.listening.as_ref().map(|wanted| heard(wanted, experiment)).transpose()?,
            caching: Caching::of(experiment),
            partitions: experiment.isolation.partitions.clone(),
        })
    }
}

/// What policies know of the tasks: with the application that each is a thread of.
fn parameters(experiment: &Experiment) -> Vec<TaskParameters> {
    let mut tasks: Vec<TaskParameters> = experiment.tasks.iter().map(TaskParameters::from).collect();
    for (number, application) in experiment.applications.iter().enumerate() {
        let member = Membership { application: ApplicationId(number as u16), weight: application.weight };
        for thread in &application.threads {
            if let Some(task) = tasks.get_mut(thread.index()) {
                task.member = Some(member);
            }
        }
    }
    tasks
}

/// What an experiment listens to: one monitor, metric 0, and the policy that it names.
fn heard(listening: &Listening, experiment: &Experiment) -> Result<ListeningConfig, PolicyRefusal> {
    let platform = &experiment.platform;
    let refusal = PolicyRefusal::NoMonitor(listening.observed.monitor);
    let facts = listening.reaction.facts();
    let counts = if facts.windows { Takes::Energy } else { Takes::Event };
    if listening.interrupt_after().is_some() && listening.observed.monitor.takes() != counts {
        // A counter interrupts after so many events: of a rate that says nothing.
        return Err(refusal);
    }
    if !facts.over.is_empty() && !facts.over.contains(&listening.observed.monitor) {
        // The policy would ask for metrics that nobody makes.
        return Err(refusal);
    }
    let monitor = monitor::of(MetricId(0), &listening.observed, &platform.events).map_err(|_| refusal)?;
    let (rmids, seed) = (platform.pmu.rmids, experiment.seed);
    let pool =
        || RmidPool::new(rmids, listening.recycling, seed, listening.process_of(experiment.tasks.len()));
    let all = |core| match platform.last_level_of(core) {
        Some((_, cache)) if cache.ways < 64 => (1 << cache.ways) - 1,
        _ => u64::MAX,
    };
    let interrupts = if facts.windows { Interrupts::EachWindow } else { Interrupts::Once };
    Ok(ListeningConfig {
        metrics: monitor.0.metrics(),
        monitors: alloc::vec![monitor],
        turn: listening.turn(),
        interrupts: listening.interrupt_after().map(Events::new).map(interrupts),
        kinds: platform.cores.iter().map(|core| KindId(core.kind)).collect(),
        meters: if listening.observed.reads_energy() { platform.power_domains() } else { Vec::new() },
        rmids: listening.observed.reads_occupancy().then(pool),
        recorded: listening.recorded.then_some(MetricId(0)),
        ways: if facts.divides { platform.core_set().iter().map(all).collect() } else { Vec::new() },
        ..ListeningConfig::new(placements::of(listening, platform), listening.period)
    })
}

/// Adds `task` to the users of every lock that its jobs take or give back.
fn register_user(task: TaskId, work: &Work, locks: &mut [LockConfig]) -> Result<(), PolicyRefusal> {
    for step in work.plain_steps() {
        if let Step::Acquire(lock) | Step::Release(lock) = step {
            let refusal = PolicyRefusal::NoSuchLock { task, lock: *lock };
            let users = &mut locks.get_mut(lock.index()).ok_or(refusal)?.users;
            if users.last() != Some(&task) {
                users.push(task);
            }
        }
    }
    Ok(())
}

impl LockConfig {
    /// The users of a lock, in words of the kernel's tables; `None` where one does not exist.
    pub(crate) fn missing_user(&self, tasks: usize) -> Option<TaskId> {
        self.users.iter().copied().find(|user| user.index() >= tasks)
    }
}

/// The position of a lock, for messages.
pub(crate) fn lock_id(index: usize) -> LockId {
    LockId(index as u16)
}
