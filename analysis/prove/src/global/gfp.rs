//! Response times under global fixed priorities.

use crate::effort::Effort;
use crate::global::interference::{Interferer, response};
use crate::necessary::refuse;
use crate::task::TaskSet;
use crate::verdict::{Reason, Stop, TestAnswer, settle};

/// The test for the priority order `order`: each task by the least fixed point of
/// `R = C_k + floor(sum_{i more urgent} min(w_i(R), R - C_k + 1) / m)`, with `w_i` of a window of
/// `R + R_i - C_i`, the bounds of more urgent tasks being known (Bertogna & Cirinei, RTSS 2007).
pub(crate) fn judge(set: &TaskSet, order: &[usize], effort: &mut Effort<'_>) -> TestAnswer {
    if !set.is_constrained() {
        return TestAnswer::NotApplicable(Reason::DeadlineAbovePeriod);
    }
    settle(all_respond(set, order, effort).map(|all| if all { TestAnswer::Accepted } else { refuse(set) }))
}

fn all_respond(set: &TaskSet, order: &[usize], effort: &mut Effort<'_>) -> Result<bool, Stop> {
    let mut urgent: Vec<Interferer> = Vec::with_capacity(order.len());
    for &index in order {
        let task = set.tasks()[index];
        match response(&task, u64::from(set.cores()), &mut urgent, effort)? {
            Some(bound) => urgent.push(Interferer::new(&task, bound - task.c(), u64::MAX)),
            None => return Ok(false),
        }
    }
    Ok(true)
}
