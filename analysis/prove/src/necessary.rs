//! Necessary conditions: what no scheduler can make up for.

use crate::demand::{ForcedDemand, crossing};
use crate::effort::Effort;
use crate::exact::{Ratio, sum_cmp};
use crate::line::{Slope, first_above};
use crate::task::{TaskSet, Ticks};
use crate::verdict::{Infeasible, Stop, TestAnswer, settle};
use core::cmp::Ordering;

/// True where the utilisations sum up to more than `cores` (thesis 2.3.2).
pub(crate) fn overloads(set: &TaskSet) -> bool {
    let utilizations = set.tasks().iter().map(|task| Ratio::new(task.c(), task.t()));
    sum_cmp(utilizations, set.m()) == Ordering::Greater
}

/// The first task that is longer than its deadline.
pub(crate) fn longer_than_deadline(set: &TaskSet) -> Option<usize> {
    if set.fits_alone() { None } else { set.tasks().iter().position(|task| task.c > task.d) }
}

/// What a sufficient test answers that did not accept: infeasible where a quick necessary condition fails.
pub(crate) fn refuse(set: &TaskSet) -> TestAnswer {
    if let Some(task) = longer_than_deadline(set) {
        return TestAnswer::Infeasible(Infeasible::LongerThanDeadline(task));
    }
    if overloads(set) { TestAnswer::Infeasible(Infeasible::Utilization) } else { TestAnswer::NotProved }
}

/// All necessary conditions: `Infeasible` with the first that fails, else `NotProved`, which here means that
/// nothing speaks against the set.
///
/// Beyond utilisation and single tasks it asks whether jobs released together must execute, each at full
/// speed from the last possible moment, for longer than the cores can (Baker & Cirinei, RTSS 2006, necessary
/// condition by minimum demand; forced-forward demand of speed 1). Where deadlines exceed periods that last
/// question is left out.
pub fn necessary(set: &TaskSet, effort: &mut Effort<'_>) -> TestAnswer {
    match refuse(set) {
        TestAnswer::NotProved => settle(demand(set, effort)),
        infeasible => infeasible,
    }
}

fn demand(set: &TaskSet, effort: &mut Effort<'_>) -> Result<TestAnswer, Stop> {
    let Some(limit) = crossing(set, f64::from(set.cores())).filter(|_| set.is_constrained()) else {
        return Ok(TestAnswer::NotProved);
    };
    let forced = ForcedDemand { tasks: set.tasks(), num: 1, den: 1 };
    let above = first_above(&forced, Slope { num: set.m(), den: 1 }, limit, effort)?;
    Ok(above.map_or(TestAnswer::NotProved, |at| TestAnswer::Infeasible(Infeasible::Demand(Ticks(at)))))
}
