//! Lines that are on their way from DRAM: an access to one waits for it instead of asking again.

use super::Requester;
use super::dram::{Completion, RequestId, RowOutcome};
use solo_model::Picoseconds;

/// Buckets of the filter; a power of two far above the number of lines that can be under way.
const BUCKETS: usize = 1024;

/// So many entries, those of lines that have arrived included, are kept before they are looked through.
const ENOUGH: usize = 16;

/// A line under way.
#[derive(Clone, Copy, Debug)]
struct Entry {
    line: u64,
    request: RequestId,
    /// Known once DRAM has decided; the line is under way until then.
    arrival: Option<Reply>,
}

/// An access that waits for a line under way.
#[derive(Clone, Copy, Debug)]
struct Joined {
    primary: RequestId,
    request: RequestId,
    requester: Requester,
    /// When it would have asked DRAM.
    asks: Picoseconds,
}

/// What is kept of a [`Completion`]. In another order, and a sum for one of its parts: a copy in pieces, since
/// one in whole has to wait for what has just been written.
#[derive(Clone, Copy, Debug)]
struct Reply {
    at: Picoseconds,
    total: Picoseconds,
    queue_others: Picoseconds,
    unloaded: Picoseconds,
    row: RowOutcome,
}

impl Reply {
    #[inline]
    fn of(completion: &Completion) -> Self {
        let Completion { at, unloaded, queue_own, queue_others, row, .. } = *completion;
        Self { at, total: unloaded + queue_own + queue_others, queue_others, unloaded, row }
    }
}

/// The lines under way. Nearly every look-up is answered "no" by one byte of a counting filter.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    filter: Box<[u8; BUCKETS]>,
    entries: Vec<Entry>,
    /// In the order in which they joined.
    joined: Vec<Joined>,
    /// Answers to accesses that joined after DRAM had decided.
    ready: Vec<Completion>,
}

impl Pending {
    pub(super) fn new() -> Self {
        Self { filter: Box::new([0; BUCKETS]), entries: Vec::new(), joined: Vec::new(), ready: Vec::new() }
    }

    fn bucket(line: u64) -> usize {
        (line ^ line >> 10) as usize % BUCKETS
    }

    /// The request that brings `line`, unless it is known to have done so by `now`.
    #[inline]
    pub(super) fn find(&self, line: u64, now: Picoseconds) -> Option<RequestId> {
        if self.filter[Self::bucket(line)] == 0 { None } else { self.find_entry(line, now) }
    }

    #[inline(never)]
    fn find_entry(&self, line: u64, now: Picoseconds) -> Option<RequestId> {
        let entry = self.entries.iter().rev().find(|entry| entry.line == line)?;
        entry.arrival.is_none_or(|arrival| arrival.at > now).then_some(entry.request)
    }

    pub(super) fn insert(&mut self, line: u64, request: RequestId) {
        // A bucket that was ever full stays so: the filter then answers "maybe" for ever, which is only slow.
        let bucket = &mut self.filter[Self::bucket(line)];
        *bucket = bucket.saturating_add(1);
        self.entries.push(Entry { line, request, arrival: None });
    }

    /// Lets an access wait for `primary`, at `asks` the moment when it would have asked DRAM. Its own number
    /// comes from `number`; `None` where the line has arrived by then.
    pub(super) fn join(
        &mut self,
        primary: RequestId,
        requester: Requester,
        asks: Picoseconds,
        number: impl FnOnce() -> RequestId,
    ) -> Option<RequestId> {
        let entry = self.entries.iter_mut().find(|entry| entry.request == primary)?;
        match entry.arrival {
            Some(arrival) if arrival.at <= asks => None,
            Some(arrival) => {
                let request = number();
                self.ready.push(rest_of(&arrival, request, requester, asks));
                Some(request)
            }
            None => {
                let request = number();
                self.joined.push(Joined { primary, request, requester, asks });
                Some(request)
            }
        }
    }

    /// DRAM has decided about a line: those who joined are told, too.
    #[inline]
    pub(super) fn complete(&mut self, completion: &Completion, done: &mut impl FnMut(&Completion)) {
        // Lines that have arrived and are not forgotten yet stand in front.
        let mut entries = self.entries.iter_mut().rev();
        if let Some(entry) = entries.find(|entry| entry.request == completion.request) {
            entry.arrival = Some(Reply::of(completion));
            if !self.joined.is_empty() {
                self.tell(completion, done);
            }
        }
    }

    /// Tells those who joined a request that it has been answered.
    #[inline(never)]
    fn tell(&mut self, answer: &Completion, done: &mut impl FnMut(&Completion)) {
        self.joined.retain(|joined| {
            let joins = joined.primary == answer.request;
            if joins {
                done(&rest_of(&Reply::of(answer), joined.request, joined.requester, joined.asks));
            }
            !joins
        });
    }

    /// Forgets lines that have arrived at `now`, when it is worth while: those that are left are recognized by the
    /// times of their completions.
    #[inline]
    pub(super) fn tidy(&mut self, now: Picoseconds) {
        if self.entries.len() >= ENOUGH {
            self.expire(now);
        }
    }

    fn expire(&mut self, now: Picoseconds) {
        let filter = &mut self.filter;
        self.entries.retain(|entry| {
            let arrived = entry.arrival.is_some_and(|arrival| arrival.at <= now);
            let bucket = &mut filter[Self::bucket(entry.line)];
            *bucket -= u8::from(arrived && *bucket != u8::MAX);
            !arrived
        });
    }

    /// True where answers wait to be handed out.
    #[inline]
    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    pub(super) fn take_ready(&mut self, done: &mut impl FnMut(&Completion)) {
        self.ready.drain(..).for_each(|completion| done(&completion));
    }
}

/// The answer to an access that joined: what was left of the first one's time is its unloaded time as far as
/// that goes, then interference, then the core's own queue. Where the access waits for longer than the first
/// did, which had yet to find out that it must ask DRAM, that is unloaded time too.
fn rest_of(first: &Reply, request: RequestId, requester: Requester, asks: Picoseconds) -> Completion {
    let at = first.at.max(asks);
    let total = at - asks;
    let unloaded = first.unloaded.min(total) + total.saturating_sub(first.total);
    let queue_others = first.queue_others.min(total - unloaded);
    Completion {
        request,
        requester,
        at,
        unloaded,
        queue_own: total - unloaded - queue_others,
        queue_others,
        row: first.row,
    }
}
