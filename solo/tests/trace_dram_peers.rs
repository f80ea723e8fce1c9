//! `solo trace dram` beside other people's cycle-accurate DRAM simulators: DRAMsim3 and Ramulator, which `./x peers` builds
//! from their packages. Skipped, with the reason printed, where that has not been done.

mod common;

use common::{root, solo};
use serde_json::Value;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const REQUESTS: u64 = 20_000;
const LINE: u64 = 64;
const BANK: u64 = 1 << 13;
const ROW: u64 = 1 << 16;
/// Ramulator's package reads beyond a table for rows from 512 on.
const MEMORY: u64 = 512 * ROW;

struct Stream {
    name: &'static str,
    /// Addresses, and whether each is written.
    requests: Vec<(u64, bool)>,
    /// How far the clocks of both may lie apart, in thousandths.
    within: i64,
    /// That holds where DRAMsim3 looks at 32 commands of each bank, as ours does, and not at eight.
    deep: bool,
}

/// The same numbers each time (xorshift64).
struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

/// The streams of addresses that both tests have, all inside [`MEMORY`].
fn address(kind: &str, n: u64, draws: &mut Draws) -> u64 {
    let place = match kind {
        "sequential" => n * LINE,
        "every second line" => n * 2 * LINE,
        "every 1 KiB" => n << 10,
        "every 4 KiB" => n << 12,
        "random lines" => draws.below(MEMORY / LINE) * LINE,
        "random lines of 256 KiB" => draws.below(1 << 12) * LINE,
        "one bank, a new row each" => n * ROW,
        "banks in turn, a new row each" => n % 8 * BANK + n / 8 * ROW,
        "two sequences, rows of the same bank" => n / 2 * LINE + n % 2 * (MEMORY / 2),
        other => panic!("{other}"),
    };
    place % MEMORY
}

fn stream(name: &'static str, within: i64, one: impl FnMut(u64) -> (u64, bool)) -> Stream {
    Stream { name, requests: (0..REQUESTS).map(one).collect(), within, deep: false }
}

/// As [`stream`], of requests that need a view of many of a bank.
fn deep(name: &'static str, within: i64, one: impl FnMut(u64) -> (u64, bool)) -> Stream {
    Stream { deep: true, ..stream(name, within, one) }
}

fn reads() -> Vec<Stream> {
    let mut draws = Draws(7);
    let mut all: Vec<Stream> = [
        ("sequential", 20),
        ("every second line", 20),
        ("every 1 KiB", 20),
        ("every 4 KiB", 20),
        ("random lines", 20),
        ("one bank, a new row each", 20),
        ("banks in turn, a new row each", 20),
        // DRAMsim3 moves a line once for all reads that wait for it, and so stays below four clocks a read.
        ("random lines of 256 KiB", 30),
    ]
    .map(|(name, within)| stream(name, within, |n| (address(name, n, &mut draws), false)))
    .into();
    let two = "two sequences, rows of the same bank";
    all.push(deep(two, 30, |n| (address(two, n, &mut draws), false)));
    let mut run = 0;
    all.push(stream("random runs of four lines", 30, |n| {
        run = if n % 4 == 0 { draws.below(MEMORY / 256) * 256 } else { run + LINE };
        (run, false)
    }));
    all
}

fn a_third_writes() -> Vec<Stream> {
    let mut draws = Draws(9);
    let third = |n: u64| n % 3 == 2;
    let mut all: Vec<Stream> = [
        ("sequential", 80),
        ("random lines", 80),
        ("one bank, a new row each", 80),
        ("banks in turn, a new row each", 80),
    ]
    .map(|(name, within)| stream(name, within, |n| (address(name, n, &mut draws), third(n))))
    .into();
    all.push(deep("every 4 KiB", 80, |n| (address("every 4 KiB", n, &mut draws), third(n))));
    all.push(stream("sequential, drawn", 80, |n| (n * LINE, draws.below(3) == 0)));
    all.push(stream("random lines, drawn", 80, |_| (draws.below(MEMORY / LINE) * LINE, draws.below(3) == 0)));
    all.push(stream("copy: two lines read, one written elsewhere", 80, |n| {
        (if third(n) { MEMORY / 2 + n / 3 * LINE } else { (n / 3 * 2 + n % 3) * LINE }, third(n))
    }));
    let mut run = (0, false);
    all.push(stream("random runs of four lines, drawn", 80, |n| {
        let new = n % 4 == 0;
        run =
            if new { (draws.below(MEMORY / 256) * 256, draws.below(3) == 0) } else { (run.0 + LINE, run.1) };
        run
    }));
    all
}

