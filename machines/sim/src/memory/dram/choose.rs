//! The choice of a channel's next command.

use super::Rules;
use super::bank::Command;
use super::channel::Channel;
use super::map::MOST_BANKS;
use super::plan::Plan;
use super::queue::{Candidate, PLACES, Queue};
use solo_model::platform::RequestOrder;

/// The lowest key wins: the earliest command, of those a column command, of those the oldest request's. Below the age
/// stands the bank.
const BANK_BITS: u32 = MOST_BANKS.trailing_zeros();
const AGE_BITS: u32 = PLACES.trailing_zeros();
const WAIT: u32 = BANK_BITS + AGE_BITS + 1;

#[inline(always)]
fn key(queue: &Queue, wait: u64, next: Candidate, bank: usize) -> u64 {
    let late = u64::from(next.command != Command::Column);
    wait << WAIT | late << (WAIT - 1) | queue.age(next.place) << BANK_BITS | bank as u64
}

impl Channel {
    /// The command that the order of requests and the timing let through first.
    #[inline]
    pub(super) fn choose(&self, rules: &Rules, now: u64) -> Plan {
        let (queue, write) = self.served_queue();
        let floor = self.command.max(now);
        match rules.order {
            RequestOrder::Fcfs => self.choose_in_order(rules, queue, write, floor),
            RequestOrder::RowHitsFirst => self.choose_among_banks(rules, queue, write, floor),
        }
    }

    #[cold]
    #[inline(never)]
    fn choose_in_order(&self, rules: &Rules, queue: &Queue, write: bool, floor: u64) -> Plan {
        let Some(bank) = queue.oldest_bank() else { return Plan::NONE };
        let command = self.does_next(rules, queue, bank).command;
        Plan { at: self.clock(rules, write, bank, command, floor), bank }
    }

    #[inline]
    fn choose_among_banks(&self, rules: &Rules, queue: &Queue, write: bool, floor: u64) -> Plan {
        if let Some(bank) = queue.open_everywhere()
            && (write, self.rank_number(bank)) == self.bus_user
        {
            // Nothing but columns, and none sooner than where the last one was: there the oldest comes first.
            let at = self.column.max(self.bus.saturating_sub(rules.to_data(write))).max(floor);
            if at >= self.opened {
                return Plan { at, bank };
            }
        }
        match (queue.active(), self.ranks.len()) {
            (0, _) => Plan::NONE,
            (_, 1) => self.choose_by_rank::<false>(rules, queue, write, floor),
            _ => self.choose_by_rank::<true>(rules, queue, write, floor),
        }
    }

    /// The same without a short cut, of one rank or of `SEVERAL`.
    #[inline(always)]
    fn choose_by_rank<const SEVERAL: bool>(
        &self,
        rules: &Rules,
        queue: &Queue,
        write: bool,
        floor: u64,
    ) -> Plan {
        let mut rest = queue.active();
        let rank_of = |bank: u32| if SEVERAL { self.rank_number(bank as usize) } else { 0 };
        let mut rank = rank_of(rest.trailing_zeros());
        let mut floors = self.floors(rules, write, rank, floor);
        let mut best = u64::MAX;
        while rest != 0 {
            let number = rest.trailing_zeros();
            rest &= rest - 1;
            if SEVERAL && rank_of(number) != rank {
                rank = rank_of(number);
                floors = self.floors(rules, write, rank, floor);
            }
            let number = number as usize % MOST_BANKS;
            let bank = &self.banks[number];
            let next = queue.candidate(number, bank);
            let wait = bank.ready[next.command as usize].max(floors[next.command as usize]) - floor;
            best = best.min(key(queue, wait, next, number));
        }
        Plan { at: floor + (best >> WAIT), bank: best as usize % MOST_BANKS }
    }

    /// What a bank with requests does next.
    #[inline(always)]
    pub(super) fn does_next(&self, rules: &Rules, queue: &Queue, number: usize) -> Candidate {
        let bank = &self.banks[number % MOST_BANKS];
        match rules.order {
            RequestOrder::Fcfs => queue.candidate_in_order(number, bank),
            RequestOrder::RowHitsFirst => queue.candidate(number, bank),
        }
    }

    /// Takes into account that what `bank` does next has changed for the better while all else stayed as it was.
    pub(super) fn reconsider(&mut self, rules: &Rules, bank: usize, now: u64) {
        let (queue, write) = self.served_queue();
        let (at_before, bank_before) = (self.plan.at, self.plan.bank);
        if self.plan.is_none() {
            return;
        }
        if bank_before == bank || rules.order == RequestOrder::Fcfs {
            self.plan = Plan::NONE;
            return;
        }
        let next = queue.candidate(bank, &self.banks[bank % MOST_BANKS]);
        let before = queue.candidate(bank_before, &self.banks[bank_before % MOST_BANKS]);
        let at = self.clock(rules, write, bank, next.command, self.command.max(now));
        if key(queue, at, next, bank) < key(queue, at_before, before, bank_before) {
            self.plan = Plan { at, bank };
        }
    }

    fn clock(&self, rules: &Rules, write: bool, bank: usize, command: Command, floor: u64) -> u64 {
        let floors = self.floors(rules, write, self.rank_number(bank), floor);
        self.banks[bank % MOST_BANKS].ready[command as usize].max(floors[command as usize])
    }

    /// The first clock for each command to a rank as far as everything outside its banks is concerned.
    #[inline]
    pub(super) fn floors(&self, rules: &Rules, write: bool, rank: usize, floor: u64) -> [u64; 3] {
        let to_data = rules.to_data(write);
        let turned = self.bus_user != (write, rank);
        let bus = if self.bus == 0 { 0 } else { self.bus + if turned { rules.timing.turnaround } else { 0 } };
        let after_write = if write { 0 } else { self.ranks[rank].read };
        let column = self.column.max(after_write).max(bus.saturating_sub(to_data));
        [column.max(floor), self.ranks[rank].activate.max(floor), floor]
    }
}
