//! BCL iterative: interference bounds tightened by the slack already proved, for global EDF.

use crate::budget::Budget;
use crate::global::interference::edf_interference;
use crate::necessary::refuse;
use crate::task::TaskSet;
use crate::verdict::{Reason, Stop, Verdict, settle};

/// Accepts when within one pass over the tasks every
/// `D_k - C_k - floor(sum_{i != k} min(I_i, D_k - C_k + 1) / m)` is at least zero, where
/// `I_i = floor(D_k / T_i) C_i + min(C_i, max(0, D_k mod T_i - s_i))` and the slacks `s`, zero at first, rise to
/// what was found; rejects when a pass changes none: Bertogna, Cirinei & Lipari, IEEE TPDS 20(4), 2009,
/// the iterative test for EDF. For deadlines up to periods only.
pub fn bcli(set: &TaskSet, budget: &mut Budget<'_>) -> Verdict {
    if !set.is_constrained() {
        return Verdict::NotApplicable(Reason::DeadlineAbovePeriod);
    }
    settle(judge(set, budget))
}

fn judge(set: &TaskSet, budget: &mut Budget<'_>) -> Result<Verdict, Stop> {
    if !set.fits_alone() {
        return Ok(refuse(set));
    }
    let tasks = set.tasks();
    // The most slack there is: whatever fails with it for all others fails for good.
    let most: Vec<u64> = tasks.iter().map(|task| task.d() - task.c()).collect();
    let mut first = true;
    let mut slacks = vec![0u64; tasks.len()];
    loop {
        let (mut all_hold, mut changed) = (true, false);
        for index in 0..tasks.len() {
            budget.spend(tasks.len())?;
            match slack(set, index, &slacks) {
                None => {
                    if first && slack(set, index, &most).is_none() {
                        return Ok(refuse(set));
                    }
                    all_hold = false;
                }
                Some(found) if found > slacks[index] => {
                    slacks[index] = found;
                    changed = true;
                }
                Some(_) => {}
            }
        }
        if all_hold {
            return Ok(Verdict::Accepted);
        }
        if !changed {
            return Ok(refuse(set));
        }
        first = false;
    }
}

/// How long before its deadline the task certainly completes; `None` where that is not proved.
fn slack(set: &TaskSet, index: usize, slacks: &[u64]) -> Option<u64> {
    let task = &set.tasks()[index];
    let free = task.d() - task.c();
    let mut sum = 0u128;
    for (other, (interferer, &slack)) in set.tasks().iter().zip(slacks).enumerate() {
        if other != index {
            sum += u128::from(edf_interference(interferer, task.d(), slack).min(free + 1));
        }
    }
    u64::try_from(sum / set.m()).ok().and_then(|delay| free.checked_sub(delay))
}
