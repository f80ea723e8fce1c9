//! Tasks that take each other's lines are brought onto one core.

use super::alert::Alert;
use crate::placement::{Action, Actions, Hook, Placement, Situation};
use core::cmp::Reverse;
use solo_model::{CoreId, Instant, Listening, Platform};

/// At the end of each period, on each core: where the core counted more than the threshold and the task on it is of one of the
/// classes, it moves to the core whose lines it takes, and takes turns with the task there (thesis 4.1.5: closer to the data, as
/// close as it gets).
///
/// Counters do not say whose lines are taken: the other one is the loudest core of those that are above the threshold too and have
/// a task, as with `migrate`. What has been gathered stays: on one core nothing is taken, so nobody is loud.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gather {
    alert: Alert,
}

impl Gather {
    /// The policy over metric 0, what each core counted in a period.
    pub fn new(listening: &Listening, _: &Platform) -> Self {
        Self { alert: Alert::new(listening) }
    }

    /// The core whose lines the task on `core` takes.
    fn other(&self, core: CoreId, situation: &dyn Situation) -> Option<CoreId> {
        let others = self.alert.loud().without(core).and(situation.cores());
        let busy = others.iter().filter(|&other| situation.running(other).is_some());
        busy.max_by_key(|&other| (self.alert.count(other, situation), Reverse(other)))
    }
}

impl Placement for Gather {
    fn name(&self) -> &'static str {
        "gather"
    }

    fn on(&mut self, _: Instant, hook: Hook, situation: &dyn Situation) -> Actions {
        let Hook::Tick { core, .. } = hook else { return Actions::NONE };
        let Some(task) = self.alert.culprit(core, situation) else { return Actions::NONE };
        let other = self.other(core, situation);
        other.map_or(Actions::NONE, |core| Actions::one(Action::Move { task, core }))
    }
}
