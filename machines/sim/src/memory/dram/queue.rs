//! Requests that wait in a channel's controller, sorted by bank.

use super::bank::{Bank, Command};
use super::request::Request;

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
    banks: Vec<Vec<Request>>,
    /// By bank; kept up to date by [`push`](Self::push) and [`update`](Self::update).
    candidates: Vec<Candidate>,
    /// A bit for each bank that has a request.
    active: u128,
    len: usize,
}

impl Queue {
    pub(super) fn new(banks: usize) -> Self {
        Self { banks: vec![Vec::new(); banks], candidates: vec![NONE; banks], active: 0, len: 0 }
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
    pub(super) fn push(&mut self, request: Request, bank: &Bank) -> bool {
        let number = request.place.bank();
        let requests = &mut self.banks[number];
        let candidate = &mut self.candidates[number];
        let hit = bank.open == Some(request.place.row);
        let command = if hit {
            Command::Column
        } else if bank.open.is_some() {
            Command::Precharge
        } else {
            Command::Activate
        };
        let changes = requests.is_empty() || (hit && candidate.command != Command::Column);
        if changes {
            *candidate = Candidate { command, position: requests.len() as u32, order: request.order };
        }
        requests.push(request);
        self.active |= 1 << number;
        self.len += 1;
        changes
    }

    /// Takes a request out; [`update`](Self::update) must follow.
    pub(super) fn remove(&mut self, bank: usize, position: usize) -> Request {
        let request = self.banks[bank].remove(position);
        if self.banks[bank].is_empty() {
            self.active &= !(1 << bank);
        }
        self.len -= 1;
        request
    }

    /// Finds out what a bank does next after its row or its requests have changed.
    pub(super) fn update(&mut self, number: usize, bank: &Bank) {
        let requests = &self.banks[number];
        let Some(oldest) = requests.first() else { return };
        let oldest = |command| Candidate { command, position: 0, order: oldest.order };
        self.candidates[number] = match bank.open {
            None => oldest(Command::Activate),
            Some(row) => match requests.iter().position(|request| request.place.row == row) {
                Some(position) => Candidate {
                    command: Command::Column,
                    position: position as u32,
                    order: requests[position].order,
                },
                None => oldest(Command::Precharge),
            },
        };
    }

    /// What an active bank does next.
    #[inline]
    pub(super) fn candidate(&self, bank: usize) -> Candidate {
        self.candidates[bank]
    }

    /// The requests of a bank.
    #[inline]
    pub(super) fn bank(&self, bank: usize) -> &[Request] {
        &self.banks[bank]
    }

    #[inline]
    pub(super) fn bank_mut(&mut self, bank: usize) -> &mut [Request] {
        &mut self.banks[bank]
    }

    /// A bit for each bank that has requests.
    #[inline]
    pub(super) fn active(&self) -> u128 {
        self.active
    }

    /// The bank of the oldest request.
    pub(super) fn oldest_bank(&self) -> Option<usize> {
        let first = |bank: &usize| self.banks[*bank].first().map(|request| request.order);
        (0..self.banks.len()).filter(|bank| !self.banks[*bank].is_empty()).min_by_key(first)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Request> {
        self.banks.iter_mut().flatten()
    }
}
