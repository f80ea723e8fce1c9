//! The dynamic phase of color-aware scheduling: whoever disturbs the others gives its core away.

use super::alert::Alert;
use crate::placement::{Action, Actions, Hook, Placement, Situation};
use solo_model::{Instant, Listening, Platform};

/// At the end of each period, on each core: where the core counted more than the threshold and the task on it is of one of the
/// classes, the task gives the core away until the end of the next period (CA-P-RM, thesis 8.2.3).
///
/// The core counts, not the task: what the task's predecessors in the period did is laid to whoever runs at its end, as in the
/// thesis. A core of which nothing is known never yields.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Yield {
    alert: Alert,
}

impl Yield {
    /// The policy over metric 0, what each core counted in a period.
    pub fn new(listening: &Listening, _: &Platform) -> Self {
        Self { alert: Alert::new(listening) }
    }
}

impl Placement for Yield {
    fn name(&self) -> &'static str {
        "yield"
    }

    fn on(&mut self, _: Instant, hook: Hook, situation: &dyn Situation) -> Actions {
        let Hook::Tick { core, next } = hook else { return Actions::NONE };
        let culprit = self.alert.culprit(core, situation);
        culprit.map_or(Actions::NONE, |task| Actions::one(Action::Hold { task, until: next }))
    }
}
