//! One channel: its queues and its banks, and what happens at each clock at which something happens.

use super::account::Account;
use super::arrivals::Arrivals;
use super::bank::{Bank, Command, Rank};
use super::deferral::Deferral;
use super::map::MOST_BANKS;
use super::plan::Plan;
use super::presence::Presence;
use super::queue::{Candidate, Queue};
use super::request::Request;
use super::{DramCounts, RowOutcome, Rules, Served};
use solo_model::platform::PagePolicy;

/// Whether writes are being performed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Drain {
    /// Reads are served.
    No,
    /// There was no read: writes are performed until one comes.
    Idle,
    /// The queue of writes was filling up: a batch is performed whatever comes.
    Batch,
}

#[derive(Clone, Debug)]
pub(super) struct Channel {
    pub(super) banks: Box<[Bank; MOST_BANKS]>,
    pub(super) ranks: Vec<Rank>,
    /// The banks of a rank, as a power of two.
    bank_bits: usize,
    pub(super) account: Account,
    pub(super) reads: Queue,
    pub(super) writes: Queue,
    /// The lines of the writes in the queue.
    pub(super) written: Presence,
    pub(super) arrivals: Arrivals,
    pub(super) drain: Drain,
    /// The direction before the last command was issued. Direction and plan follow the command at once, yet
    /// only what has arrived by the next clock decides: where something has, the direction is chosen again.
    pub(super) drain_before: Option<Drain>,
    /// Without a read, so many writes wait for company; none while flushing.
    pub(super) held_back: usize,
    /// The next command.
    pub(super) plan: Plan,
    /// The first clock with a free command bus.
    pub(super) command: u64,
    /// The first clock for a column command by tCCD.
    pub(super) column: u64,
    /// The first clock from which on every row opened so far takes column commands.
    pub(super) opened: u64,
    /// The first clock with a free data bus, and who used it last: write, rank.
    pub(super) bus: u64,
    pub(super) bus_user: (bool, usize),
    /// The first refresh of any rank that is due.
    pub(super) refresh_due: u64,
    /// The next clock at which there is something to decide; `u64::MAX` for none.
    pub(super) next: u64,
    /// Nothing that has arrived need be decided before [`next`](Self::next); see [`alone`](super::alone).
    pub(super) deferred: bool,
    pub(super) deferral: Deferral,
    /// Always decides clock by clock, for tests to compare.
    #[cfg(test)]
    pub(super) never_defers: bool,
    /// The clock of the last decision.
    pub(super) decided: u64,
    pub(super) counts: DramCounts,
    /// Every command, for tests to look at.
    #[cfg(test)]
    pub(super) log: Vec<super::clocked::Logged>,
}

impl Channel {
    pub(super) fn new(rules: &Rules, ranks: usize, bank_bits: usize, cores: usize) -> Self {
        let banks = ranks << bank_bits;
        let rank = Rank::new(&rules.timing);
        Self {
            banks: Box::new([Bank::default(); MOST_BANKS]),
            refresh_due: rank.refresh_due,
            ranks: vec![rank; ranks],
            bank_bits,
            account: Account::new(banks, cores),
            reads: Queue::new(),
            writes: Queue::new(),
            written: Presence::new(rules.queue),
            arrivals: Arrivals::new(),
            drain: Drain::No,
            drain_before: None,
            held_back: rules.writes_low,
            plan: Plan::NONE,
            command: 0,
            column: 0,
            opened: 0,
            bus: 0,
            bus_user: (false, 0),
            next: u64::MAX,
            deferred: false,
            deferral: Deferral::default(),
            #[cfg(test)]
            never_defers: false,
            decided: 0,
            counts: DramCounts::default(),
            #[cfg(test)]
            log: Vec::new(),
        }
    }

    #[inline]
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    pub(super) fn counts(&self) -> DramCounts {
        self.counts
    }

    pub(super) fn waiting(&self) -> usize {
        self.reads.len() + self.writes.len() + self.arrivals.len()
    }

    /// Requests that occupy, or will occupy, a place in the queue of writes (or reads).
    pub(super) fn held(&self, write: bool) -> usize {
        let queue = if write { &self.writes } else { &self.reads };
        queue.len() + self.arrivals.held(write)
    }

