//! DRAM latencies and rates equal the formulas of its timing.

use proptest::prelude::*;
use solo_model::platform::{Dram as Description, PagePolicy, RequestOrder};
use solo_model::{Bytes, CoreId, Picoseconds};
use solo_sim::memory::dram::{DramCounts, Offer, Served};
use solo_sim::memory::fixtures::ddr3_1600k;
use solo_sim::memory::{Completion, Dram, PhysicalAddress, RowOutcome};

const CLOCK: u64 = 1250;
const ROW: u64 = 1 << 16;
const BANK: u64 = 1 << 13;

fn memory(description: &Description) -> Dram {
    Dram::new(description, Bytes::new(64), 4).unwrap()
}

fn no_refresh() -> Description {
    let mut description = ddr3_1600k();
    description.timing.refi = 0;
    description
}

/// One read on an otherwise idle memory.
fn read(dram: &mut Dram, at: u64, core: u16, address: u64) -> Completion {
    let id = dram.submit(Picoseconds::new(at * CLOCK), CoreId(core), PhysicalAddress(address), false);
    let mut answer = None;
    while let Some(next) = dram.next_event() {
        dram.advance(next, |served| {
            if let Served::Read(completion) = served {
                assert_eq!(completion.request, id);
                answer = Some(*completion);
            }
        });
        if answer.is_some() {
            break;
        }
    }
    answer.unwrap()
}

fn clocks(completion: &Completion, from: u64) -> u64 {
    completion.at.get() / CLOCK - from
}

#[test]
fn unloaded_reads_take_what_the_timing_says() {
    let mut dram = memory(&no_refresh());
    let closed = read(&mut dram, 0, 0, 0);
    assert_eq!((clocks(&closed, 0), closed.row), (11 + 11 + 4, RowOutcome::Closed));
    let hit = read(&mut dram, 1000, 0, 64);
    assert_eq!((clocks(&hit, 1000), hit.row), (11 + 4, RowOutcome::Hit));
    let conflict = read(&mut dram, 2000, 0, ROW);
    assert_eq!((clocks(&conflict, 2000), conflict.row), (11 + 11 + 11 + 4, RowOutcome::Conflict));
    for completion in [closed, hit, conflict] {
        assert_eq!((completion.queue_own, completion.queue_others), (Picoseconds::ZERO, Picoseconds::ZERO));
    }
}

#[test]
fn the_path_and_the_clock_edge_belong_to_the_unloaded_time() {
    let mut description = no_refresh();
    description.path = solo_model::Duration::new(30);
    let mut dram = memory(&description);
    // 100 ps + 15 ns on the way is 15.1 ns: the edge at 16.25 ns. 26 clocks and 15 ns back.
    dram.submit(Picoseconds::new(100), CoreId(0), PhysicalAddress(0), false);
    let mut at = 0;
    dram.advance(Picoseconds::new(1_000_000), |served| {
        if let Served::Read(completion) = served {
            assert_eq!(completion.unloaded.get(), completion.at.get() - 100);
            at = completion.at.get();
        }
    });
    assert_eq!(at, 16_250 + 26 * CLOCK + 15_000);
}

#[test]
fn a_closed_page_is_closed_for_everyone() {
    let mut dram = memory(&Description { page_policy: PagePolicy::Closed, ..no_refresh() });
    for (number, address) in [0, 64, ROW].into_iter().enumerate() {
        let from = number as u64 * 1000;
        let answer = read(&mut dram, from, 0, address);
        assert_eq!((clocks(&answer, from), answer.row), (26, RowOutcome::Closed));
    }
}

#[test]
fn a_row_that_another_core_closed_is_interference() {
    let mut dram = memory(&no_refresh());
    read(&mut dram, 0, 0, 0);
    read(&mut dram, 1000, 1, ROW);
    let robbed = read(&mut dram, 2000, 0, 64);
    assert_eq!(robbed.row, RowOutcome::Conflict);
    assert_eq!(robbed.unloaded.get(), 15 * CLOCK);
    assert_eq!(robbed.queue_others.get(), 22 * CLOCK);
    assert_eq!(robbed.queue_own, Picoseconds::ZERO);
}

