//! A whole experiment on paper: does every task respond in time under the experiment's own policy, overheads
//! and locks, by how much, and if not, what stands in the way.
//!
//! ```text
//!  Experiment -> System: tasks with execution times as far as known, in domains of one or more cores
//!             -> costs:  kernel paths counted (interrupts, switches, requests)
//!             -> one core:   response times under EDF or fixed priorities, classes one above the other
//!                several:    response-time bounds of global EDF or global fixed priorities
//!             -> Judgement of each task; mends
//! ```
//!
//! A bound holds as long as no job executes for longer than its task declares. Times are nanoseconds.

mod costs;
mod interference;
mod locking;
mod locks;
mod many_cores;
mod mend;
mod one_core;
mod overload;
mod pace;
mod read;
mod shorten;
mod step;
mod walk;
mod windows;

pub use interference::{Unbounded, longest, strict};
pub use locking::loading;
pub use mend::{Change, mends};
pub use overload::Overload;
pub use read::Declared;
pub use step::KERNEL_BLOCKS;

use crate::effort::Effort;
use crate::global::uniform::Speeds;
use crate::task::{Task, Ticks};
use interference::{Added, Interference, View};
use solo_model::listening::Reaction;
use solo_model::overhead::OverheadTable;
use solo_model::partition::Partitions;
use solo_model::policy::{Criterion, FixedBy, Policy, Theory};
use solo_model::units::Duration;
use solo_model::work::LockProtocol;
use solo_model::{Color, CoreId, Experiment, TaskClass};
use walk::Section;

/// An experiment as the analysis sees it; made from an [`Experiment`], and changed to ask "what if".
#[derive(Clone, Debug)]
pub struct System {
    pub(crate) policy: Policy,
    pub(crate) overheads: OverheadTable,
    /// What an entry of the kernel, a release and a switch miss at most, in nanoseconds, where that comes on top of their costs.
    pub(crate) kernel_misses: Option<[u64; 3]>,
    pub(crate) domains: Vec<Domain>,
    pub(crate) tasks: Vec<Member>,
    pub(crate) locks: Vec<LockUse>,
    /// The regulation period, where bandwidth is regulated on any core.
    pub(crate) regulation: Option<Duration>,
    /// What the scheduler listens to, and what it does about it.
    pub(crate) listening: Option<Listened>,
    /// By partition, what is loaded and locked at the begin of each of its windows.
    pub(crate) loads: Vec<Option<Option<locking::Load>>>,
    /// Who runs when, where time is divided into windows.
    pub(crate) partitions: Option<Partitions>,
    /// Devices move data by themselves.
    pub(crate) devices: bool,
    /// The kernel's own paths touch caches.
    pub(crate) kernel_data: bool,
    /// The first task that empties caches, where one does.
    pub(crate) flushes: Option<usize>,
    /// The first task that is a program of the host's and not of best effort, where one is.
    pub(crate) command: Option<usize>,
    /// The first task that goes from core to core, where one does.
    pub(crate) migrates: Option<usize>,
    /// What memory that others use adds, where bandwidth is regulated; or why that is not bounded.
    pub(crate) interference: Option<Result<Interference, Unbounded>>,
}

/// A scheduler that listens, as far as it delays anybody.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Listened {
    /// How often it judges each core.
    pub(crate) period: Duration,
    /// How often it reads each core's counters: the same, or at the end of each turn where sets take turns.
    pub(crate) looks_every: Duration,
    /// The classes of which it keeps tasks off their cores or moves them; none where it does nothing.
    pub(crate) classes: Vec<TaskClass>,
    /// What it does.
    pub(crate) reaction: Reaction,
}

impl Listened {
    /// True where the most urgent class that it acts on is `class` or one above it: how long its tasks are kept back, and how
    /// densely their jobs come after that, is not bounded.
    fn delays(&self, class: TaskClass) -> bool {
        self.classes.iter().any(|&concerned| concerned <= class)
            // A task that comes from elsewhere brings its interrupts and its accesses along, one that has ways of the cache takes
            // them from others, and a core that is slowed is slowed for all.
            || (self.reaction.facts().touches_others() && !self.classes.is_empty())
            // How often a counter ends a window depends on how fast instructions are.
            || self.reaction.facts().windows
    }
}