    pub(super) fn flush(&mut self, rules: &Rules, has_come: impl Fn(u64) -> bool) {
        if self.held_back > 0 && self.waiting() > 0 {
            if self.deferred {
                self.catch_up(rules, has_come);
            }
            self.held_back = 0;
            self.plan = Plan::NONE;
            self.next = self.next.min(self.command.max(self.decided));
        }
    }

    /// Takes a request that reaches the controller at its `arrival`; `has_come` says what time it is.
    #[inline(always)]
    pub(super) fn arrive(&mut self, rules: &Rules, request: Request, has_come: impl Fn(u64) -> bool) {
        let idle = self.deferred || (self.next == u64::MAX && self.arrivals.first() == u64::MAX);
        #[cfg(test)]
        let idle = idle && !self.never_defers;
        let defers =
            idle && self.deferral.tries() && self.defer(rules, request.place, request.arrival, request.write);
        if !defers {
            if self.deferred {
                self.catch_up(rules, has_come);
            }
            self.next = self.next.min(request.arrival.max(self.command).max(self.decided));
        }
        self.enter(request);
    }

    #[inline(always)]
    fn enter(&mut self, request: Request) {
        let position = self.arrivals.add(request);
        if position < self.account.settled {
            if let Some(request) = self.arrivals.get_mut(position) {
                self.account.settle_now(request);
            }
            self.account.settled += 1;
        }
    }

    /// Time has come, without anything new to decide, to a moment that `has_come` compares with a clock.
    #[inline]
    pub(super) fn passed(&mut self, has_come: impl FnOnce(u64) -> bool) {
        if has_come(self.command) {
            self.drain_before = None;
        }
    }

    #[inline]
    pub(super) fn rank_number(&self, bank: usize) -> usize {
        bank >> self.bank_bits
    }

    #[inline]
    pub(super) fn rank_of(&self, bank: usize) -> &Rank {
        &self.ranks[self.rank_number(bank)]
    }

    /// The requests being served, and whether they are writes.
    #[inline]
    pub(super) fn served_queue(&self) -> (&Queue, bool) {
        if self.drain == Drain::No { (&self.reads, false) } else { (&self.writes, true) }
    }

    /// Decides what there is to decide at the clock [`next`](Self::next).
    #[inline(never)]
    pub(super) fn decide(&mut self, rules: &Rules, served: &mut impl FnMut(&Served)) {
        if self.deferred {
            return self.serve_alone(rules, served);
        }
        let now = self.next;
        self.decided = now;
        if let Some(before) = self.drain_before.take()
            && now == self.command
            && before != self.drain
        {
            self.drain = before;
            self.plan = Plan::NONE;
        }
        if self.refresh_due <= now {
            self.refresh(rules, now);
        }
        self.admit(rules, now, served);
        self.choose_direction(rules);
        if self.plan.is_none() {
            self.plan = self.choose(rules, now);
        }
        let mut at_once = false;
        // By its parts: both at once would have to wait for what has just been written in parts.
        let (at, bank) = (self.plan.at, self.plan.bank);
        if at <= now {
            self.plan.at = Plan::NONE.at;
            self.issue(rules, bank, now, served);
            self.command = now + 1;
            at_once = self.acts_at(rules, now + 1);
            if !at_once && self.has_queued() {
                self.drain_before = Some(self.drain);
                self.choose_direction(rules);
                self.plan = self.choose(rules, now + 1);
            }
        }
        self.next = if at_once { now + 1 } else { self.next_after(now) };
        if self.held_back == 0 && self.waiting() == 0 {
            self.held_back = rules.writes_low;
        }
    }

    /// True where something other than the next command happens at the clock `next`, right after a command.
    fn acts_at(&self, rules: &Rules, next: u64) -> bool {
        let enters = |request: &Request| {
            let queue = if request.write { &self.writes } else { &self.reads };
            request.arrival == next || queue.len() < rules.queue
        };
        (self.arrivals.first() <= next && self.arrivals.front().is_some_and(enters))
            || (self.refresh_due <= next && self.has_queued())
    }

    #[inline]
    fn has_queued(&self) -> bool {
        !(self.reads.is_empty() && self.writes.is_empty())
    }

