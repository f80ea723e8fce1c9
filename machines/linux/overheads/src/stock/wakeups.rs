//! How late a thread runs after the instant for which it asked, and after another CPU woke it.

use super::calls::{futex_wait, futex_wake};
use crate::clock::{monotonic_ns, stamp};
use crate::distribution::Distribution;
use crate::sets::Draw;
use crate::steady;
use solo_threads::sched::sleep_until;
use std::hint::black_box;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// Under which scheduler threads wake up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// SCHED_FIFO, priorities by rate, each thread kept on one CPU: P-RM.
    Fifo,
    /// SCHED_DEADLINE, all CPUs for all threads: G-EDF with budgets.
    Deadline,
}

impl Class {
    /// The kernel's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fifo => "SCHED_FIFO",
            Self::Deadline => "SCHED_DEADLINE",
        }
    }
}

/// The job of thesis 5.1: a sum in a loop of 50 turns.
fn job() {
    let mut sum = 0_u64;
    for turn in 0..50 {
        sum = black_box(sum + turn);
    }
}

/// `threads` periodic threads (3 to 33 ms, as in thesis 5.1) for `span`: nanoseconds from the release for which each
/// asked until it runs.
///
/// # Errors
/// What the kernel says where it does not take the threads.
pub fn wake_ups(cpus: &[usize], class: Class, threads: usize, span: Duration) -> io::Result<Distribution> {
    let mut draw = Draw::new(threads as u64);
    let mut periods: Vec<u64> = (0..threads).map(|_| 3_000_000 + draw.below(30_000_000)).collect();
    periods.sort_unstable();
    let ready = Barrier::new(threads);
    let refused = AtomicBool::new(false);
    let one = |index: usize, period: u64| {
        let entered = match class {
            // The shorter the period, the higher: from 79 down, many threads to a priority in large sets.
            Class::Fifo => steady::keep_on(cpus[index % cpus.len()])
                .and_then(|()| steady::fifo(steady::PRIORITY - 1 - (index * 70 / threads) as i32)),
            // A hundredth of its period each: 125 threads ask for 1.25 CPUs.
            Class::Deadline => {
                let of = solo_model::Duration::new;
                let (runtime, period) = (of((period / 100).max(20_000)), of(period));
                steady::deadline(runtime, period, period)
            }
        };
        refused.fetch_or(entered.is_err(), Ordering::Relaxed);
        ready.wait();
        let mut found = Distribution::new();
        if !refused.load(Ordering::Relaxed) {
            let mut next = monotonic_ns() + period;
            let end = next + span.as_nanos() as u64;
            while next < end {
                sleep_until(next);
                found.add(monotonic_ns().saturating_sub(next));
                job();
                next += period;
            }
        }
        entered.map(|()| found)
    };
    std::thread::scope(|scope| {
        let one = &one;
        let threads: Vec<_> = periods
            .iter()
            .enumerate()
            .map(|(index, &period)| scope.spawn(move || one(index, period)))
            .collect();
        let mut all = Distribution::new();
        for thread in threads {
            all.merge(&thread.join().unwrap_or_else(|_| Ok(Distribution::new()))?);
        }
        Ok(all)
    })
}

/// How late `clock_nanosleep` returns, nanoseconds, for `rounds` sleeps of a millisecond.
pub fn sleeps(rounds: u64) -> Distribution {
    let mut found = Distribution::new();
    let mut next = monotonic_ns();
    for _ in 0..rounds {
        next += 1_000_000;
        sleep_until(next);
        found.add(monotonic_ns().saturating_sub(next));
    }
    found
}

/// How late a read of a timer file returns, nanoseconds, for `rounds` periods of a millisecond. `None` where
/// there are no timer files.
pub(crate) fn timer_files(rounds: u64) -> Option<Distribution> {
    // SAFETY: the descriptor is new and owned by nobody else; the kernel only reads the setting.
    let (file, first) = unsafe {
        let file = libc::timerfd_create(libc::CLOCK_MONOTONIC, 0);
        if file < 0 {
            return None;
        }
        let file = OwnedFd::from_raw_fd(file);
        let first = monotonic_ns() + 1_000_000;
        let time = |ns: u64| libc::timespec {
            tv_sec: (ns / 1_000_000_000) as _,
            tv_nsec: (ns % 1_000_000_000) as _,
        };
        let setting = libc::itimerspec { it_interval: time(1_000_000), it_value: time(first) };
        let set = libc::timerfd_settime(
            file.as_raw_fd(),
            libc::TFD_TIMER_ABSTIME,
            &raw const setting,
            std::ptr::null_mut(),
        );
        if set != 0 {
            return None;
        }
        (file, first)
    };
    let mut found = Distribution::new();
    let (mut passed, mut expirations) = (0, 0_u64);
    while passed < rounds {
        // SAFETY: eight bytes are read into eight bytes.
        if unsafe { libc::read(file.as_raw_fd(), (&raw mut expirations).cast(), 8) } != 8 {
            return None;
        }
        passed += expirations.max(1);
        found.add(monotonic_ns().saturating_sub(first + (passed - 1) * 1_000_000));
    }
    Some(found)
}

/// What the CPU does on which a thread is woken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// Nothing, as far as this process is concerned.
    Idle,
    /// It runs a thread of lower priority, which must give way.
    Busy,
}

/// Wakes a thread that sleeps on another CPU, `rounds` times, a pause before each: from before the call until it runs.
pub fn across(from: usize, to: usize, target: Target, rounds: u64) -> Distribution {
    let (word, sent, served) = (AtomicU32::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        if target == Target::Busy {
            scope.spawn(|| {
                let _ = steady::keep_on(to);
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let sleeper = scope.spawn(|| {
            steady::steadily(to, || {
                let mut found = Distribution::new();
                for round in 0..rounds {
                    futex_wait(&word, round as u32);
                    found.add(stamp().saturating_sub(sent.load(Ordering::Relaxed)));
                    served.store(round + 1, Ordering::Release);
                }
                found
            })
            .0
        });
        let _ = steady::steadily(from, || {
            for round in 0..rounds {
                // Long enough for the other to fall asleep, and for its CPU to find something else to do.
                std::thread::sleep(Duration::from_micros(100));
                sent.store(stamp(), Ordering::Relaxed);
                word.store(round as u32 + 1, Ordering::Release);
                futex_wake(&word);
                while served.load(Ordering::Acquire) <= round {
                    std::thread::yield_now();
                }
            }
        });
        over.store(true, Ordering::Relaxed);
        sleeper.join().unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_release_and_every_wake_up_is_counted() {
        assert_eq!(sleeps(5).count(), 5);
        let files = timer_files(5).unwrap().count();
        assert!((1..=5).contains(&files), "{files}");
        let cpus = steady::cpus();
        assert_eq!(across(cpus[0], *cpus.last().unwrap(), Target::Idle, 20).count(), 20);
        // Whether the kernel takes them depends on the rights of who tests.
        if let Ok(found) = wake_ups(&cpus, Class::Fifo, 5, Duration::from_millis(100)) {
            assert!(found.count() >= 15, "{found:?}");
        }
    }
}
