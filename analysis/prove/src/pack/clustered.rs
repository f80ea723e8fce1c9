//! Tasks packed onto clusters, each cluster judged as a small global system.

use crate::effort::Effort;
use crate::necessary::refuse;
use crate::pack::{Fit, Items, Order, Share, Stuck, pack_items};
use crate::task::{Task, TaskSet};
use crate::verdict::{Reason, Stop, TestAnswer, settle};

/// Accepts if the heuristic packs all tasks by utilisation, largest first, onto `m / cluster` clusters of as much capacity
/// as they have cores, and `judge_cluster` accepts each (thesis 2.4.2.3).
pub fn clustered_by(
    set: &TaskSet,
    fit: Fit,
    effort: &mut Effort<'_>,
    judge_cluster: &mut dyn FnMut(&TaskSet, &mut Effort<'_>) -> TestAnswer,
) -> TestAnswer {
    match set.cluster() {
        None => TestAnswer::NotApplicable(Reason::NoClusters),
        Some(size) => settle(judge(set, size, fit, effort, judge_cluster)),
    }
}

fn judge(
    set: &TaskSet,
    size: u32,
    fit: Fit,
    effort: &mut Effort<'_>,
    judge_cluster: &mut dyn FnMut(&TaskSet, &mut Effort<'_>) -> TestAnswer,
) -> Result<TestAnswer, Stop> {
    let clusters = (set.cores() / size) as usize;
    let shares: Vec<Share> = set.tasks().iter().map(Share::of).collect();
    let items = Items::single(&shares);
    let packed = match pack_items(&items, clusters, Share::cores(size), fit, Order::Decreasing, effort) {
        Ok(packed) => packed,
        Err(Stuck::NoRoom(_)) => return Ok(refuse(set)),
        Err(Stuck::Stopped(stop)) => return Err(stop),
    };
    for cluster in packed.contents() {
        let tasks: Vec<Task> = cluster.iter().map(|&task| set.tasks()[task]).collect();
        match judge_cluster(&TaskSet::part(size, tasks), effort) {
            TestAnswer::Accepted => {}
            TestAnswer::OutOfTime => return Ok(TestAnswer::OutOfTime),
            _ => return Ok(refuse(set)),
        }
    }
    Ok(TestAnswer::Accepted)
}
