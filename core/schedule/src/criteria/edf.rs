//! Earliest deadline first.

use crate::criterion::{Criterion, JobView, Parameter, TaskParameters, key};
use crate::rank::Rank;

/// Earliest deadline first: jobs by their absolute deadlines `d_ij`, the lower task index first among equals
/// (Liu and Layland 1973; thesis 2.4.1.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edf;

impl Criterion for Edf {
    const NAME: &'static str = "EDF";
    const DYNAMIC: bool = true;

    fn rank(job: &JobView<'_>) -> Rank {
        match job.deadline {
            Some(deadline) => Rank::by_key(job, key(deadline.get())),
            None => Rank::unordered(job),
        }
    }

    fn missing(task: &TaskParameters) -> Option<Parameter> {
        task.deadline.is_none().then_some(Parameter::Deadline)
    }
}
