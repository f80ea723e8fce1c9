//! Partitioned EDF: tasks packed onto cores, each core judged exactly.

use crate::effort::Effort;
use crate::necessary::refuse;
use crate::pack::{Fit, Items, Order, Share, Stuck, pack_items, quick};
use crate::task::{Task, TaskSet};
use crate::uni::qpa::edf_on_one_core;
use crate::verdict::{Stop, TestAnswer, settle};

/// Accepts if the heuristic packs all tasks by utilisation onto `m` cores of capacity 1 and EDF is exactly
/// schedulable on each core (thesis 2.4.2.1 and 5.1; processor demand on a core where a deadline is shorter
/// than its period).
pub(crate) fn partitioned(set: &TaskSet, fit: Fit, order: Order, effort: &mut Effort<'_>) -> TestAnswer {
    settle(judge(set, fit, order, effort))
}

fn judge(set: &TaskSet, fit: Fit, order: Order, effort: &mut Effort<'_>) -> Result<TestAnswer, Stop> {
    if !set.fits_alone() {
        return Ok(refuse(set));
    }
    let bins = set.cores() as usize;
    // Without a deadline shorter than its period a core that is not overloaded is schedulable.
    let by_load = set.is_implicit() || set.tasks().iter().all(|task| task.d >= task.t);
    if by_load && let Some(packs) = quick::packs(set.tasks(), bins, fit, order, effort)? {
        return Ok(if packs { TestAnswer::Accepted } else { refuse(set) });
    }
    let shares: Vec<Share> = set.tasks().iter().map(Share::of).collect();
    let items = Items::single(&shares);
    let packed = match pack_items(&items, bins, Share::cores(1), fit, order, effort) {
        Ok(packed) => packed,
        Err(Stuck::NoRoom(_)) => return Ok(refuse(set)),
        Err(Stuck::Stopped(stop)) => return Err(stop),
    };
    if by_load {
        return Ok(TestAnswer::Accepted);
    }
    for core in packed.contents() {
        let tasks: Vec<Task> = core.iter().map(|&task| set.tasks()[task]).collect();
        if !edf_on_one_core(&TaskSet::part(1, tasks), effort)?.accepts() {
            return Ok(refuse(set));
        }
    }
    Ok(TestAnswer::Accepted)
}

macro_rules! heuristics {
    ($($name:ident: $fit:ident $order:ident, $doc:literal;)*) => {$(
        #[doc = concat!("Partitioned EDF by ", $doc, "; accepts if all tasks find a core and each core is exactly")]
        /// schedulable.
        pub fn $name(set: &TaskSet, effort: &mut Effort<'_>) -> TestAnswer {
            partitioned(set, Fit::$fit, Order::$order, effort)
        }
    )*};
}

heuristics! {
    pedf_ff: First Given, "first fit in input order";
    pedf_bf: Best Given, "best fit in input order";
    pedf_wf: Worst Given, "worst fit in input order";
    pedf_nf: Next Given, "next fit in input order";
    pedf_ffd: First Decreasing, "first fit, largest utilisation first";
    pedf_bfd: Best Decreasing, "best fit, largest utilisation first";
    pedf_wfd: Worst Decreasing, "worst fit, largest utilisation first";
    pedf_nfd: Next Decreasing, "next fit, largest utilisation first";
}
