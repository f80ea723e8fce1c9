//! The dynamic phase of color-aware scheduling: whoever disturbs the others gives its core away.

use crate::placement::{Action, Actions, Hook, Placement, Situation, Whose};
use alloc::vec::Vec;
use solo_model::{Fixed, Instant, Listening, MetricId, Platform, TaskClass};

/// At the end of each period, on each core: where the core counted more than the threshold and the task on it is of one of the
/// classes, the task gives the core away until the end of the next period (CA-P-RM, thesis 8.2.3).
///
/// The core counts, not the task: what the task's predecessors in the period did is laid to whoever runs at its end, as in the
/// thesis. A core of which nothing is known never yields.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Yield {
    metric: MetricId,
    threshold: Fixed,
    classes: Vec<TaskClass>,
}

impl Yield {
    /// The policy over metric 0, what each core counted in a period.
    pub fn new(listening: &Listening, _: &Platform) -> Self {
        Self { metric: MetricId(0), threshold: listening.threshold, classes: listening.classes.clone() }
    }
}

impl Placement for Yield {
    fn name(&self) -> &'static str {
        "yield"
    }

    fn on(&mut self, _: Instant, hook: Hook, situation: &dyn Situation) -> Actions {
        let Hook::Tick { core, next } = hook else { return Actions::NONE };
        let above = situation.metric(Whose::Core(core), self.metric).is_some_and(|n| n > self.threshold);
        let task = situation.running(core).filter(|_| above);
        let concerned = task.filter(|&task| {
            situation.parameters(task).is_some_and(|parameters| self.classes.contains(&parameters.class))
        });
        concerned.map_or(Actions::NONE, |task| Actions::one(Action::Hold { task, until: next }))
    }
}
