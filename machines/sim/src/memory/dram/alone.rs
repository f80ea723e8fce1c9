//! A read that has its channel to itself: what is decided for it can be decided all at once, when its data move.
//!
//! Between its arrival and its column command a read may need its bank closed and opened. Nobody outside sees these
//! commands, and they can't be others as long as nothing else arrives that has a say. Until then the channel *defers*:
//! requests stay among the arrivals, and the channel's next clock is that of the column command.
//!
//! ```text
//!            a read, or writes that are held back, arrive at an idle channel
//!   idle ------------------------------------------------------------------> deferring
//!    ^                                                                          |   |
//!    |                    the clock of the column command                       |   | anything else arrives:
//!    +--------------------------------------------------------------------------+   | clock by clock from
//!    ^                                                                              v the first arrival on
//!    +----------------------------------------------------------------------- deciding
//! ```

use super::bank::Command;
use super::channel::{Channel, Drain};
use super::deferral::Commands;
use super::map::{MOST_BANKS, Place};
use super::request::Request;
use super::{RowOutcome, Rules, Served};
use solo_model::platform::PagePolicy;

impl Channel {
    /// Defers a request with all that has arrived. False where something may have to be decided earlier; nothing has
    /// happened then. It comes in parts: a look at the whole would have to wait for what has just been written in parts.
    #[inline(never)]
    pub(super) fn defer(&mut self, rules: &Rules, place: Place, arrival: u64, write: bool) -> bool {
        let held = |writes: bool| self.arrivals.held(writes) + usize::from(write == writes);
        let writes = self.writes.len() + held(true);
        // The direction stays when the last write is done, until a read turns it.
        let idle = self.reads.is_empty()
            && (self.drain == Drain::No || writes == 0)
            && self.drain_before.is_none_or(|before| before == self.drain);
        // A read whose row is open is decided at once anyway.
        let open = self.banks[place.bank() % MOST_BANKS].open == Some(place.row);
        if !idle
            || (open && !write)
            || writes > self.held_back
            || writes >= rules.writes_high
            || held(false) > 1
        {
            return false;
        }
        let line = place.line;
        let same_line = self.arrivals.iter().any(|other| other.place.line == line)
            || (!self.writes.is_empty() && self.written.may_hold(line.into()));
        if same_line || rules.page == PagePolicy::Closed {
            return false;
        }
        if !write {
            let Commands { precharge, activate, column } = self.commands(rules, place, arrival);
            // A refresh is looked for up to the clock after a command.
            if self.refresh_due <= column + 1 {
                return false;
            }
            self.deferral.commands = Commands { precharge, activate, column };
            self.next = column;
        }
        self.deferred = true;
        true
    }

    /// Decides clock by clock what has been deferred: what `has_come` says of, which nobody outside can see, and later
    /// the rest.
    #[cold]
    #[inline(never)]
    pub(super) fn catch_up(&mut self, rules: &Rules, has_come: impl Fn(u64) -> bool) {
        let seen = self.next;
        self.deferral.taken_up();
        self.deferred = false;
        self.next = self.arrivals.first().max(self.command).max(self.decided);
        while self.next < seen && has_come(self.next) {
            self.decide(rules, &mut |_| {});
        }
    }

    /// When the commands of a read are issued that is alone from its arrival on, and whose row is not open.
    #[inline(always)]
    fn commands(&self, rules: &Rules, place: Place, arrival: u64) -> Commands {
        let (timing, number) = (&rules.timing, place.bank());
        let (bank, rank) = (&self.banks[number % MOST_BANKS], self.rank_number(number));
        let mut free = arrival.max(self.command).max(self.decided);
        let mut precharge = u64::MAX;
        let mut activate = bank.ready[Command::Activate as usize];
        if bank.open.is_some() {
            precharge = bank.ready[Command::Precharge as usize].max(free);
            activate = activate.max(precharge + timing.rp);
            free = precharge + 1;
        }
        let activate = activate.max(self.ranks[rank].activate).max(free);
        let floors = self.floors(rules, false, rank, activate + 1);
        Commands {
            precharge,
            activate,
            column: (activate + timing.rcd).max(floors[Command::Column as usize]),
        }
    }

    /// Serves the read among the deferred requests, and lets the writes before its column command into their queue.
    pub(super) fn serve_alone(&mut self, rules: &Rules, served: &mut impl FnMut(&Served)) {
        let now = self.next;
        self.drain_before = None;
        self.drain = Drain::No;
        self.next = u64::MAX;
        self.admit_writes(now);
        let Some(read) = self.arrivals.front() else { return };
        let mut read = *read;
        self.account.leaves_arrivals();
        self.arrivals.leave(false);
        self.admit_writes(now);
        let (due, end) = self.rank_of(read.place.bank()).refreshed;
        if read.arrival > due && end > read.arrival {
            read.refresh += (end - read.arrival) as u32;
        }
        self.deferral.served();
        self.open_alone(rules, &mut read);
        self.decided = now;
        self.command = now + 1;
        self.column_issued(rules, read, now, served);
    }