/// The cores that share a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Domain {
    /// How many there are.
    pub(crate) cores: usize,
    /// The speed of the slowest beside busy SMT siblings, in thousandths.
    pub(crate) speed: u16,
    /// All compute as fast as the reference kind.
    pub(crate) alike: bool,
    /// The speeds of cores of which some are faster than others, and none has a sibling.
    pub(crate) speeds: Option<Speeds>,
    /// Jobs move to faster ones when these become free.
    pub(crate) moves_up: bool,
    /// Whether one of them, or a task on it, is stopped when a bandwidth budget is used up.
    pub(crate) regulated: bool,
    /// The core, where there is only one.
    pub(crate) core: Option<CoreId>,
}

impl Domain {
    /// True where computing takes exactly as long as the work says: nothing is rounded up.
    fn is_exact(&self) -> bool {
        self.speed == 1000 && self.alike
    }
}

/// One task of a [`System`].
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) class: TaskClass,
    /// Where it is scheduled.
    pub(crate) domain: usize,
    pub(crate) wcet: Option<Declared>,
    /// What is declared, where the work shows that it takes longer.
    pub(crate) understated: Option<Duration>,
    /// Its work uses memory.
    pub(crate) touches: bool,
    /// It takes as much longer on a slower core as that is slower: it computes, and nothing else.
    pub(crate) scales: bool,
    /// Misses of the last level of a job alone at most; none where it does not use memory, `None` where nobody says.
    pub(crate) misses: Option<u64>,
    pub(crate) period: Option<Duration>,
    /// The release of its first job, where the clock alone releases all of them.
    pub(crate) offset: Option<Duration>,
    /// From one interrupt to the next, of each device that releases its jobs.
    pub(crate) interrupts: Vec<Duration>,
    /// True where it releases one job only.
    pub(crate) once: bool,
    pub(crate) deadline: Option<Duration>,
    /// How long after its nominal release a job may become ready: releases wait for a tick.
    pub(crate) jitter: Duration,
    pub(crate) priority: Option<u32>,
    /// Lock operations of a job.
    pub(crate) lock_operations: u64,
    /// How often a job sleeps.
    pub(crate) sleeps: u64,
    /// How long it sleeps at most in all, with the waits for ticks at which it wakes up.
    pub(crate) asleep: Duration,
    /// The shortest time from a point of a job to the same point of the next.
    pub(crate) least: Duration,
    /// The stretches in which it holds mutexes.
    pub(crate) sections: Vec<Section>,
    /// Semaphores that it takes or gives.
    pub(crate) semaphores: Vec<usize>,
    /// Mutexes that its jobs don't give back.
    pub(crate) kept: Vec<usize>,
    /// The longest stretch of its work in which a core takes no interrupt; `None` without a bound.
    pub(crate) step: Option<Duration>,
    /// What it loses with the caches each time when it is resumed.
    pub(crate) affinity: Duration,
    /// The color of a heap that may not have what it asks for: then it ends.
    pub(crate) may_end: Option<Color>,
}

/// One lock of a [`System`].
#[derive(Clone, Debug)]
pub(crate) struct LockUse {
    pub(crate) name: String,
    pub(crate) protocol: LockProtocol,
}

/// What is known of one task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Judgement {
    /// The longest that a job may execute, as declared or as its work says.
    pub wcet: Option<Declared>,
    /// The declared time, where the work itself shows that it takes longer: then that counts.
    pub understated: Option<Duration>,
    /// The same with the kernel paths that are counted to the job itself.
    pub counted: Option<Duration>,
    /// The relative deadline.
    pub deadline: Option<Duration>,
    /// What was found.
    pub outcome: TaskFinding,
}

/// What was found of one task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TaskFinding {
    /// No job ever takes longer than the bound, which is within the deadline.
    Proved(Proof),
    /// Not proved; under an exact test this means that a job can be late.
    NotProved(Gap),
    /// Nothing was asked or nothing can be said.
    Open(Open),
}

