//! Shortest job first.

use crate::criterion::{Criterion, JobView, Parameter, TaskParameters, key};
use crate::rank::Rank;

/// Shortest job first, by the declared execution time `e_i`; a shorter job preempts a longer one when it is
/// released, as every criterion of EPOS's real-time family does (thesis 4.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sjf;

impl Criterion for Sjf {
    const NAME: &'static str = "SJF";
    const DYNAMIC: bool = false;

    fn rank(job: &JobView<'_>) -> Rank {
        match job.parameters.wcet {
            Some(wcet) => Rank::by_key(job, key(wcet.get())),
            None => Rank::unordered(job),
        }
    }

    fn missing(task: &TaskParameters) -> Option<Parameter> {
        task.wcet.is_none().then_some(Parameter::Wcet)
    }
}
