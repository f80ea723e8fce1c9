//! First come, first served.

use crate::criterion::{Criterion, JobView, Parameter, TaskParameters, key};
use crate::rank::Rank;

/// First come, first served: jobs by their nominal release. A job runs until it finishes, blocks or yields,
/// even where one of a higher class waits: nothing is preempted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fcfs;

impl Criterion for Fcfs {
    const NAME: &'static str = "FCFS";
    const DYNAMIC: bool = true;
    const PREEMPTIVE: bool = false;

    fn rank(job: &JobView<'_>) -> Rank {
        if job.yielded { Rank::unordered(job) } else { Rank::by_key(job, key(job.release.get())) }
    }

    fn missing(_task: &TaskParameters) -> Option<Parameter> {
        None
    }
}
