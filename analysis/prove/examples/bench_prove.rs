//! Rates of the tests on the distributions of thesis 5.1, one thread, beside the rates measured of SchedCAT.
//!
//! `cargo run --release -p solo-prove --example bench_prove -- [SECONDS PER CELL] [--rows TEXT] [--peer CMD]`. The peer's
//! rates were measured once on another machine (SchedCAT native, packing in Python, task sets per CPU second on a loaded
//! machine); ratios between machines are indications, not measurements.
//!
//! `--peer CMD` measures a peer in the same run, in the wire form of `solo_prove::peer`: by what it says each test
//! took (`cpu_ns`), else by the wall clock of the process less that of one without sets; verdicts that differ are
//! counted. `--sets N` draws so many for each row (300), `--rows` takes the rows whose names contain the text,
//! `--tests` these tests.

mod sets;

use sets::{Draw, draw_set};
use solo_prove::catalogue::find;
use solo_prove::peer::Peer;
use solo_prove::{Effort, TaskSet};
use std::hint::black_box;
use std::time::{Duration, Instant};

const TESTS: [&str; 11] =
    ["gfb", "bak", "bcl", "bcli", "load", "rta", "bar", "ffdbf", "pedf_ffd", "pedf_bfd", "pedf_wfd"];

/// Utilisations, periods, cores, and SchedCAT's rates in the order of [`TESTS`].
const ROWS: [(&str, &str, u32, [f64; 11]); 16] = [
    ("uni-light", "short", 8, [16e3, 2613., 9943., 1775., 3447., 68., 5.4, 2.6, 9459., 4739., 7102.]),
    ("uni-light", "moderate", 8, [14e3, 2497., 9284., 1665., 1565., 69., 5.5, 2.7, 10e3, 4838., 7132.]),
    ("uni-light", "long", 8, [13e3, 1603., 4558., 1681., 2069., 77., 7.6, 2.9, 10e3, 4833., 7163.]),
    ("uni-medium", "short", 8, [79e3, 18e3, 55e3, 42e3, 5712., 779., 633., 224., 45e3, 23e3, 35e3]),
    ("uni-medium", "moderate", 8, [81e3, 18e3, 55e3, 44e3, 5590., 422., 616., 215., 45e3, 23e3, 34e3]),
    ("uni-medium", "long", 8, [75e3, 15e3, 45e3, 37e3, 4968., 190., 574., 258., 44e3, 23e3, 35e3]),
    ("uni-heavy", "short", 8, [200e3, 147e3, 97e3, 234e3, 5356., 175., 1357., 4054., 96e3, 59e3, 86e3]),
    ("uni-heavy", "moderate", 8, [195e3, 145e3, 100e3, 229e3, 5282., 74., 1667., 3695., 102e3, 60e3, 89e3]),
    ("uni-heavy", "long", 8, [184e3, 129e3, 91e3, 230e3, 5064., 27., 1686., 3920., 101e3, 61e3, 87e3]),
    ("bimo-light", "short", 8, [38e3, 7224., 19e3, 6315., 4700., 142., 351., 962., 22e3, 11e3, 17e3]),
    ("bimo-light", "moderate", 8, [35e3, 7255., 19e3, 6336., 3772., 93., 336., 933., 22e3, 11e3, 16e3]),
    ("bimo-light", "long", 8, [33e3, 5736., 13e3, 5753., 3858., 108., 329., 1295., 23e3, 11e3, 16e3]),
    ("uni-light", "moderate", 100, [586., 142., 568., 7.1, 364., 2.7, 1.0, 0.5, 308., 62., 117.]),
    ("uni-medium", "moderate", 100, [4512., 402., 1726., 289., 1774., 5.0, 65., 0.5, 1670., 305., 602.]),
    ("uni-heavy", "moderate", 100, [15e3, 3982., 911., 2951., 3669., 43., 1.0, 1457., 4801., 1177., 2177.]),
    ("bimo-light", "moderate", 100, [1831., 523., 1091., 36., 978., 1.1, 21., 339., 735., 137., 273.]),
];

/// Sets for each row, spread evenly over the caps, unless asked otherwise.
const SETS: usize = 300;

/// The CPU time of this thread, or the wall clock where the system does not tell.
fn spent(since: Instant) -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|text| text.split_whitespace().next().and_then(|word| word.parse().ok()));
    nanoseconds.map_or_else(|| since.elapsed(), Duration::from_nanos)
}

/// Task sets a CPU second: whole rounds over the sets until the time is over, or as many sets as fit.
fn rate(id: &str, sets: &[TaskSet], least: Duration) -> (f64, usize) {
    let test = find(id).expect("a test of that name");
    let started = Instant::now();
    let before = spent(started);
    let (mut judged, mut accepted, mut next) = (0usize, 0usize, 4);
    // A stride through the sets keeps a cut-off round spread over the caps.
    for index in (0..).map(|index: usize| index * 97 % sets.len()) {
        accepted += usize::from((test.run)(black_box(&sets[index]), &mut Effort::unlimited()).accepts());
        judged += 1;
        // The quickest tests take less time than a look at the clock, which is therefore looked at ever less often.
        if judged < next {
            continue;
        }
        next = judged + judged.div_ceil(8);
        // Time taken by others does not end the cell, unless they take nearly all of it.
        let waited = started.elapsed();
        if waited >= least && (spent(started).saturating_sub(before) * 2 >= least || waited >= least * 10) {
            break;
        }
    }
    let spent = spent(started).saturating_sub(before).max(Duration::from_nanos(1));
    (judged as f64 / spent.as_secs_f64(), 100 * accepted / judged)
}

