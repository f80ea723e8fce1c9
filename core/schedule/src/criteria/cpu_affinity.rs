//! CPU affinity.

use crate::criteria::StaticPriority;
use crate::criterion::{Criterion, JobView, Parameter, TaskParameters};
use crate::rank::Rank;

/// CPU affinity: static priorities, where each task is bound to its core (EPOS's `CPU_Affinity`). The binding
/// outweighs the scope: clustered and global behave as partitioned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CpuAffinity;

impl Criterion for CpuAffinity {
    const NAME: &'static str = "AFFINITY";
    const DYNAMIC: bool = false;
    const BOUND: bool = true;

    fn rank(job: &JobView<'_>) -> Rank {
        StaticPriority::rank(job)
    }

    fn missing(task: &TaskParameters) -> Option<Parameter> {
        if task.core.is_none() { Some(Parameter::Core) } else { StaticPriority::missing(task) }
    }
}
