//! The controller against one that is told clock by clock, and its commands against the distances of JESD79-3F.
//!
//! The clocked controller keeps plain lists and looks at everything at each clock: slow, and easy to check by reading.
//! It knows one rank with open pages, row hits first.

use super::bank::{Bank, Command};
use super::offer::Offer;
use super::{Dram, DramCounts, PhysicalAddress, RowOutcome};
use crate::memory::fixtures::ddr3_1600k;
use proptest::prelude::*;
use solo_model::platform::{Dram as Description, DramTiming, PagePolicy, RequestOrder};
use solo_model::{Bytes, CoreId, Picoseconds};

/// A command as the controller's log has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Logged {
    /// Issued on the command bus; the row counts for an activation only.
    Issued { at: u64, command: Command, write: bool, bank: usize, row: u32 },
    /// A row that is closed without a command of its own.
    Closed { at: u64, bank: usize },
    /// A refresh of a rank, from its command to its end.
    Refresh { from: u64, to: u64, rank: usize },
}

/// The rows among `range` of the `banks` that a refresh due at `due` closes.
pub(super) fn closings(banks: &[Bank], range: std::ops::Range<usize>, due: u64) -> Vec<Logged> {
    let open = range.filter(|bank| banks[*bank].open.is_some());
    open.map(|bank| Logged::Closed { at: banks[bank].ready[Command::Precharge as usize].max(due), bank })
        .collect()
}

/// The clocked controller's request.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    line: u64,
    bank: usize,
    row: u64,
    write: bool,
    /// A command has been issued for it.
    begun: bool,
}

/// A controller that is told each clock.
struct Clocked {
    timing: DramTiming,
    queue: usize,
    open: [Option<u64>; 8],
    /// By bank: the first clock for an activation, a precharge, a read, a write.
    activate: [u64; 8],
    precharge: [u64; 8],
    read: [u64; 8],
    write: [u64; 8],
    activations: Vec<u64>,
    reads: Vec<Waiting>,
    writes: Vec<Waiting>,
    batch: bool,
    idle: bool,
    refresh_waits: bool,
    end: u64,
    counts: DramCounts,
}

impl Clocked {
    fn new(description: &Description) -> Self {
        Self {
            timing: description.timing,
            queue: description.queue.into(),
            open: [None; 8],
            activate: [0; 8],
            precharge: [0; 8],
            read: [0; 8],
            write: [0; 8],
            activations: Vec::new(),
            reads: Vec::new(),
            writes: Vec::new(),
            batch: false,
            idle: false,
            refresh_waits: false,
            end: 0,
            counts: DramCounts::default(),
        }
    }

    /// The clock at which the last data have moved, and what was counted, of requests offered as fast as they are taken.
    fn run(mut self, requests: &[(u64, bool)]) -> (u64, DramCounts) {
        let (mut now, mut taken) = (0, 0);
        while taken < requests.len() || !self.reads.is_empty() || !self.writes.is_empty() {
            let refi = u64::from(self.timing.refi);
            self.refresh_waits |= refi > 0 && now > 0 && now % refi == 0;
            while taken < requests.len() && self.takes(requests[taken]) {
                taken += 1;
            }
            self.choose_queue(taken == requests.len());
            if self.refresh_waits {
                self.refresh(now)
            } else {
                self.command(now)
            }
            now += 1;
        }
        (self.end, self.counts)
    }

    fn takes(&mut self, (address, write): (u64, bool)) -> bool {
        let line = address / 64;
        if self.writes.iter().any(|waiting| waiting.line == line) {
            self.counts.serve(RowOutcome::Forwarded, write);
            return true;
        }
        let queue = if write { &mut self.writes } else { &mut self.reads };
        let room = queue.len() < self.queue;
        if room {
            let (bank, row) = ((address >> 13) as usize % 8, address >> 16);
            queue.push(Waiting { line, bank, row, write, begun: false });
        }
        room
    }

    /// A batch of writes begins at three quarters of the queue and ends at one; without a read, writes are performed
    /// as soon as there are more than a quarter, or at the end.
    fn choose_queue(&mut self, last: bool) {
        let (reads, writes) = (self.reads.len(), self.writes.len());
        let (high, low) = ((self.queue * 3 / 4).max(1), self.queue / 4);
        let held_back = if last { 0 } else { low };
        self.batch = writes >= high || (self.batch && (writes > low || (reads == 0 && writes > 0)));
        self.idle = !self.batch && reads == 0 && ((self.idle && writes > 0) || writes > held_back);
    }

