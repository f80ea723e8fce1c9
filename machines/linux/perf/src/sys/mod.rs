//! System calls behind safe functions.
#![allow(unsafe_code)]

pub(crate) mod page;
pub(crate) mod perf;
pub(crate) mod pfm;
pub(crate) mod ring;

use std::io;

/// The error of the last system call where it returned -1.
fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Nanoseconds of the monotonic clock, on which samples are stamped too.
pub fn now() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// For how many nanoseconds this machine has slept since it was started: what the clock of samples leaves out. Exact to the time between two
/// readings of clocks.
pub fn asleep() -> u64 {
    let awake = now();
    read(libc::CLOCK_BOOTTIME).saturating_sub(awake)
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is valid for the call; both clocks always exist.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    (time.tv_sec as u64) * 1_000_000_000 + time.tv_nsec as u64
}

/// Raises the limit of open files to what this process may have.
pub fn raise_file_limit() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls read or write the structure during the call only.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 && limit.rlim_cur < limit.rlim_max {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
    limit.rlim_cur
}

/// The size of a page in bytes.
pub(crate) fn page_size() -> usize {
    // SAFETY: no pointers.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(size).unwrap_or(4096)
}
