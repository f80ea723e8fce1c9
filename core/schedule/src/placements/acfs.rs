//! Applications are slowed down equally.

use super::asymmetric::{ONE, Seat, Stage};
use crate::job::TaskParameters;
use crate::placement::{Actions, Hook, Placement, Situation};
use solo_model::{Application, Duration, Instant, Listening, Platform};

/// Each thread makes progress: on a big core as fast as it can, on a small one less by the speedup of its application, and less the
/// more that weighs. What it has made in past phases stays made. At the end of each period the thread on a big core that is
/// furthest ahead changes places with the one on a small core that is furthest behind, where they are more than a period on a
/// big core apart (PMCTrack 4.1.1, *ACFS*: asymmetry-aware completely fair scheduler).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Acfs {
    stage: Stage,
    period: Duration,
}

impl Acfs {
    /// The policy over metric 0, what a thread would gain on a big core.
    pub fn new(listening: &Listening, platform: &Platform) -> Self {
        Self { stage: Stage::new(listening, platform), period: listening.period }
    }

    /// Counts what each thread has made in the period.
    fn advance(&mut self) {
        self.stage.catch_up();
        for seat in self.stage.seats.iter_mut().filter(|seat| !seat.out) {
            seat.spent += progress(seat);
        }
    }

    /// The thread furthest ahead on a big core and the one furthest behind on a small one, of those that may change.
    fn exchange(&mut self) -> Actions {
        self.stage.begin();
        let most = self.stage.big.len();
        let mut taken = 0;
        // Who is on a big core stays there, unless somebody else is found.
        for number in 0..self.stage.seats.len() {
            let seat = &self.stage.seats[number];
            if seat.ready && !seat.out && self.stage.is_big(seat) && taken < most {
                self.stage.mark(number);
                taken += 1;
            }
        }
        let threshold = u128::from(self.period.get());
        // Each step fills a place, or gives one to a thread that is behind all others: nobody will take it from that one.
        let mut steps = 2 * most;
        loop {
            let marked = |(number, _): &(usize, &Seat)| self.stage.is_marked(*number);
            let ahead = self.stage.ready().filter(marked).max_by_key(|(_, seat)| seat.spent);
            let behind = self.stage.ready().filter(|one| !marked(one)).min_by_key(|(_, seat)| seat.spent);
            let Some((behind, least)) = behind.map(|(number, seat)| (number, seat.spent)) else { break };
            debug_assert!(steps > 0, "more exchanges than twice the big cores");
            steps = steps.wrapping_sub(1);
            if taken < most {
                taken += 1;
                self.stage.mark(behind);
                continue;
            }
            match ahead {
                Some((ahead, seat)) if seat.spent > least + threshold => {
                    self.stage.unmark(ahead);
                    self.stage.mark(behind);
                }
                _ => break,
            }
        }
        self.stage.change_places()
    }
}

/// Progress in the period, in nanoseconds on big cores: `t W_def / (W S)` with `S = 1` on a big core.
fn progress(seat: &Seat) -> u128 {
    let [big, small] = seat.lately.map(|span| u128::from(span.get()));
    let made = big + small * u128::from(ONE) / u128::from(seat.speedup.max(ONE));
    made * u128::from(Application::WEIGHT) / u128::from(seat.weight)
}

impl Placement for Acfs {
    fn name(&self) -> &'static str {
        "acfs"
    }

    fn prepare(&mut self, tasks: &[TaskParameters]) {
        self.stage.prepare(tasks);
    }

    fn on(&mut self, now: Instant, hook: Hook, situation: &dyn Situation) -> Actions {
        if !self.stage.hear(now, hook, situation) {
            return Actions::NONE;
        }
        self.advance();
        self.exchange()
    }
}
