//! What is proved of an experiment, to hold observations against.

use solo_model::{Experiment, Task};
use solo_prove::Effort;
use solo_prove::system::{Judgement, System, TaskFinding};
use solo_report::Bound;

/// Work for the bounds beside a run's observations: a few tenths of a second at most.
const STEPS: u64 = 1 << 25;

/// The bounds of an experiment's tasks, by position; none where nothing is proved of a task.
pub fn bounds(experiment: &Experiment) -> Vec<Option<Bound>> {
    let budgets = experiment.isolation.bandwidth.as_ref();
    let bound = |(judgement, task): (Judgement, &Task)| match judgement.outcome {
        TaskFinding::Proved(proof) => {
            Some(Bound { response: proof.bound, occupied: proof.occupied, misses: budgets.and(task.misses) })
        }
        _ => None,
    };
    let judged = System::of(experiment).judge(&mut Effort::steps(STEPS));
    judged.tasks.into_iter().zip(&experiment.tasks).map(bound).collect()
}