#[test]
fn a_refresh_closes_rows_and_delays_by_its_length() {
    let mut dram = memory(&ddr3_1600k());
    read(&mut dram, 6000, 0, 0);
    // Due at 6240: all banks precharged at once (tRAS has passed), tRP, tRFC.
    let answer = read(&mut dram, 6250, 0, 64);
    assert_eq!(clocks(&answer, 0), 6240 + 11 + 280 + 26);
    assert_eq!(answer.row, RowOutcome::Closed);
    assert_eq!(answer.unloaded.get(), answer.at.get() - 6250 * CLOCK);
    assert_eq!(dram.counts().refreshes, 1);
}

#[test]
fn refreshes_of_an_idle_memory_are_caught_up() {
    let mut dram = memory(&ddr3_1600k());
    let answer = read(&mut dram, 6240 * 1000 + 3000, 0, 0);
    assert_eq!(clocks(&answer, 6240 * 1000 + 3000), 26);
    assert_eq!(dram.counts().refreshes, 1000);
}

/// Offers `requests` as fast as the memory takes them; the clock at which the last data have moved.
fn saturate(dram: Dram, requests: impl Iterator<Item = (u64, bool)>) -> (u64, DramCounts) {
    let mut offer = Offer::new(dram);
    requests.for_each(|(address, write)| offer.request(PhysicalAddress(address), write));
    let (end, counts) = offer.finish();
    (end.get() / CLOCK, counts)
}

fn per_request(description: &Description, requests: u64, address: impl Fn(u64) -> (u64, bool)) -> f64 {
    saturate(memory(description), (0..requests).map(address)).0 as f64 / requests as f64
}

fn within(actual: f64, expected: f64, tolerance: f64) {
    assert!((actual / expected - 1.0).abs() <= tolerance, "{actual} instead of {expected} clocks a request");
}

#[test]
fn saturated_sequential_reads_fill_the_data_bus() {
    // tCCD = BL/2 = 4 clocks a line: the next row is opened while this one is read.
    within(per_request(&no_refresh(), 50_000, |n| (n * 64, false)), 4.0, 0.001);
    // With refresh: each tREFI loses the refresh and the reopening of a row.
    let lost = 1.0 / (1.0 - (280.0 + 11.0 + 11.0) / 6240.0);
    within(per_request(&ddr3_1600k(), 50_000, |n| (n * 64, false)), 4.0 * lost, 0.01);
}

#[test]
fn saturated_conflicts_in_one_bank_take_trc() {
    within(per_request(&no_refresh(), 20_000, |n| (n * ROW, false)), 39.0, 0.001);
}

#[test]
fn banks_round_robin_are_bound_by_activations() {
    // A new row in each of eight banks in turn: four activations a tFAW of 24 clocks.
    within(per_request(&no_refresh(), 50_000, |n| (n % 8 * BANK + n / 8 * ROW, false)), 6.0, 0.002);
}

#[test]
fn writes_to_one_bank_take_their_recovery() {
    // tRCD + CWL + BL/2 + tWR + tRP between activations of the same bank: 11 + 8 + 4 + 12 + 11.
    within(per_request(&no_refresh(), 20_000, |n| (n * ROW, true)), 46.0, 0.001);
}

#[test]
fn a_full_queue_says_so_and_takes_again() {
    let mut dram = memory(&Description { queue: 2, ..no_refresh() });
    let send =
        |dram: &mut Dram, n: u64| dram.enqueue(Picoseconds::ZERO, CoreId(0), PhysicalAddress(n * ROW), false);
    assert!(send(&mut dram, 0).is_ok() && send(&mut dram, 1).is_ok());
    assert_eq!(send(&mut dram, 2).unwrap_err().channel, 0);
    dram.advance(Picoseconds::new(100 * CLOCK), |_| {});
    assert!(send(&mut dram, 2).is_ok());
}

