//! Random pairs of threads change places where a rule says that this spares energy.

use super::asymmetric::Stage;
use crate::job::TaskParameters;
use crate::placement::{Actions, Hook, Placement, Situation};
use solo_model::{Instant, Listening, Platform, SplitMix64};

/// At the end of each period some pairs are drawn, each of a thread on a big core and one on a small core. They change places where the
/// one on the small core is of a higher class (PMCTrack 4.2.2, *PRIM*, as remembered: Zhang and others are not among our sources).
///
/// The classes are the platform's rules: a model whose trees say 0, 1, 2 is such a set of rules, and metric 0 is what it says of a thread.
/// It doesn't say how much a change spares, so that the best one may not be found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Prim {
    stage: Stage,
    pairs: u64,
    random: SplitMix64,
}

impl Prim {
    /// The policy over metric 0, the class of a thread by the platform's rules.
    pub fn new(listening: &Listening, platform: &Platform) -> Self {
        let stage = Stage::new(listening, platform);
        Self { stage, pairs: listening.setting("pairs"), random: SplitMix64::new(listening.setting("draw")) }
    }

    /// Draws a pair, and lets it change places where the rule says so.
    fn try_pair(&mut self) {
        let Some(big) = self.draw(true) else { return };
        let Some(small) = self.draw(false) else { return };
        let seats = &self.stage.seats;
        let both_known = seats[big].known && seats[small].known;
        if both_known && seats[small].factor > seats[big].factor {
            self.stage.unmark(big);
            self.stage.mark(small);
        }
    }

    /// One of the threads that can run and have a big core, or have none.
    fn draw(&mut self, big: bool) -> Option<usize> {
        let among = self.stage.ready().filter(|(number, _)| self.stage.is_marked(*number) == big).count();
        let drawn = self.random.below(among as u64) as usize;
        let mut of = self.stage.ready().filter(|(number, _)| self.stage.is_marked(*number) == big);
        of.nth(drawn).map(|(number, _)| number)
    }
}

impl Placement for Prim {
    fn name(&self) -> &'static str {
        "prim"
    }

    fn prepare(&mut self, tasks: &[TaskParameters]) {
        self.stage.prepare(tasks);
    }

    fn on(&mut self, now: Instant, hook: Hook, situation: &dyn Situation) -> Actions {
        if !self.stage.hear(now, hook, situation) {
            return Actions::NONE;
        }
        self.stage.mark_those_there();
        for _ in 0..self.pairs {
            self.try_pair();
        }
        self.stage.change_places()
    }
}
