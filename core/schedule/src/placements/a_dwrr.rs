//! Threads have equally much scaled time.

use super::asymmetric::{ONE, Stage};
use crate::job::TaskParameters;
use crate::placement::{Actions, Hook, Placement, Situation};
use solo_model::{Application, Duration, Instant, Listening, Platform};

/// Time on a big core is worth more, by what the chip computes there: *scaled* time. In each round every thread spends as much of it as
/// its weight says, and who has spent it makes room on the big cores for those who have not (PMCTrack 4.1.1, *A-DWRR*:
/// asymmetry-aware distributed weighted round robin). A round of a thread of the usual weight is what a period on a big core is worth.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Adwrr {
    stage: Stage,
    /// What time on a big core is worth, in thousandths of that on a small one.
    rating: u64,
    period: Duration,
}

impl Adwrr {
    /// The policy over metric 0, what a thread would gain on a big core.
    pub fn new(listening: &Listening, platform: &Platform) -> Self {
        Self { stage: Stage::new(listening, platform), rating: rating(platform), period: listening.period }
    }
}

impl Placement for Adwrr {
    fn name(&self) -> &'static str {
        "a-dwrr"
    }

    fn prepare(&mut self, tasks: &[TaskParameters]) {
        self.stage.prepare(tasks);
    }

    fn on(&mut self, now: Instant, hook: Hook, situation: &dyn Situation) -> Actions {
        if !self.stage.hear(now, hook, situation) {
            return Actions::NONE;
        }
        self.stage.catch_up();
        for seat in &mut self.stage.seats {
            let [big, small] = seat.lately.map(|span| u128::from(span.get()));
            let scaled = (big * u128::from(self.rating) + small * u128::from(ONE)) * u128::from(Application::WEIGHT);
            seat.spent += scaled / u128::from(seat.weight);
        }
        let slice = u128::from(self.period.get()) * u128::from(self.rating);
        self.stage.give_to_greatest(|seat| core::cmp::Reverse(seat.spent / slice.max(1)))
    }
}

/// How much faster the fastest core computes than the slowest, in thousandths.
fn rating(platform: &Platform) -> u64 {
    let (big, small) = (platform.fastest(platform.core_set()), platform.slowest(platform.core_set()));
    let unit = Duration::new(1_000_000_000);
    small.longest(big.within(unit)).get().max(unit.get()) / (unit.get() / ONE)
}
