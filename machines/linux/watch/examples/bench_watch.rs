//! What watching costs beside `perf stat`, and whether 10 000 samples a second all arrive.
//!
//! ```text
//! cargo run --release -p solo-watch --example bench_watch [PAIRS [SECONDS]]
//! ```
//!
//! A busy program of two threads does a fixed amount of work: alone, under `perf stat -I 10` and under this
//! library at 10 ms, in turns. The whole CPU time of each (program and watcher together) is compared pair by pair; a
//! shared machine disturbs CPU time much less than wall time. Then a program faults in 10 000 pages a second, and
//! every fault is a sample.
#![allow(unsafe_code)]

use solo_model::Duration;
use solo_observe::set::{NoNames, RawLayout};
use solo_observe::{Filter, parse_set};
use solo_perf::files::Host;
use solo_watch::{Columns, Row, RowKind};
use solo_watch::{Modules, Per, Sink, Target, WatchOptions, watch};
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number =
        |i: usize, default: u64| arguments.get(i).and_then(|text| text.parse().ok()).unwrap_or(default);
    match arguments.first().map(String::as_str) {
        Some("busy") => busy(number(1, 1), arguments.get(2)),
        Some("fault") => fault(number(1, 1)),
        Some("watch") => watch_and_write(&arguments[1..]),
        _ => {
            overhead(number(0, 9));
            samples(number(1, 60));
        }
    }
}

/// Two threads that compute; always the same work. Leaves its own CPU time in a file.
fn busy(size: u64, own: Option<&String>) {
    let work = move || (0..size * 100_000_000).fold(0_u64, |sum, i| std::hint::black_box(sum ^ i));
    let other = std::thread::spawn(work);
    std::hint::black_box(work());
    let _ = other.join();
    if let Some(path) = own {
        std::fs::write(path, usage(libc::RUSAGE_SELF).to_string()).expect("the benchmark may write its file");
    }
}

/// 10 000 page faults a second, in bursts of 100.
fn fault(seconds: u64) {
    let begin = Instant::now();
    let mut kept = Vec::new();
    for burst in 0..seconds * 100 {
        let mut memory = vec![0_u8; 100 * 4096];
        memory.chunks_mut(4096).for_each(|page| page[0] = 1);
        kept.push(memory);
        let next = std::time::Duration::from_millis(10 * (burst + 1));
        std::thread::sleep(next.saturating_sub(begin.elapsed()));
    }
}

struct Csv(io::BufWriter<io::Sink>);

impl Sink for Csv {
    fn begin(&mut self, columns: &Columns) -> io::Result<()> {
        writeln!(self.0, "{columns:?}")
    }
    fn row(&mut self, row: &Row) -> io::Result<()> {
        writeln!(self.0, "{},{},{:?},{:?}", row.number, row.at, row.subject, row.counts)
    }
}

fn options(set: &str, every: Option<Duration>) -> WatchOptions {
    WatchOptions {
        sets: vec![parse_set(set, &NoNames, RawLayout::X86).expect("the benchmark's events are right")],
        metrics: Vec::new(),
        per: Per::Thread,
        every,
        rows_max: None,
        samples_max: None,
        time_max: None,
        rights: solo_watch::rights::Rights::Kept,
        filter: Filter::ALL,
        cpus: None,
        adopt: false,
    }
}

fn watched(target: &Target, options: &WatchOptions, sink: &mut dyn Sink) -> solo_watch::WatchOutcome {
    let stop = Arc::new(AtomicBool::new(false));
    match watch(target, options, Modules::none(), &Host::new(), &stop, sink) {
        Ok(outcome) => outcome,
        Err(error) => {
            println!("this machine cannot: {error}");
            std::process::exit(3);
        }
    }
}

fn watch_and_write(command: &[String]) {
    let command = command.iter().map(OsString::from).collect();
    let options = options("page-faults,context-switches", Some(Duration::from_millis(10)));
    watched(&Target::Command(command), &options, &mut Csv(io::BufWriter::new(io::sink())));
}

