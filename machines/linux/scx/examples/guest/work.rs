//! What the guard is tried on.

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};
use solo_threads::sched;
use std::time::{Duration, Instant};

/// Pages that are touched in turn.
const PAGES: usize = 64;
const PAGE: usize = 4096;

/// Causes page faults on a CPU for so long, and says how many there were.
pub(crate) fn faults(cpu: u64, milliseconds: u64) {
    sched::keep_on(cpu as usize).expect("the CPU is there");
    let (begin, limit) = (Instant::now(), Duration::from_millis(milliseconds));
    let mut count = 0_u64;
    // SAFETY: the memory is this function's alone, and is not used by anything that Rust knows of.
    unsafe {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let memory = mmap_anonymous(std::ptr::null_mut(), PAGES * PAGE, protection, MapFlags::PRIVATE)
            .expect("memory");
        while begin.elapsed() < limit {
            for page in 0..PAGES {
                memory.cast::<u8>().add(page * PAGE).write_volatile(1);
                count += 1;
            }
            madvise(memory, PAGES * PAGE, Advice::LinuxDontNeed).expect("pages to give back");
        }
    }
    println!("faults {count} us {}", begin.elapsed().as_micros());
}

/// Tells [`periodic`] what a CPU computes in a microsecond.
pub(crate) const TURNS: &str = "TURNS_PER_US";
/// The period of [`periodic`].
const PERIOD: Duration = Duration::from_millis(10);

/// Releases jobs that compute for so many microseconds of an undisturbed CPU, and says how many ended after their periods.
pub(crate) fn periodic(cpu: u64, jobs: u64, computing: u64) {
    sched::keep_on(cpu as usize).expect("the CPU is there");
    let turns_per_us = turns_per_us();
    println!("turns {turns_per_us} a us");
    let begin = Instant::now();
    let (mut missed, mut longest) = (0, Duration::ZERO);
    for job in 0..jobs as u32 {
        let release = PERIOD * job;
        std::thread::sleep(release.saturating_sub(begin.elapsed()));
        turn(computing * turns_per_us);
        let response = begin.elapsed().saturating_sub(release);
        longest = longest.max(response);
        missed += u64::from(response > PERIOD);
    }
    println!("missed {missed} of {jobs} longest {} us", longest.as_micros());
}

/// What an undisturbed CPU computes in a microsecond: told by the environment where it was measured before, so that a disturbed start
/// does not excuse later jobs.
fn turns_per_us() -> u64 {
    let told = std::env::var(TURNS).ok().and_then(|text| text.parse().ok());
    told.unwrap_or_else(|| {
        const MEASURED: u64 = 2_000_000;
        let begin = Instant::now();
        turn(MEASURED);
        MEASURED / (begin.elapsed().as_micros() as u64).max(1)
    })
}

fn turn(turns: u64) {
    std::hint::black_box((0..turns).fold(0_u64, |sum, i| std::hint::black_box(sum ^ i)));
}
