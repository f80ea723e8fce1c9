//! Round robin.

use crate::criterion::{Criterion, JobView, Parameter, TaskParameters};
use crate::rank::Rank;

/// Round robin: the jobs of a class take turns of one quantum. A job of a higher class preempts; the one it
/// preempted keeps its place at the head of the line and what is left of its quantum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RoundRobin;

impl Criterion for RoundRobin {
    const NAME: &'static str = "RR";
    const DYNAMIC: bool = true;
    const TIMED: bool = true;
    const ROTATES: bool = true;

    fn rank(job: &JobView<'_>) -> Rank {
        Rank::in_line(job)
    }

    fn missing(_task: &TaskParameters) -> Option<Parameter> {
        None
    }
}
