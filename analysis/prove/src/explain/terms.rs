//! Both sides of a test's inequality where it fails, or is tightest, and who contributes most.

use crate::demand::dbf;
use crate::effort::Effort;
use crate::explain::TERMS;
use crate::global::gfb::gfb;
use crate::global::interference::edf_interference;
use crate::global::rta;
use crate::task::{Task, TaskSet};
use crate::uni::fp::{Response, order_by, response_times};
use crate::uni::qpa;
use crate::verdict::{Infeasible, TestAnswer};

/// What the numbers of a [`Detail`] count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Millionths of a core.
    MillionthsOfACore,
    /// The set's unit of time.
    Time,
}

impl Unit {
    /// In the words of output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MillionthsOfACore => "millionths of a core",
            Self::Time => "time",
        }
    }
}

/// A task's part of the left side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Term {
    /// The task.
    pub task: usize,
    /// How much.
    pub amount: u64,
}

/// Both sides of an inequality.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Detail {
    /// The task that fails or has the least slack, where the test judges tasks.
    pub task: Option<usize>,
    /// What the numbers count.
    pub unit: Unit,
    /// The left side, at most; rounded up, but never to the other side of what there is.
    pub needs: u64,
    /// What there is: the right side, rounded down.
    pub has: u64,
    /// The largest parts of the left side.
    pub terms: Vec<Term>,
}

impl Detail {
    /// `has - needs`: below zero where the test fails.
    pub fn slack(&self) -> i64 {
        let gap = i128::from(self.has) - i128::from(self.needs);
        gap.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
    }

    fn new(task: Option<usize>, unit: Unit, needs: u64, has: u64, mut terms: Vec<Term>) -> Self {
        terms.retain(|term| term.amount > 0);
        terms.sort_by_key(|term| core::cmp::Reverse(term.amount));
        terms.truncate(TERMS);
        Self { task, unit, needs, has, terms }
    }
}

/// The detail of `gfb`, `rta`, `qpa`, `fp_rm` or `fp_dm` for the set; `None` for other tests, where the test does
/// not apply, or when the effort ends.
pub fn detail(id: &str, set: &TaskSet, effort: &mut Effort<'_>) -> Option<Detail> {
    if set.tasks().is_empty() || !set.fits_alone() {
        return None;
    }
    match id {
        "gfb" => density(set),
        "rta" if set.is_constrained() => global_response(set, effort),
        "qpa" if set.cores() == 1 => demand(set, effort),
        "fp_rm" if set.cores() == 1 => fixed_priority(set, &order_by(set.tasks(), |task| task.t), effort),
        "fp_dm" if set.cores() == 1 => fixed_priority(set, &order_by(set.tasks(), |task| task.d), effort),
        _ => None,
    }
}

/// So many binary places are kept of a millionth while densities are added.
const FINER: u32 = 24;

fn density(set: &TaskSet) -> Option<Detail> {
    let millionths =
        |task: &Task| (u128::from(task.c()) * 1_000_000).div_ceil(u128::from(task.window().get())) as u64;
    let amounts: Vec<u64> = set.tasks().iter().map(millionths).collect();
    let (densest, most) =
        amounts.iter().enumerate().max_by_key(|&(index, amount)| (amount, core::cmp::Reverse(index)))?;
    let cores = u64::from(set.cores());
    let has = cores * 1_000_000 - (cores - 1) * most;
    let terms = amounts.iter().enumerate().map(|(task, &amount)| Term { task, amount }).collect();
    // Terms rounded up one by one would make a hundred thousand tasks a tenth of a core too much. What is left of
    // rounding does not contradict the verdict.
    let finely =
        |task: &Task| (u128::from(task.c()) * (1_000_000 << FINER)).div_ceil(u128::from(task.window().get()));
    let sum: u128 = set.tasks().iter().map(finely).sum();
    let sum = u64::try_from(sum.div_ceil(1 << FINER)).unwrap_or(u64::MAX);
    let needs = if gfb(set, &mut Effort::unlimited()).accepts() { sum.min(has) } else { sum.max(has + 1) };
    Some(Detail::new(Some(densest), Unit::MillionthsOfACore, needs, has, terms))
}

/// The task whose response-time bound is closest to, or beyond, its deadline, with the most that others can
/// delay it within its deadline without any slack known of them.
fn global_response(set: &TaskSet, effort: &mut Effort<'_>) -> Option<Detail> {
    let delays = |index: usize| -> Vec<Term> {
        let task = &set.tasks()[index];
        let others = set.tasks().iter().enumerate().filter(|&(other, _)| other != index);
        let cap = task.d() - task.c() + 1;
        others
            .map(|(other, interferer)| Term {
                task: other,
                amount: edf_interference(interferer, task.d(), 0).min(cap),
            })
            .collect()
    };
    match rta::response_times(set, effort).ok()? {
        Some(times) => {
            let slack = |&index: &usize| set.tasks()[index].d() - times[index];
            let tightest = (0..times.len()).min_by_key(slack)?;
            let has = set.tasks()[tightest].d();
            Some(Detail::new(Some(tightest), Unit::Time, times[tightest], has, delays(tightest)))
        }
        None => {
            effort.spend(set.tasks().len().saturating_mul(2 * set.tasks().len())).ok()?;
            let needs = |index: usize| {
                let sum: u128 = delays(index).iter().map(|term| u128::from(term.amount)).sum();
                let bound = u128::from(set.tasks()[index].c()) + sum / set.m();
                u64::try_from(bound).unwrap_or(u64::MAX)
            };
            let beyond = |&index: &usize| needs(index).saturating_sub(set.tasks()[index].d());
            let worst = (0..set.tasks().len()).max_by_key(beyond)?;
            Some(Detail::new(Some(worst), Unit::Time, needs(worst), set.tasks()[worst].d(), delays(worst)))
        }
    }
}