    /// Lets the writes that stand in front, and have arrived, into their queue.
    #[inline(always)]
    fn admit_writes(&mut self, now: u64) {
        while self.arrivals.first() <= now
            && let Some(front) = self.arrivals.front()
            && front.write
        {
            self.written.add(front.place.line.into());
            self.writes.push(front, &self.banks[front.place.bank() % MOST_BANKS]);
            self.account.leaves_arrivals();
            self.arrivals.leave(true);
        }
    }

    /// Closes and opens rows for the read.
    #[inline(always)]
    fn open_alone(&mut self, rules: &Rules, read: &mut Request) {
        let number = read.place.bank();
        let Commands { precharge, activate, .. } = self.deferral.commands;
        let conflict = precharge != u64::MAX;
        let bank = &mut self.banks[number % MOST_BANKS];
        read.outcome = Some(if conflict { RowOutcome::Conflict } else { RowOutcome::Closed });
        read.disturbed = bank.user.is_some_and(|user| user != read.requester);
        #[cfg(test)]
        for (at, command) in [(precharge, Command::Precharge), (activate, Command::Activate)] {
            let (write, bank, row) = (false, number, read.place.row);
            let issued = super::clocked::Logged::Issued { at, command, write, bank, row };
            self.log.extend((at != u64::MAX).then_some(issued));
        }
        if conflict {
            bank.precharged(precharge, &rules.timing);
        }
        self.counts.commands.activates += 1;
        bank.activated(read.place.row, activate, &rules.timing);
        self.opened = activate + rules.timing.rcd;
        self.writes.row_changed(number, bank);
        let rank = self.rank_number(number);
        self.ranks[rank].activated(activate, &rules.timing);
    }
}

#[cfg(test)]
mod tests {
    use super::super::clocked::{requests, timing};
    use super::super::{Dram, Served};
    use crate::memory::PhysicalAddress;
    use crate::memory::fixtures::{bit, ddr3_1600k};
    use proptest::prelude::*;
    use solo_model::platform::{Dram as Description, PagePolicy, RequestOrder};
    use solo_model::{Bytes, CoreId, Duration, Picoseconds};

    /// What is served of requests with `gaps` between them, if every command is decided at its clock, or not.
    fn served(
        description: &Description,
        requests: &[(u64, bool)],
        gaps: &[u64],
        defers: bool,
    ) -> (Vec<Served>, u64) {
        let mut dram = Dram::new(description, Bytes::new(64), 3).expect("the timing is legal");
        dram.channels.iter_mut().for_each(|channel| channel.never_defers = !defers);
        let (mut all, mut now, mut deferred) = (Vec::new(), 0, 0);
        for (number, (address, write)) in requests.iter().enumerate() {
            now += gaps[number % gaps.len()];
            dram.advance(Picoseconds::new(now), |what| all.push(*what));
            let core = CoreId((address >> 6) as u16 % 3);
            dram.submit(Picoseconds::new(now), core, PhysicalAddress(*address), *write);
            deferred += dram.channels.iter().map(|channel| u64::from(channel.deferred)).sum::<u64>();
        }
        dram.advance(Picoseconds::new(now + 1_000_000_000), |what| all.push(*what));
        dram.flush();
        while let Some(next) = dram.next_event() {
            dram.advance(next, |what| all.push(*what));
            dram.flush();
        }
        assert_eq!(all.len(), requests.len());
        (all, deferred)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(192))]

        /// Everything is served at the same time, in the same order and with the same parts.
        #[test]
        fn deferring_changes_nothing(
            timing in timing(),
            requests in requests(),
            queue in 1_u16..40,
            layout in (0_usize..2, 0_u8..3, any::<bool>(), any::<bool>(), 0_u64..3),
            gaps in prop::collection::vec(prop_oneof![0_u64..8, 0_u64..60_000, 0_u64..2_000_000], 1..9),
        ) {
            let (ranks, channels, fcfs, closed, path) = layout;
            let mut description = Description { timing, queue, ..ddr3_1600k() };
            description.rank_bits = vec![bit(18); ranks];
            description.channel_bits = (0..channels).map(|n| bit(7 + n)).collect();
            description.order = if fcfs { RequestOrder::Fcfs } else { RequestOrder::RowHitsFirst };
            description.page_policy = if closed { PagePolicy::Closed } else { PagePolicy::Open };
            description.path = Duration::new(path * 9);
            let (lazily, _) = served(&description, &requests, &gaps, true);
            let (eagerly, none) = served(&description, &requests, &gaps, false);
            prop_assert_eq!(none, 0);
            for (lazy, eager) in lazily.iter().zip(&eagerly) {
                prop_assert_eq!(lazy, eager);
            }
        }
    }

    #[test]
    fn a_lone_reader_is_deferred() {
        let requests: Vec<_> = (0..100).map(|n| (n * 0x1_2340, false)).collect();
        // All but those that a refresh gets in the way of.
        assert!(served(&ddr3_1600k(), &requests, &[200_000], true).1 > 90);
    }
}
