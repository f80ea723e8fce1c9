//! How much of the last-level cache is held.

use super::{Derived, Monitor, MonitorError, Registered};
use solo_model::listening::Observed;
use solo_model::sample::Sample;
use solo_model::{EventSet, EventTable, Fixed, MetricId};

/// The place of the bytes held among the virtual counters of a sample that a kernel takes.
const HELD: usize = 0;

/// What is held of the last level at the end of an interval, in bytes.
pub(super) fn held(sample: &Sample) -> Option<u64> {
    sample.virtuals.get(HELD).copied().flatten().and_then(|bytes| u64::try_from(bytes).ok())
}

/// The bytes of the last-level cache that lines take which the task's process brought in (PMCTrack 4.3, Intel CMT).
///
/// It counts nothing. What a core holds is what the process holds whose task is on it at the end of the interval.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Occupancy {
    metric: MetricId,
}

impl Occupancy {
    /// The monitor that fills `metric`.
    pub const fn new(metric: MetricId) -> Self {
        Self { metric }
    }
}

impl Monitor for Occupancy {
    fn wants(&self) -> &EventSet {
        const NONE: &EventSet = &EventSet::EMPTY;
        NONE
    }

    fn sample(&mut self, sample: &Sample) -> Derived {
        Derived::one(self.metric, held(sample).map(Fixed::from))
    }
}

impl Registered for Occupancy {
    fn of(metric: MetricId, _: &Observed, _: &EventTable) -> Result<Self, MonitorError> {
        Ok(Self::new(metric))
    }
}
