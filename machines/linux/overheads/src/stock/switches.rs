//! Threads of one CPU and one priority that pass the processor around a ring.

use super::calls::{futex_wait, futex_wake};
use crate::clock::stamp;
use crate::distribution::Distribution;
use crate::steady;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The last reading of the clock and who made it.
struct Baton {
    stamp: AtomicU64,
    holder: AtomicU64,
    left: AtomicU64,
}

impl Baton {
    fn new(left: u64) -> Self {
        Self { stamp: AtomicU64::new(0), holder: AtomicU64::new(u64::MAX), left: AtomicU64::new(left) }
    }

    /// Takes the baton: how long since another gave it away.
    #[inline(always)]
    fn take(&self, me: u64, found: &mut Distribution) {
        let now = stamp();
        if self.holder.swap(me, Ordering::Relaxed) != me {
            let given = self.stamp.load(Ordering::Relaxed);
            if given != 0 {
                found.add(now.saturating_sub(given));
            }
        }
    }

    #[inline(always)]
    fn give(&self) {
        self.stamp.store(stamp(), Ordering::Relaxed);
    }

    /// One round less; false when there is none left.
    fn again(&self) -> bool {
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }
}

/// Runs `body` in `threads` threads on `cpu` under SCHED_FIFO, where that is allowed; what they found together.
fn ring<T: Send + Default>(
    cpu: usize,
    threads: usize,
    body: impl Fn(usize) -> T + Sync,
    mut merge: impl FnMut(T),
) {
    let ready = Barrier::new(threads);
    std::thread::scope(|scope| {
        let one = |index| {
            let (ready, body) = (&ready, &body);
            move || {
                let work = || {
                    ready.wait();
                    body(index)
                };
                steady::steadily(cpu, work).0
            }
        };
        let threads: Vec<_> = (0..threads).map(|index| scope.spawn(one(index))).collect();
        threads.into_iter().for_each(|thread| merge(thread.join().unwrap_or_default()));
    });
}

/// Gives the processor away with `sched_yield`, `rounds` times, around `threads` threads: from before the call until
/// the next thread is back from its own. Samples in which nobody else came are left out.
pub(crate) fn yield_ring(cpu: usize, threads: usize, rounds: u64) -> Distribution {
    let baton = Baton::new(rounds);
    let mut all = Distribution::new();
    let body = |index: usize| {
        let mut found = Distribution::new();
        while baton.again() {
            baton.take(index as u64, &mut found);
            baton.give();
            // SAFETY: has no arguments.
            unsafe { libc::sched_yield() };
        }
        found
    };
    ring(cpu, threads.max(2), body, |found| all.merge(&found));
    all
}

/// What a ring of sleeping threads tells.
#[derive(Clone, Debug, Default)]
pub struct FutexRing {
    /// The call that wakes the next thread, which does not run yet: making a thread ready.
    pub wake: Distribution,
    /// From before the call that puts this thread to sleep until the next one is back from its own.
    pub switch: Distribution,
}

/// Passes a token around `threads` threads that sleep on futexes, `rounds` times.
pub(crate) fn futex_ring(cpu: usize, threads: usize, rounds: u64) -> FutexRing {
    let threads = threads.max(2);
    let baton = Baton::new(rounds);
    let words: Vec<AtomicU32> = (0..threads).map(|index| AtomicU32::new(u32::from(index == 0))).collect();
    let mut all = FutexRing::default();
    let body = |index: usize| {
        let mut found = FutexRing::default();
        let (mine, next) = (&words[index], &words[(index + 1) % threads]);
        loop {
            futex_wait(mine, 0);
            baton.take(index as u64, &mut found.switch);
            mine.store(0, Ordering::Relaxed);
            let more = baton.again();
            let begin = stamp();
            next.store(1, Ordering::Release);
            futex_wake(next);
            found.wake.add(stamp().saturating_sub(begin));
            baton.give();
            if !more {
                return found;
            }
        }
    };
    ring(cpu, threads, body, |found: FutexRing| {
        all.wake.merge(&found.wake);
        all.switch.merge(&found.switch);
    });
    all
}

/// Passes a byte around `threads` threads that read from pipes, `rounds` times: from before the write until the next
/// thread has read.
pub(crate) fn pipe_ring(cpu: usize, threads: usize, rounds: u64) -> Distribution {
    let threads = threads.max(2);
    let pipes: Option<Vec<_>> = (0..threads).map(|_| pipe()).collect();
    let Some(pipes) = pipes else { return Distribution::new() };
    let baton = Baton::new(rounds);
    let mut all = Distribution::new();
    let body = |index: usize| {
        let mut found = Distribution::new();
        let (mine, next) = (pipes[index].0.as_raw_fd(), pipes[(index + 1) % threads].1.as_raw_fd());
        let mut token = index == 0;
        loop {
            let mut byte = 0_u8;
            // SAFETY: both descriptors are open, the byte is this function's own.
            if !std::mem::take(&mut token) && unsafe { libc::read(mine, (&raw mut byte).cast(), 1) } != 1 {
                return found;
            }
            baton.take(index as u64, &mut found);
            let more = baton.again();
            baton.give();
            // SAFETY: as above.
            unsafe { libc::write(next, (&raw const byte).cast(), 1) };
            if !more {
                return found;
            }
        }
    };
    ring(cpu, threads, body, |found| all.merge(&found));
    all
}

fn pipe() -> Option<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: the kernel fills in two descriptors, which are owned by nobody else.
    unsafe {
        (libc::pipe(ends.as_mut_ptr()) == 0)
            .then(|| (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_go_round_and_every_pass_is_counted() {
        let cpu = steady::cpus()[0];
        for threads in [2, 5] {
            let found = futex_ring(cpu, threads, 200);
            assert!(found.wake.count() > 200 && found.switch.count() >= 200, "{found:?}");
            assert!(pipe_ring(cpu, threads, 200).count() >= 200);
            // Without SCHED_FIFO a thread may come back from its call before any other had a turn.
            assert!(yield_ring(cpu, threads, 200).count() <= 200);
        }
    }
}
