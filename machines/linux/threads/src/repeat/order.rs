//! One order of threads, decided again change by change.

use super::Otherwise;
use super::facts::Facts;
use crate::change_log::{Call, Change, Changed, users_of};
use solo_model::work::LockProtocol;
use solo_model::{Experiment, Instant, LockId, TaskId};
use solo_schedule::Rank;
use std::collections::BTreeMap;

/// The rank of a task's job of this number; `None` where nothing says what that job is.
pub(super) type RankOf<'r> = &'r dyn Fn(TaskId, u64) -> Option<Rank>;

/// A thread, and what is known of it.
struct Place {
    task: TaskId,
    /// Of its job, or of the next one where it waits for that.
    rank: Rank,
    /// The locks with ceilings that it has taken or is about to, and what each makes of it.
    raised: Vec<(LockId, Rank)>,
    /// What the last system call gave it.
    priority: Option<i32>,
    /// Linux says that it has ended.
    gone: bool,
}

impl Place {
    /// With its locks.
    fn effective(&self) -> Rank {
        self.raised.iter().map(|(_, rank)| *rank).fold(self.rank, Ord::min)
    }
}

/// An order as the criterion has it, beside the one that was kept and the priorities that were set.
pub(super) struct Order<'r> {
    experiment: &'r Experiment,
    facts: &'r Facts<'r>,
    rank_of: RankOf<'r>,
    key_of: fn(Rank) -> u64,
    /// In the order in which they came.
    places: Vec<Place>,
    /// The numbers of threads, and whose they are, by their positions in `places`.
    threads: BTreeMap<u32, usize>,
    /// The criterion's order: positions in `places`, and where each of these stands.
    expected: Vec<usize>,
    standing: Vec<usize>,
    /// The order that was kept.
    kept: Vec<TaskId>,
    highest: i32,
    /// How often each task took its next job's place.
    ranks: BTreeMap<TaskId, u64>,
    raises: BTreeMap<(TaskId, LockId), usize>,
    lowers: BTreeMap<(TaskId, LockId), usize>,
}

impl<'r> Order<'r> {
    pub(super) fn new(
        experiment: &'r Experiment,
        facts: &'r Facts<'r>,
        rank_of: RankOf<'r>,
        key_of: fn(Rank) -> u64,
        highest: i32,
    ) -> Self {
        Self {
            experiment,
            facts,
            rank_of,
            key_of,
            places: Vec::new(),
            threads: BTreeMap::new(),
            expected: Vec::new(),
            standing: Vec::new(),
            kept: Vec::new(),
            highest,
            ranks: BTreeMap::new(),
            raises: BTreeMap::new(),
            lowers: BTreeMap::new(),
        }
    }

