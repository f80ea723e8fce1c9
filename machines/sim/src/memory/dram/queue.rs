//! Requests that wait in a channel's controller, sorted by bank.

use super::bank::{Bank, Command};
use super::map::MOST_BANKS;
use super::request::Request;

/// The places of a queue: a set of them is a `u64`.
pub(super) const PLACES: usize = 64;

/// What a bank does next for its requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Candidate {
    pub(super) command: Command,
    /// The place of the request.
    pub(super) place: usize,
}

/// The reads (or the writes) of a channel.
///
/// Places are taken in turns, round and round, so that the age of a request follows from its place. Sets of places are
/// words with a bit for each, and the oldest of a set is found without looking at any request.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    requests: Box<[Request; PLACES]>,
    /// The place that the next request takes: of all others the next ones are the oldest.
    next: u32,
    /// The places taken,
    used: u64,
    /// those whose row is open,
    hits: u64,
    /// and those whose request is [fresh](super::account::Account).
    pub(super) fresh: u64,
    /// By bank.
    of_bank: Box<[u64; MOST_BANKS]>,
    /// A bit for each bank that has a request,
    active: u64,
    /// and for each of those whose row is open for none of them.
    closed: u64,
    len: usize,
}

impl Queue {
    pub(super) fn new() -> Self {
        Self {
            requests: Box::new([Request::NONE; PLACES]),
            next: 0,
            used: 0,
            hits: 0,
            fresh: 0,
            of_bank: Box::new([0; MOST_BANKS]),
            active: 0,
            closed: 0,
            len: 0,
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a request younger than all others; there must be fewer than [`PLACES`]. True where it changes what its bank
    /// does next.
    #[inline(always)]
    pub(super) fn push(&mut self, request: &Request, bank: &Bank) -> bool {
        if self.used >> self.next & 1 == 1 {
            self.close_up();
        }
        let (place, number) = (self.next, request.place.bank() % MOST_BANKS);
        self.next = (place + 1) % PLACES as u32;
        let hit = u64::from(bank.open == Some(request.place.row));
        let waiting = self.of_bank[number];
        let changes = waiting == 0 || (hit != 0 && waiting & self.hits == 0);
        self.used |= 1 << place;
        self.hits |= hit << place;
        self.fresh |= u64::from(request.fresh) << place;
        self.of_bank[number] = waiting | 1 << place;
        self.active |= 1 << number;
        let open = (waiting | 1 << place) & self.hits != 0;
        self.closed = self.closed & !(1 << number) | u64::from(!open) << number;
        self.len += 1;
        self.requests[place as usize % PLACES] = *request;
        changes
    }

    /// Moves all requests together, in the order of their ages, so that the next place is free again.
    #[cold]
    #[inline(never)]
    fn close_up(&mut self) {
        let (mut rest, before) = (self.used, self.clone());
        (self.used, self.hits, self.fresh) = (0, 0, 0);
        *self.of_bank = [0; MOST_BANKS];
        let mut next = 0;
        while rest != 0 {
            let place = before.oldest(rest);
            rest &= !(1 << place);
            let request = before.requests[place];
            self.used |= 1 << next;
            self.hits |= (before.hits >> place & 1) << next;
            self.fresh |= (before.fresh >> place & 1) << next;
            self.of_bank[request.place.bank() % MOST_BANKS] |= 1 << next;
            self.requests[next] = request;
            next += 1;
        }
        self.next = (next % PLACES) as u32;
    }

    /// Takes the request of a bank out. What stands at its place is valid until another one takes it.
    #[inline(always)]
    pub(super) fn remove(&mut self, bank: usize, place: usize) {
        let others = !(1 << place);
        self.used &= others;
        self.hits &= others;
        self.fresh &= others;
        let waiting = &mut self.of_bank[bank % MOST_BANKS];
        *waiting &= others;
        let (any, closed) = (*waiting != 0, *waiting & self.hits == 0);
        self.active = self.active & !(1 << bank) | u64::from(any) << bank;
        self.closed = self.closed & !(1 << bank) | u64::from(any & closed) << bank;
        self.len -= 1;
    }

    /// The row of a bank has been opened, or closed.
    pub(super) fn row_changed(&mut self, number: usize, bank: &Bank) {
        let waiting = self.of_bank[number % MOST_BANKS];
        self.hits &= !waiting;
        if let Some(row) = bank.open {
            let mut rest = waiting;
            while rest != 0 {
                let place = rest.trailing_zeros();
                rest &= rest - 1;
                self.hits |= u64::from(self.requests[place as usize % PLACES].place.row == row) << place;
            }
        }
        let closed = waiting != 0 && waiting & self.hits == 0;
        self.closed = self.closed & !(1 << number) | u64::from(closed) << number;
    }

    /// What a bank with requests does next: an open row is used up before the oldest request decides.
    #[inline(always)]
    pub(super) fn candidate(&self, number: usize, bank: &Bank) -> Candidate {
        let waiting = self.of_bank[number % MOST_BANKS];
        let hits = waiting & self.hits;
        // Without a branch: which it would be, the host can't guess.
        let others = u64::from(hits != 0).wrapping_sub(1);
        let command = Command::ALL[bank.before_row() as usize & others as usize & 3];
        Candidate { command, place: self.oldest(hits | (waiting & others)) }
    }

    /// What the oldest request of a bank needs.
    pub(super) fn candidate_in_order(&self, number: usize, bank: &Bank) -> Candidate {
        let place = self.oldest(self.of_bank[number % MOST_BANKS]);
        let hit = self.hits >> place & 1 == 1;
        Candidate { command: if hit { Command::Column } else { bank.before_row() }, place }
    }

    /// The bank of the oldest request.
    pub(super) fn oldest_bank(&self) -> Option<usize> {
        (self.used != 0).then(|| self.requests[self.oldest(self.used)].place.bank())
    }

    /// The bank of the oldest request whose row is open, where each bank with requests has one.
    #[inline(always)]
    pub(super) fn open_everywhere(&self) -> Option<usize> {
        let all = self.closed == 0 && self.hits != 0;
        all.then(|| self.requests[self.oldest(self.hits)].place.bank())
    }

    /// The oldest of a set of places, of which there is at least one.
    #[inline(always)]
    fn oldest(&self, places: u64) -> usize {
        let after = places.rotate_right(self.next).trailing_zeros();
        (after + self.next) as usize % PLACES
    }

    /// Less for older requests, below [`PLACES`].
    #[inline(always)]
    pub(super) fn age(&self, place: usize) -> u64 {
        (place as u64).wrapping_sub(self.next.into()) % PLACES as u64
    }

    #[inline(always)]
    pub(super) fn request(&mut self, place: usize) -> &mut Request {
        &mut self.requests[place % PLACES]
    }

    /// A bit for each bank that has requests.
    #[inline(always)]
    pub(super) fn active(&self) -> u64 {
        self.active
    }

    /// True where a request of the bank is for this line.
    pub(super) fn has_line(&self, bank: usize, line: u32) -> bool {
        let mut waiting = self.of_bank[bank % MOST_BANKS];
        while waiting != 0 {
            if self.requests[waiting.trailing_zeros() as usize % PLACES].place.line == line {
                return true;
            }
            waiting &= waiting - 1;
        }
        false
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Request> {
        let used = self.used;
        self.requests
            .iter_mut()
            .enumerate()
            .filter(move |(place, _)| used >> place & 1 == 1)
            .map(|(_, it)| it)
    }
}