/// The CPU time of a command with all that it waited for, in microseconds.
fn cpu_time(command: &mut Command) -> u64 {
    let before = children();
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(status.is_ok_and(|status| status.success()), "{command:?}");
    children() - before
}

fn children() -> u64 {
    usage(libc::RUSAGE_CHILDREN)
}

fn usage(whose: libc::c_int) -> u64 {
    // SAFETY: all zeros is a valid structure, and the call fills it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(whose, &raw mut usage);
        usage
    };
    let micros = |time: libc::timeval| time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
    micros(usage.ru_utime) + micros(usage.ru_stime)
}

/// What one turn cost, in microseconds of CPU time.
struct Cost {
    program: u64,
    watcher: u64,
}

/// The program's own time from its file. `perf` does not collect its program's usage, this library does: what
/// the system adds up is then the watcher's alone, or both.
fn cost(command: &mut Command, own: &std::path::Path) -> Cost {
    let both = cpu_time(command);
    let program = std::fs::read_to_string(own).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    Cost { program, watcher: both.checked_sub(program).unwrap_or(both) }
}

fn overhead(pairs: u64) {
    if pairs == 0 {
        return;
    }
    let me = std::env::current_exe().expect("a program has a path");
    let own = std::env::temp_dir().join(format!("solo-bench-{}", std::process::id()));
    let path = own.to_string_lossy().into_owned();
    let work = ["busy", "40", &path];
    if Command::new("perf").arg("--version").output().is_err() {
        println!("no comparison: perf is not installed");
        return;
    }
    let mut ratios = Vec::new();
    println!(
        "CPU time in microseconds: the program alone; program + watcher under perf stat -I 10 and under solo"
    );
    println!(
        "{:>4} {:>10} {:>18} {:>18} {:>10} {:>10}",
        "pair", "alone", "perf", "solo", "whole", "watchers"
    );
    for pair in 1..=pairs {
        let alone = cost(Command::new(&me).args(work), &own);
        let perf = cost(
            Command::new("perf")
                .args(["stat", "-x,", "-I", "10", "-e", "page-faults,context-switches", "--"])
                .arg(&me)
                .args(work),
            &own,
        );
        let solo = cost(Command::new(&me).arg("watch").arg(&me).args(work), &own);
        let whole = (solo.program + solo.watcher) as f64 / (perf.program + perf.watcher) as f64;
        let watchers = solo.watcher as f64 / perf.watcher as f64;
        println!(
            "{pair:>4} {:>10} {:>10} + {:>5} {:>10} + {:>5} {whole:>10.4} {watchers:>10.3}",
            alone.program, perf.program, perf.watcher, solo.program, solo.watcher
        );
        ratios.push((whole, watchers));
    }
    let _ = std::fs::remove_file(&own);
    let median = |of: fn(&(f64, f64)) -> f64| {
        let mut values: Vec<f64> = ratios.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
    };
    println!("solo/perf, median: whole {:.4}, watchers alone {:.3}", median(|r| r.0), median(|r| r.1));
}

#[derive(Default)]
struct Counted {
    samples: u64,
}

impl Sink for Counted {
    fn begin(&mut self, _: &Columns) -> io::Result<()> {
        Ok(())
    }
    fn row(&mut self, row: &Row) -> io::Result<()> {
        self.samples += u64::from(row.kind == RowKind::Overflow);
        Ok(())
    }
}

fn samples(seconds: u64) {
    let me = std::env::current_exe().expect("a program has a path");
    let command = vec![me.into_os_string(), "fault".into(), seconds.to_string().into()];
    let mut counted = Counted::default();
    let outcome = watched(&Target::Command(command), &options("page-faults:ebs=1", None), &mut counted);
    let total = outcome.totals.first().and_then(|total| total.count).unwrap_or(0);
    println!(
        "{} samples of {total} page faults in {} ({:.0} a second), {} lost",
        counted.samples,
        outcome.elapsed,
        counted.samples as f64 * 1e9 / outcome.elapsed.get() as f64,
        outcome.doubts.lost
    );
    println!("{}", outcome.doubts.line());
}
