//! When a thread is given a CPU and when it loses it, as Linux's scheduler decides.

use crate::sys::perf;
use crate::sys::ring::{Ring, RingRecord};
use std::fs::File;
use std::io;

pub use crate::sys::ring::{Switch, Turn};

/// Pages of the ring: room for some 1,300 switches between two looks.
const RING_PAGES: usize = 16;

/// Follows the switches of one thread, from the moment at which it is opened.
pub struct Switches {
    ring: Ring,
    /// Held open: the ring ends with it.
    _event: File,
    lost: u64,
}

impl Switches {
    /// Follows the thread with this number; 0 is the one that asks.
    ///
    /// # Errors
    /// What the kernel says, for example that it may not.
    pub fn follow(thread: u32) -> io::Result<Self> {
        Self::open(thread, None)
    }

    /// Follows on one CPU the switches of a thread and of all threads and processes that come out of it from now on.
    ///
    /// # Errors
    /// As [`follow`](Self::follow).
    pub fn follow_all_on(thread: u32, cpu: usize) -> io::Result<Self> {
        Self::open(thread, Some(cpu))
    }

    fn open(thread: u32, cpu: Option<usize>) -> io::Result<Self> {
        let number = i32::try_from(thread).map_err(|_| io::Error::other("no thread has this number"))?;
        let cpu =
            cpu.map(i32::try_from).transpose().map_err(|_| io::Error::other("no CPU has this number"))?;
        let event = perf::open_switches(number, cpu)?;
        let ring = Ring::new(&event, RING_PAGES)?;
        Ok(Self { ring, _event: event, lost: 0 })
    }

    /// Takes out the switches since the last time, in the order of time.
    pub fn drain(&mut self, mut take: impl FnMut(Switch)) {
        let lost = &mut self.lost;
        self.ring.drain(|record| match record {
            RingRecord::Switch(switch) => take(switch),
            RingRecord::Lost(count) => *lost += count,
            RingRecord::Sample { .. } | RingRecord::Throttled => {}
        });
    }

    /// Switches for which there was no room.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}
