//! Rounds of event sets that take turns, and changes of phase, which spoil them (PMCTrack 4.1.2, Fig. 7).
//!
//! A metric over more events than there are counters takes a sample of each set. Samples of different phases of a program must
//! not be mixed: where the instructions per cycle jump, the samples of the round are thrown away and a round begins.
//!
//! ```text
//!   set 0, set 1, set 2 ──▶ a whole round
//!   set 0, set 1 (another phase) ──▶ thrown away; set 0, set 1, set 2 ──▶ a whole round
//! ```

use alloc::vec::Vec;
use solo_model::{Counts, EventId, EventSet, Sample};

/// A running average of instructions per cycle, and whether the last sample is of another phase.
///
/// With the sample `x` the average `a` becomes `a' = 0.35 a + 0.65 x`, in thousandths. It is another phase where half the
/// difference of `a` and `a'` is more than 12 % of `(a + a' + 20) / 2` (the rule of PMCTrack's modules; the paper has it in words).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Phase {
    average: Option<u64>,
}

impl Phase {
    /// Takes in instructions per cycle in thousandths; true where they are of another phase than those before. The first are not.
    pub fn changes(&mut self, ipc: u64) -> bool {
        let ipc = ipc.min(u64::from(u32::MAX));
        let before = self.average.unwrap_or(ipc);
        let after = (35 * before + 65 * ipc) / 100;
        self.average = Some(after);
        100 * before.abs_diff(after) > 12 * (before + after + 20)
    }
}

/// What a sample has made of its round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Round<'r> {
    /// Sets are missing still, or the sample was of a set whose turn it was not.
    Going,
    /// Another phase: this sample and so many before it are thrown away.
    Spoiled {
        /// Samples of the round before this one.
        thrown: u16,
    },
    /// What was counted of each set, in one phase.
    Whole(&'r [Counts]),
}

/// The rounds of one thread or core. No memory is taken after the construction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rounds {
    sets: Vec<Counts>,
    /// The set whose turn it is.
    next: u16,
    phase: Phase,
}

impl Rounds {
    /// Rounds of these sets in their order. Sets that have both instructions and cycles tell phases apart. `None` without a
    /// set, or with more than 65535.
    pub fn new(sets: &[EventSet]) -> Option<Self> {
        let known = !sets.is_empty() && u16::try_from(sets.len()).is_ok();
        let zero = |set: &EventSet| Counts::of(*set, |_| 0);
        known.then(|| Self { sets: sets.iter().map(zero).collect(), next: 0, phase: Phase::default() })
    }

    /// The set that is to be counted next.
    pub const fn turn(&self) -> u16 {
        self.next
    }

    /// Takes in a sample of a set.
    pub fn take(&mut self, sample: &Sample) -> Round<'_> {
        if sample.set != self.next {
            return Round::Going;
        }
        let thrown = core::mem::take(&mut self.next);
        if per_mille(&sample.counts).is_some_and(|ipc| self.phase.changes(ipc)) {
            return Round::Spoiled { thrown };
        }
        if let Some(counts) = self.sets.get_mut(usize::from(sample.set)) {
            counts.refill(|event| sample.counts.get(event).unwrap_or(0));
        }
        if usize::from(thrown) + 1 == self.sets.len() {
            return Round::Whole(&self.sets);
        }
        self.next = thrown + 1;
        Round::Going
    }
}

