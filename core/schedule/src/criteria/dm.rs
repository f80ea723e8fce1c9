//! Deadline monotonic.

use crate::criterion::{Criterion, JobView, Parameter, TaskParameters, key};
use crate::rank::Rank;

/// Deadline monotonic: the shorter the relative deadline `d_i`, the more urgent (Leung and Whitehead 1982;
/// thesis 2.4.1.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dm;

impl Criterion for Dm {
    const NAME: &'static str = "DM";
    const DYNAMIC: bool = false;

    fn rank(job: &JobView<'_>) -> Rank {
        match job.parameters.deadline {
            Some(deadline) => Rank::by_key(job, key(deadline.get())),
            None => Rank::unordered(job),
        }
    }

    fn missing(task: &TaskParameters) -> Option<Parameter> {
        task.deadline.is_none().then_some(Parameter::Deadline)
    }
}
