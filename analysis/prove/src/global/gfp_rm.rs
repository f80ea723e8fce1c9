//! Global rate-monotonic priorities.

use crate::effort::Effort;
use crate::global::gfp::judge;
use crate::task::TaskSet;
use crate::uni::fp::order_by;
use crate::verdict::TestAnswer;

/// Accepts if every response-time bound under global rate-monotonic priorities is within its deadline
/// (Bertogna & Cirinei, RTSS 2007). Of equal periods the earlier in the input is the more urgent. For
/// deadlines up to periods; on one core `fp_rm` is exact.
pub fn gfp_rm(set: &TaskSet, effort: &mut Effort<'_>) -> TestAnswer {
    judge(set, &order_by(set.tasks(), |task| task.t), effort)
}
