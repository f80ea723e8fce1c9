//! Traffic between caches and memory, by time.

use super::{Derived, Monitor, MonitorError, Registered};
use solo_model::listening::Observed;
use solo_model::sample::{Sample, Why};
use solo_model::{EventId, EventSet, EventTable, Fixed, MetricId};

/// Lines read from memory and written to it, in a second.
///
/// A sample shorter than the sampling period, at a switch or a migration, is added to those before it until a tick: a rate
/// over a few microseconds says nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MemoryBandwidth {
    metric: MetricId,
    wants: EventSet,
    /// What has come since the last tick, and in how many nanoseconds.
    lines: u64,
    nanoseconds: u64,
}

impl MemoryBandwidth {
    /// The monitor that fills `metric`, for one thread or core.
    pub const fn new(metric: MetricId) -> Self {
        let wants = EventSet::EMPTY.with(EventId::DRAM_READS).with(EventId::DRAM_WRITES);
        Self { metric, wants, lines: 0, nanoseconds: 0 }
    }
}

impl Monitor for MemoryBandwidth {
    fn wants(&self) -> &EventSet {
        &self.wants
    }

    fn sample(&mut self, sample: &Sample) -> Derived {
        // An interval in which one of them was not counted belongs to no rate.
        let counted = |event| sample.counts.get(event);
        let (Some(reads), Some(writes)) = (counted(EventId::DRAM_READS), counted(EventId::DRAM_WRITES)) else {
            return Derived::NONE;
        };
        self.lines = self.lines.saturating_add(reads).saturating_add(writes);
        self.nanoseconds = self.nanoseconds.saturating_add(sample.span.get());
        if matches!(sample.why, Why::Switch | Why::Migration) {
            return Derived::NONE;
        }
        let (lines, nanoseconds) = (core::mem::take(&mut self.lines), core::mem::take(&mut self.nanoseconds));
        Derived::one(self.metric, Fixed::from(lines).divide(Fixed::seconds(nanoseconds)))
    }
}

impl Registered for MemoryBandwidth {
    fn of(metric: MetricId, _: &Observed, _: &EventTable) -> Result<Self, MonitorError> {
        Ok(Self::new(metric))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use solo_model::{CoreId, Duration, Instant};

    /// By hand: 6 lines in 2 ms at a switch and 4 in 3 ms at the tick are 10 lines in 5 ms, 2000 in a second.
    #[test]
    fn what_is_cut_short_is_added_to_the_period() {
        let mut monitor = MemoryBandwidth::new(MetricId(0));
        let sample = |reads, writes, ms, why| {
            let counts = [(EventId::DRAM_READS, reads), (EventId::DRAM_WRITES, writes)].into_iter().collect();
            Sample { why, ..Sample::of_core(CoreId(0), Instant::ZERO, Duration::from_millis(ms), counts) }
        };
        assert_eq!(monitor.sample(&sample(5, 1, 2, Why::Switch)), Derived::NONE);
        let derived = monitor.sample(&sample(0, 4, 3, Why::Tick));
        assert_eq!(derived.get(MetricId(0)), Some(Fixed::from(2000_u64)));
        let half = Sample {
            counts: [(EventId::DRAM_READS, 1)].into_iter().collect(),
            ..sample(0, 0, 1, Why::Tick)
        };
        assert_eq!(monitor.sample(&half), Derived::NONE, "absent is not zero");
    }
}
