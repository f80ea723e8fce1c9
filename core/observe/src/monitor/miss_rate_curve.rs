//! Misses by what is held of the last-level cache.

use super::occupancy::held;
use super::{Derived, Monitor, MonitorError, Registered};
use crate::curve::Curve;
use solo_model::listening::Observed;
use solo_model::sample::{Sample, Why};
use solo_model::{Bytes, EventId, EventSet, EventTable, Fixed, MetricId};

/// The miss-rate curve of a task: misses of the last level in 1,000 instructions, by the bytes of it that its process held
/// (PMCTrack 4.3.1).
///
/// A period's size is the mean of what was held at its beginning and at its end. Its metrics are the misses of the last
/// period, its instructions, and the points of the curve ([`solo_model::MissRateCurve::point`]), from which policies decide.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MissRateCurve {
    metric: MetricId,
    wants: EventSet,
    curve: Curve,
    /// What was held at the end of the last period.
    before: Option<u64>,
    instructions: u64,
    misses: u64,
}

impl MissRateCurve {
    /// The monitor that fills `metric` and those that follow it, of one thread or core, in a last level of this size.
    pub fn new(metric: MetricId, capacity: Bytes) -> Self {
        let wants = EventSet::EMPTY.with(EventId::INSTRUCTIONS).with(EventId::LLC_MISSES);
        Self { metric, wants, curve: Curve::new(capacity), before: None, instructions: 0, misses: 0 }
    }
}

impl Monitor for MissRateCurve {
    fn wants(&self) -> &EventSet {
        &self.wants
    }

    fn metrics(&self) -> u16 {
        solo_model::MissRateCurve::point(solo_model::MissRateCurve::BINS + 1).0
    }

    fn curve(&self) -> Option<&Curve> {
        Some(&self.curve)
    }

    fn sample(&mut self, sample: &Sample) -> Derived {
        let counted = |event| sample.counts.get(event);
        // An interval in which one of them was not counted is no point of a curve, and neither is what it was cut from.
        let (Some(instructions), Some(misses)) =
            (counted(EventId::INSTRUCTIONS), counted(EventId::LLC_MISSES))
        else {
            (self.before, self.instructions, self.misses) = (None, 0, 0);
            return Derived::NONE;
        };
        self.instructions = self.instructions.saturating_add(instructions);
        self.misses = self.misses.saturating_add(misses);
        if sample.why != Why::Tick {
            return Derived::NONE;
        }
        let (instructions, misses) =
            (core::mem::take(&mut self.instructions), core::mem::take(&mut self.misses));
        let now = held(sample);
        let before = core::mem::replace(&mut self.before, now);
        if let (Some(before), Some(now)) = (before, now) {
            self.curve.take(Bytes::new(before.midpoint(now)), instructions, misses);
        }
        let per_thousand = Fixed::from(misses.saturating_mul(1000)).divide(Fixed::from(instructions));
        let mut derived = Derived::one(self.metric, per_thousand);
        let next = MetricId(self.metric.0 + solo_model::MissRateCurve::THOUSANDS.0);
        // There is room for two.
        let _ = derived.push(next, Fixed::from(instructions).divide(Fixed::from(1000_u64)).unwrap_or_default());
        derived
    }
}

impl Registered for MissRateCurve {
    fn of(metric: MetricId, observed: &Observed, _: &EventTable) -> Result<Self, MonitorError> {
        Ok(Self::new(metric, observed.capacity))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use solo_model::{CoreId, Duration, Instant};

    fn sample(held: Option<i64>, instructions: u64, misses: u64, why: Why) -> Sample {
        let counts = [(EventId::INSTRUCTIONS, instructions), (EventId::LLC_MISSES, misses)];
        let core = Sample::of_core(CoreId(0), Instant::ZERO, Duration::ZERO, counts.into_iter().collect());
        Sample { why, virtuals: Vec::from([held]), ..core }
    }

    use alloc::vec::Vec;

    #[test]
    fn a_period_is_a_point_at_the_mean_of_its_ends() {
        let mut monitor = MissRateCurve::new(MetricId(0), Bytes::new(3200));
        let first = monitor.sample(&sample(Some(100), 5000, 50, Why::Tick));
        assert_eq!(first.get(MetricId(0)), Some(Fixed::from(10_u64)));
        assert_eq!(first.get(MetricId(1)), Some(Fixed::from(5_u64)));
        assert_eq!(monitor.sample(&sample(Some(900), 1000, 30, Why::Switch)), Derived::NONE);
        monitor.sample(&sample(Some(300), 1000, 30, Why::Tick));
        let bin = monitor.curve().map(|curve| curve.bins()[2]).unwrap_or_default();
        assert_eq!((bin.samples, bin.instructions, bin.misses, bin.weighed), (1, 2000, 60, 400));
        monitor.sample(&sample(None, 1000, 30, Why::Tick));
        monitor.sample(&sample(Some(300), 1000, 30, Why::Tick));
        let all: u64 = monitor.curve().map_or(0, |curve| curve.bins().iter().map(|bin| bin.samples).sum());
        assert_eq!(all, 1, "what was held is not known: no point");
    }
}
