//! A metric by expression over more events than there are counters.

use super::{Derived, Followed, Monitor, MonitorError, Registered, Turns};
use crate::expr::Expression;
use crate::formula::{Formula, NoValue};
use crate::rounds::{Round, Rounds};
use alloc::vec::Vec;
use solo_model::listening::Observed;
use solo_model::sample::{Sample, Why};
use solo_model::{CoreId, Counts, Duration, EventSet, EventTable, Fixed, Instant, MetricId};

/// The most sets that take turns.
const MOST: usize = 64;

/// A metric by expression over events in sets that take turns (PMCTrack 4.1.2, Fig. 7).
///
/// It has a value at the end of each whole round and says nothing in between, nor of a round in which the phase has changed.
/// An event's count is the estimate for the whole round: what its sets counted, times the time of all sets, divided by that
/// of its own, rounded down (hpc-invalidations, section 3).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Multiplexed {
    metric: MetricId,
    formula: Formula,
    of: Followed,
    sets: Vec<EventSet>,
    wants: EventSet,
    rounds: Rounds,
    /// How long each set has counted in the round.
    spans: Vec<Duration>,
    /// The estimates, filled anew for each round.
    whole: Sample,
}

impl Multiplexed {
    /// A monitor for an expression over events of `table`, each in one of `sets`, on the counters of tasks or cores.
    ///
    /// # Errors
    /// If the expression can't be computed, an event of it is in no set, or there are no sets or more than 64.
    pub fn new(
        metric: MetricId,
        expression: &Expression,
        sets: &[EventSet],
        of: Followed,
        table: &EventTable,
    ) -> Result<Self, MonitorError> {
        let formula = Formula::new(expression, table).map_err(MonitorError::Formula)?;
        let rounds = Rounds::new(sets).filter(|_| sets.len() <= MOST).ok_or(MonitorError::NoSets)?;
        let wants: EventSet = sets.iter().flat_map(EventSet::iter).collect();
        if let Some(event) = formula.events().iter().find(|event| !wants.contains(*event)) {
            return Err(MonitorError::InNoSet { name: table.name(event).into() });
        }
        let nothing = Counts::of(wants, |_| 0);
        Ok(Self {
            metric,
            formula,
            of,
            sets: sets.to_vec(),
            wants,
            rounds,
            spans: alloc::vec![Duration::ZERO; sets.len()],
            whole: Sample::of_core(CoreId(0), Instant::ZERO, Duration::ZERO, nothing),
        })
    }
}

impl Monitor for Multiplexed {
    fn wants(&self) -> &EventSet {
        &self.wants
    }

    fn turns(&self) -> Option<Turns<'_>> {
        Some(Turns { of: self.of, sets: &self.sets, next: self.rounds.turn() })
    }

    fn sample(&mut self, sample: &Sample) -> Derived {
        // A turn ends with its period: an interval that a switch cut short is no turn.
        if sample.why != Why::Tick {
            return Derived::NONE;
        }
        if let Some(span) = self.spans.get_mut(usize::from(sample.set)) {
            *span = sample.span;
        }
        let Round::Whole(counted) = self.rounds.take(sample) else { return Derived::NONE };
        let all: Duration = self.spans.iter().copied().sum();
        let spans = &self.spans;
        self.whole.counts.refill(|event| {
            let of = |(counts, span): (&Counts, &Duration)| Some((counts.get(event)?, span.get()));
            let mut sum = (0_u128, 0_u128);
            for (count, span) in counted.iter().zip(spans).filter_map(of) {
                sum = (sum.0 + u128::from(count), sum.1 + u128::from(span));
            }
            let estimate = sum.0.saturating_mul(u128::from(all.get())).checked_div(sum.1).unwrap_or(0);
            u64::try_from(estimate).unwrap_or(u64::MAX)
        });
        (self.whole.span, self.whole.at) = (all, sample.at);
        let value = match self.formula.value(&self.whole) {
            Ok(value) => Some(value),
            // A round in which nothing was counted that it divides by is a quiet one.
            Err(NoValue::NothingToDivideBy) => Some(Fixed::ZERO),
            Err(NoValue::NotCounted | NoValue::OutOfRange) => None,
        };
        Derived::one(self.metric, value)
    }
}

