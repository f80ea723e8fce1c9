//! EDF on one core by utilisation alone.

use crate::effort::Effort;
use crate::necessary::overloads;
use crate::task::TaskSet;
use crate::verdict::{Infeasible, Reason, TestAnswer};

/// Accepts iff `sum C_i / T_i <= 1`, where no deadline is shorter than its period: exact (Liu & Layland,
/// JACM 20(1), 1973, Theorem 7; thesis Theorem 2.4.3; deadlines above periods: Baruah, Mok & Rosier 1990).
pub fn edf_u(set: &TaskSet, _: &mut Effort<'_>) -> TestAnswer {
    if set.cores() > 1 {
        return TestAnswer::NotApplicable(Reason::ManyCores);
    }
    if set.tasks().iter().any(|task| task.d < task.t) {
        return TestAnswer::NotApplicable(Reason::DeadlineBelowPeriod);
    }
    if overloads(set) { TestAnswer::Infeasible(Infeasible::Utilization) } else { TestAnswer::Accepted }
}
