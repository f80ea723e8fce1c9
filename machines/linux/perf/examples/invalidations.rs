//! The invalidation benchmark as a real program: what sharing data costs (hpc-invalidations, section 3, Fig. 4).
//!
//! ```text
//! cargo run --release -p solo-perf --example invalidations [ROWS [REPETITIONS]]
//! ```
//!
//! Two arrays of ROWS x ROWS integers. A function sums up each row and then writes both sums into the row's first
//! elements, as often as the row has elements; two such functions run
//!
//! | version | who | data |
//! |---|---|---|
//! | sequential | one thread, one function after the other | the same arrays |
//! | parallel | two threads at the same time | the same arrays: true sharing |
//! | best case | two threads at the same time | arrays of their own |
//! | false sharing | two threads at the same time | every other element each: never the same, always the same lines |
//!
//! The false-sharing threads repeat twice as often, for each has half the elements. Each thread is kept on a core of
//! its own and opens its own regions. Loads that hit a line modified in another core's cache (HITM) are counted where
//! the processor is Intel's; elsewhere the table has no such column.
#![allow(unsafe_code)]

use solo_perf::region::{RegionError, Regions, Total};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const EVENTS: &str = "instructions,cycles,l1_misses,llc_misses,context_switches";
/// MEM_LOAD_L3_HIT_RETIRED.XSNP_HITM, on Intel since Skylake.
const HITM: &str = "0xd2:umask=0x04";

fn events() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    if info.contains("GenuineIntel") { format!("{EVENTS},{HITM}") } else { EVENTS.to_owned() }
}

/// Two arrays, shared by whoever has a reference. Atomics without any order are plain loads and stores.
struct Arrays {
    rows: usize,
    elements: [Vec<AtomicU32>; 2],
}

impl Arrays {
    fn new(rows: usize) -> Self {
        let array = || (0..rows * rows).map(|_| AtomicU32::new(0)).collect();
        Self { rows, elements: [array(), array()] }
    }

    /// The function of Fig. 4 over the elements `first`, `first + step`, ... of each row.
    fn work(&self, first: usize, step: usize, repetitions: usize) {
        for _ in 0..repetitions {
            for row in 0..self.rows {
                let row = row * self.rows..(row + 1) * self.rows;
                let (one, two) = (&self.elements[0][row.clone()], &self.elements[1][row]);
                let (mut sum0, mut sum1) = (0_u32, 0_u32);
                for k in (first..self.rows).step_by(step) {
                    sum0 = sum0.wrapping_add(one[k].load(Ordering::Relaxed));
                    sum1 = sum1.wrapping_add(two[k].load(Ordering::Relaxed));
                }
                for _ in (first..self.rows).step_by(step) {
                    one[first].store(black_box(sum0), Ordering::Relaxed);
                    two[first].store(black_box(sum1), Ordering::Relaxed);
                }
            }
        }
    }
}

/// Keeps this thread on one CPU; without the right to, it stays where it likes.
fn keep_on(cpu: usize) {
    // SAFETY: all zeros is the empty set, and the kernel only reads it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
    }
}

type Totals = BTreeMap<String, Total>;
type Job<'a> = &'a (dyn Fn() + Sync);

/// Runs both jobs at the same time, each counted on its own thread; the longer one's time.
fn both(name: &str, jobs: [Job<'_>; 2], regions: &mut Regions) -> Result<Duration, RegionError> {
    let ready = Barrier::new(2);
    let one = &|cpu: usize| -> Result<(Totals, Duration), RegionError> {
        keep_on(cpu);
        let mut regions = Regions::open(&events())?;
        ready.wait();
        let begin = Instant::now();
        let mark = regions.start();
        jobs[cpu]();
        regions.stop(name, mark);
        Ok((regions.totals().clone(), begin.elapsed()))
    };
    std::thread::scope(|scope| {
        let threads = [0, 1].map(|cpu| scope.spawn(move || one(cpu)));
        let mut longest = Duration::ZERO;
        for thread in threads {
            if let Ok(done) = thread.join() {
                let (totals, time) = done?;
                regions.merge(&totals);
                longest = longest.max(time);
            }
        }
        Ok(longest)
    })
}

fn main() -> Result<(), RegionError> {
    let argument = |i: usize, default: usize| {
        std::env::args().nth(i).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (rows, repetitions) = (argument(1, 64).max(2), argument(2, 10_000));
    let mut regions = Regions::open(&events())?;
    let cost = regions.cost();
    println!(
        "two arrays of {rows} x {rows} integers ({} KiB), {repetitions} repetitions",
        rows * rows * 8 / 1024
    );
    println!(
        "a start and stop cost {cost}; {} of {} events read without a system call",
        regions.fast(),
        regions.events().len()
    );

    let shared = Arrays::new(rows);
    keep_on(0);
    let begin = Instant::now();
    let mark = regions.start();
    shared.work(0, 1, repetitions);
    shared.work(0, 1, repetitions);
    regions.stop("sequential", mark);
    let sequential = begin.elapsed();

    let whole = || shared.work(0, 1, repetitions);
    let parallel = both("parallel", [&whole, &whole], &mut regions)?;
    let own = [Arrays::new(rows), Arrays::new(rows)];
    let (mine, theirs) = (|| own[0].work(0, 1, repetitions), || own[1].work(0, 1, repetitions));
    let best = both("best case", [&mine, &theirs], &mut regions)?;
    let even = || shared.work(0, 2, 2 * repetitions);
    let odd = || shared.work(1, 2, 2 * repetitions);
    let falsely = both("false sharing", [&even, &odd], &mut regions)?;

    println!("\n{:<16} {:>12} {:>16}", "version", "time_us", "to sequential");
    for (name, time) in
        [("sequential", sequential), ("parallel", parallel), ("best case", best), ("false sharing", falsely)]
    {
        println!(
            "{name:<16} {:>12} {:>16.2}",
            time.as_micros(),
            time.as_secs_f64() / sequential.as_secs_f64()
        );
    }
    println!("\nboth threads together:\n{}", regions.table());
    Ok(())
}
