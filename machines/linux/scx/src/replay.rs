//! What the scheduler with ranks decided inside the kernel, decided again by the policy itself.
//!
//! ```text
//!   what was told, in its order ──▶ Scheduler<C>: who is ready, who runs where ──▶ the same thread? nobody left waiting? nobody asked in vain?
//! ```
//! The program in the kernel is another text than the policy (tier C). Here every one of its decisions meets the function that decides on
//! the simulated machine and in the RTOS: `Criterion::rank` orders jobs, `Scheduler::choose` and `cores_to_ask` say who runs.

use crate::told::{Kind, Told};
use solo_model::{CoreId, CoreSet, Duration, Instant, TaskClass, TaskId, ThreadId};
use solo_schedule::{Choice, Criterion, JobView, Rank, Scheduler, TaskParameters, Whereabouts};
use std::collections::BTreeMap;

/// The part of a key that the criterion's own key has.
const KEY: u64 = (1 << 62) - 1;
/// As many are kept until one that is missing comes; then it is lost.
const PATIENCE: usize = 100_000;

/// A rank as a number that orders threads as ranks do: the class, then the criterion's key. Equals go by the task's number.
pub fn key_of(rank: Rank) -> u64 {
    let class: u64 = match rank.class() {
        TaskClass::Hard => 0,
        TaskClass::Soft => 1,
        TaskClass::BestEffort => 2,
    };
    class << 62 | u64::try_from(rank.key()).unwrap_or(0).min(KEY)
}

/// A job of a task as a criterion of ranks sees it, that neither ages nor stands in line.
pub fn job<'t>(task: TaskId, parameters: &'t TaskParameters, deadline: Option<Instant>) -> JobView<'t> {
    let executed = Duration::ZERO;
    JobView { task, parameters, release: Instant::ZERO, deadline, executed, turn: 0, yielded: false }
}

/// What came of deciding everything again.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Replayed {
    /// Decisions that were compared: whom a CPU takes, and whether one has to be asked.
    pub decisions: u64,
    /// Of these, those of which the policy thinks otherwise.
    pub disagreements: u64,
    /// The first of them, by its number.
    pub first: Option<u64>,
    /// Threads that the kernel put on a CPU by itself.
    pub placed: u64,
    /// What was not told, for the ring was full.
    pub lost: u64,
}

/// A domain, and which of its CPUs were asked and have not chosen yet.
struct Domain<C> {
    scheduler: Scheduler<C>,
    asked: CoreSet,
}

/// Decides again what was decided.
pub struct Replay<C> {
    tasks: Vec<TaskParameters>,
    /// The domain of each task.
    of_task: Vec<usize>,
    domains: Vec<Domain<C>>,
    /// What came before its turn.
    early: BTreeMap<u64, Told>,
    next: u64,
    account: Replayed,
}

impl<C: Criterion> Replay<C> {
    /// Of tasks, each with the number of its domain, on domains of CPUs.
    pub fn new(tasks: Vec<TaskParameters>, of_task: Vec<usize>, domains: &[CoreSet]) -> Self {
        let domain = |cpus: &CoreSet| {
            let mut scheduler = Scheduler::new(*cpus, tasks.len());
            cpus.iter().for_each(|cpu| scheduler.bring_online(cpu));
            Domain { scheduler, asked: CoreSet::EMPTY }
        };
        let domains = domains.iter().map(domain).collect();
        Self { tasks, of_task, domains, early: BTreeMap::new(), next: 0, account: Replayed::default() }
    }

    /// Takes in what was told next; it may come before its turn.
    pub fn take(&mut self, told: Told) {
        self.early.insert(told.number, told);
        while let Some(told) = self.early.remove(&self.next) {
            self.decide(told);
            self.next += 1;
        }
        if self.early.len() > PATIENCE {
            self.give_up_waiting();
        }
    }

    /// What came of all of it.
    pub fn finish(mut self) -> Replayed {
        while !self.early.is_empty() {
            self.give_up_waiting();
        }
        self.account
    }

    /// What is missing is lost; from there on nothing is known of who waits where.
    fn give_up_waiting(&mut self) {
        let Some((&first, _)) = self.early.first_key_value() else { return };
        self.account.lost += first - self.next;
        self.next = first;
        while let Some(told) = self.early.remove(&self.next) {
            self.decide(told);
            self.next += 1;
        }
    }

    fn decide(&mut self, told: Told) {
        if self.account.lost > 0 {
            return;
        }
        let agrees = match told.kind {
            Kind::Ready => self.ready(told),
            Kind::Chosen => self.chosen(told),
            Kind::Gone => self.gone(told),
            Kind::Rank => self.another_rank(told),
            Kind::Placed => self.placed(told),
            Kind::Taken => self.taken(told),
            Kind::Given => self.given(told),
        };
        // What no scheduler of these tasks can have told is no agreement.
        if !agrees.unwrap_or(false) {
            self.account.disagreements += 1;
            self.account.first.get_or_insert(told.number);
        }
    }

    /// The rank that the criterion gives a job, where it comes to the key that was told.
    fn rank(&self, seat: u32, key: u64) -> Option<Rank> {
        let parameters = self.tasks.get(seat as usize)?;
        let deadline = parameters.deadline.map(|_| Instant::new(key & KEY));
        let rank = C::rank(&job(TaskId(seat), parameters, deadline));
        (key_of(rank) == key).then_some(rank)
    }