/// What a peer took for the sets in this run, where it or the clock can tell, and how many verdicts differ from ours.
fn compare(peer: &Peer, id: &str, sets: &[TaskSet]) -> Option<(Option<f64>, usize)> {
    let test = find(id)?;
    let sets: Vec<&TaskSet> = sets.iter().collect();
    let timed = |sets: &[&TaskSet]| {
        let started = Instant::now();
        peer.ask(&[test], sets).ok().map(|answers| (started.elapsed(), answers))
    };
    let (idle, _) = timed(&[])?;
    let (busy, theirs) = timed(&sets)?;
    let ours = sets.iter().map(|set| (test.run)(set, &mut Effort::default()).decided());
    let differ = ours.zip(&theirs).filter(|(ours, theirs)| *ours != theirs.verdicts[0]).count();
    let told: Option<u64> = theirs.iter().map(|answer| answer.cpu_ns[0]).sum();
    let spent = match told {
        Some(nanoseconds) => Some(Duration::from_nanos(nanoseconds)),
        None => Some(busy.saturating_sub(idle)).filter(|&spent| spent > idle / 4),
    };
    let rate = spent.map(|spent| theirs.len() as f64 / spent.as_secs_f64());
    Some((rate, differ + sets.len() - theirs.len()))
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let value = |option: &str| {
        let at = words.iter().position(|word| word == option)?;
        words.get(at + 1).map(String::as_str)
    };
    let (rows, tests) = (value("--rows").unwrap_or(""), value("--tests"));
    let peer_command = value("--peer").map(|command| Peer { command: command.to_owned() });
    let count = value("--sets").and_then(|text| text.parse().ok()).unwrap_or(SETS).max(2);
    let seconds: f64 = words.first().and_then(|text| text.parse().ok()).unwrap_or(0.2);
    println!("sets a CPU second, one thread (peer's rate, ratio; share of sets accepted)");
    for (utilizations, periods, cores, peer) in ROWS {
        if !format!("{utilizations} {periods} m={cores}").contains(rows) {
            continue;
        }
        let mut draw = Draw(0x5eed_0000_0000_0001 + u64::from(cores));
        let cap = |index: usize| f64::from(cores) * (0.25 + 0.75 * index as f64 / (count - 1) as f64);
        let sets: Vec<TaskSet> =
            (0..count).map(|index| draw_set(utilizations, periods, cores, cap(index), &mut draw)).collect();
        let tasks: usize = sets.iter().map(|set| set.tasks().len()).sum();
        println!("{utilizations} {periods} m={cores} n={}", tasks / count);
        for (id, peer) in TESTS.iter().zip(peer) {
            if tests.is_some_and(|tests| !tests.split(',').any(|test| test == *id)) {
                continue;
            }
            let (rate, accepted) = rate(id, &sets, Duration::from_secs_f64(seconds));
            print!("  {id:<9} {rate:>12.0}   ({peer:>9.1}, {:>8.1}x; {accepted:>3} %)", rate / peer);
            match peer_command.as_ref().map(|peer| compare(peer, id, &sets)) {
                None => println!(),
                Some(None) => println!("   the peer did not answer"),
                Some(Some((None, differ))) => println!("   too quick to time, {differ} verdicts differ"),
                Some(Some((Some(theirs), differ))) => {
                    println!(
                        "   beside it {theirs:>10.0}, {:>8.1}x, {differ} verdicts differ",
                        rate / theirs
                    );
                }
            }
        }
    }
    if "rta n=m+1".contains(rows) && tests.is_none_or(|tests| tests.contains("rta")) {
        climb(Duration::from_secs_f64(seconds), peer_command.as_ref());
    }
}

/// RTA where one more heavy task than cores makes the published iteration creep.
fn climb(least: Duration, peer_command: Option<&Peer>) {
    let mut draw = Draw(0x5eed_0000_0000_0002);
    for (periods, peer) in [("short", 175.0), ("moderate", 74.0), ("long", 27.0)] {
        let mut sets = Vec::new();
        while sets.len() < SETS {
            let set = draw_set("uni-heavy", periods, 8, 7.9, &mut draw);
            if set.tasks().len() == 9 {
                sets.push(set);
            }
        }
        let (rate, accepted) = rate("rta", &sets, least);
        print!("rta uni-heavy {periods} m=8 n=9: {rate:.0} ({peer}, {:.1}x; {accepted} %)", rate / peer);
        match peer_command.and_then(|peer| compare(peer, "rta", &sets)) {
            Some((Some(theirs), differ)) => {
                println!("   beside it {theirs:.1}, {:.0}x, {differ} verdicts differ", rate / theirs);
            }
            _ => println!(),
        }
    }
}