/// A bound and what it is made of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proof {
    /// No job responds later than this after its nominal release.
    pub bound: Duration,
    /// The most that a job occupies cores within that bound, interrupts included; more than this, and some job
    /// executes for longer than was declared.
    pub occupied: Duration,
    /// The theorem.
    pub by: &'static str,
    /// The parts of the bound, the largest first.
    pub parts: Vec<Part>,
}

/// By how much a bound is missed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gap {
    /// What a job may need before its deadline, at least; above `has`.
    pub needs: Duration,
    /// What there is: the deadline.
    pub has: Duration,
    /// True where the test is exact: then some job can be late. False where the set may be schedulable still.
    pub exact: bool,
    /// The theorem that does not accept.
    pub by: &'static str,
    /// The parts of `needs`, the largest first.
    pub parts: Vec<Part>,
}

/// Who contributes to a bound.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Whose {
    /// The task itself: its execution and the kernel paths of its job.
    Own,
    /// Another task, by its position.
    Task(usize),
    /// Less urgent tasks that hold a lock or are in the middle of an access to memory.
    Blocking,
    /// The task itself, asleep.
    Sleep,
    /// Interrupts and kernel paths under way.
    Kernel,
    /// Waiting for the tick at which the job is released.
    Tick,
    /// Waiting for a window of its partition.
    Window,
    /// Budgets that are used up, and memory that serves other cores.
    Memory,
}

/// One part of a bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// Who.
    pub whose: Whose,
    /// How much, in nanoseconds of the bound; of several cores, its share of the delay.
    pub amount: Duration,
}

/// Why there is no verdict on a task.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Open {
    /// Best effort, without a deadline: nothing is promised.
    BestEffort,
    /// It has no deadline.
    NoDeadline,
    /// This task, itself or one that delays it, declares no execution time, and its work uses memory.
    NoWcet(usize),
    /// This task, itself or one that delays it, has no least time between releases.
    NoPeriod(usize),
    /// There is no analysis of this criterion.
    Criterion(Criterion),
    /// There is no analysis of this lock: of its protocol under this policy, or across cores.
    Lock {
        /// The lock's name.
        name: String,
        /// What stands in the way.
        why: &'static str,
    },
    /// This task, which delays it, is not proved, and how far it reaches is therefore unknown.
    Depends(usize),
    /// Several cores, and this task's deadline is longer than its period: no theorem.
    LongDeadline(usize),
    /// Jobs move to faster cores when these become free, and what that costs is not counted.
    MovesUp,
    /// This less urgent task uses memory in stretches whose length has no bound, and no interrupt is taken within one.
    Step(usize),
    /// The heap of this color may not have what the task asks for, and then it ends.
    Heap(Color),
    /// This task empties caches: what that takes, and what all others lose by it, is not counted.
    Flushes(usize),
    /// This task, which is not of best effort, is a program of the host's: how long it waits, and for what, is not known.
    Command(usize),
    /// This task goes to another core at each release: what it leaves behind on each, and whom it keeps from each, is not counted.
    Migrates(usize),
    /// Bandwidth regulation stops cores, and how long is not bounded.
    Regulated(Unbounded),
    /// The scheduler listens, and what it does about what it hears may delay the task for longer than can be said.
    Listening(Reaction),
    /// Time is divided into windows on its core, and this task, which is in no partition, runs in all of them and is not less
    /// urgent.
    BesideWindows(usize),
    /// The analysis ran out of its effort.
    OutOfTime,
    /// Numbers beyond the arithmetic.
    TooLarge,
}

/// The analysis of one experiment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Judged {
    /// One judgement a task, in the order of the experiment.
    pub tasks: Vec<Judgement>,
    /// Tasks whose declared execution times are conditional: their work uses memory that other tasks use too, and a
    /// time measured alone says nothing about that. Empty where proofs suppose nothing of the kind.
    pub measured_alone: Vec<usize>,
    /// Domains whose tasks ask for more time than their cores have.
    pub overloads: Vec<Overload>,
}

/// What it comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overall {
    /// Every task with a deadline is proved to meet it.
    Proved,
    /// The same, provided that execution times measured alone hold beside the other users of memory.
    Conditional,
    /// Some task isn't.
    NotProved,
    /// No task is refuted, but some lacks what a proof needs: execution times, periods.
    Incomplete,
    /// No task is refuted, but there is no analysis of the policy or of a lock, or it took too long.
    NoAnalysis,
    /// No task has a deadline to prove.
    NothingAsked,
}

