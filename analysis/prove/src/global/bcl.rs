//! BCL: interference in the window of one deadline, for global EDF.

use crate::effort::Effort;
use crate::necessary::refuse;
use crate::task::{Task, TaskSet};
use crate::verdict::{Reason, Stop, TestAnswer, settle};

/// Accepts if for every task `k`, with `W_i` the most work of task `i` in a window of `D_k` that ends with a
/// deadline of both, `S = sum_{i != k} min(W_i, D_k - C_k) < m (D_k - C_k)`; also where both sides are equal and
/// some `W_i` lies in `1..=D_k - C_k`: Bertogna, Cirinei & Lipari, ECRTS 2005, Theorem 7. For deadlines up to
/// periods only. A task with `C = D` is never accepted.
///
/// `W_i = N C_i + min(C_i, max(0, D_k - N T_i))`, `N = floor((D_k - D_i) / T_i) + 1`, or 0 where `D_i > D_k`.
pub fn bcl(set: &TaskSet, effort: &mut Effort<'_>) -> TestAnswer {
    if !set.is_constrained() {
        return TestAnswer::NotApplicable(Reason::DeadlineAbovePeriod);
    }
    settle(judge(set, effort))
}

fn judge(set: &TaskSet, effort: &mut Effort<'_>) -> Result<TestAnswer, Stop> {
    if !set.fits_alone() {
        return Ok(refuse(set));
    }
    for index in 0..set.tasks().len() {
        effort.spend(set.tasks().len())?;
        if !holds(set, index) {
            return Ok(refuse(set));
        }
    }
    Ok(TestAnswer::Accepted)
}

fn work(task: &Task, window: u64) -> u64 {
    let jobs = window.checked_sub(task.d()).map_or(0, |rest| rest / task.t() + 1);
    jobs * task.c() + window.saturating_sub(jobs * task.t()).min(task.c())
}

fn holds(set: &TaskSet, index: usize) -> bool {
    let task = &set.tasks()[index];
    let free = task.d() - task.c();
    let (mut sum, mut some_fits) = (0u128, false);
    for (_, other) in set.tasks().iter().enumerate().filter(|&(other, _)| other != index) {
        let work = work(other, task.d());
        sum += u128::from(work.min(free));
        some_fits |= work > 0 && work <= free;
    }
    let room = set.m() * u128::from(free);
    sum < room || sum == room && some_fits
}
