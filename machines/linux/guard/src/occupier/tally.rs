//! What became of a core's budget.

use super::histogram::Histogram;
use solo_isolate::regulator::{DIRECTIONS, PeriodReport};
use solo_model::{CoreId, Duration, Events};
use std::io;

/// How far a budget has come, told while it is held. All but `reserved` are sums since the beginning.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Progress {
    /// Periods that have ended.
    pub periods: u64,
    /// Events in them.
    pub events: u64,
    /// What was reserved in the last one.
    pub reserved: u64,
    /// How long it was stopped in them.
    pub stopped: Duration,
    /// Those in which there were more events than allowed.
    pub exceeded: u64,
}

/// What became of the budget of a core.
#[derive(Debug)]
pub struct CoreTally {
    /// The core.
    pub core: CoreId,
    /// Periods that ended.
    pub periods: u64,
    /// Of these, periods in which it was stopped.
    pub throttled: u64,
    /// How long it was stopped in all.
    pub stopped: Duration,
    /// Events in all periods.
    pub events: u64,
    /// What it had reserved in all periods.
    pub reserved: u64,
    /// The most events in a period.
    pub most: u64,
    /// Events in each period beyond what the core might use then: its reservation and what it took of others', less what it gave
    /// away. Periods in which nobody was regulated, because all had used up their budgets, are left out.
    pub beyond: Histogram,
    /// Periods in which there were any beyond.
    pub exceeded: u64,
    /// Nanoseconds from each ring of the counter to the moment at which the occupier had the core.
    pub latency: Histogram,
    /// Nanoseconds by which the occupier came late to each period.
    pub late: Histogram,
    /// Whether the occupier's own events are left out of what is counted; an event of a whole chip can't be told by thread.
    pub is_apart: bool,
    /// Events that were counted while the core was stopped: somebody else ran there.
    pub leaked: u64,
    /// Stops in which that happened.
    pub leaks: u64,
    /// Nanoseconds that the occupier lost while it held the core: interrupts, higher priorities, Linux's fair server, or the
    /// machine below a virtual one. Less than 20 us in a row are not noticed.
    pub taken_away: Histogram,
    /// Times that the kernel held back what the counter rings, because it rang too often.
    pub silenced: u64,
    /// Times that the core went offline and came back, as where a machine sleeps. What happened there meanwhile, for up to two periods, was not counted.
    pub anew: u64,
    /// Why the core's budget was no longer held before the end.
    pub failure: Option<io::Error>,
}

impl CoreTally {
    pub(crate) fn new(core: CoreId) -> Self {
        Self {
            core,
            periods: 0,
            throttled: 0,
            stopped: Duration::ZERO,
            events: 0,
            reserved: 0,
            most: 0,
            beyond: Histogram::default(),
            exceeded: 0,
            latency: Histogram::default(),
            late: Histogram::default(),
            is_apart: false,
            leaked: 0,
            leaks: 0,
            taken_away: Histogram::default(),
            silenced: 0,
            anew: 0,
            failure: None,
        }
    }

    /// A period is over; returns how far it has come.
    pub(crate) fn report(&mut self, report: &PeriodReport) -> Progress {
        let [used, reserved, donated, reclaimed] =
            [report.used, report.reserved, report.donated, report.reclaimed].map(|of| {
                let all: [Events; DIRECTIONS] = of.0;
                all[0].get()
            });
        self.periods += 1;
        self.throttled += u64::from(!report.throttled.is_zero());
        self.stopped = self.stopped.saturating_add(report.throttled);
        self.events = self.events.saturating_add(used);
        self.reserved = self.reserved.saturating_add(reserved);
        self.most = self.most.max(used);
        if !report.shared {
            let limit = reserved.saturating_sub(donated).saturating_add(reclaimed);
            self.beyond.add(used.saturating_sub(limit));
            self.exceeded += u64::from(used > limit);
        }
        Progress {
            periods: self.periods,
            events: self.events,
            reserved,
            stopped: self.stopped,
            exceeded: self.exceeded,
        }
    }

    /// The core was stopped, and so many events were counted meanwhile.
    pub(crate) fn leak(&mut self, events: u64) {
        self.leaked = self.leaked.saturating_add(events);
        self.leaks += u64::from(events > 0);
    }
}
