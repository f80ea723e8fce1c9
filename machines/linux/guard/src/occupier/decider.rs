//! The enforcer of all CPUs, and a second one that is told the same.

use crate::throttle::{Throttle, carry_out};
use solo_isolate::Enforcer;
use solo_isolate::enforce::{Action, Actions, Event};
use solo_isolate::regulator::{Allowance, Config, Conservation, CounterValue, DIRECTIONS, PerDirection};
use solo_model::{CoreId, Instant};

/// What may be told between two looks of who checks, which come every few milliseconds.
const ROOM: usize = 8192;

/// Something that the enforcer was told, and what it answered.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::large_enum_variant, reason = "the list is made once, and nearly all of it is the large one")]
enum Told {
    Event { now: Instant, core: CoreId, counters: PerDirection<CounterValue>, event: Event, answer: Actions },
    Allowed { core: CoreId, allowances: PerDirection<Allowance>, answer: bool },
}

/// The enforcer, with a list of what it was told.
#[derive(Debug)]
pub(crate) struct Decider {
    enforcer: Enforcer,
    told: Vec<Told>,
    /// What found no place in the list.
    unlisted: u64,
}

impl Decider {
    pub(crate) fn new(config: Config, origin: Instant) -> Self {
        let mut enforcer = Enforcer::new(config);
        enforcer.count_from(origin);
        Self { enforcer, told: Vec::with_capacity(ROOM), unlisted: 0 }
    }

    /// What is to be done about something that happened on a core: stopping and going on is carried out by `throttle`, all else
    /// by `other`. Returns when the core has to look in next.
    pub(crate) fn decide<T: Throttle>(
        &mut self,
        now: Instant,
        core: CoreId,
        count: u64,
        event: Event,
        throttle: &mut T,
        other: impl FnMut(Action),
    ) -> Result<Instant, T::Error> {
        let counters = PerDirection([CounterValue(count); DIRECTIONS]);
        let answer = self.enforcer.on(now, core, counters, event);
        self.list(Told::Event { now, core, counters, event, answer });
        carry_out(answer, throttle, other)?;
        Ok(self.enforcer.boundary())
    }

    /// Lets a core have another budget from its next period on; false where it has none.
    pub(crate) fn allow(&mut self, core: CoreId, allowances: PerDirection<Allowance>) -> bool {
        let answer = self.enforcer.allow(core, allowances);
        self.list(Told::Allowed { core, allowances, answer });
        answer
    }

    /// What became of the sum of all budgets so far.
    pub(crate) fn conservation(&self) -> Conservation {
        self.enforcer.regulator().conservation()
    }

    fn list(&mut self, told: Told) {
        if self.unlisted == 0 && self.told.len() < ROOM {
            self.told.push(told);
        } else {
            self.unlisted += 1;
        }
    }
}

/// How many answers were given again by a second enforcer that was told the same.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Replayed {
    /// Answers that were compared.
    pub compared: u64,
    /// Of these, those that differed.
    pub disagreements: u64,
    /// Answers that came too fast to be kept; after them the second enforcer takes the first one's state.
    pub not_compared: u64,
}

/// The second enforcer.
#[derive(Debug)]
pub(crate) struct Replayer {
    twin: Enforcer,
    told: Vec<Told>,
    pub(crate) replayed: Replayed,
}

impl Replayer {
    /// Of a decider that was told nothing yet.
    pub(crate) fn new(decider: &Decider) -> Self {
        Self { twin: decider.enforcer.clone(), told: Vec::with_capacity(ROOM), replayed: Replayed::default() }
    }

    /// Takes what was told since the last time. This is all that has to be done while nobody decides.
    pub(crate) fn take(&mut self, decider: &mut Decider) -> Option<Enforcer> {
        std::mem::swap(&mut self.told, &mut decider.told);
        let unlisted = std::mem::take(&mut decider.unlisted);
        self.replayed.not_compared += unlisted;
        (unlisted > 0).then(|| decider.enforcer.clone())
    }

    /// Tells it again. `now`: what [`take`](Self::take) gave.
    pub(crate) fn replay(&mut self, now: Option<Enforcer>) {
        for told in self.told.drain(..) {
            let same = match told {
                Told::Event { now, core, counters, event, answer } => {
                    self.twin.on(now, core, counters, event) == answer
                }
                Told::Allowed { core, allowances, answer } => self.twin.allow(core, allowances) == answer,
            };
            self.replayed.compared += 1;
            self.replayed.disagreements += u64::from(!same);
        }
        if let Some(now) = now {
            self.twin = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use solo_isolate::regulator::Machine;
    use solo_model::isolation::{Budget, CoreBudget, Counted, Regulation};
    use solo_model::{Bandwidth, Bytes, Duration, EventId, Events};

    struct Nobody;
    impl Throttle for Nobody {
        type Error = std::convert::Infallible;
        fn stop(&mut self) -> Result<(), Self::Error> {
            Ok(())
        }
        fn go(&mut self) -> Result<(), Self::Error> {
            Ok(())
        }
    }

    fn decider() -> Decider {
        let budget = Budget::Events(Events::new(10));
        let cores = [0, 1].map(|core| CoreBudget { core: CoreId(core), budget, writes: None });
        let counted = Counted::One(EventId::LLC_MISSES);
        let regulation = Regulation::new(Duration::new(1000), counted, cores.to_vec(), Bandwidth::ZERO);
        let machine =
            Machine { cores: 2, line: Bytes::new(64), counter_width: 64, in_flight: Events::new(1) };
        Decider::new(Config::of_machine(&regulation, &machine, Bandwidth::ZERO, Vec::new()), Instant::ZERO)
    }

    fn tell(decider: &mut Decider, times: u64) {
        for i in 0..times {
            let (now, core) = (Instant::new(i * 90), CoreId((i % 2) as u16));
            let event = if i % 3 == 0 { Event::Overflow } else { Event::Period };
            let Ok(_) = decider.decide(now, core, i * 3, event, &mut Nobody, |_| {});
        }
    }

    #[test]
    fn the_second_one_answers_alike() {
        let mut decider = decider();
        let mut replayer = Replayer::new(&decider);
        tell(&mut decider, 500);
        assert!(decider.allow(CoreId(1), PerDirection([Allowance::Weight(3); DIRECTIONS])));
        assert!(!decider.allow(CoreId(9), PerDirection([Allowance::Weight(3); DIRECTIONS])));
        let now = replayer.take(&mut decider);
        replayer.replay(now);
        assert_eq!(replayer.replayed, Replayed { compared: 502, disagreements: 0, not_compared: 0 });
        assert_eq!(replayer.twin, decider.enforcer);
    }

    #[test]
    fn a_difference_is_counted() {
        let mut decider = decider();
        let mut replayer = Replayer::new(&decider);
        replayer.twin.allow(CoreId(0), PerDirection([Allowance::Weight(3); DIRECTIONS]));
        tell(&mut decider, 50);
        let now = replayer.take(&mut decider);
        replayer.replay(now);
        assert!(replayer.replayed.disagreements > 0);
    }

    #[test]
    fn what_comes_too_fast_is_counted_and_does_not_disturb_what_follows() {
        let mut decider = decider();
        let mut replayer = Replayer::new(&decider);
        tell(&mut decider, ROOM as u64 + 77);
        let now = replayer.take(&mut decider);
        replayer.replay(now);
        let replayed = Replayed { compared: ROOM as u64, disagreements: 0, not_compared: 77 };
        assert_eq!(replayer.replayed, replayed);
        assert_eq!(replayer.twin, decider.enforcer);
    }
}
