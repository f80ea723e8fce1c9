//! More than the limit: from the core's own gift, from the pool, from peers.

use super::{Direction, Regulator};
use solo_model::isolation::{Donation, Reclaim, WrongDonation};
use solo_model::{CoreId, Events};

impl Regulator {
    /// Raises the limit of a core that has `used` at least its limit; false where nothing is left for it.
    ///
    /// Whatever is raised here was taken from somebody: limits, gifts that are not taken and the pool add up to
    /// the reservations at all times, so that nobody spends twice what was given away once. (In the module of
    /// 2022 the donor's own limit went back to the whole reservation while the taker kept the gift.)
    pub(super) fn extend(&mut self, core: CoreId, direction: Direction, used: Events) -> bool {
        match self.config.reclaim {
            Reclaim::Off => {}
            Reclaim::Pool => self.take_from_pool(core, direction, used),
            Reclaim::Peers => self.take_from_peers(core, direction, used),
        }
        let state = &mut self.cores[core.index()];
        if used < state.limit[direction] {
            return true;
        }
        let reserved = state.report.reserved[direction];
        if used >= reserved {
            return false;
        }
        // It needs what it gave away, and nobody has it any more.
        state.wrong[direction] = true;
        state.account.wrong_donations += 1;
        match self.config.wrong_donation {
            WrongDonation::Throttle => false,
            WrongDonation::Overdraw => {
                let missing = reserved.saturating_sub(state.limit[direction]);
                state.limit[direction] = reserved;
                self.book.overdraw(self.period, direction, missing);
                true
            }
        }
    }

    /// MemGuard of 2013: a core below its reservation asks for the rest of it, another for a quantum; so does
    /// one whose task gives everything away, which has no claim to its reservation.
    fn take_from_pool(&mut self, core: CoreId, direction: Direction, used: Events) {
        let claims = self.donation(core) != Donation::Everything;
        let state = &mut self.cores[core.index()];
        let rest = state.report.reserved[direction].saturating_sub(used);
        let rest = if claims { rest } else { Events::ZERO };
        let wanted = if rest.is_zero() { self.config.quantum } else { rest };
        // What it has used beyond its limit already is part of what it needs.
        let over = used.saturating_sub(state.limit[direction]);
        let granted = self.pool.ask(direction, wanted.saturating_add(over));
        state.take(direction, granted);
    }

    /// MemGuard of 2022: first its own gift, as far as nobody has taken it, then the whole gift of one core
    /// after the other until it has more than a quantum.
    fn take_from_peers(&mut self, core: CoreId, direction: Direction, used: Events) {
        let own = self.pool.take_back(core, direction);
        self.cores[core.index()].take(direction, own);
        if used < self.cores[core.index()].limit[direction] {
            return;
        }
        let taken = self.pool.take_from_peers(direction, self.config.quantum);
        self.cores[core.index()].take(direction, taken);
    }
}
