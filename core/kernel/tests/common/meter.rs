//! A machine whose counters count what a test says, and whose timers, requests and records a test looks at.

use solo_hal::{CacheControl, CounterId, Edge, InterruptController, Pmu, PmuError, Probe, Recorder, Timer};
use solo_model::{CoreId, EventId, Instant, Overhead, Record};

/// The most cores.
const CORES: usize = 4;

/// A counter and a timer for each core, and what was asked of them.
#[derive(Default)]
pub(crate) struct Meter {
    /// What each core has counted in all.
    pub(crate) total: [u64; CORES],
    /// Where each counter was set to zero last.
    zero: [u64; CORES],
    /// At which total each core's counter interrupts.
    pub(crate) armed: [Option<u64>; CORES],
    /// What each core's timer is programmed to.
    pub(crate) timers: [Option<Instant>; CORES],
    /// Who was asked to reschedule.
    pub(crate) asked: Vec<CoreId>,
    /// What counters were set up to count.
    pub(crate) configured: Vec<(CoreId, EventId)>,
    /// What was recorded.
    pub(crate) records: Vec<Record>,
}

impl Meter {
    /// Counts `events` on `core`; true where its counter passes its limit now.
    pub(crate) fn count(&mut self, core: usize, events: u64) -> bool {
        self.total[core] += events;
        self.armed[core].take_if(|limit| *limit <= self.total[core]).is_some()
    }

    /// `core` counts until its counter interrupts.
    pub(crate) fn reach(&mut self, core: u16) {
        let limit = self.armed[usize::from(core)].take();
        self.total[usize::from(core)] = limit.expect("the counter is armed");
    }
}

impl Pmu for Meter {
    fn configure(&mut self, core: CoreId, _: CounterId, event: EventId) -> Result<(), PmuError> {
        self.armed[core.index()] = None;
        self.configured.push((core, event));
        Ok(())
    }
    fn read(&self, core: CoreId, _: CounterId) -> Result<u64, PmuError> {
        Ok(self.total[core.index()] - self.zero[core.index()])
    }
    fn write(&mut self, core: CoreId, _: CounterId, value: u64) -> Result<(), PmuError> {
        assert_eq!(value, 0, "counters are set to zero");
        self.zero[core.index()] = self.total[core.index()];
        Ok(())
    }
    fn interrupt_after(&mut self, core: CoreId, _: CounterId, events: u64) -> Result<(), PmuError> {
        self.armed[core.index()] = self.total[core.index()].checked_add(events);
        Ok(())
    }
}

impl CacheControl for Meter {}

impl Timer for Meter {
    fn arm(&mut self, core: CoreId, at: Instant) {
        self.timers[core.index()] = Some(at);
    }
    fn disarm(&mut self, core: CoreId) {
        self.timers[core.index()] = None;
    }
}

impl InterruptController for Meter {
    fn send_reschedule(&mut self, _: CoreId, to: CoreId, _: Instant) {
        self.asked.push(to);
    }
}

impl Probe for Meter {
    fn probe(&mut self, _: CoreId, _: Overhead, _: Edge) {}
}

impl Recorder for Meter {
    fn record(&mut self, _: CoreId, record: Record) {
        self.records.push(record);
    }
}