    fn refresh(&mut self, now: u64) {
        let open = |bank: &usize| self.open[*bank].is_some();
        if (0..8).any(|bank| open(&bank)) {
            if (0..8).filter(open).all(|bank| now >= self.precharge[bank]) {
                for bank in 0..8 {
                    self.close(bank, now);
                }
            }
        } else if (0..8).all(|bank| now >= self.activate[bank]) {
            self.refresh_waits = false;
            self.counts.refreshes += 1;
            self.activate = [now + u64::from(self.timing.rfc); 8];
        }
    }

    fn close(&mut self, bank: usize, now: u64) {
        if self.open[bank].take().is_some() {
            self.activate[bank] = self.activate[bank].max(now + u64::from(self.timing.rp));
        }
    }

    /// At most one command: to an open row for the oldest request that may, else whatever the oldest one may.
    fn command(&mut self, now: u64) {
        let drains = self.batch || self.idle;
        let queue = if drains { self.writes.clone() } else { self.reads.clone() };
        let hits = |waiting: &Waiting| self.open[waiting.bank] == Some(waiting.row);
        let to_row = |waiting: &Waiting| {
            let ready = if waiting.write { &self.write } else { &self.read };
            hits(waiting) && now >= ready[waiting.bank]
        };
        let other = |waiting: &Waiting| match self.open[waiting.bank] {
            None => {
                let fourth = self.activations.iter().rev().nth(3);
                let window = fourth.map_or(0, |at| at + u64::from(self.timing.faw));
                now >= self.activate[waiting.bank].max(window)
            }
            // A row is used up before it is closed.
            Some(row) => {
                let wanted = queue.iter().any(|other| other.bank == waiting.bank && other.row == row);
                !wanted && now >= self.precharge[waiting.bank]
            }
        };
        let chosen = queue.iter().position(to_row).or_else(|| queue.iter().position(other));
        let Some(position) = chosen else { return };
        let Waiting { bank, row, write, begun, .. } = queue[position];
        let waiting = if drains { &mut self.writes } else { &mut self.reads };
        let outcome = match self.open[bank] {
            Some(open) if open == row => RowOutcome::Hit,
            Some(_) => RowOutcome::Conflict,
            None => RowOutcome::Closed,
        };
        if !begun {
            waiting[position].begun = true;
            self.counts.serve(outcome, write);
        }
        match outcome {
            RowOutcome::Hit => {
                waiting.remove(position);
                self.column(bank, write, now);
            }
            RowOutcome::Conflict => self.close(bank, now),
            _ => self.open_row(bank, row, now),
        }
    }

    fn open_row(&mut self, bank: usize, row: u64, now: u64) {
        let of = |clocks: u16| now + u64::from(clocks);
        let timing = self.timing;
        self.open[bank] = Some(row);
        self.activations.push(now);
        self.counts.commands.activates += 1;
        for (other, activate) in self.activate.iter_mut().enumerate() {
            *activate = (*activate).max(if other == bank { of(timing.rc) } else { of(timing.rrd) });
        }
        self.read[bank] = self.read[bank].max(of(timing.rcd));
        self.write[bank] = self.write[bank].max(of(timing.rcd));
        self.precharge[bank] = self.precharge[bank].max(of(timing.ras));
    }

    fn column(&mut self, bank: usize, write: bool, now: u64) {
        let timing = self.timing;
        let [cl, cwl, data, ccd] = [timing.cl, timing.cwl, timing.burst / 2, timing.ccd].map(u64::from);
        let same = ccd.max(data);
        let (to_reads, to_writes, to_precharge, moved) = if write {
            let moved = cwl + data;
            (moved + u64::from(timing.wtr), same, moved + u64::from(timing.wr), moved)
        } else {
            let moved = cl + data;
            (same, moved + 2 - cwl, u64::from(timing.rtp), moved)
        };
        self.read.iter_mut().for_each(|read| *read = (*read).max(now + to_reads));
        self.write.iter_mut().for_each(|write| *write = (*write).max(now + to_writes));
        self.precharge[bank] = self.precharge[bank].max(now + to_precharge);
        self.end = self.end.max(now + moved);
    }
}

/// The last time of each thing in a bank.
#[derive(Clone, Copy, Default, Debug)]
struct Last {
    open: Option<u32>,
    activated: Option<u64>,
    closed: Option<u64>,
    read: Option<u64>,
    written: Option<u64>,
}

