//! Interrupts: the tick as a gap in a loop that reads the clock, and the round trip of an interprocessor interrupt.

use crate::clock::{Clock, stamp};
use crate::distribution::Distribution;
use crate::steady;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Gaps longer than this many empty brackets are interrupts.
const GAP: u64 = 8;

/// Reads the clock for `span` and returns the gaps: the timer's tick first of all, beside it whatever else interrupted.
pub fn ticks(clock: &Clock, span: Duration) -> Distribution {
    let mut found = Distribution::new();
    let least = (clock.empty_ticks.max(2 * clock.resolution_ticks) * GAP).max(1);
    let end = stamp() + (span.as_micros() as f64 * clock.ticks_per_us) as u64;
    let mut last = stamp();
    while last < end {
        let now = stamp();
        let gap = now.saturating_sub(last);
        if gap >= least {
            found.add(gap);
        }
        last = now;
    }
    found
}

/// A memory barrier on every CPU that runs a thread of this process (`membarrier`), `rounds` times, with one other
/// thread running on CPU `to`: an interprocessor interrupt there, its handler, and the acknowledgement. `None`
/// where the kernel has no such call.
pub(crate) fn broadcast(from: usize, to: usize, rounds: u64) -> Option<Distribution> {
    // linux/membarrier.h
    const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;
    const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
    // SAFETY: the call reads and writes no memory of ours.
    let call = |command: libc::c_int| unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) };
    if call(REGISTER_PRIVATE_EXPEDITED) != 0 {
        return None;
    }
    let (ready, over) = (Barrier::new(2), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            steady::steadily(to, || {
                ready.wait();
                let begin = Instant::now();
                // The end comes by itself, should the other side fail.
                while !over.load(Ordering::Relaxed) && begin.elapsed() < Duration::from_secs(2) {
                    std::hint::spin_loop();
                }
            })
        });
        let found = steady::steadily(from, || {
            ready.wait();
            let mut found = Distribution::new();
            for _ in 0..rounds {
                let begin = stamp();
                call(PRIVATE_EXPEDITED);
                found.add(stamp().saturating_sub(begin));
            }
            found
        });
        over.store(true, Ordering::Relaxed);
        Some(found.0)
    })
}
