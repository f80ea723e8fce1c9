//! Global deadline-monotonic priorities.

use crate::effort::Effort;
use crate::global::gfp::judge;
use crate::task::TaskSet;
use crate::uni::fp::order_by;
use crate::verdict::TestAnswer;

/// Accepts if every response-time bound under global deadline-monotonic priorities is within its deadline
/// (Bertogna & Cirinei, RTSS 2007). Of equal deadlines the earlier in the input is the more urgent. For
/// deadlines up to periods; on one core `fp_dm` is exact.
pub fn gfp_dm(set: &TaskSet, effort: &mut Effort<'_>) -> TestAnswer {
    judge(set, &order_by(set.tasks(), |task| task.d), effort)
}
