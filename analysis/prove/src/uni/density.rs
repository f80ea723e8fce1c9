//! EDF on one core by density.

use crate::effort::Effort;
use crate::exact::{Ratio, sum_cmp};
use crate::necessary::refuse;
use crate::task::TaskSet;
use crate::verdict::{Reason, TestAnswer};
use core::cmp::Ordering;

/// Accepts if `sum C_i / min(D_i, T_i) <= 1`: sufficient for any deadlines (thesis 2.4.1.2; Liu, Real-Time
/// Systems, 2000, Theorem 6.2).
pub fn density(set: &TaskSet, _: &mut Effort<'_>) -> TestAnswer {
    if set.cores() > 1 {
        return TestAnswer::NotApplicable(Reason::ManyCores);
    }
    let densities = set.tasks().iter().map(|task| Ratio::new(task.c(), task.window().get()));
    if sum_cmp(densities, 1) == Ordering::Greater { refuse(set) } else { TestAnswer::Accepted }
}
