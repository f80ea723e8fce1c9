//! The big cores go to the threads that spare most energy and time there.

use super::asymmetric::Stage;
use crate::job::TaskParameters;
use crate::placement::{Actions, Hook, Placement, Situation};
use solo_model::{Instant, Listening, Platform};

/// At the end of each period a thread on a big core changes places with the one on a small core whose energy factor is highest, where
/// that is higher than its own, until there is no such pair (PMCTrack 4.2.2, *EF-driven*). An energy factor is of a thread, so that what
/// other threads of its application do does not count.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EfDriven {
    stage: Stage,
}

impl EfDriven {
    /// The policy over metric 0, the energy-delay product on a small core by that on a big one.
    pub fn new(listening: &Listening, platform: &Platform) -> Self {
        Self { stage: Stage::new(listening, platform) }
    }
}

impl Placement for EfDriven {
    fn name(&self) -> &'static str {
        "ef-driven"
    }

    fn prepare(&mut self, tasks: &[TaskParameters]) {
        self.stage.prepare(tasks);
    }

    fn on(&mut self, now: Instant, hook: Hook, situation: &dyn Situation) -> Actions {
        if !self.stage.hear(now, hook, situation) {
            return Actions::NONE;
        }
        self.stage.give_to_greatest(|seat| seat.factor)
    }
}
