//! The clock that everything is measured with.

mod calibrate;

/// The counter's value, read when all earlier instructions have finished and before any later one begins.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn stamp() -> u64 {
    use std::arch::x86_64::{_mm_lfence, _rdtsc};
    // SAFETY: every x86-64 processor has both instructions; neither touches memory.
    unsafe {
        _mm_lfence();
        let ticks = _rdtsc();
        _mm_lfence();
        ticks
    }
}

/// The counter's value: nanoseconds of the monotonic clock.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub fn stamp() -> u64 {
    monotonic_ns()
}

/// Nanoseconds of `CLOCK_MONOTONIC`, the clock that sleeps are counted by.
#[inline]
pub(crate) fn monotonic_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel fills in `now`; the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// What the counter's ticks mean.
#[derive(Clone, Copy, PartialEq, Debug, serde::Serialize)]
pub struct Clock {
    /// Ticks in a microsecond. The counter runs at a constant rate, whatever the core's own clock does.
    pub ticks_per_us: f64,
    /// The steps in which it advances: every difference between two readings is a multiple of it.
    pub resolution_ticks: u64,
    /// What an empty bracket measures on average; it is taken off every sample.
    pub empty_ticks: u64,
}

impl Clock {
    /// Ticks as nanoseconds.
    pub fn ns(&self, ticks: f64) -> f64 {
        ticks * 1000.0 / self.ticks_per_us
    }
}
