//! Rate monotonic on one core by the hyperbolic bound.

use crate::effort::Effort;
use crate::necessary::refuse;
use crate::task::{Task, TaskSet};
use crate::verdict::{Reason, TestAnswer};
use num_bigint::BigUint;

/// Accepts if `prod (U_i + 1) <= 2` with deadlines equal to periods: sufficient, and never worse than Liu &
/// Layland's bound (Bini, Buttazzo & Buttazzo, IEEE Trans. Computers 52(7), 2003, Theorem 1).
pub fn hyperbolic(set: &TaskSet, _: &mut Effort<'_>) -> TestAnswer {
    if set.cores() > 1 {
        return TestAnswer::NotApplicable(Reason::ManyCores);
    }
    if !set.is_implicit() {
        return TestAnswer::NotApplicable(Reason::DeadlineNotPeriod);
    }
    if within_bound(set.tasks()) { TestAnswer::Accepted } else { refuse(set) }
}

fn within_bound(tasks: &[Task]) -> bool {
    let product: f64 = tasks.iter().map(|task| 1.0 + task.c() as f64 / task.t() as f64).product();
    let error = product * (3.0 * tasks.len() as f64 + 4.0) * f64::EPSILON;
    if !product.is_finite() || (product - 2.0).abs() > error {
        return product < 2.0;
    }
    let raised: BigUint = tasks.iter().map(|task| BigUint::from(task.c() + task.t())).product();
    let base: BigUint = tasks.iter().map(|task| BigUint::from(task.t())).product();
    raised <= BigUint::from(2u8) * base
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_itself_is_accepted() {
        let judge = |tasks: &[(u64, u64)]| {
            let tasks = tasks.iter().map(|&(c, t)| Task::implicit(c, t)).collect();
            hyperbolic(&TaskSet::new(1, tasks).unwrap(), &mut Effort::default())
        };
        // (1 + 1/3) (1 + 1/2) is 2, while 5/6 lies above Liu & Layland's 0.828.
        assert_eq!(judge(&[(1, 3), (1, 2)]), TestAnswer::Accepted);
        assert_eq!(judge(&[(100_001, 300_000), (1, 2)]), TestAnswer::NotProved);
        assert!(matches!(judge(&[(2, 3), (1, 2)]), TestAnswer::Infeasible(_)));
    }
}
