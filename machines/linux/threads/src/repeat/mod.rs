//! Changes of orders of priorities, decided again by the criterion itself from what a run's records say of its jobs.
//!
//! ```text
//!   records: releases, deadlines, sections ──▶ Criterion::rank ──▶ sorted ──▶ the key? the order? the priorities? in time?
//!   kept during the run: keys, places, system calls ────────────────────────────────────────▲
//! ```
//! It finds a key that is not the criterion's, a thread in another place, a priority that was not set or was another, a change that was made too late
//! or never. It does not find what the records themselves have wrong, nor what Linux made of the priorities that it took: who ran when stands in
//! its records of switches. Inheritance is Linux's own and changes no order.

mod facts;
mod order;
#[cfg(test)]
mod tests;

use crate::change_log::ChangeLog;
use crate::coordinate::Ran;
use facts::Facts;
use order::{Order, RankOf};
use solo_model::{Duration, Experiment, Instant, TaskClass, TaskId};
use solo_schedule::{Criterion, JobView, Rank, TaskParameters};
use std::collections::BTreeSet;
use std::fmt;

/// What came of deciding every change again.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Compared {
    /// Changes that were compared, and those that the records demand and that never were.
    pub changes: u64,
    /// Of these, those that the criterion decides otherwise.
    pub otherwise: u64,
    /// The first of them: its number among the changes of all orders by time, and what is wrong.
    pub first: Option<(u64, Otherwise)>,
    /// Changes that were not kept; nothing that came after one in its order was compared.
    pub not_kept: u64,
    /// Changes after the end of the run, of which its records say nothing: not compared.
    pub after_end: u64,
}

/// What is wrong with a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Otherwise {
    /// Nothing says which job it is of.
    Unknown,
    /// The key is not that of the job.
    Key,
    /// The threads were in another order.
    Order,
    /// A thread had another priority, or none, or was refused it.
    Priorities,
    /// While priorities were set, a thread was for a moment as urgent as one before it, or more, and neither of them moved.
    Meanwhile,
    /// It was made too early or too late.
    Time,
    /// It never was.
    Missing,
}

impl fmt::Display for Otherwise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "the records have no job that it could be of",
            Self::Key => "its key is not the one that the criterion gives the job",
            Self::Order => "threads were in another order",
            Self::Priorities => "a thread did not have the priority of its place",
            Self::Meanwhile => "a thread was for a moment as urgent as one before it, or more",
            Self::Time => "it was made too early or too late",
            Self::Missing => "it was never made",
        })
    }
}

/// Decides all changes of a run's orders again. `key_of` makes the keys that were kept of ranks.
pub fn repeat<C: Criterion>(
    logs: &[ChangeLog],
    experiment: &Experiment,
    ran: &Ran,
    key_of: fn(Rank) -> u64,
) -> Compared {
    let facts = Facts::new(experiment, ran);
    let parameters: Vec<TaskParameters> = experiment.tasks.iter().map(TaskParameters::from).collect();
    let rank_of = |task: TaskId, job: u64| {
        let (release, deadline) = facts.job(task, job)?;
        let parameters = parameters.get(task.index())?;
        let executed = Duration::ZERO;
        Some(C::rank(&JobView { task, parameters, release, deadline, executed, turn: 0, yielded: false }))
    };
    let mut sum = Sum { compared: Compared::default(), found: None, whole: true, entered: BTreeSet::new() };
    for log in logs {
        sum.add(log, &mut Order::new(experiment, &facts, &rank_of as RankOf<'_>, key_of, log.highest), ran);
    }
    let tasks = (0..).map(TaskId).zip(&experiment.tasks);
    let ranked = tasks.filter(|(_, task)| task.class != TaskClass::BestEffort).map(|(id, _)| id);
    // Who did jobs and never had a place lacks one for each, and its first.
    let lacks = ranked.filter(|id| facts.done(*id) > 0 && !sum.entered.contains(id));
    let lacking = lacks.map(|id| facts.done(id) + 1).sum();
    if sum.whole {
        sum.miss(lacking);
    }
    let Sum { mut compared, found, .. } = sum;
    compared.first = found.map(|(at, otherwise)| {
        let before = logs.iter().flat_map(|log| &log.changes).filter(|changed| changed.at < at);
        (before.count() as u64, otherwise)
    });
    compared
}

/// What was found so far.
struct Sum {
    compared: Compared,
    /// When the first change was made that is decided otherwise, and what is wrong with it.
    found: Option<(u64, Otherwise)>,
    /// No change is missing between others.
    whole: bool,
    entered: BTreeSet<TaskId>,
}

impl Sum {
    /// All changes of one order.
    fn add(&mut self, log: &ChangeLog, order: &mut Order<'_>, ran: &Ran) {
        let (mut from, mut whole) = (0, log.not_kept == 0);
        self.compared.not_kept += log.not_kept;
        for (expected, changed) in (0..).zip(&log.changes) {
            if changed.number != expected {
                self.compared.not_kept += changed.number.saturating_sub(expected).max(1);
                whole = false;
                break;
            }
            let until = from + usize::try_from(changed.calls).unwrap_or(0);
            let calls = log.calls.get(from..until).unwrap_or_default();
            from = until;
            let at = Instant::new(changed.at.saturating_sub(ran.began));
            if at > ran.end {
                order.count(changed);
                self.compared.after_end += 1;
                continue;
            }
            self.compared.changes += 1;
            if let Some(otherwise) = order.take(changed, calls, at) {
                self.find(changed.at, otherwise, 1);
            }
        }
        self.entered.extend(order.tasks());
        self.whole &= whole;
        if whole {
            self.miss(order.missing());
        }
    }

    /// So many changes never were.
    fn miss(&mut self, count: u64) {
        if count > 0 {
            self.compared.changes += count;
            self.find(u64::MAX, Otherwise::Missing, count);
        }
    }

    fn find(&mut self, at: u64, otherwise: Otherwise, count: u64) {
        self.compared.otherwise += count;
        if self.found.is_none_or(|(first, _)| at < first) {
            self.found = Some((at, otherwise));
        }
    }
}