    fn domain_of(&mut self, seat: u32) -> Option<&mut Domain<C>> {
        self.domains.get_mut(*self.of_task.get(seat as usize)?)
    }

    fn domain_with(&mut self, cpu: u32) -> Option<(&mut Domain<C>, CoreId)> {
        let core = CoreId(u16::try_from(cpu).ok()?);
        let domain = self.domains.iter_mut().find(|domain| domain.scheduler.cores().contains(core))?;
        Some((domain, core))
    }

    fn ready(&mut self, told: Told) -> Option<bool> {
        let seat = told.seat?;
        let rank = self.rank(seat, told.key);
        self.account.decisions += 1;
        let domain = self.domain_of(seat)?;
        domain.leave(seat);
        domain.scheduler.insert(ThreadId(seat), rank?);
        Some(domain.asks(told.asked))
    }

    fn chosen(&mut self, told: Told) -> Option<bool> {
        self.account.decisions += 1;
        let (domain, core) = self.domain_with(told.cpu?)?;
        domain.asked = domain.asked.without(core);
        let before = domain.scheduler.running(core);
        let choice = domain.scheduler.choose(core);
        if let (Choice::Take(_), Some(before)) = (choice, before) {
            // It is with the kernel until it is told to be ready.
            domain.scheduler.remove(before.thread);
        }
        let now = domain.scheduler.running(core).map(|head| head.thread.0);
        Some(now == told.seat)
    }

    fn gone(&mut self, told: Told) -> Option<bool> {
        let domain = self.domain_of(told.seat?)?;
        domain.leave(told.seat?);
        Some(true)
    }

    fn another_rank(&mut self, told: Told) -> Option<bool> {
        let seat = told.seat?;
        let rank = self.rank(seat, told.key)?;
        let domain = self.domain_of(seat)?;
        domain.scheduler.rerank(ThreadId(seat), rank);
        if let Whereabouts::Running(core) = domain.scheduler.place(ThreadId(seat)) {
            domain.asked = domain.asked.with(core);
        }
        Some(true)
    }

    fn placed(&mut self, told: Told) -> Option<bool> {
        let seat = told.seat?;
        let rank = self.rank(seat, told.key)?;
        self.account.placed += 1;
        self.account.decisions += 1;
        self.domain_of(seat)?.leave(seat);
        let (domain, core) = self.domain_with(told.cpu?)?;
        domain.scheduler.vacate(core);
        domain.place(core, ThreadId(seat), rank);
        domain.asked = domain.asked.without(core);
        Some(domain.asks(told.asked))
    }

    fn taken(&mut self, told: Told) -> Option<bool> {
        self.account.decisions += 1;
        let (domain, core) = self.domain_with(told.cpu?)?;
        let before = domain.scheduler.vacate(core).map(|head| head.thread.0);
        domain.scheduler.take_offline(core);
        domain.asked = domain.asked.without(core);
        let agrees = domain.asks(told.asked);
        Some(agrees && before == told.seat)
    }

    fn given(&mut self, told: Told) -> Option<bool> {
        let (domain, core) = self.domain_with(told.cpu?)?;
        domain.scheduler.bring_online(core);
        domain.asked = domain.asked.with(core);
        Some(true)
    }
}

impl<C: Criterion> Domain<C> {
    /// A thread is no longer where it was; the CPU that ran it chooses next.
    fn leave(&mut self, seat: u32) {
        if let Whereabouts::Running(core) = self.scheduler.remove(ThreadId(seat)) {
            self.asked = self.asked.with(core);
        }
    }

    /// A CPU runs this thread, whoever waits.
    fn place(&mut self, core: CoreId, thread: ThreadId, rank: Rank) {
        let mut waiting = Vec::new();
        while let Choice::Take(other) = self.scheduler.choose(core) {
            if let Some(head) = self.scheduler.vacate(core) {
                waiting.push((other, head.rank));
            }
        }
        self.scheduler.insert(thread, rank);
        let _ = self.scheduler.choose(core);
        waiting.into_iter().for_each(|(other, rank)| self.scheduler.insert(other, rank));
    }

    /// True where `asked` is asked because one has to be, or nobody because nobody has to.
    fn asks(&mut self, asked: Option<u32>) -> bool {
        let needed = self.leaves_waiting();
        let Some(asked) = asked else { return !needed };
        let Ok(asked) = u16::try_from(asked) else { return false };
        self.asked = self.asked.with(CoreId(asked));
        needed && !self.leaves_waiting()
    }

    /// True where somebody waits who is more urgent than somebody who runs, when all CPUs that were asked have chosen.
    fn leaves_waiting(&self) -> bool {
        if self.scheduler.ready_len() == 0 {
            return false;
        }
        let mut then = self.scheduler.clone();
        for core in self.asked.iter().filter(|core| then.is_online(*core)).collect::<Vec<_>>() {
            let _ = then.choose(core);
        }
        !then.cores_to_ask(self.scheduler.cores().iter().next().unwrap_or_default()).is_empty()
    }
}
