//! Applications have the big cores in turn.

use super::asymmetric::Stage;
use crate::job::TaskParameters;
use crate::placement::{Actions, Hook, Placement, Situation};
use solo_model::{Instant, Listening, Platform};

/// At the end of each period the big cores go to the applications that have had them for the shortest time so far, and of each to the
/// thread that has (PMCTrack 4.1.1, *RR*: asymmetry-aware round robin). What anybody gains there does not count.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rr {
    stage: Stage,
}

impl Rr {
    /// The policy over metric 0, what a thread would gain on a big core.
    pub fn new(listening: &Listening, platform: &Platform) -> Self {
        Self { stage: Stage::new(listening, platform) }
    }
}

impl Placement for Rr {
    fn name(&self) -> &'static str {
        "rr"
    }

    fn prepare(&mut self, tasks: &[TaskParameters]) {
        self.stage.prepare(tasks);
    }

    fn on(&mut self, now: Instant, hook: Hook, situation: &dyn Situation) -> Actions {
        if !self.stage.hear(now, hook, situation) {
            return Actions::NONE;
        }
        share(&mut self.stage)
    }
}

/// Marks, for each big core, the thread that comes next: of the application with the fewest marks and then the least time on big
/// cores.
fn share(stage: &mut Stage) -> Actions {
    stage.begin();
    for _ in 0..stage.big.len() {
        let waiting = stage.ready().filter(|(number, _)| !stage.is_marked(*number));
        let next = waiting.min_by_key(|(number, seat)| {
            let group = &stage.groups[seat.application];
            (group.marks, group.on_big, seat.on_big, *number)
        });
        let Some((number, _)) = next else { break };
        stage.mark(number);
    }
    stage.change_places()
}