    /// The tasks that came.
    pub(super) fn tasks(&self) -> impl Iterator<Item = TaskId> + '_ {
        self.places.iter().map(|place| place.task)
    }

    /// Takes in a change that was decided at this time of the run. What is wrong with it, if something is: the first thing that is.
    pub(super) fn take(&mut self, changed: &Changed, calls: &[Call], at: Instant) -> Option<Otherwise> {
        let in_time = self.is_in_time(changed, at);
        self.count(changed);
        // Everything is taken in, whatever is wrong with one part of it: the next change builds on it.
        let known = self.apply(changed);
        let order = self.reorder(changed);
        let Some(own) = self.position(changed.task) else { return Some(Otherwise::Unknown) };
        let called = calls.iter().fold(None, |wrong: Option<Otherwise>, call| {
            let own = self.call(own, call, at);
            wrong.or(own)
        });
        let key = (self.key_of)(self.places[own].rank) == changed.key;
        None.or((!known).then_some(Otherwise::Unknown))
            .or((!key).then_some(Otherwise::Key))
            .or((!order).then_some(Otherwise::Order))
            .or(called)
            .or((!self.has_priorities()).then_some(Otherwise::Priorities))
            .or((!in_time).then_some(Otherwise::Time))
    }

    /// Counts a change without looking at it.
    pub(super) fn count(&mut self, changed: &Changed) {
        match changed.change {
            Change::Enter { .. } => {}
            Change::Rank => *self.ranks.entry(changed.task).or_default() += 1,
            Change::Raise(lock) => *self.raises.entry((changed.task, lock)).or_default() += 1,
            Change::Lower(lock) => *self.lowers.entry((changed.task, lock)).or_default() += 1,
        }
    }

    /// How many changes the records demand of these threads that never were: a place for each job that was done, and a rise and its end for
    /// each section with a ceiling.
    pub(super) fn missing(&self) -> u64 {
        let jobs = self.tasks().map(|task| {
            let made = self.ranks.get(&task).copied().unwrap_or(0);
            self.facts.done(task).saturating_sub(made)
        });
        let rises = |lock: LockId| {
            let lock = self.experiment.locks.get(lock.index());
            lock.is_some_and(|lock| lock.protocol == LockProtocol::Ceiling)
        };
        let own = |task: TaskId| self.places.iter().any(|place| place.task == task);
        let sections = self.facts.sections().filter(|((task, lock), ..)| rises(*lock) && own(*task));
        let sections = sections.map(|(section, asked, given)| {
            let made = |of: &BTreeMap<_, usize>| of.get(&section).copied().unwrap_or(0);
            let missing = asked.saturating_sub(made(&self.raises)) + given.saturating_sub(made(&self.lowers));
            missing as u64
        });
        jobs.chain(sections).sum()
    }

    fn position(&self, task: TaskId) -> Option<usize> {
        self.places.iter().position(|place| place.task == task)
    }

    /// Whether a change was made when it had to be: a job's place after the job before and before it began itself, a rise before the lock was
    /// asked for, its end after that was given back.
    fn is_in_time(&self, changed: &Changed, at: Instant) -> bool {
        let (task, facts) = (changed.task, self.facts);
        let after = |time: Option<Instant>| time.is_none_or(|time| time <= at);
        let before = |time: Option<Instant>| time.is_none_or(|time| at <= time);
        match changed.change {
            Change::Enter { .. } => before(facts.start(task, 0)),
            Change::Rank => {
                let job = self.ranks.get(&task).copied().unwrap_or(0);
                let last = job.checked_sub(1).and_then(|last| facts.finish(task, last));
                after(last) && before(facts.start(task, job))
            }
            Change::Raise(lock) => {
                let section = (task, lock);
                let n = self.raises.get(&section).copied().unwrap_or(0);
                let last = n.checked_sub(1).and_then(|last| facts.given(section, last));
                after(last) && before(facts.asked(section, n))
            }
            Change::Lower(lock) => {
                let section = (task, lock);
                let n = self.lowers.get(&section).copied().unwrap_or(0);
                after(facts.given(section, n)) && before(facts.asked(section, n + 1))
            }
        }
    }

    /// The criterion's order after a change. False where nothing says what the change should have been.
    fn apply(&mut self, changed: &Changed) -> bool {
        let (task, own) = (changed.task, self.position(changed.task));
        let known = match (changed.change, own) {
            (Change::Enter { thread }, None) => {
                let Some(rank) = (self.rank_of)(task, 0) else { return false };
                self.threads.insert(thread, self.places.len());
                self.expected.push(self.places.len());
                self.places.push(Place { task, rank, raised: Vec::new(), priority: None, gone: false });
                true
            }
            (Change::Rank, Some(own)) => {
                let job = self.ranks.get(&task).copied().unwrap_or(1) - 1;
                let rank = (self.rank_of)(task, job);
                self.places[own].rank = rank.unwrap_or(self.places[own].rank);
                rank.is_some()
            }
            (Change::Raise(lock), Some(own)) => {
                let users = users_of(self.experiment, lock);
                let others =
                    self.places.iter().filter(|other| other.task != task && users.contains(&other.task));
                let ceiling = others.map(|other| other.rank).min().map(|rank| rank.ceiling(task));
                self.places[own].raised.extend(ceiling.map(|ceiling| (lock, ceiling)));
                true
            }
            (Change::Lower(lock), Some(own)) => {
                self.places[own].raised.retain(|(raised, _)| *raised != lock);
                true
            }
            (Change::Enter { .. }, Some(_)) | (_, None) => false,
        };
        let places = &self.places;
        self.expected.sort_by_key(|at| places[*at].effective());
        self.standing.resize(places.len(), 0);
        for (standing, at) in self.expected.iter().enumerate() {
            self.standing[*at] = standing;
        }
        known
    }

    /// The kept order after a change. True where it is the criterion's.
    fn reorder(&mut self, changed: &Changed) -> bool {
        self.kept.retain(|task| *task != changed.task);
        let place = usize::try_from(changed.place).unwrap_or(usize::MAX);
        let there = place <= self.kept.len();
        self.kept.insert(place.min(self.kept.len()), changed.task);
        there && self.expected.iter().map(|at| self.places[*at].task).eq(self.kept.iter().copied())
    }

    /// Takes in a system call made because the thread at `mover` moves. What is wrong with it, if something is: who it is, that it was refused, or
    /// that somebody else was for a moment as urgent as who comes before, or more.
    fn call(&mut self, mover: usize, call: &Call, at: Instant) -> Option<Otherwise> {
        let Some(&own) = self.threads.get(&call.thread) else { return Some(Otherwise::Priorities) };
        let place = &mut self.places[own];
        match call.refused {
            0 => place.priority = Some(call.priority),
            libc::ESRCH => {
                (place.priority, place.gone) = (None, true);
                // Whoever is gone can't have done a job later.
                let (task, done) = (place.task, self.facts.done(place.task));
                let last = done.checked_sub(1).and_then(|last| self.facts.finish(task, last));
                return last.is_some_and(|last| last > at).then_some(Otherwise::Priorities);
            }
            _ => return Some(Otherwise::Priorities),
        }
        let (before, after) =
            (&self.expected[..self.standing[own]], &self.expected[self.standing[own] + 1..]);
        let other = |at: &usize| self.places[*at].priority.filter(|_| *at != mover);
        let before = before.iter().rev().find_map(other).is_none_or(|before| before > call.priority);
        let after = after.iter().find_map(other).is_none_or(|after| after < call.priority);
        (own != mover && !(before && after)).then_some(Otherwise::Meanwhile)
    }

    /// True where threads have the priorities of the criterion's order, each of its own.
    fn has_priorities(&self) -> bool {
        let mut next = self.highest;
        self.expected.iter().all(|at| {
            let priority = next;
            next -= 1;
            let place = &self.places[*at];
            place.gone || place.priority == Some(priority)
        })
    }
}
