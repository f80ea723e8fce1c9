//! Requests that wait in a channel's controller, sorted by bank.

use super::bank::{Bank, Command};
use super::map::MOST_BANKS;
use super::request::{Requests, Slot};

/// What a bank does next for its requests: an open row is used up before the oldest request decides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Candidate {
    pub(super) command: Command,
    /// The request among those of the bank.
    pub(super) position: u32,
    /// Its age.
    pub(super) order: u64,
}

const NONE: Candidate = Candidate { command: Command::Activate, position: 0, order: u64::MAX };

/// The reads (or the writes) of a channel; within each bank the oldest first.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    banks: Box<[Vec<Slot>; MOST_BANKS]>,
    /// By bank; kept up to date by [`push`](Self::push) and [`update`](Self::update).
    candidates: Box<[Candidate; MOST_BANKS]>,
    /// A bit for each bank that has a request.
    active: u64,
    len: usize,
}

impl Queue {
    pub(super) fn new() -> Self {
        let candidates = Box::new([NONE; MOST_BANKS]);
        Self { banks: Box::new([const { Vec::new() }; MOST_BANKS]), candidates, active: 0, len: 0 }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a request younger than all others. True where it changes what its bank does next.
    #[inline]
    pub(super) fn push(&mut self, slot: Slot, requests: &Requests, bank: &Bank) -> bool {
        let request = &requests[slot];
        let number = request.place.bank();
        let waiting = &mut self.banks[number % MOST_BANKS];
        let candidate = &mut self.candidates[number % MOST_BANKS];
        let hit = bank.open == Some(request.place.row);
        let command = if hit {
            Command::Column
        } else if bank.open.is_some() {
            Command::Precharge
        } else {
            Command::Activate
        };
        let changes = waiting.is_empty() || (hit && candidate.command != Command::Column);
        if changes {
            *candidate = Candidate { command, position: waiting.len() as u32, order: request.order };
        }
        waiting.push(slot);
        self.active |= 1 << number;
        self.len += 1;
        changes
    }

    /// Takes a request out; [`update`](Self::update) must follow.
    #[inline]
    pub(super) fn remove(&mut self, bank: usize, position: usize) -> Slot {
        let waiting = &mut self.banks[bank % MOST_BANKS];
        // Mostly it is the last one, and then nothing has to move.
        let last = position + 1 == waiting.len();
        let slot = if last { waiting.pop().unwrap_or_default() } else { waiting.remove(position) };
        if waiting.is_empty() {
            self.active &= !(1 << bank);
        }
        self.len -= 1;
        slot
    }

    /// Finds out what a bank does next after its row or its requests have changed.
    #[inline]
    pub(super) fn update(&mut self, number: usize, requests: &Requests, bank: &Bank) {
        let waiting = &self.banks[number % MOST_BANKS];
        let Some(oldest) = waiting.first() else { return };
        let oldest = |command| Candidate { command, position: 0, order: requests[*oldest].order };
        self.candidates[number % MOST_BANKS] = match bank.open {
            None => oldest(Command::Activate),
            Some(row) => match waiting.iter().position(|slot| requests[*slot].place.row == row) {
                Some(position) => Candidate {
                    command: Command::Column,
                    position: position as u32,
                    order: requests[waiting[position]].order,
                },
                None => oldest(Command::Precharge),
            },
        };
    }

    /// What an active bank does next.
    #[inline]
    pub(super) fn candidate(&self, bank: usize) -> Candidate {
        self.candidates[bank % MOST_BANKS]
    }

    /// The requests of a bank.
    #[inline]
    pub(super) fn bank(&self, bank: usize) -> &[Slot] {
        &self.banks[bank % MOST_BANKS]
    }

    /// A bit for each bank that has requests.
    #[inline]
    pub(super) fn active(&self) -> u64 {
        self.active
    }

    /// The bank of the oldest request.
    pub(super) fn oldest_bank(&self, requests: &Requests) -> Option<usize> {
        let first = |bank: &usize| self.banks[*bank].first().map(|slot| requests[*slot].order);
        (0..self.banks.len()).filter(|bank| !self.banks[*bank].is_empty()).min_by_key(first)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Slot> + '_ {
        self.banks.iter().flatten().copied()
    }
}