#[test]
fn in_order_rows_are_counted_exactly() {
    let dram = memory(&Description { order: RequestOrder::Fcfs, ..no_refresh() });
    // Rows 0 0 1 1 2 2 ... of one bank: the first closed, then a conflict and a hit in turn.
    let (_, counts) = saturate(dram, (0..1000).map(|n| (n / 2 * ROW + n % 2 * 64, false)));
    assert_eq!((counts.row_closed, counts.row_conflicts, counts.row_hits), (1, 499, 500));
}

#[test]
fn a_line_that_waits_to_be_written_is_read_from_the_queue() {
    let mut dram = memory(&no_refresh());
    dram.submit(Picoseconds::ZERO, CoreId(0), PhysicalAddress(64), true);
    let answer = read(&mut dram, 100, 0, 64);
    assert_eq!((answer.row, clocks(&answer, 100)), (RowOutcome::Forwarded, 0));
    dram.flush();
    dram.advance(Picoseconds::new(1_000_000), |_| {});
    assert_eq!((dram.counts().writes, dram.waiting()), (1, 0));
}

#[test]
fn contradictions_are_refused() {
    let refuse = |change: fn(&mut Description)| {
        let mut description = ddr3_1600k();
        change(&mut description);
        Dram::new(&description, Bytes::new(64), 1).unwrap_err().to_string()
    };
    assert_eq!(refuse(|dram| dram.timing.rc = 30), "tRC (30) must not be below tRAS + tRP (39)");
    assert_eq!(refuse(|dram| dram.timing.cl = 0), "CL must be above zero");
    assert!(refuse(|dram| dram.bus_width = Bytes::new(16)).contains("a cache line is 64B"));
    assert!(
        refuse(|dram| dram.bank_bits = vec![solo_sim::memory::fixtures::bit(13); 8]).contains("256 banks")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever is asked: never faster than the bus, tRC in a bank, or four activations a tFAW; every request
    /// is served once, its parts add up, and a core alone is never interfered with.
    #[test]
    fn bounds_hold(
        requests in prop::collection::vec((0_u64..4096, prop::bool::weighted(0.3), 0_u16..3, 0_u64..40), 1..400),
        one_core in any::<bool>(),
        fcfs in any::<bool>(),
        closed in any::<bool>(),
        queue in 1_u16..40,
    ) {
        let mut description = Description { queue, ..ddr3_1600k() };
        if fcfs { description.order = RequestOrder::Fcfs; }
        if closed { description.page_policy = PagePolicy::Closed; }
        let mut dram = memory(&description);
        let mut submitted = Vec::new();
        let mut ends: Vec<u64> = Vec::new();
        let mut answered = 0_u64;
        let mut time = 0;
        let mut activations = 0_u64;
        let mut sink = |served: &Served, submitted: &[u64]| {
            let (at, row) = match *served {
                Served::Read(done) => {
                    let total = done.at.get() - submitted[done.request.0 as usize];
                    assert_eq!(total, (done.unloaded + done.queue_own + done.queue_others).get());
                    assert!(!one_core || done.queue_others.is_zero());
                    (done.at, done.row)
                }
                Served::Write { at, row, .. } => (at, row),
            };
            answered += 1;
            activations += u64::from(matches!(row, RowOutcome::Closed | RowOutcome::Conflict));
            if row != RowOutcome::Forwarded { ends.push(at.get() / CLOCK); }
        };
        for (place, write, core, gap) in &requests {
            time += gap * 500;
            while let Some(next) = dram.next_event().filter(|next| next.get() <= time) {
                dram.advance(next, |served| sink(served, &submitted));
            }
            let core = CoreId(if one_core { 1 } else { *core });
            let address = PhysicalAddress(place * 64 * 37);
            submitted.push(time);
            dram.submit(Picoseconds::new(time), core, address, *write);
        }
        dram.flush();
        while let Some(next) = dram.next_event() {
            dram.advance(next, |served| sink(served, &submitted));
        }
        prop_assert_eq!(answered, requests.len() as u64);
        ends.sort_unstable();
        prop_assert!(ends.windows(2).all(|pair| pair[1] - pair[0] >= 4), "two lines within a burst");
        let span = ends.last().copied().unwrap_or(0);
        prop_assert!(activations <= 4 + span / 24 * 4 + 4);
    }
}
