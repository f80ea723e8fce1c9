//! Each timing of a DRAM device binds where it should and by as much as it says: one is changed at a time, under requests
//! that wait for nothing else. That no command ever comes too early, and none later than it may, is shown by
//! `cargo test -p solo-sim --lib clocked`.

use solo_model::platform::{Dram as Description, DramTiming};
use solo_model::{Bytes, CoreId, Picoseconds};
use solo_sim::memory::dram::{Offer, Served};
use solo_sim::memory::fixtures::ddr3_1600k;
use solo_sim::memory::{Dram, PhysicalAddress};

const CLOCK: u64 = 1250;
const BANK: u64 = 1 << 13;
const ROW: u64 = 1 << 16;

fn device(change: impl Fn(&mut DramTiming)) -> Description {
    let mut description = ddr3_1600k();
    description.timing.refi = 0;
    change(&mut description.timing);
    description
}

fn dram(description: &Description) -> Dram {
    Dram::new(description, Bytes::new(64), 1).expect("the timing is legal")
}

/// Clocks until the last data of these requests have moved, offered as fast as they are taken.
fn clocks(description: &Description, requests: impl Iterator<Item = (u64, bool)>) -> u64 {
    let mut offer = Offer::new(dram(description));
    requests.for_each(|(address, write)| offer.request(PhysicalAddress(address), write));
    offer.finish().0.get() / CLOCK
}

/// Clocks a request of long streams.
fn each(description: &Description, request: impl Fn(u64) -> (u64, bool)) -> f64 {
    let count = 8000;
    clocks(description, (0..count).map(request)) as f64 / count as f64
}

fn near(what: &str, found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 0.003, "{what}: {found} instead of {expected} clocks a request");
}

/// A read, and long after it a read of another row of the bank: how long each takes.
fn apart(description: &Description) -> [u64; 2] {
    let mut dram = dram(description);
    [(0, 0), (1000, ROW)].map(|(at, address)| {
        let mut end = 0;
        dram.submit(Picoseconds::new(at * CLOCK), CoreId(0), PhysicalAddress(address), false);
        dram.advance(Picoseconds::new((at + 500) * CLOCK), |served| {
            if let Served::Read(done) = served {
                end = done.at.get() / CLOCK;
            }
        });
        end - at
    })
}

#[test]
fn a_read_takes_trp_trcd_and_cl() {
    assert_eq!(apart(&device(|_| ())), [11 + 11 + 4, 11 + 11 + 11 + 4]);
    assert_eq!(apart(&device(|t| t.cl = 16)), [31, 42], "CL");
    assert_eq!(apart(&device(|t| t.rcd = 14)), [29, 40], "tRCD");
    assert_eq!(apart(&device(|t| (t.rp, t.rc) = (15, 43))), [26, 41], "tRP");
}

#[test]
fn a_write_takes_trcd_and_cwl() {
    let write = |description: &Description| clocks(description, [(0, true)].into_iter());
    assert_eq!(write(&device(|_| ())), 11 + 8 + 4);
    assert_eq!(write(&device(|t| t.cwl = 12)), 27);
}

#[test]
fn rows_of_a_bank_follow_each_other_by_trc_or_by_what_reads_and_writes_take() {
    let rows = |write| move |n: u64| (n * ROW, write);
    near("tRC", each(&device(|_| ()), rows(false)), 39.0);
    near("tRC", each(&device(|t| t.rc = 50), rows(false)), 50.0);
    near("tRAS", each(&device(|t| (t.ras, t.rc) = (35, 46)), rows(false)), 46.0);
    // Rows that may be closed early are closed tRTP after their read: 11 + 6 + 11, then 11 + 12 + 11.
    near("tRTP", each(&device(|t| (t.ras, t.rc) = (11, 22)), rows(false)), 28.0);
    near("tRTP", each(&device(|t| (t.ras, t.rc, t.rtp) = (11, 22, 12)), rows(false)), 34.0);
    // 11 + 8 + 4 + tWR + 11.
    near("tWR", each(&device(|_| ()), rows(true)), 46.0);
    near("tWR", each(&device(|t| t.wr = 20), rows(true)), 54.0);
}

#[test]
fn rows_of_all_banks_follow_each_other_by_trrd_or_a_quarter_of_tfaw() {
    let banks = |n: u64| (n % 8 * BANK + n / 8 * ROW, false);
    near("tFAW", each(&device(|_| ()), banks), 6.0);
    near("tFAW", each(&device(|t| t.faw = 40), banks), 10.0);
    near("tRRD", each(&device(|t| (t.rrd, t.faw) = (8, 24)), banks), 8.0);
    near("tRRD", each(&device(|t| (t.rrd, t.faw) = (5, 8)), banks), 5.0);
}

#[test]
fn lines_of_a_row_follow_each_other_by_tccd_or_the_data() {
    let lines = |n: u64| (n * 64, false);
    near("the data", each(&device(|_| ()), lines), 4.0);
    near("tCCD", each(&device(|t| t.ccd = 6), lines), 6.0);
    near("the data", each(&device(|t| t.ccd = 2), lines), 4.0);
}

/// A batch of 24 writes is drained down to 8; between it and the reads before and after it the bus turns round, after
/// it tWTR as well.
#[test]
fn reads_after_writes_wait_for_twtr() {
    // Three streams, each through rows of its own bank.
    let mixed = |n: u64| (n / 3 / 128 * ROW + n % 3 * BANK + n / 3 % 128 * 64, n % 3 == 2);
    let of = |wtr| clocks(&device(|t| t.wtr = wtr), (0..9000).map(mixed));
    let (short, long) = (of(6), of(16));
    // 3000 writes in batches of 16: 188 turns of 10 clocks each.
    let turns = (long - short) as f64 / 10.0;
    println!("{short} clocks with tWTR 6, {long} with 16: {turns} turns");
    assert!((185.0..=188.0).contains(&turns), "{turns}");
}

#[test]
fn a_refresh_each_trefi_takes_trfc() {
    let lines = |n: u64| (n * 64, false);
    let of = |refi, rfc| each(&device(|t| (t.refi, t.rfc) = (refi, rfc)), lines);
    // Each loses the refresh, tRP before it and tRCD after it.
    for (refi, rfc) in [(6240, 280), (6240, 560), (3120, 280), (3120, 100)] {
        let lost = f64::from(rfc + 22) / f64::from(refi);
        let (found, expected) = (of(refi, rfc), 4.0 / (1.0 - lost));
        assert!((found / expected - 1.0).abs() < 0.01, "tREFI {refi}, tRFC {rfc}: {found} for {expected}");
    }
}
