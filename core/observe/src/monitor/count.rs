//! How often an event happened.

use super::{Derived, Monitor, MonitorError, Registered};
use solo_model::listening::Observed;
use solo_model::sample::{Sample, Why};
use solo_model::{EventId, EventSet, EventTable, Fixed, MetricId};

/// How often an event happened between two ticks. What comes between them, at a switch or when a counter overflows, is added
/// up: an overflow tells what has come so far, a tick and an exit tell all and begin anew (thesis 8.2.3: the counter is read
/// and set to zero each QUANTUM).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Count {
    metric: MetricId,
    event: EventId,
    wants: EventSet,
    so_far: u64,
}

impl Count {
    /// The monitor that fills `metric`.
    pub const fn new(metric: MetricId, event: EventId) -> Self {
        Self { metric, event, wants: EventSet::EMPTY.with(event), so_far: 0 }
    }
}

impl Monitor for Count {
    fn wants(&self) -> &EventSet {
        &self.wants
    }

    fn sample(&mut self, sample: &Sample) -> Derived {
        // An interval in which it was not counted belongs to no count.
        let Some(count) = sample.counts.get(self.event) else { return Derived::NONE };
        self.so_far = self.so_far.saturating_add(count);
        let told = self.so_far;
        match sample.why {
            Why::Switch | Why::Migration => return Derived::NONE,
            Why::Overflow => {}
            Why::Tick | Why::Exit | Why::End | Why::Own => self.so_far = 0,
        }
        Derived::one(self.metric, Some(Fixed::from(told)))
    }
}

impl Registered for Count {
    fn of(metric: MetricId, observed: &Observed, _: &EventTable) -> Result<Self, MonitorError> {
        observed.events.first().map(|&event| Self::new(metric, event)).ok_or(MonitorError::NoEvent)
    }
}