/// The command of a peer, if it has been built.
fn peer(name: &str) -> Option<PathBuf> {
    let command = root().join("peers/target/release").join(name);
    if !command.exists() {
        println!("skipped: DRAM beside {name}: `./x peers` builds it from its package");
        return None;
    }
    Some(command)
}

fn write(folder: &Path, requests: &[(u64, bool)]) -> PathBuf {
    let path = folder.join("requests");
    let mut text = String::new();
    for (address, write) in requests {
        writeln!(text, "{address:#x} {} 0", if *write { "WRITE" } else { "READ" }).unwrap();
    }
    fs::write(&path, text).unwrap();
    path
}

fn ours(trace: &Path, device: &str, more: &[&str]) -> i64 {
    let output =
        solo().args(["trace", "dram", "--json", "--device", device]).args(more).arg(trace).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice::<Value>(&output.stdout).unwrap()["dram"]["clocks"].as_i64().unwrap()
}

fn theirs(peer: &Path, trace: &Path, more: &[&str]) -> i64 {
    let output = Command::new(peer).arg(trace).args(more).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
}

/// Prints a row, and returns it if the clocks lie further apart than `within`.
fn compare(name: &str, what: &str, ours: i64, theirs: i64, within: Option<i64>) -> Option<String> {
    let thousandths = (ours - theirs) as f64 * 1000.0 / theirs as f64;
    let row = format!("| {name} | {what} | {ours} | {theirs} | {:+.2} % |", thousandths / 10.0);
    println!("{row}");
    within.is_some_and(|within| thousandths.abs() > within as f64).then_some(row)
}

fn beside_dramsim3(streams: &[Stream]) {
    let Some(peer) = peer("dramsim3") else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut apart = vec![];
    for stream in streams {
        let trace = write(folder.path(), &stream.requests);
        for (what, more) in [("no refresh", &["--no-refresh"][..]), ("refresh", &[])] {
            let ours = ours(&trace, "ddr3-1600k", more);
            let bound = (!stream.deep).then_some(stream.within);
            apart.extend(compare(stream.name, what, ours, theirs(&peer, &trace, more), bound));
            if stream.deep {
                let theirs = theirs(&peer, &trace, &[more, &["--bank-queue=32"]].concat());
                let what = format!("{what}, bank queues of 32");
                apart.extend(compare(stream.name, &what, ours, theirs, Some(stream.within)));
            }
        }
    }
    assert!(apart.is_empty(), "{apart:#?}");
}

#[test]
fn reads_take_as_long_as_in_dramsim3() {
    beside_dramsim3(&reads());
}

#[test]
fn a_third_writes_take_about_as_long_as_in_dramsim3() {
    beside_dramsim3(&a_third_writes());
}

/// Ramulator's package has a device of 4 Gbit chips only, whose refreshes take 208 clocks, and a queue of writes of 512
/// places; so reads only, and never more on their way than 32 wait and 4 move.
#[test]
fn reads_take_as_long_as_in_ramulator() {
    let Some(peer) = peer("ramulator") else { return };
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(root().join("platforms/dram/ddr3-1600k.toml")).unwrap();
    let smaller = text.replace("rfc = \"280 @D\"", "rfc = \"208 @D\"");
    assert_ne!(text, smaller);
    let device = folder.path().join("4gbit.toml");
    fs::write(&device, smaller).unwrap();
    let mut apart = vec![];
    for stream in reads() {
        // It takes a second for twenty thousand.
        let trace = write(folder.path(), &stream.requests[..REQUESTS as usize / 2]);
        let (ours, theirs) = (ours(&trace, device.to_str().unwrap(), &[]), theirs(&peer, &trace, &[]));
        // It stops preferring a row after 16 hits; ours does not.
        let bound = (!stream.deep).then_some(stream.within);
        apart.extend(compare(stream.name, "refresh", ours, theirs, bound));
    }
    assert!(apart.is_empty(), "{apart:#?}");
}
