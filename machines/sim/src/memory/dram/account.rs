//! Where the time of a read went; see the [module](super).

use super::arrivals::Arrivals;
use super::queue::Queue;
use super::request::Request;
use super::{Completion, RowOutcome, Rules, Served};
use crate::memory::Requester;
use solo_model::Picoseconds;
use solo_model::platform::PagePolicy;

/// The row that a requester's own last access left open in a bank, were it alone; valid until the next refresh.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct OwnRow {
    row: Option<u32>,
    refreshes: u64,
}

/// Sums from which a read's wait for others follows without looking at it at each command.
///
/// Each column command takes the time since the one before it. For each requester, the time taken by all others so
/// far is a sum that only grows: a read waited for the difference between its end and its arrival. The sum at an
/// arrival between two column commands is known only when the second is issued: until then a read is *fresh*.
#[derive(Clone, Debug)]
pub(super) struct Account {
    /// By bank, then requester.
    own_rows: Vec<OwnRow>,
    /// Clocks taken by each requester's own column commands.
    own: Vec<u64>,
    /// The last column command.
    last_column: u64,
    /// Requests at the head of the arrivals that are not fresh any more.
    pub(super) settled: usize,
}

impl Account {
    pub(super) fn new(banks: usize, requesters: usize) -> Self {
        Self {
            own_rows: vec![OwnRow::default(); banks * requesters],
            own: vec![0; requesters],
            last_column: 0,
            settled: 0,
        }
    }

    /// The clocks that others than the request's have taken so far.
    #[inline]
    fn others(&self, request: &Request) -> u64 {
        self.last_column - self.own[request.requester.index()]
    }

    /// The first of the arrivals leaves them.
    #[inline]
    pub(super) fn leaves_arrivals(&mut self) {
        self.settled = self.settled.saturating_sub(1);
    }

    /// A fresh request has waited for nobody yet.
    #[inline]
    pub(super) fn settle_now(&self, request: &mut Request) {
        if request.fresh {
            request.fresh = false;
            request.others_before = self.others(request);
        }
    }

    /// Settles a request that is fresh when a column command of `requester` is issued at `now`.
    #[inline]
    fn settle(&self, fresh: &mut Request, requester: Requester, now: u64) {
        if !fresh.fresh {
            return;
        }
        fresh.fresh = false;
        let before = fresh.arrival.min(now).saturating_sub(self.last_column);
        fresh.others_before = self.others(fresh) + if fresh.requester == requester { 0 } else { before };
    }
}

impl Account {
    /// A column command is issued at `now` for a request that has just left its queue. Counts the time since the last
    /// column command for all reads of others that wait meanwhile.
    #[inline(always)]
    pub(super) fn charge_others(
        &mut self,
        request: &mut Request,
        reads: &mut Queue,
        arrivals: &mut Arrivals,
        now: u64,
    ) {
        self.settle_now(request);
        let requester = request.requester;
        let mut fresh = core::mem::take(&mut reads.fresh);
        while fresh != 0 {
            self.settle(reads.request(fresh.trailing_zeros() as usize), requester, now);
            fresh &= fresh - 1;
        }
        while let Some(waiting) = arrivals.get_mut(self.settled) {
            if waiting.arrival >= now {
                break;
            }
            self.settle(waiting, requester, now);
            self.settled += 1;
        }
        self.own[requester.index()] += now - self.last_column;
        self.last_column = now;
    }

    /// Splits a request's time; `end` is the clock at which its data have moved, `hit_clocks` what that takes
    /// from a column command on, `refreshes` those of its rank. The request is done.
    #[inline(always)]
    pub(super) fn finish(
        &mut self,
        rules: &Rules,
        request: &Request,
        refreshes: u64,
        end: u64,
        hit_clocks: u64,
    ) -> Served {
        let row = request.outcome.unwrap_or(RowOutcome::Hit);
        let expected = self.own_outcome(rules, request, row, refreshes);
        let back = if request.write { 0 } else { rules.path_back };
        let at = end * rules.clock + back;
        if request.write {
            return Served::Write {
                request: request.id,
                requester: request.requester,
                at: Picoseconds::new(at),
                row,
            };
        }
        let total = at - request.submitted;
        let way = request.arrival * rules.clock - request.submitted + back;
        let expected = hit_clocks + rules.preparation[expected as usize];
        let actual = hit_clocks + rules.preparation[row as usize];
        let unloaded = total.min(way + (expected + u64::from(request.refresh)) * rules.clock);
        let penalty = if request.disturbed { actual.saturating_sub(expected) } else { 0 };
        let waited = self.others(request) - request.others_before;
        let others = (total - unloaded).min((waited + penalty) * rules.clock);
        Served::Read(Completion {
            request: request.id,
            requester: request.requester,
            at: Picoseconds::new(at),
            unloaded: Picoseconds::new(unloaded),
            queue_own: Picoseconds::new(total - unloaded - others),
            queue_others: Picoseconds::new(others),
            row,
        })
    }

    /// How the request would have found its row, had only its requester used the bank since the last of the rank's
    /// `refreshes`. Remembers the row for its next request.
    fn own_outcome(
        &mut self,
        rules: &Rules,
        request: &Request,
        row: RowOutcome,
        refreshes: u64,
    ) -> RowOutcome {
        if row == RowOutcome::Forwarded {
            return row;
        }
        if rules.page == PagePolicy::Closed {
            return RowOutcome::Closed;
        }
        let requesters = self.own.len();
        let own = &mut self.own_rows[request.place.bank() * requesters + request.requester.index()];
        let outcome = match own.row {
            Some(row) if own.refreshes == refreshes && row == request.place.row => RowOutcome::Hit,
            Some(_) if own.refreshes == refreshes => RowOutcome::Conflict,
            _ => RowOutcome::Closed,
        };
        *own = OwnRow { row: Some(request.place.row), refreshes };
        outcome
    }
}