impl Judged {
    /// What the tasks' outcomes come to.
    pub fn overall(&self) -> Overall {
        let any = |test: fn(&TaskFinding) -> bool| self.tasks.iter().any(|task| test(&task.outcome));
        if any(|outcome| matches!(outcome, TaskFinding::NotProved(_))) {
            Overall::NotProved
        } else if any(|o| matches!(o, TaskFinding::Open(Open::NoWcet(_) | Open::NoPeriod(_)))) {
            Overall::Incomplete
        } else if any(|o| match o {
            TaskFinding::Open(open) => !matches!(open, Open::BestEffort | Open::NoDeadline),
            _ => false,
        }) {
            Overall::NoAnalysis
        } else if any(|outcome| matches!(outcome, TaskFinding::Proved(_))) && !self.measured_alone.is_empty()
        {
            Overall::Conditional
        } else if any(|outcome| matches!(outcome, TaskFinding::Proved(_))) {
            Overall::Proved
        } else {
            Overall::NothingAsked
        }
    }
}

impl System {
    /// The experiment as the analysis sees it.
    pub fn of(experiment: &Experiment) -> Self {
        read::system(experiment)
    }

    /// Judges every task. The effort is for all of them together.
    pub fn judge(&self, effort: &mut Effort<'_>) -> Judged {
        let mut outcomes: Vec<Option<(TaskFinding, Duration)>> = vec![None; self.tasks.len()];
        for domain in 0..self.domains.len() {
            for (task, found) in self.judge_domain(domain, effort) {
                outcomes[task] = Some(found);
            }
        }
        let judgement = |(member, found): (&Member, Option<(TaskFinding, Duration)>)| {
            let (outcome, counted) = found.unwrap_or((TaskFinding::Open(Open::NoDeadline), Duration::ZERO));
            Judgement {
                wcet: member.wcet,
                understated: member.understated,
                counted: member.wcet.map(|_| counted),
                deadline: member.deadline,
                outcome,
            }
        };
        Judged {
            tasks: self.tasks.iter().zip(outcomes).map(judgement).collect(),
            measured_alone: self.measured_alone(),
            overloads: self.overloads(),
        }
    }

    /// What is found of the tasks of one core that has a queue of its own, each by its position; what other cores do is counted, and
    /// not judged.
    pub fn judge_core(&self, core: CoreId, effort: &mut Effort<'_>) -> Vec<(usize, TaskFinding)> {
        let domain = self.domains.iter().position(|domain| domain.core == Some(core));
        let found = domain.map_or_else(Vec::new, |domain| self.judge_domain(domain, effort));
        found.into_iter().map(|(task, (finding, _))| (task, finding)).collect()
    }

    /// Judges the tasks of one domain: an outcome and the counted execution time of each.
    fn judge_domain(&self, domain: usize, effort: &mut Effort<'_>) -> Vec<(usize, (TaskFinding, Duration))> {
        let here: Vec<usize> =
            (0..self.tasks.len()).filter(|&task| self.tasks[task].domain == domain).collect();
        if here.is_empty() {
            return Vec::new();
        }
        let found = if let Some(divided) = self.divided(domain) {
            divided.judge(self, &here, effort)
        } else if self.domains[domain].cores == 1 {
            one_core::judge(self, &here, None, effort)
        } else {
            many_cores::judge(self, domain, &here, effort)
        };
        here.into_iter().zip(found).collect()
    }

    /// The tasks whose declared times hold only as measured: they use memory, and so does another task, a device that no bound
    /// counts, or the kernel on behalf of another task; or they are slower or elsewhere when others run. Those on which no bound depends
    /// are left out.
    fn measured_alone(&self) -> Vec<usize> {
        let counts = |&task: &usize| {
            let member = &self.tasks[task];
            member.touches && (member.deadline.is_some() || self.delays_with_a_deadline(task))
        };
        let tasks = (0..self.tasks.len()).filter(counts);
        let beside = self.devices || (self.kernel_data && self.tasks.len() > 1);
        let uncounted = beside && !matches!(self.interference, Some(Ok(_)));
        let disturbed =
            |task: usize| self.disturbers(task).next().is_some() || self.slower_beside_others(task);
        tasks.filter(|&task| uncounted || disturbed(task)).collect()
    }

