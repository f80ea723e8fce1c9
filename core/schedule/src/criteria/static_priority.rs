//! Static priority.

use crate::criterion::{Criterion, JobView, Parameter, TaskParameters};
use crate::rank::Rank;

/// Static priority: the scenario's priorities, 0 highest, within each class (EPOS's `Priority`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StaticPriority;

impl Criterion for StaticPriority {
    const NAME: &'static str = "FP";
    const DYNAMIC: bool = false;

    fn rank(job: &JobView<'_>) -> Rank {
        match job.parameters.priority {
            Some(priority) => Rank::by_key(job, i64::from(priority)),
            None => Rank::unordered(job),
        }
    }

    fn missing(task: &TaskParameters) -> Option<Parameter> {
        task.priority.is_none().then_some(Parameter::Priority)
    }
}