    /// The clock of the next decision after `now`: the next command, refresh or arrival. An arrival that finds
    /// its queue full waits for a command, and those behind it wait for it.
    fn next_after(&self, now: u64) -> u64 {
        let next = if self.plan.is_none() { u64::MAX } else { self.plan.at.min(self.refresh_due) };
        match self.arrivals.first() {
            u64::MAX => next,
            arrival if arrival > now => next.min(arrival.max(self.command)),
            _ if next == u64::MAX => now + 1,
            _ => next,
        }
    }

    /// Performs the refreshes that are due.
    #[cold]
    fn refresh(&mut self, rules: &Rules, now: u64) {
        self.plan = Plan::NONE;
        for (number, rank) in self.ranks.iter_mut().enumerate() {
            if rank.refresh_due > now {
                continue;
            }
            self.counts.refreshes += rank.skip_idle_refreshes(now, &rules.timing) + 1;
            let banks = number << self.bank_bits..(number + 1) << self.bank_bits;
            #[cfg(test)]
            self.log.extend(super::clocked::closings(&self.banks[..], banks.clone(), rank.refresh_due));
            rank.refresh(&mut self.banks[banks.clone()], &rules.timing);
            let (due, end) = rank.refreshed;
            #[cfg(test)]
            self.log.push(super::clocked::Logged::Refresh {
                from: end - rules.timing.rfc,
                to: end,
                rank: number,
            });
            for request in self.reads.iter_mut().chain(self.arrivals.iter_mut()) {
                if request.arrival <= due && banks.contains(&request.place.bank()) {
                    request.refresh += (end - due) as u32;
                }
            }
            for bank in banks {
                self.reads.row_changed(bank, &self.banks[bank]);
                self.writes.row_changed(bank, &self.banks[bank]);
            }
        }
        self.refresh_due = self.ranks.iter().map(|rank| rank.refresh_due).min().unwrap_or(u64::MAX);
    }

    /// Lets arrived requests into the queues, as long as there is a place for the first of them.
    fn admit(&mut self, rules: &Rules, now: u64, served: &mut impl FnMut(&Served)) {
        while self.arrivals.first() <= now
            && let Some(front) = self.arrivals.front()
        {
            let (bank, write, line) = (front.place.bank(), front.write, front.place.line);
            let same_line = !self.writes.is_empty()
                && self.written.may_hold(line.into())
                && self.writes.has_line(bank, line);
            let queue = if write { &mut self.writes } else { &mut self.reads };
            if !same_line && queue.len() >= rules.queue {
                return;
            }
            self.account.leaves_arrivals();
            if same_line {
                self.forward(rules, now, served);
                continue;
            }
            let (due, end) = self.ranks[bank >> self.bank_bits].refreshed;
            if front.arrival > due && end > front.arrival {
                let late = (end - front.arrival) as u32;
                if let Some(front) = self.arrivals.get_mut(0) {
                    front.refresh += late;
                }
            }
            if write {
                self.written.add(line.into());
            }
            let Some(front) = self.arrivals.front() else { return };
            let changes = queue.push(front, &self.banks[bank % MOST_BANKS]);
            self.arrivals.leave(write);
            if changes && write == (self.drain != Drain::No) {
                self.reconsider(rules, bank, now);
            }
        }
    }

    /// Answers the first of the arrivals from the queue of writes, or merges it with one that waits there.
    #[cold]
    #[inline(never)]
    fn forward(&mut self, rules: &Rules, now: u64, served: &mut impl FnMut(&Served)) {
        let Some(mut request) = self.arrivals.front().copied() else { return };
        self.arrivals.leave(request.write);
        self.counts.serve(RowOutcome::Forwarded, request.write);
        request.outcome = Some(RowOutcome::Forwarded);
        self.account.settle_now(&mut request);
        let refreshes = self.rank_of(request.place.bank()).refreshes;
        served(&self.account.finish(rules, &request, refreshes, now, 0));
    }

    #[inline]
    fn choose_direction(&mut self, rules: &Rules) {
        let (reads, writes) = (self.reads.len(), self.writes.len());
        let (high, low) = (rules.writes_high, rules.writes_low);
        let next = match self.drain {
            Drain::Batch if writes > low || (reads == 0 && writes > 0) => Drain::Batch,
            _ if writes >= high => Drain::Batch,
            Drain::Idle if reads == 0 && writes > 0 => Drain::Idle,
            _ if reads == 0 && writes > self.held_back => Drain::Idle,
            _ => Drain::No,
        };
        if next != self.drain {
            self.drain = next;
            self.plan = Plan::NONE;
        }
    }

