//! Rate monotonic.

use crate::criterion::{Criterion, JobView, Parameter, TaskParameters, key};
use crate::rank::Rank;

/// Rate monotonic: the shorter the period `p_i`, the more urgent (Liu and Layland 1973; thesis 2.4.1.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rm;

impl Criterion for Rm {
    const NAME: &'static str = "RM";
    const DYNAMIC: bool = false;

    fn rank(job: &JobView<'_>) -> Rank {
        match job.parameters.release.period() {
            Some(period) => Rank::by_key(job, key(period.get())),
            None => Rank::unordered(job),
        }
    }

    fn missing(task: &TaskParameters) -> Option<Parameter> {
        task.release.period().is_none().then_some(Parameter::Period)
    }
}