    /// True where accesses of a task may take longer only because others run: on a core whose SMT sibling is busy, or after a move to
    /// another core, whose caches are cold, where no loss of cache affinity is declared. Computation is counted elsewhere.
    fn slower_beside_others(&self, task: usize) -> bool {
        let member = &self.tasks[task];
        let domain = &self.domains[member.domain];
        let others = || self.tasks.iter().filter(|other| other.domain == member.domain).count() > 1;
        let beside_a_sibling = domain.speed < 1000 && self.tasks.len() > 1;
        beside_a_sibling || (domain.cores > 1 && member.affinity.is_zero() && others())
    }

    /// True where a task without a deadline may delay one with a deadline by its own execution time: while it holds a lock, or because
    /// it comes before another one of its class.
    fn delays_with_a_deadline(&self, task: usize) -> bool {
        let member = &self.tasks[task];
        let promised = |other: &&Member| other.domain == member.domain && other.deadline.is_some();
        let mut beside = self.tasks.iter().filter(promised);
        if !member.sections.is_empty() {
            return beside.next().is_some();
        }
        // Under EDF whoever has no deadline comes last.
        let edf = self.policy.criterion.facts().theory == Theory::Edf;
        !edf && beside.any(|other| other.class == member.class)
    }

    /// The other tasks that may evict a task's lines from caches, or take memory from it in a way that no bound counts: all that use
    /// memory, and beside cores that keep to their budgets those of the same core. Nobody disturbs a task that uses none.
    pub fn disturbers(&self, task: usize) -> impl Iterator<Item = usize> + '_ {
        let apart = matches!(self.interference, Some(Ok(_)));
        let of = self.tasks.get(task);
        let beside = move |&other: &usize| {
            let (Some(of), member) = (of, &self.tasks[other]) else { return false };
            of.touches && member.touches && other != task && (!apart || member.domain == of.domain)
        };
        (0..self.tasks.len()).filter(beside)
    }

    /// Why what budgets do is not bounded, where there are any.
    fn unbounded(&self) -> Option<&Unbounded> {
        self.interference.as_ref().and_then(|found| found.as_ref().err())
    }

    /// What memory adds to the tasks `here` of one core, in both views; nothing where budgets are not or stop nobody of them.
    fn added(&self, here: &[usize]) -> Option<[Added; 2]> {
        let domain = &self.domains[self.tasks[*here.first()?].domain];
        let interference = self.interference.as_ref()?.as_ref().ok()?;
        let on = |view| interference.on(domain.core?, view);
        Some([on(View::Shared)?, on(View::Requests)?])
    }

    /// What budgets and other cores add to a job of a core that misses so often, by the smaller of both bounds; nothing where no core has a
    /// budget, `None` where that is not bounded.
    pub fn adds(&self, core: CoreId, misses: u64) -> Option<Duration> {
        let Some(interference) = &self.interference else { return Some(Duration::ZERO) };
        let interference = interference.as_ref().ok()?;
        let views = [View::Shared, View::Requests].into_iter().filter_map(|view| interference.on(core, view));
        Some(Duration::new(views.map(|added| added.charge(misses)).min().unwrap_or(0)))
    }

    /// What is asked of a task before any analysis: `None` where a bound is to be proved.
    fn unasked(&self, task: usize) -> Option<Open> {
        let member = &self.tasks[task];
        match (member.class, member.deadline) {
            (TaskClass::BestEffort, None) => Some(Open::BestEffort),
            (_, None) => Some(Open::NoDeadline),
            _ if self.flushes.is_some() => self.flushes.map(Open::Flushes),
            _ if self.command.is_some() => self.command.map(Open::Command),
            _ if member.may_end.is_some() => member.may_end.map(Open::Heap),
            _ if self.migrates.is_some() => self.migrates.map(Open::Migrates),
            _ if self.domains[member.domain].regulated && self.unbounded().is_some() => {
                self.unbounded().cloned().map(Open::Regulated)
            }
            _ => {
                let listening = self.listening.as_ref();
                let delayed = listening.filter(|listening| listening.delays(member.class));
                delayed.map(|listening| Open::Listening(listening.reaction))
            }
        }
    }

    /// The key that the criterion orders by within a class, lower first, for criteria with fixed priorities.
    fn fixed_key(&self, task: usize) -> Option<u64> {
        let member = &self.tasks[task];
        match self.policy.criterion.facts().theory {
            Theory::Fixed(FixedBy::Period) => Some(member.period.map_or(u64::MAX, Duration::get)),
            Theory::Fixed(FixedBy::Deadline) => Some(member.deadline.map_or(u64::MAX, Duration::get)),
            Theory::Fixed(FixedBy::Priority) => Some(member.priority.map_or(u64::MAX, u64::from)),
            Theory::Edf | Theory::None => None,
        }
    }

    /// True where the criterion finds nothing to order the task by: a best-effort task without a period under RM, for example. Such
    /// tasks come after all others of their class and are served in the order in which their jobs become ready.
    fn unordered(&self, task: usize) -> bool {
        let member = &self.tasks[task];
        match self.policy.criterion.facts().theory {
            Theory::Fixed(FixedBy::Period) => member.period.is_none(),
            Theory::Fixed(FixedBy::Deadline) => member.deadline.is_none(),
            Theory::Fixed(FixedBy::Priority) => member.priority.is_none(),
            Theory::Edf | Theory::None => false,
        }
    }

    /// True for two tasks of which either may be served first, because neither has a place in an order.
    fn peers(&self, a: usize, b: usize) -> bool {
        a != b && self.tasks[a].class == self.tasks[b].class && self.unordered(a) && self.unordered(b)
    }

    /// The tasks of `here` from the most to the least urgent: class, key, position.
    fn by_urgency(&self, here: &[usize]) -> Vec<usize> {
        let mut order = here.to_vec();
        order.sort_by_key(|&task| (self.tasks[task].class, self.fixed_key(task).unwrap_or(0), task));
        order
    }

    /// The task's parameters for the analysis, releases as close as jitter may bring them, with `c` as its
    /// execution time; or why there are none.
    /// What a job's execution may be told too long in a window: on cores of another speed than the reference, jobs end between two
    /// nanoseconds, and each stretch between two of them that a job executes is told in whole ones.
    fn told_too_long(&self, domain: usize, window: u64) -> u64 {
        if self.domains.get(domain).is_none_or(|domain| domain.alike) {
            return 0;
        }
        let jobs = |member: &Member| {
            let reach = window.saturating_add(member.deadline.map_or(0, Duration::get));
            member.period.map_or(1, |period| reach.div_ceil(period.get().max(1)))
        };
        let here = self.tasks.iter().filter(|member| member.domain == domain);
        here.map(jobs).fold(1, u64::saturating_add)
    }

    fn parameters(&self, task: usize, c: Option<u64>) -> Result<Task, Open> {
        let member = &self.tasks[task];
        let c = c.ok_or(Open::NoWcet(task))?;
        let longest = Ticks::LIMIT.get();
        // A shorter period or deadline than the real one is on the safe side.
        let t = match member.period {
            Some(period) => period.get().min(longest),
            None if member.once => longest,
            None => return Err(Open::NoPeriod(task)),
        };
        let d = member.deadline.map_or(longest, Duration::get).min(longest);
        if c > longest {
            return Err(Open::TooLarge);
        }
        let jitter = member.jitter.get();
        Ok(Task::new(c, t.saturating_sub(jitter).max(1), d.saturating_sub(jitter)))
    }
}

/// So many of the largest parts are kept: of ten thousand tasks on a core each would have ten thousand.
const PARTS: usize = 16;

/// The largest parts first, none of nothing.
fn ranked(mut parts: Vec<Part>) -> Vec<Part> {
    parts.retain(|part| !part.amount.is_zero());
    parts.sort_by_key(|part| (core::cmp::Reverse(part.amount), part.whose));
    parts.truncate(PARTS);
    parts.shrink_to_fit();
    parts
}
