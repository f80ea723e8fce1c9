//! Rate monotonic on one core by the utilisation bound of Liu & Layland.

use crate::demand::utilization;
use crate::effort::Effort;
use crate::exact::{Ratio, big_sum, collect_parts};
use crate::necessary::refuse;
use crate::task::TaskSet;
use crate::verdict::{Reason, TestAnswer};
use num_bigint::BigUint;

/// Accepts if `sum C_i / T_i <= n (2^(1/n) - 1)` with deadlines equal to periods: sufficient (Liu & Layland
/// 1973, Theorem 5; thesis Theorem 2.4.1).
pub fn rm_ll(set: &TaskSet, _: &mut Effort<'_>) -> TestAnswer {
    if set.cores() > 1 {
        return TestAnswer::NotApplicable(Reason::ManyCores);
    }
    if !set.is_implicit() {
        return TestAnswer::NotApplicable(Reason::DeadlineNotPeriod);
    }
    match within_bound(set) {
        Some(true) => TestAnswer::Accepted,
        Some(false) => refuse(set),
        None => TestAnswer::NotApplicable(Reason::NumbersTooLarge),
    }
}

/// Whether `U <= n (2^(1/n) - 1)`. The bound is irrational for `n > 1`, so equality needs no care there, and
/// `(1 + U / n)^n <= 2` asks the same in integers.
fn within_bound(set: &TaskSet) -> Option<bool> {
    let count = set.tasks().len();
    if count == 0 {
        return Some(true);
    }
    let used = utilization(set.tasks());
    let n = count as f64;
    let bound = n * (2f64.ln() / n).exp_m1();
    // Three library calls, each within a few units in the last place.
    let error = used.error + bound * 16.0 * f64::EPSILON;
    if (used.value - bound).abs() > error {
        return Some(used.value < bound);
    }
    within_bound_exactly(set)
}

/// In integers: `(n den + num)^n <= 2 (n den)^n` for `U = num / den`. `None` where the powers would not fit
/// into a few megabytes.
fn within_bound_exactly(set: &TaskSet) -> Option<bool> {
    let count = set.tasks().len();
    let (whole, parts) = collect_parts(set.tasks().iter().map(|task| Ratio::new(task.c(), task.t())));
    let (num, den) = big_sum(&parts);
    let power = u32::try_from(count).ok()?;
    if den.bits() * u64::from(power) > 1 << 24 {
        return None;
    }
    let base = BigUint::from(count) * &den;
    let raised = &base + num + BigUint::from(whole) * den;
    Some(raised.pow(power) <= BigUint::from(2u8) * base.pow(power))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Task;

    fn judge(tasks: &[(u64, u64)]) -> TestAnswer {
        let tasks = tasks.iter().map(|&(c, t)| Task::implicit(c, t)).collect();
        rm_ll(&TaskSet::new(1, tasks).unwrap(), &mut Effort::default())
    }

    #[test]
    fn the_bound_for_two_tasks_lies_between_82_and_83_percent() {
        assert_eq!(judge(&[(41, 100), (41, 100)]), TestAnswer::Accepted);
        assert_eq!(judge(&[(41, 100), (42, 100)]), TestAnswer::NotProved);
        assert_eq!(judge(&[(7, 7)]), TestAnswer::Accepted);
        assert_eq!(judge(&[]), TestAnswer::Accepted);
    }

    #[test]
    fn integers_agree_with_doubles_away_from_the_bound() {
        for c in 1..60 {
            let tasks = vec![Task::implicit(c, 60), Task::implicit(1, 7), Task::implicit(2, 11)];
            let set = TaskSet::new(1, tasks).unwrap();
            assert_eq!(within_bound(&set), within_bound_exactly(&set));
        }
    }
}
