//! Lines that other cores had changed, by time.

use super::{Derived, Monitor, MonitorError, Registered};
use solo_model::listening::Observed;
use solo_model::sample::{Sample, Why};
use solo_model::{EventId, EventSet, EventTable, Fixed, MetricId};

/// Lines that other cores had changed, in a second (thesis 8.2.3: the counter that CA-P-RM listens to).
///
/// A sample shorter than the sampling period, at a switch or a migration, is added to those before it until a tick: a rate
/// over a few microseconds says nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HitmRate {
    metric: MetricId,
    wants: EventSet,
    /// What has come since the last tick, and in how many nanoseconds, thread by thread as the board numbers them.
    count: u64,
    nanoseconds: u64,
}

impl HitmRate {
    /// The monitor that fills `metric`, for one thread or core.
    pub const fn new(metric: MetricId) -> Self {
        Self { metric, wants: EventSet::EMPTY.with(EventId::SNOOP_HITM), count: 0, nanoseconds: 0 }
    }
}

impl Monitor for HitmRate {
    fn wants(&self) -> &EventSet {
        &self.wants
    }

    fn sample(&mut self, sample: &Sample) -> Derived {
        // An interval in which it was not counted belongs to no rate.
        let Some(count) = sample.counts.get(EventId::SNOOP_HITM) else { return Derived::NONE };
        self.count = self.count.saturating_add(count);
        self.nanoseconds = self.nanoseconds.saturating_add(sample.span.get());
        if matches!(sample.why, Why::Switch | Why::Migration) {
            return Derived::NONE;
        }
        let (count, nanoseconds) = (core::mem::take(&mut self.count), core::mem::take(&mut self.nanoseconds));
        Derived::one(self.metric, Fixed::from(count).divide(Fixed::seconds(nanoseconds)))
    }
}

impl Registered for HitmRate {
    fn of(metric: MetricId, _: &Observed, _: &EventTable) -> Result<Self, MonitorError> {
        Ok(Self::new(metric))
    }
}
