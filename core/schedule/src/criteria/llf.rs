//! Least laxity first.

use crate::criterion::{Criterion, JobView, Parameter, TaskParameters, key};
use crate::rank::Rank;

/// Least laxity first: the job that can wait least, by `d_ij - t - remaining` (thesis 2.4.1.3).
///
/// The time `t` is the same for all jobs at a decision, so they order by `d_ij - remaining`: a constant for a
/// job that waits, growing with the execution of one that runs. A job that has used up its declared time has
/// nothing remaining.
///
/// Without a quantum this is the thesis's *non-strict* version: laxities are compared at releases and
/// completions. With a quantum they are compared at the end of each as well; the shorter the quantum, the
/// closer to the *strict* version, which compares them always. Equal laxities go to the lower task index, so
/// two jobs of equal laxity take turns: one quantum makes the one that ran the laxer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Llf;

impl Criterion for Llf {
    const NAME: &'static str = "LLF";
    const DYNAMIC: bool = true;
    const AGES: bool = true;
    const TIMED: bool = true;

    fn rank(job: &JobView<'_>) -> Rank {
        match (job.deadline, job.remaining()) {
            (Some(deadline), Some(remaining)) => Rank::by_key(job, key(deadline.get()) - key(remaining.get())),
            _ => Rank::unordered(job),
        }
    }

    fn missing(task: &TaskParameters) -> Option<Parameter> {
        match (task.deadline, task.wcet) {
            (None, _) => Some(Parameter::Deadline),
            (_, None) => Some(Parameter::Wcet),
            _ => None,
        }
    }
}
