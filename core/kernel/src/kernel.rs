//! The kernel's state, its construction and what it tells about itself.

use crate::budget::{Regulation, plan_counters};
use crate::caching::Caching;
use crate::config::{CounterWish, KernelConfig, LockConfig, lock_id};
use crate::cores::Core;
use crate::listen::{Listening, ListeningConfig};
use crate::lock::{LockFaults, LockTable};
use crate::thread::{State, TaskAccount, Thread};
use crate::windows::{Divided, Windows};
use alloc::boxed::Box;
use alloc::vec::Vec;
use solo_hal::Machine;
use solo_model::policy::Timing;
use solo_model::{Caps, CoreId, CoreSet, Duration, Instant, JobIndex, Policy, Record, TaskId, ThreadId};
use solo_observe::plan::{CounterPlan, User};
use solo_schedule::{Criterion, PolicyRefusal, Rank, Scheduler, admit};

/// What the calling core does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Switch {
    /// It goes on with what it ran. After `wait_next` that means: with the thread's next job.
    Stay,
    /// It goes on with this thread.
    To(ThreadId),
    /// It has nothing to run.
    Idle,
}

/// The kernel under criterion `C`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kernel<C> {
    pub(crate) timing: Timing,
    pub(crate) quantum: Option<Duration>,
    pub(crate) backlog_limit: u64,
    /// The time of the first start, from which releases and ticks count.
    pub(crate) epoch: Option<Instant>,
    /// What becomes the epoch, where that is not to be the first start.
    pub(crate) origin: Option<Instant>,
    /// The cores that it answers for: all, or those of its part.
    pub(crate) own: CoreSet,
    pub(crate) threads: Vec<Thread>,
    pub(crate) domains: Vec<Scheduler<C>>,
    pub(crate) cores: Vec<Core>,
    pub(crate) locks: LockTable,
    /// The priority ceiling of each lock that has one, where ranks don't change from job to job.
    pub(crate) fixed_ceilings: Vec<Option<Rank>>,
    /// The domains that have changed since the last decision, a bit each.
    pub(crate) touched: u64,
    /// The last number in line that was given out.
    pub(crate) turns: u64,
    /// Who has which counter.
    pub(crate) counters: CounterPlan,
    /// Bandwidth budgets, where there are any.
    pub(crate) regulation: Option<Regulation>,
    /// A policy that listens, where there is one.
    pub(crate) listening: Option<Box<Listening>>,
    /// When the last-level cache is divided anew, where it is.
    pub(crate) caching: Option<Box<Caching>>,
    /// Whose window it is on each core, where time is divided.
    pub(crate) windows: Option<Box<Windows>>,
    /// There are budgets or windows, somebody listens, or ways are given to whoever runs.
    pub(crate) attended: bool,
    /// The most urgent threads of a domain are to have its fastest cores.
    pub(crate) moves_up: bool,
}

impl<C: Criterion> Kernel<C> {
    /// A kernel that can run on a machine of these abilities, with all its memory allocated.
    ///
    /// # Errors
    /// If the policy cannot run these tasks on that machine.
    #[inline(never)] // never in a hurry
    pub fn new(config: KernelConfig, caps: &Caps) -> Result<Self, PolicyRefusal> {
        let counters = counters_of(&config, caps)?;
        let domains = admit::<C>(&config.policy, &config.tasks, config.cores, caps)?;
        let speeds = config.speeds.clone();
        let Ground {
            timing,
            quantum,
            backlog_limit,
            threads,
            cores,
            locks,
            regulation,
            listening,
            caching,
            windows,
        } = Ground::lay(config, caps, &domains, &counters)?;
        let count = threads.len();
        let mut kernel = Self {
            timing,
            quantum: if C::TIMED { quantum } else { None },
            backlog_limit,
            epoch: None,
            origin: None,
            own: CoreSet::first(cores.len()),
            threads,
            domains: domains.iter().map(|&cores| domain(cores, count, &speeds)).collect(),
            cores,
            locks,
            fixed_ceilings: Vec::new(),
            touched: 0,
            turns: 0,
            moves_up: false,
            attended: regulation.is_some() || listening.is_some() || caching.is_some() || windows.is_some(),
            windows,
            caching,
            listening,
            regulation,
            counters,
        };
        kernel.moves_up = kernel.domains.iter().any(Scheduler::moves_up);
        let ceiling = |lock| kernel.most_urgent_user(kernel.locks.ceiling_users(lock)?, Instant::ZERO);
        kernel.fixed_ceilings = (0..kernel.locks.count()).map(lock_id).map(ceiling).collect();
        Ok(kernel)
    }