    #[inline(always)]
    fn issue(&mut self, rules: &Rules, number: usize, now: u64, served: &mut impl FnMut(&Served)) {
        let next = self.does_next(rules, self.served_queue().0, number);
        if next.command == Command::Column {
            self.issue_column(rules, number, next.place, now, served);
        } else {
            self.issue_row(rules, number, next, now);
        }
    }

    /// Closes or opens a row for a request.
    #[inline(never)]
    fn issue_row(&mut self, rules: &Rules, number: usize, next: Candidate, now: u64) {
        let queue = if self.drain == Drain::No { &mut self.reads } else { &mut self.writes };
        let bank = &mut self.banks[number % MOST_BANKS];
        let request = queue.request(next.place);
        #[cfg(test)]
        self.log.push(super::clocked::Logged::Issued {
            at: now,
            command: next.command,
            write: request.write,
            bank: number,
            row: request.place.row,
        });
        if request.outcome.is_none() {
            let conflict = next.command == Command::Precharge;
            request.outcome = Some(if conflict { RowOutcome::Conflict } else { RowOutcome::Closed });
            request.disturbed = bank.user.is_some_and(|user| user != request.requester);
        }
        bank.user = Some(request.requester);
        if next.command == Command::Precharge {
            bank.precharged(now, &rules.timing);
        } else {
            self.counts.commands.activates += 1;
            bank.activated(request.place.row, now, &rules.timing);
            self.opened = now + rules.timing.rcd;
            let rank = number >> self.bank_bits;
            self.ranks[rank].activated(now, &rules.timing);
        }
        self.reads.row_changed(number, bank);
        self.writes.row_changed(number, bank);
    }

    /// Closes a row right behind its column command.
    #[cold]
    #[inline(never)]
    fn close(&mut self, rules: &Rules, number: usize) {
        let bank = &mut self.banks[number % MOST_BANKS];
        let at = bank.ready[Command::Precharge as usize];
        #[cfg(test)]
        self.log.push(super::clocked::Logged::Closed { at, bank: number });
        bank.precharged(at, &rules.timing);
        self.reads.row_changed(number, bank);
        self.writes.row_changed(number, bank);
    }

    #[inline(always)]
    fn issue_column(
        &mut self,
        rules: &Rules,
        number: usize,
        place: usize,
        now: u64,
        served: &mut impl FnMut(&Served),
    ) {
        let queue = if self.drain == Drain::No { &mut self.reads } else { &mut self.writes };
        queue.remove(number, place);
        let request = *queue.request(place);
        self.column_issued(rules, request, now, served);
    }

    /// The column command of a request that has left its queue is issued.
    #[inline(always)]
    pub(super) fn column_issued(
        &mut self,
        rules: &Rules,
        mut request: Request,
        now: u64,
        served: &mut impl FnMut(&Served),
    ) {
        let (timing, number, write) = (&rules.timing, request.place.bank(), request.write);
        let outcome = *request.outcome.get_or_insert(RowOutcome::Hit);
        let rank = number >> self.bank_bits;
        let bank = &mut self.banks[number % MOST_BANKS];
        bank.user = Some(request.requester);
        let data_end = if write {
            bank.written(now, timing);
            now + timing.cwl + timing.data
        } else {
            bank.read(now, timing);
            now + timing.cl + timing.data
        };
        if write {
            self.written.remove(request.place.line.into());
            self.ranks[rank].read = data_end + timing.wtr;
        }
        #[cfg(test)]
        self.log.push(super::clocked::Logged::Issued {
            at: now,
            command: Command::Column,
            write,
            bank: number,
            row: request.place.row,
        });
        if rules.page == PagePolicy::Closed {
            self.close(rules, number);
        }
        self.column = now + timing.ccd;
        self.bus = data_end;
        self.bus_user = (write, rank);
        self.counts.serve(outcome, write);
        self.account.charge_others(&mut request, &mut self.reads, &mut self.arrivals, now);
        let refreshes = self.ranks[rank].refreshes;
        served(&self.account.finish(rules, &request, refreshes, data_end, data_end - now));
    }
}
