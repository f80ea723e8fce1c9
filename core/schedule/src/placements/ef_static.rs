//! The big cores go once and for good to the threads that spare most energy and time there.

use super::asymmetric::Stage;
use crate::job::TaskParameters;
use crate::placement::{Actions, Hook, Placement, Situation};
use solo_model::{Instant, Listening, Platform};

/// At the end of the first period in which something is known of every thread that can run, those of the highest energy factors get the
/// big cores (PMCTrack 4.2.2, *EF-driven assignment*). Whose phases change afterwards stays where it is. Where there is no room for all
/// moves at once, the next periods do the rest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EfStatic {
    stage: Stage,
    chosen: bool,
}

impl EfStatic {
    /// The policy over metric 0, the energy-delay product on a small core by that on a big one.
    pub fn new(listening: &Listening, platform: &Platform) -> Self {
        Self { stage: Stage::new(listening, platform), chosen: false }
    }
}

impl Placement for EfStatic {
    fn name(&self) -> &'static str {
        "ef-static"
    }

    fn prepare(&mut self, tasks: &[TaskParameters]) {
        self.stage.prepare(tasks);
    }

    fn on(&mut self, now: Instant, hook: Hook, situation: &dyn Situation) -> Actions {
        if !self.stage.hear(now, hook, situation) {
            return Actions::NONE;
        }
        if self.chosen {
            return self.stage.change_places();
        }
        if self.stage.ready().any(|(_, seat)| !seat.known) {
            return Actions::NONE;
        }
        self.chosen = true;
        self.stage.give_to_greatest(|seat| seat.factor)
    }
}
