//! One timer of Linux for the timers of all cores.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A timer on the monotonic clock. Any thread may set it while another waits for it.
pub(super) struct Clock(OwnedFd);

impl Clock {
    /// A timer that is not set.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn new() -> io::Result<Self> {
        // SAFETY: no pointers.
        let timer = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC) };
        if timer < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it was opened just now and is nobody else's.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(timer) }))
    }

    /// It is due at this instant of the monotonic clock, in nanoseconds, and at no other. What has passed is due at once.
    pub(super) fn set(&self, at: u64) {
        // Zero would take the timer back.
        let at = at.max(1);
        let never = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let due = libc::timespec { tv_sec: (at / 1_000_000_000) as _, tv_nsec: (at % 1_000_000_000) as _ };
        let setting = libc::itimerspec { it_interval: never, it_value: due };
        // SAFETY: the kernel only reads the setting; nobody asks for the one before.
        let set = unsafe {
            libc::timerfd_settime(
                self.0.as_raw_fd(),
                libc::TFD_TIMER_ABSTIME,
                &raw const setting,
                std::ptr::null_mut(),
            )
        };
        debug_assert_eq!(set, 0, "a valid time of a timer that is open");
    }

    /// Waits until it is due. May come back earlier.
    pub(super) fn wait(&self) {
        let mut often = 0_u64;
        // SAFETY: the kernel writes a number into one.
        unsafe { libc::read(self.0.as_raw_fd(), (&raw mut often).cast(), size_of::<u64>()) };
    }
}
