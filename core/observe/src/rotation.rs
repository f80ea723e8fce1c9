//! More events than counters: sets that take turns, one a period, each sample named after its set.
//!
//! ```text
//!   set 0 ──period ends──▶ set 1 ──▶ ... ──▶ last set ──▶ set 0
//! ```
//! Nothing is scaled behind anybody's back: a sample says which set it is of and how long that set counted;
//! [`Totals`] keeps sums and times, and an estimate over the whole time is asked for by its name
//! (hpc-invalidations, section 3: multiplexing).

use alloc::vec::Vec;
use solo_model::{Counts, Duration, EventId, EventSet, Instant, Sample};

/// What is counted together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Set {
    /// Its events, one for each counter from the first on.
    pub events: Vec<EventId>,
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

/// Whose turn it is: sets are numbers here, so that it serves counters of a simulated core and groups of Linux alike.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Turns {
    sets: usize,
    /// The set that counts, and since when.
    active: Option<(usize, Instant)>,
}

impl Turns {
    /// So many sets, none of which has counted yet; one where there are none.
    pub const fn new(sets: usize) -> Self {
        Self { sets: if sets == 0 { 1 } else { sets }, active: None }
    }

    /// The set that counts, or will count first.
    pub fn active(&self) -> usize {
        self.active.map_or(0, |(set, _)| set)
    }

    /// The set that counts after the next turn.
    pub fn next(&self) -> usize {
        self.active.map_or(0, |(set, _)| (set + 1) % self.sets)
    }

    /// A period ends, or the first begins, at `now`.
    pub fn turn(&mut self, now: Instant) -> Turn {
        let read = self.active.map(|(set, since)| (set, now.since(since)));
        let count = self.next();
        self.active = Some((count, now));
        Turn { read, count }
    }
}

/// The turns of one core's counters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rotation {
    sets: Vec<Set>,
    turns: Turns,
}

impl Rotation {
    /// Deals `events` out to sets of as many as there are counters, in their order; one that stands twice is counted
    /// once. `None` without events or counters.
    pub fn new(events: &[EventId], counters: u8) -> Option<Self> {
        if events.is_empty() || counters == 0 {
            return None;
        }
        let mut known = EventSet::EMPTY;
        let events: Vec<EventId> = events.iter().copied().filter(|event| known.insert(*event)).collect();
        let sets: Vec<Set> =
            events.chunks(usize::from(counters)).map(|events| Set { events: events.into() }).collect();
        Some(Self { turns: Turns::new(sets.len()), sets })
    }

    /// The sets, in the order of their turns.
    pub fn sets(&self) -> &[Set] {
        &self.sets
    }

    /// A period ends, or the first begins, at `now`.
    pub fn turn(&mut self, now: Instant) -> Turn {
        self.turns.turn(now)
    }
}

/// Sums over samples.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Totals {
    sets: Vec<Set>,
    counts: Vec<Counts>,
    spans: Vec<Duration>,
}

impl Totals {
    /// Nothing yet, for the sets of `rotation`.
    pub fn new(rotation: &Rotation) -> Self {
        let sets = rotation.sets.clone();
        let zero = |set: &Set| Counts::of(set.events.iter().copied().collect(), |_| 0);
        Self { counts: sets.iter().map(zero).collect(), spans: alloc::vec![Duration::ZERO; sets.len()], sets }
    }

    /// Takes a sample in; one of an unknown set is left out.
    pub fn add(&mut self, sample: &Sample) {
        let set = usize::from(sample.set);
        let Some(counts) = self.counts.get_mut(set) else { return };
        counts.merge(&sample.counts);
        self.spans[set] += sample.span;
    }

    /// What was counted of the event at a position of a set, and for how long.
    pub fn counted(&self, set: usize, position: usize) -> Option<(u64, Duration)> {
        let event = self.sets.get(set)?.events.get(position)?;
        Some((self.counts[set].get(*event)?, self.spans[set]))
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
    use solo_model::CoreId;

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
        let twice = Rotation::new(&[EventId::CYCLES, EventId::L1_HITS, EventId::CYCLES], 2).unwrap();
        assert_eq!(twice.sets().len(), 1, "an event that stands twice is counted once");
    }

    #[test]
    fn estimates_follow_the_time_that_a_set_had() {
        let rotation = Rotation::new(&[EventId::L1_MISSES, EventId::LLC_MISSES], 1).unwrap();
        let mut totals = Totals::new(&rotation);
        assert_eq!(totals.estimate(0, 0), None);
        let sample = |set, ms, event, count| Sample {
            set,
            ..Sample::of_core(
                CoreId(0),
                Instant::ZERO,
                Duration::from_millis(ms),
                [(event, count)].into_iter().collect(),
            )
        };
        totals.add(&sample(0, 1, EventId::L1_MISSES, 100));
        totals.add(&sample(1, 3, EventId::LLC_MISSES, 30));
        totals.add(&sample(9, 3, EventId::LLC_MISSES, 30));
        assert_eq!(
            (totals.counted(0, 0), totals.estimate(0, 0)),
            (Some((100, Duration::from_millis(1))), Some(400))
        );
        assert_eq!((totals.estimate(1, 0), totals.estimate(1, 1)), (Some(40), None));
    }
}
