//! What is proved of an experiment, to hold observations against.

use solo_model::{Experiment, Task};
use solo_prove::Effort;
use solo_prove::system::{Judgement, System, TaskFinding};
use solo_report::Bound;

/// Work for the bounds beside a run's observations: a few tenths of a second at most.
const STEPS: u64 = 1 << 25;

/// The bounds of an experiment's tasks, by position; none where nothing is proved of a task. A job may miss as often as it declares, and
/// load the pages that are locked in the windows which begin before its bound is over.
pub fn bounds(experiment: &Experiment) -> Vec<Option<Bound>> {
    let budgets = experiment.isolation.bandwidth.as_ref();
    let system = System::of(experiment);
    let bound = |(at, (judgement, task)): (usize, (Judgement, &Task))| match judgement.outcome {
        TaskFinding::Proved(proof) => {
            let declared = budgets.and(task.misses);
            let loaded = system.loaded_within(at, proof.bound);
            let misses = declared.map(|misses| misses.saturating_add(loaded));
            Some(Bound { response: proof.bound, occupied: proof.occupied, misses })
        }
        _ => None,
    };
    let judged = system.judge(&mut Effort::steps(STEPS));
    judged.tasks.into_iter().zip(&experiment.tasks).enumerate().map(bound).collect()
}
