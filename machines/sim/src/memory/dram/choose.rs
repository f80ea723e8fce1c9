//! The choice of a channel's next command.

use super::Rules;
use super::bank::Command;
use super::channel::Channel;
use super::map::MOST_BANKS;
use super::queue::{Candidate, Queue};
use solo_model::platform::RequestOrder;

/// The bank that gets the next command, if nothing changes before; which command, its [`Candidate`] says. Small
/// enough to be returned in registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Plan {
    pub(super) at: u64,
    pub(super) bank: usize,
}

impl Plan {
    /// The next command must be chosen, or there is none.
    pub(super) const NONE: Self = Self { at: u64::MAX, bank: 0 };

    #[inline]
    pub(super) fn is_none(&self) -> bool {
        self.at == u64::MAX
    }
}

/// The bank's bits in a packed key.
const PACKED_BANK: u64 = 63;

/// The lowest key wins: the earliest command, of those a column command, of those the oldest request's.
#[inline]
fn key(at: u64, next: &Candidate) -> (u64, u64) {
    (at << 1 | u64::from(next.command != Command::Column), next.order)
}

impl Channel {
    /// The command that the order of requests and the timing let through first.
    #[inline]
    pub(super) fn choose(&self, rules: &Rules, now: u64) -> Plan {
        let (queue, write) = self.served_queue();
        let floor = self.command.max(now);
        match rules.order {
            RequestOrder::Fcfs => match queue.oldest_bank(&self.requests) {
                Some(bank) => self.only_for(rules, queue, write, bank, floor),
                None => Plan::NONE,
            },
            RequestOrder::RowHitsFirst => self.choose_among_banks(rules, queue, write, floor),
        }
    }

    fn choose_among_banks(&self, rules: &Rules, queue: &Queue, write: bool, floor: u64) -> Plan {
        let active = queue.active();
        if active & active.wrapping_sub(1) == 0 {
            let bank = active.trailing_zeros() as usize;
            return if active == 0 { Plan::NONE } else { self.only_for(rules, queue, write, bank, floor) };
        }
        let mut best = u64::MAX;
        for rank in 0..self.ranks.len() {
            let banks = self.banks_of(rank);
            let (first, mask) = (banks.start, u64::MAX >> (64 - banks.len()));
            let mut rest = active >> first & mask;
            if rest == 0 {
                continue;
            }
            let floors = self.floors(rules, write, rank, floor);
            while rest != 0 {
                let bank = first + rest.trailing_zeros() as usize;
                rest &= rest - 1;
                best = best.min(self.packed(queue.candidate(bank), bank, &floors, floor));
            }
        }
        Plan { at: floor + (best >> 39), bank: (best & PACKED_BANK) as usize }
    }

    /// No other bank comes into question.
    fn only_for(&self, rules: &Rules, queue: &Queue, write: bool, bank: usize, floor: u64) -> Plan {
        let command = self.does_next(rules, queue, bank).command;
        Plan { at: self.clock(rules, write, bank, command, floor), bank }
    }

    /// What a bank with requests does next.
    #[inline]
    pub(super) fn does_next(&self, rules: &Rules, queue: &Queue, bank: usize) -> Candidate {
        match rules.order {
            RequestOrder::Fcfs => self.only_for_oldest(queue, bank),
            RequestOrder::RowHitsFirst => queue.candidate(bank),
        }
    }

    /// [`Plan::key`] and the bank in one word; clocks count from `floor`, ages from long before the oldest request.
    #[inline]
    fn packed(&self, next: Candidate, bank: usize, floors: &[u64; 3], floor: u64) -> u64 {
        let command = next.command as usize;
        let wait = self.banks[bank % MOST_BANKS].ready[command].max(floors[command]) - floor;
        let age = next.order.wrapping_sub(self.admitted) as u32 ^ 1 << 31;
        wait << 39 | u64::from(command != 0) << 38 | u64::from(age) << 6 | bank as u64
    }

    /// Takes into account that what `bank` does next has changed for the better while all else stayed as it was.
    pub(super) fn reconsider(&mut self, rules: &Rules, bank: usize, now: u64) {
        let (queue, write) = self.served_queue();
        let plan = self.plan;
        if plan.is_none() {
            return;
        }
        if plan.bank == bank || rules.order == RequestOrder::Fcfs {
            self.plan = Plan::NONE;
            return;
        }
        let next = queue.candidate(bank);
        let at = self.clock(rules, write, bank, next.command, self.command.max(now));
        if key(at, &next) < key(plan.at, &queue.candidate(plan.bank)) {
            self.plan = Plan { at, bank };
        }
    }

    /// What the oldest request of a bank needs.
    fn only_for_oldest(&self, queue: &Queue, bank: usize) -> Candidate {
        let oldest = &self.requests[queue.bank(bank)[0]];
        let command = match self.banks[bank].open {
            None => Command::Activate,
            Some(row) if row == oldest.place.row => Command::Column,
            Some(_) => Command::Precharge,
        };
        Candidate { command, position: 0, order: oldest.order }
    }

    fn clock(&self, rules: &Rules, write: bool, bank: usize, command: Command, floor: u64) -> u64 {
        let floors = self.floors(rules, write, self.rank_number(bank), floor);
        self.banks[bank].ready[command as usize].max(floors[command as usize])
    }

    /// The first clock for each command to a rank as far as everything outside its banks is concerned.
    #[inline]
    fn floors(&self, rules: &Rules, write: bool, rank: usize, floor: u64) -> [u64; 3] {
        let timing = &rules.timing;
        let to_data = if write { timing.cwl } else { timing.cl };
        let turned = self.bus_user != (write, rank);
        let bus = if self.bus == 0 { 0 } else { self.bus + if turned { timing.turnaround } else { 0 } };
        let after_write = if write { 0 } else { self.ranks[rank].read };
        let column = self.column.max(after_write).max(bus.saturating_sub(to_data));
        [column.max(floor), self.ranks[rank].activate.max(floor), floor]
    }
}