/// Instructions in a thousand cycles, where both were counted.
fn per_mille(counts: &Counts) -> Option<u64> {
    let (instructions, cycles) = (counts.get(EventId::INSTRUCTIONS)?, counts.get(EventId::CYCLES)?);
    let ipc = u128::from(instructions) * 1000 / u128::from(core::num::NonZeroU64::new(cycles)?.get());
    Some(u64::try_from(ipc).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;
    use solo_model::{CoreId, Duration, Instant};

    const METRICS: [EventId; 3] = [EventId::L1_MISSES, EventId::LLC_MISSES, EventId::DRAM_READS];

    fn set(metric: EventId) -> EventSet {
        EventSet::EMPTY.with(EventId::INSTRUCTIONS).with(EventId::CYCLES).with(metric)
    }

    fn sample(set: u16, ipc: u64, metric: u64) -> Sample {
        let event = METRICS[usize::from(set)];
        let counts = [(EventId::INSTRUCTIONS, ipc * 10), (EventId::CYCLES, 10_000), (event, metric)]
            .into_iter()
            .collect();
        Sample { set, ..Sample::of_core(CoreId(0), Instant::ZERO, Duration::from_millis(200), counts) }
    }

    /// Fig. 7: three sets; a program whose phase changes in the second set of a round.
    #[test]
    fn a_round_in_which_the_phase_changes_is_thrown_away_and_a_new_one_begins() {
        let mut rounds = Rounds::new(&METRICS.map(set)).expect("three sets");
        // One phase for five periods, another from the sixth on, with the noise of a program.
        let ipcs = [1000, 1040, 980, 1010, 2000, 1990, 2010, 2000, 1020, 1010, 1000, 990];
        let mut said = String::new();
        for (period, ipc) in (1..).zip(ipcs) {
            let set = rounds.turn();
            said.push_str(&alloc::format!("{set}"));
            match rounds.take(&sample(set, ipc, period)) {
                Round::Going => {}
                Round::Spoiled { thrown } => said.push_str(&alloc::format!(" thrown away with {thrown}; ")),
                Round::Whole(sets) => {
                    let metrics: Vec<_> =
                        sets.iter().zip(METRICS).map(|(set, event)| set.get(event)).collect();
                    said.push_str(&alloc::format!(
                        " whole {:?}; ",
                        metrics.into_iter().flatten().collect::<Vec<_>>()
                    ));
                }
            }
        }
        // By hand: 1-3 are a round; 4 begins one, 5 is of another phase; 6-8 are a round; 9 is of another phase at once;
        // 10-12 are a round.
        let expected = "012 whole [1, 2, 3]; 01 thrown away with 1; 012 whole [6, 7, 8]; 0 thrown away with 0; \
                        012 whole [10, 11, 12]; ";
        assert_eq!(said, expected);
    }

    /// The formula by hand: from 1000, 1420 is the same phase (a' = 1273) and 1425 another one (a' = 1276).
    #[test]
    fn another_phase_is_more_than_twelve_in_a_hundred_away() {
        let after = |first, second| {
            let mut phase = Phase::default();
            assert!(!phase.changes(first), "there is nothing before it");
            phase.changes(second)
        };
        // 100 |a - a'| against 12 (a + a' + 20): 27300 and 27516; 27600 and 27552.
        assert!(!after(1000, 1420) && after(1000, 1425));
        // 20800 and 21744; 23400 and 21432.
        assert!(!after(1000, 680) && after(1000, 640));
        assert!(
            !after(0, 0) && !after(0, 4) && after(0, 5),
            "twenty thousandths keep idle programs apart from noise"
        );
        assert!(!after(u64::MAX, u64::MAX));
    }

    #[test]
    fn a_sample_out_of_turn_changes_nothing_and_sets_without_cycles_tell_no_phase() {
        let mut rounds = Rounds::new(&METRICS.map(set)).expect("three sets");
        assert_eq!(rounds.take(&sample(2, 1000, 7)), Round::Going);
        assert_eq!(rounds.turn(), 0);
        let bare = EventSet::EMPTY.with(METRICS[0]);
        let mut rounds = Rounds::new(core::slice::from_ref(&bare)).expect("a set");
        let counts = [(METRICS[0], 9)].into_iter().collect();
        let only = Sample::of_core(CoreId(0), Instant::ZERO, Duration::from_millis(1), counts);
        assert!(matches!(rounds.take(&only), Round::Whole([counts]) if counts.get(METRICS[0]) == Some(9)));
        assert!(Rounds::new(&[]).is_none());
    }
}