/// Fails unless `now` is at least so many clocks after the last time.
fn after(now: u64, last: Option<u64>, clocks: u64, what: &str) {
    assert!(last.is_none_or(|last| now >= last + clocks), "{what}: {now}, last {last:?}, {clocks} clocks");
}

/// Looks at the distance of a column command from those before it: each with its time, whether it writes, and its rank.
fn check_column(before: &[(u64, bool, usize)], timing: &DramTiming, (at, write, rank): (u64, bool, usize)) {
    let [cl, cwl, data] = [timing.cl, timing.cwl, timing.burst / 2].map(u64::from);
    for &(before, wrote, other) in before.iter().rev().take(64) {
        let from = if write { at + cwl } else { at + cl };
        let until = before + data + if wrote { cwl } else { cl };
        assert!(from >= until, "one line after the other on the data bus");
        assert!((wrote, other) == (write, rank) || from >= until + 2, "the bus turns round");
        assert!(at >= before + u64::from(timing.ccd), "tCCD");
        if wrote && !write && other == rank {
            after(at, Some(before), cwl + data + u64::from(timing.wtr), "tWTR");
        }
    }
}

/// Looks at each command of a log of banks of `1 << bank_bits` a rank for the distance that it must keep from those
/// before it.
fn check(log: &[Logged], timing: &DramTiming, bank_bits: usize) {
    let mut log = log.to_vec();
    // Rows that close by themselves are logged when that is decided.
    log.sort_by_key(|logged| match *logged {
        Logged::Issued { at, .. } | Logged::Closed { at, .. } => (at, 1),
        Logged::Refresh { from, .. } => (from, 0),
    });
    let [cwl, data] = [timing.cwl, timing.burst / 2].map(u64::from);
    let mut banks = [Last::default(); 64];
    let mut ranks: Vec<(Vec<u64>, u64)> = vec![(Vec::new(), 0); 64 >> bank_bits];
    let (mut issued, mut columns): (Option<u64>, Vec<(u64, bool, usize)>) = (None, Vec::new());
    for logged in log {
        let (at, bank, command, write, row) = match logged {
            Logged::Refresh { from, to, rank } => {
                for bank in &banks[rank << bank_bits..(rank + 1) << bank_bits] {
                    assert_eq!(bank.open, None, "a refresh finds rows closed");
                    after(from, bank.closed, timing.rp.into(), "tRP before a refresh");
                }
                assert_eq!(to, from + u64::from(timing.rfc));
                ranks[rank].1 = to;
                continue;
            }
            Logged::Closed { at, bank } => (at, bank, Command::Precharge, false, 0),
            Logged::Issued { at, command, write, bank, row } => {
                after(at, issued, 1, "one command a clock");
                issued = Some(at);
                (at, bank, command, write, row)
            }
        };
        let (last, rank) = (&mut banks[bank], bank >> bank_bits);
        match command {
            Command::Activate => {
                assert_eq!(last.open, None, "a row is opened in a closed bank");
                let (activations, refreshed) = &mut ranks[rank];
                after(at, last.activated, timing.rc.into(), "tRC");
                after(at, last.closed, timing.rp.into(), "tRP");
                after(at, activations.last().copied(), timing.rrd.into(), "tRRD");
                after(at, activations.iter().rev().nth(3).copied(), timing.faw.into(), "tFAW");
                after(at, Some(*refreshed), 0, "tRFC");
                activations.push(at);
                (last.activated, last.open) = (Some(at), Some(row));
            }
            Command::Precharge => {
                after(at, last.activated, timing.ras.into(), "tRAS");
                after(at, last.read, timing.rtp.into(), "tRTP");
                after(at, last.written, cwl + data + u64::from(timing.wr), "tWR");
                (last.closed, last.open) = (Some(at), None);
            }
            Command::Column => {
                assert!(last.open.is_some(), "a column of an open row");
                after(at, last.activated, timing.rcd.into(), "tRCD");
                check_column(&columns, timing, (at, write, rank));
                columns.push((at, write, rank));
                *(if write { &mut last.written } else { &mut last.read }) = Some(at);
            }
        }
    }
}

/// Timing near that of DDR3: legal, and with odd relations between its parts.
pub(super) fn timing() -> impl Strategy<Value = DramTiming> {
    let parts = (4_u16..14, 0_u16..4, 4_u16..14, 4_u16..14, 0_u16..12, 0_u16..5);
    let gaps = (1_u16..9, 0_u16..30, 4_u16..14, 2_u16..9, 2_u16..9, 4_u16..6, any::<bool>());
    (parts, gaps).prop_map(|((cl, less, rcd, rp, ras, more), (rrd, faw, wr, wtr, rtp, ccd, refresh))| {
        let ras = rcd + ras;
        let refi = if refresh { 700 } else { 0 };
        let cwl = (cl - less).max(1);
        let (rc, rfc) = (ras + rp + more, 60);
        DramTiming { cl, cwl, rcd, rp, ras, rc, rrd, faw, wr, wtr, rtp, ccd, rfc, refi, burst: 8 }
    })
}

