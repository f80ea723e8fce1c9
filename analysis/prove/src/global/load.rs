//! LOAD: the load test for global EDF.

use crate::demand::{Dbf, crossing};
use crate::effort::Effort;
use crate::exact::{Ratio, sum_cmp};
use crate::global::densest;
use crate::line::{Slope, first_above};
use crate::necessary::refuse;
use crate::task::TaskSet;
use crate::verdict::{Stop, TestAnswer, settle};
use core::cmp::Ordering;

/// Accepts if `max_t sum dbf_i(t) / t <= max(mu - (q - 1) d, (q - 1) - (q - 2) d)`, where `d` is the largest
/// density `C / min(D, T)`, `mu = m - (m - 1) d` and `q = ceil(mu)`: Baker & Baruah, in Handbook of Real-Time and
/// Embedded Systems / Sustainable multiprocessor scheduling, ECRTS 2009, Corollary 2 (thesis 2.4.2.2). For any
/// deadlines.
///
/// The load is not computed: demand is compared with the line of that slope, exactly. Only where the bound
/// equals the utilisation to about 15 digits and some deadline is shorter than its period, so that the
/// comparison would not end, is the set not accepted.
pub fn load(set: &TaskSet, effort: &mut Effort<'_>) -> TestAnswer {
    settle(judge(set, effort))
}

fn judge(set: &TaskSet, effort: &mut Effort<'_>) -> Result<TestAnswer, Stop> {
    let Some((num, den)) = densest(set) else {
        return Ok(TestAnswer::Accepted);
    };
    if !set.fits_alone() {
        return Ok(refuse(set));
    }
    let bound = bound(i128::from(set.cores()), i128::from(num), i128::from(den));
    let slope = Slope { num: bound, den: u128::from(den) };
    if set.tasks().iter().all(|task| task.d >= task.t) {
        return Ok(if slower_than(set, slope) { TestAnswer::Accepted } else { refuse(set) });
    }
    let Some(limit) = crossing(set, bound as f64 / den as f64) else {
        return Ok(refuse(set));
    };
    let above = first_above(&Dbf(set.tasks()), slope, limit, effort)?;
    Ok(if above.is_none() { TestAnswer::Accepted } else { refuse(set) })
}

/// The bound on the load, multiplied by `den`.
fn bound(m: i128, num: i128, den: i128) -> u128 {
    let scaled_mu = m * den - (m - 1) * num;
    let whole = (scaled_mu + den - 1) / den;
    let first = scaled_mu - (whole - 1) * num;
    let second = (whole - 1) * den - (whole - 2) * num;
    // The first is at least mu - (q - 1) >= 0 because a density is at most 1.
    first.max(second).unsigned_abs()
}

/// True where the utilisation is at most the slope.
pub(crate) fn slower_than(set: &TaskSet, slope: Slope) -> bool {
    let scaled = |task: &crate::Task| Ratio { num: u128::from(task.c()) * slope.den, den: task.t() };
    sum_cmp(set.tasks().iter().map(scaled), slope.num) != Ordering::Greater
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Task;

    /// Density measured by `C / D` alone would accept this set, whose first deadline miss is at 460.
    #[test]
    fn a_long_deadline_does_not_lower_the_density() {
        let mut tasks = vec![Task::new(10, 10, 100)];
        tasks.extend([Task::new(1, 10, 5); 5]);
        let set = TaskSet::new(2, tasks).unwrap();
        assert_eq!(load(&set, &mut Effort::default()), TestAnswer::NotProved);
    }

    #[test]
    fn the_bound_matches_the_formula_by_hand() {
        // d = 1/2, m = 4: mu = 5/2, q = 3: max(5/2 - 1, 2 - 1/2) = 3/2.
        assert_eq!(bound(4, 1, 2), 3);
        // d = 1, m = 4: mu = 1, q = 1: max(1, 0 + 1) = 1.
        assert_eq!(bound(4, 1, 1), 1);
        // d = 1/10, m = 2: mu = 19/10, q = 2: max(18/10, 1) = 18/10.
        assert_eq!(bound(2, 1, 10), 18);
    }
}