impl Registered for Multiplexed {
    fn of(metric: MetricId, observed: &Observed, table: &EventTable) -> Result<Self, MonitorError> {
        let expression = Expression::parse(&observed.expression).map_err(MonitorError::Expression)?;
        Self::new(metric, &expression, &observed.sets, Followed::Cores, table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use solo_model::EventId;

    const MISSES: [EventId; 2] = [EventId::L1_MISSES, EventId::LLC_MISSES];

    fn monitor(expression: &str) -> Result<Multiplexed, MonitorError> {
        let sets = MISSES.map(|event| EventSet::EMPTY.with(EventId::INSTRUCTIONS).with(event));
        let expression = Expression::parse(expression).expect("an expression");
        Multiplexed::new(MetricId(0), &expression, &sets, Followed::Cores, &EventTable::default())
    }

    fn sample(set: u16, ms: u64, instructions: u64, misses: u64) -> Sample {
        let event = MISSES[usize::from(set)];
        let counts = [(EventId::INSTRUCTIONS, instructions), (event, misses)].into_iter().collect();
        Sample { set, ..Sample::of_core(CoreId(0), Instant::ZERO, Duration::from_millis(ms), counts) }
    }

    /// By hand: in 2 ms of 8 ms 10 first-level misses are 40, in 6 ms 30 last-level misses are 40; instructions were counted
    /// all the time and are what was counted.
    #[test]
    fn an_event_is_estimated_from_the_time_of_its_sets() {
        let value = |expression: &str| {
            let mut monitor = monitor(expression).expect("all events are in a set");
            assert_eq!(monitor.sample(&sample(0, 2, 1000, 10)), Derived::NONE, "half a round");
            monitor.sample(&sample(1, 6, 3000, 30)).get(MetricId(0)).map(|value| value.whole())
        };
        assert_eq!(value("l1_misses"), Some(40));
        assert_eq!(value("llc_misses"), Some(40));
        assert_eq!(value("instructions"), Some(4000));
        assert_eq!(value("1000 * seconds"), Some(8));
        assert_eq!(value("llc_misses / (l1_misses - l1_misses)"), Some(0), "nothing to divide by");
    }

    /// Counts and times as large as they can be: an estimate that no counter holds is the largest there is, and a value that no
    /// number holds is not known. Neither is quiet.
    #[test]
    fn counts_that_are_as_large_as_they_can_be_are_not_quiet() {
        let round = |expression: &str, most: u64, span: u64| {
            let mut monitor = monitor(expression).expect("all events are in a set");
            let sample = |set| Sample { span: Duration::new(span), ..sample(set, 0, most, most) };
            assert_eq!(monitor.sample(&sample(0)), Derived::NONE, "half a round");
            monitor.sample(&sample(1)).get(MetricId(0)).map(|value| value.whole())
        };
        assert_eq!(round("l1_misses", u64::MAX, 1 << 60), Some(u64::MAX.into()));
        assert_eq!(round("instructions", u64::MAX, u64::MAX / 2), Some(u64::MAX.into()));
        assert_eq!(round("l1_misses * llc_misses * instructions", u64::MAX, 1000), None);
        assert_eq!(round("l1_misses * llc_misses * instructions", 3, 1000), Some(6 * 6 * 6));
    }

    #[test]
    fn what_ends_before_its_period_is_no_turn_and_what_no_set_has_is_refused() {
        let mut monitor = monitor("l1_misses + llc_misses").expect("all events are in a set");
        let switched = Sample { why: Why::Switch, ..sample(0, 2, 1000, 10) };
        assert_eq!(monitor.sample(&switched), Derived::NONE);
        assert_eq!(monitor.turns().map(|turns| turns.next), Some(0));
        let refused = self::monitor("cycles");
        assert_eq!(refused, Err(MonitorError::InNoSet { name: "cycles".into() }));
        let expression = Expression::parse("seconds").expect("an expression");
        let none = Multiplexed::new(MetricId(0), &expression, &[], Followed::Tasks, &EventTable::default());
        assert_eq!(none, Err(MonitorError::NoSets));
    }
}
