//! Hardware that misbehaves: interrupts that get lost or come late, for tests of what regulation does then.

use solo_model::{CoreId, CoreSet, Duration, Event};

/// What goes wrong during a run. The default is nothing.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Faults {
    /// Overflow interrupts of these cores' counters are lost.
    pub lost_overflows: CoreSet,
    /// Timers of these cores fire later than they were programmed to.
    pub late_timers: CoreSet,
    /// By how much.
    pub lateness: Duration,
    /// Reschedule requests to these cores are lost.
    pub lost_requests: CoreSet,
    /// Whoever asks for the first event is given a counter of the second: an event code of another processor.
    pub miscounted: Option<(Event, Event)>,
    /// Of each kind, every so many-th on these cores goes wrong; 0 and 1 for each.
    pub every: u32,
    /// The interrupt that gets lost once, of whatever kind and core: so many came before it in the run.
    pub lost_interrupt: Option<u32>,
}

/// The faults of a run and how far it has come with them.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Injected {
    faults: Faults,
    overflows: u32,
    timers: u32,
    requests: u32,
    interrupts: u32,
}

impl Injected {
    pub(crate) fn new(faults: Faults) -> Self {
        Self { faults, ..Self::default() }
    }

    /// The event that a counter counts when it is asked for `event`.
    pub(crate) fn counted(&self, event: Event) -> Event {
        match self.faults.miscounted {
            Some((asked, counted)) if asked == event => counted,
            _ => event,
        }
    }

    /// True where the interrupt that comes to a core now is the one that gets lost.
    pub(crate) fn loses_interrupt(&mut self) -> bool {
        let before = self.interrupts;
        self.interrupts = before.saturating_add(1);
        self.faults.lost_interrupt == Some(before)
    }

    /// True where an overflow interrupt of `core` is lost.
    pub(crate) fn loses_overflow(&mut self, core: CoreId) -> bool {
        self.faults.lost_overflows.contains(core) && Self::turn(&mut self.overflows, self.faults.every)
    }

    /// By how much a timer that `core` programs is late.
    pub(crate) fn delays_timer(&mut self, core: CoreId) -> Duration {
        let late = self.faults.late_timers.contains(core) && Self::turn(&mut self.timers, self.faults.every);
        if late { self.faults.lateness } else { Duration::ZERO }
    }

    /// True where a reschedule request to `core` is lost.
    pub(crate) fn loses_request(&mut self, core: CoreId) -> bool {
        self.faults.lost_requests.contains(core) && Self::turn(&mut self.requests, self.faults.every)
    }

    /// Counts; true at every `every`-th.
    fn turn(seen: &mut u32, every: u32) -> bool {
        *seen += 1;
        let due = *seen >= every;
        if due {
            *seen = 0;
        }
        due
    }
}
