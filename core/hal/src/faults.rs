//! Hardware that misbehaves: interrupts that get lost or come late, for tests of what the kernel does then.
//!
//! What the kernel asks of a machine goes wrong in [`Faulty`](crate::Faulty): timers that it programs, requests that it
//! sends, events that it counts. What a machine tells the kernel goes wrong in the machine, which asks its [`Injected`]
//! before it enters the kernel.

use solo_model::{CoreId, CoreSet, Duration, EventId};

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
    pub miscounted: Option<(EventId, EventId)>,
    /// The counters of these cores answer nobody: they can be neither read nor armed.
    pub silent_counters: CoreSet,
    /// Of each kind, every so many-th on these cores goes wrong; 0 and 1 for each.
    pub every: u32,
    /// The interrupt that gets lost once, of whatever kind and core: so many came before it in the run.
    pub lost_interrupt: Option<u32>,
}

/// The faults of a run and how far it has come with them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Injected {
    faults: Faults,
    overflows: u32,
    timers: u32,
    requests: u32,
    interrupts: u32,
}

impl Injected {
    /// Nothing has gone wrong yet.
    pub fn new(faults: Faults) -> Self {
        Self { faults, ..Self::default() }
    }

    /// The event that a counter counts when it is asked for `event`.
    pub fn counted(&self, event: EventId) -> EventId {
        match self.faults.miscounted {
            Some((asked, counted)) if asked == event => counted,
            _ => event,
        }
    }

    /// True where the counters of `core` answer nobody.
    pub(crate) fn silences(&self, core: CoreId) -> bool {
        self.faults.silent_counters.contains(core)
    }

    /// True where the interrupt that comes to a core now is the one that gets lost. To be asked once for each, of
    /// whatever kind.
    pub fn loses_interrupt(&mut self) -> bool {
        let before = self.interrupts;
        self.interrupts = before.saturating_add(1);
        self.faults.lost_interrupt == Some(before)
    }

    /// True where an overflow interrupt of `core` is lost.
    pub fn loses_overflow(&mut self, core: CoreId) -> bool {
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

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    const A: CoreId = CoreId(0);
    const B: CoreId = CoreId(1);

    #[test]
    fn every_third_of_a_kind_goes_wrong_on_the_cores_named() {
        let lost_requests = CoreSet::only(B);
        let mut injected = Injected::new(Faults { lost_requests, every: 3, ..Faults::default() });
        let lost: Vec<bool> = (0..7).map(|_| injected.loses_request(B)).collect();
        assert_eq!(lost, [false, false, true, false, false, true, false]);
        assert!(!injected.loses_request(A) && !injected.loses_overflow(B));
        assert_eq!(injected.delays_timer(B), Duration::ZERO);
    }

    #[test]
    fn one_interrupt_is_lost_once() {
        let mut injected = Injected::new(Faults { lost_interrupt: Some(2), ..Faults::default() });
        let lost: Vec<bool> = (0..5).map(|_| injected.loses_interrupt()).collect();
        assert_eq!(lost, [false, false, true, false, false]);
    }

    #[test]
    fn only_the_event_asked_for_is_counted_as_another() {
        let (asked, counted) = (EventId::LLC_MISSES, EventId::L1_MISSES);
        let injected = Injected::new(Faults { miscounted: Some((asked, counted)), ..Faults::default() });
        assert_eq!([asked, counted].map(|event| injected.counted(event)), [counted, counted]);
    }
}