/// Requests of several kinds, one after the other: a run of lines, of rows of a bank, of banks, or anything.
pub(super) fn requests() -> impl Strategy<Value = Vec<(u64, bool)>> {
    let run = (0_u64..1 << 12, 0_usize..4, 1_u64..60, 0_u32..4);
    prop::collection::vec((run, any::<u64>()), 1..12).prop_map(|runs| {
        let mut all = Vec::new();
        for ((first, kind, length, writes), seed) in runs {
            let mut state = seed | 1;
            for n in 0..length {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let address = match kind {
                    0 => (first + n) << 6,
                    1 => (first + n) << 16,
                    2 => (first + n) << 13,
                    _ => (state >> 40) << 6,
                };
                all.push((address, (state >> 33) % 6 < u64::from(writes)));
            }
        }
        all
    })
}

fn memory(description: &Description) -> Dram {
    Dram::new(description, Bytes::new(64), 1).expect("the timing is legal")
}

/// What the controller takes for requests offered as fast as it accepts them.
fn by_events(description: &Description, requests: &[(u64, bool)]) -> (u64, DramCounts) {
    let mut offer = Offer::new(memory(description));
    requests.iter().for_each(|(address, write)| offer.request(PhysicalAddress(*address), *write));
    let (end, counts) = offer.finish();
    (end.get() / description.clock.get(), counts)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// The same clocks to the end, the same rows hit, closed and in conflict.
    #[test]
    fn events_come_to_what_clocks_come_to(timing in timing(), requests in requests(), queue in 1_u16..40) {
        let description = Description { timing, queue, ..ddr3_1600k() };
        let expected = Clocked::new(&description).run(&requests);
        let (end, mut counts) = by_events(&description, &requests);
        // A refresh that becomes due with the last request makes no difference.
        counts.refreshes = expected.1.refreshes;
        prop_assert_eq!((end, counts), expected);
    }

    /// Whatever is asked whenever: no command comes too early.
    #[test]
    fn every_command_keeps_its_distances(
        timing in timing(),
        requests in requests(),
        queue in 1_u16..40,
        ranks in 0_usize..2,
        fcfs in any::<bool>(),
        closed in any::<bool>(),
        gap in 0_u64..40,
    ) {
        let mut description = Description { timing, queue, ..ddr3_1600k() };
        description.rank_bits = vec![crate::memory::fixtures::bit(18); ranks];
        description.order = if fcfs { RequestOrder::Fcfs } else { RequestOrder::RowHitsFirst };
        description.page_policy = if closed { PagePolicy::Closed } else { PagePolicy::Open };
        let mut dram = memory(&description);
        let mut now = 0;
        for (number, (address, write)) in requests.iter().enumerate() {
            now += if number % 7 == 0 { gap * 1250 } else { 0 };
            dram.advance(Picoseconds::new(now), |_| {});
            dram.submit(Picoseconds::new(now), CoreId(0), PhysicalAddress(*address), *write);
        }
        dram.flush();
        while let Some(next) = dram.next_event() {
            dram.advance(next, |_| {});
            dram.flush();
        }
        let log = &dram.channels[0].log;
        let columns = log.iter().filter(|logged| matches!(logged, Logged::Issued { command: Command::Column, .. }));
        prop_assert_eq!(columns.count() as u64 + dram.counts().forwarded, requests.len() as u64);
        check(log, &timing, 3);
    }
}

/// Long streams of the shipped device, refreshed and not.
#[test]
fn long_streams_come_to_the_same() {
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let streams: [Vec<(u64, bool)>; 4] = [
        (0..4000).map(|n| (n * 64, false)).collect(),
        (0..4000).map(|_| (random() << 6, false)).collect(),
        (0..4000).map(|n| (n * 64, n % 3 == 2)).collect(),
        (0..4000).map(|_| (random() << 6, random() % 3 == 0)).collect(),
    ];
    for refi in [0, 6240] {
        let mut description = ddr3_1600k();
        description.timing.refi = refi;
        for stream in &streams {
            assert_eq!(by_events(&description, stream), Clocked::new(&description).run(stream));
        }
    }
}
