//! The big cores go to the threads that were slowed down most.

use super::asymmetric::{ONE, Seat, Stage};
use crate::job::TaskParameters;
use crate::placement::{Actions, Hook, Placement, Situation};
use solo_model::{Instant, Listening, Platform};

/// At the end of each period the threads with the greatest slowdown so far have the big cores (PMCTrack 4.1.1, *EQP*: equal progress):
/// with the times `b` and `s` on big and small cores and the present factor `SF`, `(b + s) / (b + s / SF)`. Neither past phases nor
/// applications count, and there are no weights.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Eqp {
    stage: Stage,
}

impl Eqp {
    /// The policy over metric 0, what a thread would gain on a big core.
    pub fn new(listening: &Listening, platform: &Platform) -> Self {
        Self { stage: Stage::new(listening, platform) }
    }
}

impl Placement for Eqp {
    fn name(&self) -> &'static str {
        "eqp"
    }

    fn prepare(&mut self, tasks: &[TaskParameters]) {
        self.stage.prepare(tasks);
    }

    fn on(&mut self, now: Instant, hook: Hook, situation: &dyn Situation) -> Actions {
        if !self.stage.hear(now, hook, situation) {
            return Actions::NONE;
        }
        self.stage.give_to_greatest(slowdown)
    }
}

/// How much longer it has run than it would have on a big core, in millionths.
fn slowdown(seat: &Seat) -> u128 {
    let (big, small) = (u128::from(seat.on_big.get()), u128::from(seat.on_small.get()));
    let alone = big + small * u128::from(ONE) / u128::from(seat.factor.max(1));
    ((big + small) * 1_000_000).checked_div(alone).unwrap_or(1_000_000)
}