/// The instant at which demand exceeds time. Nothing to tell where the set is schedulable or overloaded.
fn demand(set: &TaskSet, effort: &mut Effort<'_>) -> Option<Detail> {
    let TestAnswer::Infeasible(Infeasible::Demand(at)) = qpa::edf_on_one_core(set, effort).ok()? else {
        return None;
    };
    let term = |(task, parameters): (usize, &Task)| {
        Some(Term { task, amount: u64::try_from(dbf(parameters, at.get())).ok()? })
    };
    let terms: Vec<Term> = set.tasks().iter().enumerate().map(term).collect::<Option<_>>()?;
    let needs = terms.iter().map(|term| term.amount).sum();
    Some(Detail::new(None, Unit::Time, needs, at.get(), terms))
}

/// The first task found late, or the one of least slack, with what more urgent ones execute within its
/// deadline.
fn fixed_priority(set: &TaskSet, order: &[usize], effort: &mut Effort<'_>) -> Option<Detail> {
    let ranked: Vec<Task> = order.iter().map(|&index| set.tasks()[index]).collect();
    let times = response_times(&ranked, effort)?;
    let slack = |&rank: &usize| match times[rank] {
        Response::Late => None,
        Response::Within(time) => Some(ranked[rank].d() - time.get()),
    };
    // None, a late task, sorts before all slacks.
    let worst = (0..ranked.len()).min_by_key(slack)?;
    let task = &ranked[worst];
    let term = |rank: usize| Term {
        task: order[rank],
        amount: task.d().div_ceil(ranked[rank].t()).saturating_mul(ranked[rank].c()),
    };
    let terms: Vec<Term> = (0..worst).map(term).collect();
    let needs = match times[worst] {
        Response::Within(time) => time.get(),
        // The interference within the deadline does not fit before it; jobs of its own may precede.
        Response::Late => {
            let sum = terms.iter().fold(task.c(), |sum, term| sum.saturating_add(term.amount));
            sum.max(task.d() + 1)
        }
    };
    Some(Detail::new(Some(order[worst]), Unit::Time, needs, task.d(), terms))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(cores: u32, tasks: &[(u64, u64, u64)]) -> TaskSet {
        TaskSet::new(cores, tasks.iter().map(|&(c, t, d)| Task::new(c, t, d)).collect()).unwrap()
    }

    #[test]
    fn the_late_task_and_its_delays_are_named() {
        let set = set(1, &[(2, 10, 10), (5, 15, 15), (10, 25, 25)]);
        let found = detail("fp_rm", &set, &mut Effort::default()).unwrap();
        assert_eq!((found.task, found.needs, found.has, found.slack()), (Some(2), 26, 25, -1));
        assert_eq!(found.terms, [Term { task: 1, amount: 10 }, Term { task: 0, amount: 6 }]);
    }

    #[test]
    fn demand_names_the_instant() {
        let set = set(1, &[(3, 100, 5), (1, 100, 50), (3, 100, 5)]);
        let found = detail("qpa", &set, &mut Effort::default()).unwrap();
        assert_eq!((found.task, found.needs, found.has), (None, 6, 5));
        assert_eq!(found.terms, [Term { task: 0, amount: 3 }, Term { task: 2, amount: 3 }]);
    }

    #[test]
    fn density_counts_millionths() {
        let set = set(2, &[(51, 100, 100), (51, 100, 100), (1, 100, 100)]);
        let found = detail("gfb", &set, &mut Effort::default()).unwrap();
        assert_eq!(
            (found.task, found.needs, found.has, found.slack()),
            (Some(0), 1_030_000, 1_490_000, 460_000)
        );
    }

    /// Rounded one by one, a thousand tasks of a third of a thousandth would need a core and more.
    #[test]
    fn the_sign_of_the_slack_is_the_verdict() {
        let thirds = set(1, &[(1, 3000, 3000); 3000]);
        let found = detail("gfb", &thirds, &mut Effort::default()).unwrap();
        assert_eq!((found.needs, found.slack()), (1_000_000, 0));
        let mut more = vec![(1, 3000, 3000); 3000];
        more.push((1, (1 << 48) - 1, (1 << 48) - 1));
        assert_eq!(detail("gfb", &set(1, &more), &mut Effort::default()).unwrap().slack(), -1);
    }

    #[test]
    fn a_global_task_without_room_names_its_interferers() {
        let set = set(2, &[(51, 100, 100), (51, 100, 100), (51, 100, 100)]);
        let found = detail("rta", &set, &mut Effort::default()).unwrap();
        assert_eq!((found.needs, found.has), (51 + 100 / 2, 100));
        assert_eq!(found.terms.len(), 2);
    }
}