    /// The kernel in parts that have nothing to do with each other: domains are in one part where tasks of both use a lock, or
    /// where budgets depend on one another, or a task migrates between them. Each part answers for its own cores and their tasks, under the same numbers, so that several
    /// cores can be in the kernel at the same time, each in its part. The part of the lowest core comes first.
    ///
    /// Two things differ from one kernel: what is released at the beginning, and regulation periods, begin when the first core of a *part*
    /// starts ([`count_from`](Self::count_from) makes that one time), and a throttled core whose timer is lost is interrupted by cores of
    /// its part only.
    ///
    /// # Errors
    /// As for [`Kernel::new`].
    pub fn in_parts(config: KernelConfig, caps: &Caps) -> Result<Vec<Self>, PolicyRefusal> {
        let whole = Self::new(config.clone(), caps)?;
        let domains: Vec<CoreSet> = whole.domains().collect();
        let part = |own| Ok(Self { own, ..Self::new(config.clone(), caps)? });
        parts_of(&config, domains, &whole.threads).into_iter().map(part).collect()
    }

    /// The cores that this kernel, or part of one, answers for.
    pub fn own(&self) -> CoreSet {
        self.own
    }

    /// Lets releases count from `epoch`, and not from the first start, which comes later: so that all parts count from the same.
    pub fn count_from(&mut self, epoch: Instant) {
        self.origin = Some(epoch);
        if let Some(regulation) = &mut self.regulation {
            regulation.count_from(epoch);
        }
    }

    /// The rank of the most urgent of `users`, as if a job of each were released at `now`.
    pub(crate) fn most_urgent_user(&self, users: &[TaskId], now: Instant) -> Option<Rank> {
        let rank = |user: &TaskId| C::rank(&self.threads[user.index()].view_of_job_released_at(now));
        users.iter().map(rank).min()
    }

    /// The thread on `core`; `None` for idle.
    pub fn running(&self, core: CoreId) -> Option<ThreadId> {
        self.cores.get(core.index()).and_then(|core| core.current)
    }

    /// The state of `thread`; `None` where there is no such thread.
    pub fn state(&self, thread: ThreadId) -> Option<State> {
        self.threads.get(thread.index()).map(|thread| thread.state)
    }

    /// The job that `thread` works on; `None` between jobs.
    pub fn job(&self, thread: ThreadId) -> Option<JobIndex> {
        self.threads.get(thread.index()).and_then(|thread| thread.job.as_ref()).map(|job| job.index)
    }

    /// How urgent `thread`'s job was at the last decision that concerned it, raised by the mutexes it holds;
    /// `None` between jobs.
    pub fn rank_of(&self, thread: ThreadId) -> Option<Rank> {
        self.job(thread).and_then(|_| self.locks.rank(thread))
    }

    /// The scheduling domains: the cores that share a queue.
    pub fn domains(&self) -> impl Iterator<Item = CoreSet> + '_ {
        self.domains.iter().map(Scheduler::cores)
    }

    /// The position of `thread`'s domain among the domains.
    pub fn domain_of(&self, thread: ThreadId) -> Option<usize> {
        self.threads.get(thread.index()).map(|thread| thread.domain)
    }

    /// The core whose timer releases `thread`.
    pub fn alarm_core(&self, thread: ThreadId) -> Option<CoreId> {
        self.threads.get(thread.index()).map(|thread| thread.alarm_core)
    }

    /// What has happened to `task` so far; `None` where there is no such task.
    pub fn account_of(&self, task: TaskId) -> Option<TaskAccount> {
        self.threads.get(task.index()).map(Thread::told)
    }

    /// Jobs that `task` has finished.
    pub fn finished(&self, task: TaskId) -> u64 {
        self.account_of(task).map_or(0, |account| account.finished)
    }

    /// Wrong uses of locks.
    pub fn lock_faults(&self) -> &LockFaults {
        &self.locks.faults
    }

    /// Counter overflows that `core` has taken.
    pub fn overflows(&self, core: CoreId) -> u64 {
        self.cores.get(core.index()).map_or(0, Core::overflows)
    }

    /// Ends the run at `now`: records every job that is released and unfinished, and what became of the sum of
    /// bandwidth reservations.
    pub fn record_unfinished<M: Machine>(&self, m: &mut M, now: Instant) {
        for thread in &self.threads {
            let since = |core: CoreId| now.since(self.cores[core.index()].accounted());
            let running = match thread.state {
                State::Running(core) => since(core),
                _ => Duration::ZERO,
            };
            let core = thread.last_core.unwrap_or(thread.alarm_core);
            for record in thread.unfinished(now, running) {
                m.record(core, record);
            }
        }
        let conserved = |regulation: &Regulation| regulation.conserved(now, self.own);
        if let Some(record) = self.regulation.as_ref().and_then(conserved) {
            m.record(self.own.lowest().unwrap_or_default(), Record::Conservation(record));
        }
    }
}

