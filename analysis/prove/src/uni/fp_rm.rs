//! Rate-monotonic priorities on one core, exactly.

use crate::effort::Effort;
use crate::task::TaskSet;
use crate::uni::fp::{judge, order_by};
use crate::verdict::{Reason, TestAnswer, settle};

/// Accepts iff every worst-case response time under rate-monotonic priorities (Liu & Layland 1973; thesis 2.4.1.1) is within its
/// deadline: exact for sporadic tasks with any deadlines (Joseph & Pandya 1986; Lehoczky 1990). Of equal
/// periods the earlier in the input is the more urgent.
pub fn fp_rm(set: &TaskSet, effort: &mut Effort<'_>) -> TestAnswer {
    if set.cores() > 1 {
        return TestAnswer::NotApplicable(Reason::ManyCores);
    }
    settle(judge(set, &order_by(set.tasks(), |task| task.t), effort))
}
