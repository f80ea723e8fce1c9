//! Instructions per cycle.

use super::{Derived, Monitor, MonitorError, Registered};
use solo_model::listening::Observed;
use solo_model::sample::Sample;
use solo_model::{EventId, EventSet, EventTable, Fixed, MetricId};

/// Instructions retired in a cycle (thesis 8.2; PMCTrack's ipc-sampling).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ipc {
    metric: MetricId,
    wants: EventSet,
}

impl Ipc {
    /// The monitor that fills `metric`.
    pub const fn new(metric: MetricId) -> Self {
        Self { metric, wants: EventSet::EMPTY.with(EventId::INSTRUCTIONS).with(EventId::CYCLES) }
    }
}

impl Monitor for Ipc {
    fn wants(&self) -> &EventSet {
        &self.wants
    }

    fn sample(&mut self, sample: &Sample) -> Derived {
        let count = |event| sample.counts.get(event).map(Fixed::from);
        let value = || count(EventId::INSTRUCTIONS)?.divide(count(EventId::CYCLES)?);
        Derived::one(self.metric, value())
    }
}

impl Registered for Ipc {
    fn of(metric: MetricId, _: &Observed, _: &EventTable) -> Result<Self, MonitorError> {
        Ok(Self::new(metric))
    }
}
