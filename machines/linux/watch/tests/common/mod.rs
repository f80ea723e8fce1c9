//! Watching small programs: this test program itself, started again as a workload.
#![allow(dead_code, unreachable_pub, missing_docs)]

use solo_model::Duration;
use solo_observe::set::{NoNames, RawLayout};
use solo_observe::{Filter, parse_set};
use solo_perf::files::Host;
use solo_watch::{Columns, Row};
use solo_watch::{Modules, Per, Sink, Target, WatchError, WatchOptions, WatchOutcome, watch};
use std::ffi::OsString;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Keeps all rows.
#[derive(Default)]
pub struct Kept {
    pub columns: Columns,
    pub rows: Vec<Row>,
}

impl Sink for Kept {
    fn begin(&mut self, columns: &Columns) -> io::Result<()> {
        self.columns = columns.clone();
        Ok(())
    }
    fn row(&mut self, row: &Row) -> io::Result<()> {
        self.rows.push(row.clone());
        Ok(())
    }
}

/// WatchOptions for these sets, 10 ms, per thread.
pub fn options(sets: &[&str]) -> WatchOptions {
    let set = |text: &&str| parse_set(text, &NoNames, RawLayout::X86).expect("the test's events are right");
    WatchOptions {
        sets: sets.iter().map(set).collect(),
        metrics: Vec::new(),
        per: Per::Thread,
        every: Some(Duration::from_millis(10)),
        rows_max: None,
        samples_max: None,
        time_max: None,
        rights: solo_watch::rights::Rights::Kept,
        filter: Filter::ALL,
        cpus: None,
        adopt: false,
    }
}

pub fn shell(script: &str) -> Target {
    Target::Command(vec!["/bin/sh".into(), "-c".into(), script.into()])
}

/// This test program again, doing nothing but `work` (see `workload`), and silent: its result is none of ours.
pub fn again(work: &str) -> Target {
    let program = std::env::current_exe().expect("a test program has a path");
    let script = "exec env SOLO_WORK=\"$1\" \"$0\" --exact workload --test-threads=1 >/dev/null 2>&1";
    let words = ["/bin/sh", "-c", script].map(OsString::from);
    Target::Command(words.into_iter().chain([program.into_os_string(), work.into()]).collect())
}

pub fn run(target: &Target, options: &WatchOptions, sink: &mut dyn Sink) -> Result<WatchOutcome, WatchError> {
    let stop = Arc::new(AtomicBool::new(false));
    watch(target, options, Modules::none(), &Host::new(), &stop, sink)
}

/// True where `perf_event_open` lets us count page faults of others in the kernel, too; else says why not.
pub fn allowed() -> bool {
    let outcome = run(&shell("true"), &options(&["page_faults"]), &mut Kept::default());
    match outcome {
        Ok(outcome) if outcome.notes.is_empty() => true,
        Ok(outcome) => skip(&outcome.notes.join("; ")),
        Err(error) => skip(&error.to_string()),
    }
}

pub fn skip(reason: &str) -> bool {
    println!("skipped: watching programs: {reason}");
    false
}

/// The work that the environment asks for.
pub fn work() {
    let Ok(work) = std::env::var("SOLO_WORK") else { return };
    let (kind, count) = work.split_once(':').unwrap_or((&work, "1"));
    let count: usize = count.parse().expect("a count");
    match kind {
        "threads" => short_threads(count),
        "touch" => {
            let other = std::thread::spawn(move || touch(count));
            touch(count);
            other.join().expect("the thread touches memory");
        }
        "spin" => spin(count as u128),
        "exec" => exec_elsewhere(),
        other => panic!("no work is called {other}"),
    }
}

fn short_threads(count: usize) {
    for _ in 0..count / 10 {
        let threads: Vec<_> = (0..10).map(|_| std::thread::spawn(|| ())).collect();
        for thread in threads {
            thread.join().expect("a short thread ends");
        }
    }
}

/// Faults in that many pages, in pieces too small for huge pages and kept, so that none is used twice.
fn touch(pages: usize) {
    let mut kept = Vec::new();
    for _ in 0..pages / 250 {
        let mut memory = vec![0_u8; 250 * 4096];
        for page in memory.chunks_mut(4096) {
            page[0] = 1;
        }
        kept.push(memory);
    }
    std::hint::black_box(&kept);
}

/// Computes for that many milliseconds of time.
fn spin(milliseconds: u128) {
    let begin = std::time::Instant::now();
    while begin.elapsed().as_millis() < milliseconds {
        std::hint::black_box((0..1000).sum::<u64>());
    }
}

/// A thread that is not its process's first executes another program.
fn exec_elsewhere() {
    use std::os::unix::process::CommandExt;
    let thread = std::thread::spawn(|| std::process::Command::new("sh").args(["-c", "exit 9"]).exec());
    println!("{:?}", thread.join());
}