/// What a kernel keeps under any criterion: compiled once.
struct Ground {
    timing: Timing,
    quantum: Option<Duration>,
    backlog_limit: u64,
    threads: Vec<Thread>,
    cores: Vec<Core>,
    locks: LockTable,
    regulation: Option<Regulation>,
    listening: Option<Box<Listening>>,
    caching: Option<Box<Caching>>,
    windows: Option<Box<Windows>>,
}

impl Ground {
    #[inline(never)] // once, not for each criterion
    fn lay(
        config: KernelConfig,
        caps: &Caps,
        domains: &[CoreSet],
        counters: &CounterPlan,
    ) -> Result<Self, PolicyRefusal> {
        let KernelConfig {
            cores,
            policy,
            tasks,
            locks,
            backlog_limit,
            regulation,
            listening,
            caching,
            partitions,
            counting: _,
            speeds: _,
        } = config;
        if caching.as_ref().is_some_and(|caching| !caching.suits(caps)) {
            return Err(PolicyRefusal::NoCacheControl);
        }
        let domain_of = |core: CoreId| domains.iter().position(|domain| domain.contains(core)).unwrap_or(0);
        let mut next_alarm_core = domains.to_vec();
        let mut threads = Vec::with_capacity(tasks.len());
        for (index, parameters) in tasks.into_iter().enumerate() {
            let domain = parameters.core.map_or(0, domain_of);
            let alarm_core = next_in_turn(domains[domain], &mut next_alarm_core[domain]);
            threads.push(Thread::new(TaskId(index as u32), parameters, domain, alarm_core));
        }
        let migrating = send_on_their_way(&mut threads, &policy, cores, domain_of);
        if (listening.is_some() || !migrating.is_empty()) && !caps.reschedule_ipi && cores > 1 {
            return Err(PolicyRefusal::NoRescheduleRequests);
        }
        check_locks(&locks, &threads, caps)?;
        let windows = partitions.map(|partitions| {
            let homes: Vec<Option<CoreId>> = threads.iter().map(|thread| thread.parameters.core).collect();
            let ground =
                Divided { homes: &homes, domains, timing: policy.timing, listens: listening.is_some() };
            Windows::new(&partitions, &ground, caps.timer_resolution)
        });
        let windows = windows.transpose()?;
        let count = threads.len();
        let parameters: Vec<_> = threads.iter().map(|thread| thread.parameters).collect();
        let core = |index: usize| {
            let core = CoreId(index as u16);
            // Jobs that are released at the same time compete together, whichever core's timer brings them.
            let domain = domains[domain_of(core)];
            let together = migrating.iter().filter(|set| !set.and(domain).is_empty());
            Core::new(core, domain_of(core), together.fold(domain, |all, set| all.or(*set)), count)
        };
        Ok(Self {
            timing: policy.timing,
            quantum: policy.quantum,
            backlog_limit: u64::from(backlog_limit.max(1)),
            threads,
            cores: (0..cores).map(core).collect(),
            locks: LockTable::new(&locks, count),
            caching: caching.map(Box::new),
            windows: windows.map(Box::new),
            listening: listening.map(|config| Box::new(Listening::new(config, counters, &parameters, cores))),
            regulation: regulation.map(|config| Regulation::new(config, counters)),
        })
    }
}

/// Tells the threads that migrate of their domains, job by job. Returns the sets of cores among which there are any.
#[inline(never)] // once, not for each criterion
fn send_on_their_way(
    threads: &mut [Thread],
    policy: &Policy,
    cores: usize,
    domain_of: impl Fn(CoreId) -> usize,
) -> Vec<CoreSet> {
    let mut sets = Vec::new();
    for thread in threads.iter_mut().filter(|thread| thread.parameters.migrate.is_some()) {
        let Some(home) = thread.parameters.core else { continue };
        let set = policy.migrates_among(home, cores);
        let (before, from_home): (Vec<CoreId>, Vec<CoreId>) = set.iter().partition(|core| *core < home);
        thread.migrates(from_home.into_iter().chain(before).map(&domain_of).collect());
        if !sets.contains(&set) {
            sets.push(set);
        }
    }
    sets
}

