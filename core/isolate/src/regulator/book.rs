//! Conservation: in every period all cores together use no more than the sum of the reservations.

use super::direction::{Direction, PerDirection};
use solo_model::Events;

/// What became of the promise that the sum of reservations is never exceeded.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Conservation {
    /// Periods that were looked at.
    pub periods: u64,
    /// Of these, periods in which nobody was regulated because all were exhausted: nothing was promised.
    pub exempt: u64,
    /// Periods in which more was used than reserved, beyond misses under way and overdraft.
    pub violations: u64,
    /// The largest excess of these.
    pub worst_excess: Events,
    /// What cores used beyond the sum because they had given too much away; see
    /// [`WrongDonation`](solo_model::isolation::WrongDonation).
    pub overdraft: Events,
}

/// A period that is under way or of which not all cores have reported.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Page {
    period: u64,
    used: PerDirection<Events>,
    allowed: PerDirection<Events>,
    begun: u32,
    closed: u32,
    exempt: bool,
}

/// Two periods: the current one and the one before, whose last cores may not have reported yet.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Book {
    pages: [Page; 2],
    result: Conservation,
}

impl Book {
    /// Opens `period`. What is left of the period before the last is judged as it stands.
    pub(crate) fn open(&mut self, period: u64) {
        let page = core::mem::take(&mut self.pages[(period % 2) as usize]);
        self.judge(page);
        self.pages[(period % 2) as usize].period = period;
        let before = self.pages[(period + 1) as usize % 2];
        if before.begun > 0 && before.begun == before.closed {
            let page = core::mem::take(&mut self.pages[(period + 1) as usize % 2]);
            self.judge(page);
        }
    }

    /// A core may use so much in `period`.
    pub(crate) fn begin(&mut self, period: u64, reserved: PerDirection<Events>, in_flight: Events) {
        let Some(page) = self.page(period) else { return };
        page.begun += 1;
        for direction in Direction::ALL {
            page.allowed[direction] += reserved[direction].saturating_add(in_flight);
        }
    }

    /// A core has used so much in `period`, which is over for it. `over` is true where it is for all.
    pub(crate) fn close(&mut self, period: u64, used: PerDirection<Events>, over: bool) {
        let Some(page) = self.page(period) else { return };
        page.closed += 1;
        for direction in Direction::ALL {
            page.used[direction] = page.used[direction].saturating_add(used[direction]);
        }
        if over && page.begun == page.closed {
            let page = core::mem::take(page);
            self.judge(page);
        }
    }

    pub(crate) fn exempt(&mut self, period: u64) {
        if let Some(page) = self.page(period) {
            page.exempt = true;
        }
    }

    /// So much more may be used in `period`.
    pub(crate) fn raise(&mut self, period: u64, direction: Direction, events: Events) {
        if let Some(page) = self.page(period) {
            page.allowed[direction] = page.allowed[direction].saturating_add(events);
        }
    }

    pub(crate) fn overdraw(&mut self, period: u64, direction: Direction, events: Events) {
        self.result.overdraft = self.result.overdraft.saturating_add(events);
        if let Some(page) = self.page(period) {
            page.allowed[direction] = page.allowed[direction].saturating_add(events);
        }
    }

    pub(crate) fn result(&self) -> Conservation {
        self.result
    }

    fn page(&mut self, period: u64) -> Option<&mut Page> {
        let page = &mut self.pages[(period % 2) as usize];
        (page.period == period).then_some(page)
    }

    fn judge(&mut self, page: Page) {
        if page.begun == 0 {
            return;
        }
        self.result.periods += 1;
        if page.exempt {
            self.result.exempt += 1;
            return;
        }
        let excess = |direction| page.used[direction].saturating_sub(page.allowed[direction]);
        let worst = Direction::ALL.map(excess).into_iter().max().unwrap_or_default();
        if !worst.is_zero() {
            self.result.violations += 1;
            self.result.worst_excess = self.result.worst_excess.max(worst);
        }
    }
}
