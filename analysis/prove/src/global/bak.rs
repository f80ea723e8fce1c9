//! BAK: Baker's test of 2003 for global EDF.

use crate::effort::Effort;
use crate::exact::{Ratio, sum_cmp};
use crate::necessary::refuse;
use crate::task::{Task, TaskSet};
use crate::verdict::{Reason, Stop, TestAnswer, settle};
use core::cmp::Ordering;

/// Accepts if for every task `k`, with `l = C_k / D_k`,
/// `sum_i min(1, b_i) <= m (1 - l) + l`, where
/// `b_i = U_i (1 + (T_i - D_i) / D_k)`, plus `(C_i - l T_i) / D_k` where `U_i > l`: Baker, RTSS 2003, as restated
/// by Bertogna, Cirinei & Lipari, ECRTS 2005, Theorem 5. For deadlines up to periods only.
///
/// [`crate::global::bak05`] lets `l` range over larger values.
pub fn bak(set: &TaskSet, effort: &mut Effort<'_>) -> TestAnswer {
    if !set.is_constrained() {
        return TestAnswer::NotApplicable(Reason::DeadlineAbovePeriod);
    }
    settle(judge(set, effort))
}

fn judge(set: &TaskSet, effort: &mut Effort<'_>) -> Result<TestAnswer, Stop> {
    if !set.fits_alone() {
        return Ok(refuse(set));
    }
    let filter = Filter::new(set.tasks());
    for task in set.tasks() {
        effort.spend(set.tasks().len())?;
        let holds = match filter.holds(task, f64::from(set.cores())) {
            Some(holds) => holds,
            None => holds_exactly(set, task)?,
        };
        if !holds {
            return Ok(refuse(set));
        }
    }
    Ok(TestAnswer::Accepted)
}

/// The inequality in doubles, with a bound on their error.
struct Filter {
    /// For each task: utilisation, `U (T - D)`, execution time, period.
    terms: Vec<[f64; 4]>,
    sums: [f64; 4],
}

impl Filter {
    fn new(tasks: &[Task]) -> Self {
        let term = |task: &Task| {
            let (c, t, d) = (task.c() as f64, task.t() as f64, task.d() as f64);
            [c / t, c / t * (t - d), c, t]
        };
        let terms: Vec<[f64; 4]> = tasks.iter().map(term).collect();
        let mut sums = [0.0; 4];
        for term in &terms {
            for (sum, part) in sums.iter_mut().zip(term) {
                *sum += part;
            }
        }
        Self { terms, sums }
    }

    /// Whether the inequality holds for `task`; `None` where the sides are too close to tell.
    fn holds(&self, task: &Task, m: f64) -> Option<bool> {
        let inverse = 1.0 / task.d() as f64;
        let rate = task.c() as f64 * inverse;
        let share = |&[used, gap, c, t]: &[f64; 4]| {
            (used + gap * inverse + (c - rate * t).max(0.0) * inverse).min(1.0)
        };
        let sum: f64 = self.terms.iter().map(share).sum();
        let bound = m - (m - 1.0) * rate;
        // Each share is a few operations on magnitudes whose sums are known; additions err on the running sum.
        let [used, gap, c, t] = self.sums;
        let magnitude = used + (gap + c + rate * t) * inverse;
        let additions = self.terms.len() as f64 + 8.0;
        let error = f64::EPSILON * (16.0 * magnitude + additions * sum + 8.0 * m);
        if (sum - bound).abs() > error { Some(sum < bound) } else { None }
    }
}

/// The inequality in integers, both sides multiplied by `D_k^2`.
fn holds_exactly(set: &TaskSet, task: &Task) -> Result<bool, Stop> {
    let (c, d) = (u128::from(task.c()), u128::from(task.d()));
    let one = d * d;
    let scaled = |other: &Task| {
        let (ci, ti, di) = (u128::from(other.c()), u128::from(other.t()), u128::from(other.d()));
        let regular = ci.checked_mul(d + ti - di)?.checked_mul(d)?;
        let excess = (ci * d).saturating_sub(c * ti).checked_mul(ti)?;
        let num = regular.checked_add(excess)?.min(one.checked_mul(ti)?);
        Some(Ratio { num, den: other.t() })
    };
    let shares: Option<Vec<Ratio>> = set.tasks().iter().map(scaled).collect();
    let shares = shares.ok_or(Stop::Overflow)?;
    let bound = (set.m() * (d - c) + c).checked_mul(d).ok_or(Stop::Overflow)?;
    Ok(sum_cmp(shares.iter().copied(), bound) != Ordering::Greater)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::global::drawn::constrained;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_filter_agrees_with_integers(set in constrained(20)) {
            let filter = Filter::new(set.tasks());
            for task in set.tasks() {
                if let Some(holds) = filter.holds(task, f64::from(set.cores())) {
                    prop_assert_eq!(Ok(holds), holds_exactly(&set, task));
                }
            }
        }
    }
}