/// The cores that each thread goes through which migrates.
fn migrating(config: &KernelConfig) -> impl Iterator<Item = CoreSet> + '_ {
    let tasks = config.tasks.iter().filter(|task| task.migrate.is_some());
    tasks.filter_map(|task| task.core).map(|home| config.policy.migrates_among(home, config.cores))
}

fn domain<C: Criterion>(cores: CoreSet, threads: usize, speeds: &[CoreSet]) -> Scheduler<C> {
    let mut domain = Scheduler::new(cores, threads);
    domain.fastest_first(speeds);
    domain
}

/// Every lock has users that exist, and who share one across domains can be woken there.
fn check_locks(locks: &[LockConfig], threads: &[Thread], caps: &Caps) -> Result<(), PolicyRefusal> {
    for (index, lock) in locks.iter().enumerate() {
        if let Some(task) = lock.missing_user(threads.len()) {
            return Err(PolicyRefusal::NoSuchLock { task, lock: lock_id(index) });
        }
        let homes = lock.users.iter().map(|user| threads[user.index()].domain);
        if !caps.reschedule_ipi && homes.clone().min() != homes.max() {
            return Err(PolicyRefusal::NoRescheduleRequests);
        }
    }
    Ok(())
}

/// Who has which counter: budgets, those that asked, and the monitors of a policy that listens.
#[inline(never)] // once, not for each criterion
fn counters_of(config: &KernelConfig, caps: &Caps) -> Result<CounterPlan, PolicyRefusal> {
    let listening = config.listening.as_ref().filter(|listening| listening.interrupts.is_some());
    let first = listening.and_then(|listening| listening.monitors.first());
    if first.is_some_and(|monitor| monitor.0.turns().is_some()) {
        // A counter that another set has for the next turn tells nothing at once.
        return Err(PolicyRefusal::NoCounterOverflow);
    }
    let counting: Vec<CounterWish> =
        config.counting.iter().cloned().chain(config.listening.iter().flat_map(wishes)).collect();
    plan_counters(config.regulation.as_ref(), &counting, caps)
}

/// The cores of each part of a kernel: domains that share a lock, a budget or a task that migrates are in one, and all where a policy listens, which
/// sees all cores, or a task is sporadic, for which any thread may ask.
#[inline(never)] // once, not for each criterion
fn parts_of(config: &KernelConfig, domains: Vec<CoreSet>, threads: &[Thread]) -> Vec<CoreSet> {
    let home = |user: &TaskId| domains[threads[user.index()].domain];
    let users = |lock: &LockConfig| lock.users.iter().map(home).fold(CoreSet::EMPTY, CoreSet::or);
    let mut together: Vec<CoreSet> = config.locks.iter().map(users).collect();
    together.extend(config.regulation.as_ref().map(|regulation| regulation.joined()));
    together.extend(migrating(config));
    let sporadic = threads.iter().any(|thread| thread.arrivals.is_some());
    together.extend((sporadic || config.listening.is_some()).then(|| CoreSet::first(config.cores)));
    joined(domains, &together)
}

/// Domains, those joined that have cores in a set of `together`; the one of the lowest core first.
#[inline(never)] // once, not for each criterion
fn joined(domains: Vec<CoreSet>, together: &[CoreSet]) -> Vec<CoreSet> {
    let join = |parts: Vec<CoreSet>, &set: &CoreSet| {
        let (touched, mut rest): (Vec<_>, Vec<_>) =
            parts.into_iter().partition(|part| !part.and(set).is_empty());
        rest.extend(touched.into_iter().reduce(CoreSet::or));
        rest
    };
    let mut parts = together.iter().fold(domains, join);
    parts.sort_unstable_by_key(|part| part.lowest());
    parts
}

/// The cores of `all` one after the other; `rest` remembers who has not had a turn.
fn next_in_turn(all: CoreSet, rest: &mut CoreSet) -> CoreId {
    if rest.is_empty() {
        *rest = all;
    }
    let core = rest.lowest().unwrap_or_default();
    *rest = rest.without(core);
    core
}

/// The counters that the monitors of a policy want.
fn wishes(listening: &ListeningConfig) -> impl Iterator<Item = CounterWish> + '_ {
    listening.monitors.iter().enumerate().map(|(number, monitor)| {
        let sets = match monitor.0.turns() {
            Some(turns) => turns.sets.iter().map(|set| set.iter().collect()).collect(),
            None => alloc::vec![monitor.0.wants().iter().collect()],
        };
        CounterWish {
            user: User::Monitor(number as u8),
            sets,
            interrupt: number == 0 && listening.interrupts.is_some(),
        }
    })
}
