//! The big cores go to the threads that gain most from them.

use super::asymmetric::Stage;
use crate::job::TaskParameters;
use crate::placement::{Actions, Hook, Placement, Situation};
use solo_model::{Instant, Listening, Platform};

/// At the end of each period the threads of the applications with the highest speedup have the big cores (PMCTrack 4.1.1, *HSP*: high
/// speedup). The speedup of an application of several threads counts how many of them find a big core, so that a serial phase
/// outweighs a parallel one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hsp {
    stage: Stage,
}

impl Hsp {
    /// The policy over metric 0, what a thread would gain on a big core.
    pub fn new(listening: &Listening, platform: &Platform) -> Self {
        Self { stage: Stage::new(listening, platform) }
    }
}

impl Placement for Hsp {
    fn name(&self) -> &'static str {
        "hsp"
    }

    fn prepare(&mut self, tasks: &[TaskParameters]) {
        self.stage.prepare(tasks);
    }

    fn on(&mut self, now: Instant, hook: Hook, situation: &dyn Situation) -> Actions {
        if !self.stage.hear(now, hook, situation) {
            return Actions::NONE;
        }
        self.stage.give_to_greatest(|seat| (seat.speedup, seat.factor))
    }
}
