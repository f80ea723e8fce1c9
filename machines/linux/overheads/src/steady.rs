//! Keeping the rest of the machine out of a measurement, as far as Linux lets.

use std::io;

pub(crate) use solo_threads::sched::keep_in_memory;
pub use solo_threads::sched::{allow, cpus, deadline, fifo, keep_on, other};

/// Priority under SCHED_FIFO while something is measured.
pub(crate) const PRIORITY: i32 = 80;

/// The calling thread on one CPU, under SCHED_FIFO where that is allowed, until the end of `what`; its CPUs and
/// SCHED_OTHER come back afterwards. Says whether it was allowed.
pub fn steadily<T>(cpu: usize, what: impl FnOnce() -> T) -> (T, io::Result<()>) {
    let before = cpus();
    let kept = keep_on(cpu).and_then(|()| fifo(PRIORITY));
    let result = what();
    // Giving priority up and going back to the CPUs of before is always allowed.
    let _ = other().and_then(|()| allow(&before));
    (result, kept)
}

/// Turns of a loop that waits before it lets others of its priority run: far above what an answer from another CPU takes.
const PATIENCE: u32 = 1 << 16;

/// Waits in a loop until `done`. Under SCHED_FIFO nobody of the same priority runs beside a loop that never yields: two
/// measurements at a time, each with a thread on each of two CPUs, would wait for each other for ever.
pub(crate) fn spin_until(mut done: impl FnMut() -> bool) {
    let mut turns = 0_u32;
    while !done() {
        turns += 1;
        if turns == PATIENCE {
            turns = 0;
            std::thread::yield_now();
        }
        std::hint::spin_loop();
    }
}
