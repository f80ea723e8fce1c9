//! More events than counters: sets that take turns, one a period, each sample named after its set.
//!
//! ```text
//!   set 0 ──period ends──▶ set 1 ──▶ ... ──▶ last set ──▶ set 0
//! ```
//! Nothing is scaled behind anybody's back: a sample says which set it is of and how long that set counted;
//! [`Totals`] keeps sums and times, and an estimate over the whole time is asked for by its name
//! (hpc-invalidations, section 3: multiplexing).

use alloc::vec::Vec;
use solo_model::{CoreId, Duration, EventId, Instant};

/// What is counted together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Set {
    /// Its events, one for each counter from the first on.
    pub events: Vec<EventId>,
}

/// What one set counted in one of its turns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sample {
    /// The core.
    pub core: CoreId,
    /// The position of the set.
    pub set: usize,
    /// When its turn ended.
    pub at: Instant,
    /// How long its turn was.
    pub span: Duration,
    /// The counts, in the order of the set's events.
    pub counts: Vec<u64>,
}

/// What to do at the end of a period.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "the counters must be read before they are set to other events"]
pub struct Turn {
    /// The set whose counters are to be read, and how long it counted; none at the beginning.
    pub read: Option<(usize, Duration)>,
    /// The set that counts from now on.
    pub count: usize,
}

/// The turns of one core.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rotation {
    sets: Vec<Set>,
    /// The set that counts, and since when.
    active: Option<(usize, Instant)>,
}

impl Rotation {
    /// Deals `events` out to sets of as many as there are counters, in their order. `None` without events or counters.
    pub fn new(events: &[EventId], counters: u8) -> Option<Self> {
        if events.is_empty() || counters == 0 {
            return None;
        }
        let sets = events.chunks(usize::from(counters)).map(|events| Set { events: events.into() });
        Some(Self { sets: sets.collect(), active: None })
    }

    /// The sets, in the order of their turns.
    pub fn sets(&self) -> &[Set] {
        &self.sets
    }

    /// A period ends, or the first begins, at `now`.
    pub fn turn(&mut self, now: Instant) -> Turn {
        let read = self.active.map(|(set, since)| (set, now.since(since)));
        let count = read.map_or(0, |(set, _)| (set + 1) % self.sets.len());
        self.active = Some((count, now));
        Turn { read, count }
    }
}

/// Sums over samples.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Totals {
    counts: Vec<Vec<u64>>,
    spans: Vec<Duration>,
}

impl Totals {
    /// Nothing yet, for the sets of `rotation`.
    pub fn new(rotation: &Rotation) -> Self {
        let counts = rotation.sets.iter().map(|set| alloc::vec![0; set.events.len()]).collect();
        Self { counts, spans: alloc::vec![Duration::ZERO; rotation.sets.len()] }
    }

    /// Takes a sample in; one of an unknown set is left out.
    pub fn add(&mut self, sample: &Sample) {
        let Some(counts) = self.counts.get_mut(sample.set) else { return };
        counts.iter_mut().zip(&sample.counts).for_each(|(sum, count)| *sum = sum.saturating_add(*count));
        self.spans[sample.set] += sample.span;
    }

    /// What was counted of the event at a position of a set, and for how long.
    pub fn counted(&self, set: usize, position: usize) -> Option<(u64, Duration)> {
        Some((*self.counts.get(set)?.get(position)?, self.spans[set]))
    }

    /// What it would have been over the time of all sets together at the same rate, rounded down: an estimate. `None`
    /// where the set has had no turn.
    pub fn estimate(&self, set: usize, position: usize) -> Option<u64> {
        let (count, span) = self.counted(set, position)?;
        let whole: Duration = self.spans.iter().copied().sum();
        let scaled = (u128::from(count) * u128::from(whole.get())).checked_div(u128::from(span.get()))?;
        Some(u64::try_from(scaled).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_take_turns_and_each_is_read_before_the_next_counts() {
        let events = [EventId::L1_MISSES, EventId::LLC_MISSES, EventId::DRAM_READS];
        let mut rotation = Rotation::new(&events, 2).unwrap();
        assert_eq!(rotation.sets().len(), 2);
        let at = |ms: u64| Instant::new(ms * 1_000_000);
        assert_eq!(rotation.turn(at(0)), Turn { read: None, count: 0 });
        assert_eq!(rotation.turn(at(1)), Turn { read: Some((0, Duration::from_millis(1))), count: 1 });
        assert_eq!(rotation.turn(at(4)), Turn { read: Some((1, Duration::from_millis(3))), count: 0 });
        assert!(Rotation::new(&events, 0).is_none() && Rotation::new(&[], 2).is_none());
    }

    #[test]
    fn estimates_follow_the_time_that_a_set_had() {
        let rotation = Rotation::new(&[EventId::L1_MISSES, EventId::LLC_MISSES], 1).unwrap();
        let mut totals = Totals::new(&rotation);
        assert_eq!(totals.estimate(0, 0), None);
        let sample = |set, ms, count| Sample {
            core: CoreId(0),
            set,
            at: Instant::ZERO,
            span: Duration::from_millis(ms),
            counts: alloc::vec![count],
        };
        totals.add(&sample(0, 1, 100));
        totals.add(&sample(1, 3, 30));
        totals.add(&sample(9, 3, 30));
        assert_eq!(
            (totals.counted(0, 0), totals.estimate(0, 0)),
            (Some((100, Duration::from_millis(1))), Some(400))
        );
        assert_eq!((totals.estimate(1, 0), totals.estimate(1, 1)), (Some(40), None));
    }
}
