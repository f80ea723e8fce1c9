//! A request from one core to another through a line of memory: what is left of an interprocessor interrupt
//! without the interrupt. A receiver that spins sees it as soon as the coherence protocol brings it.

use crate::clock::stamp;
use crate::distribution::Distribution;
use crate::steady;
use std::sync::atomic::{AtomicU64, Ordering};

/// A line of its own.
#[repr(align(128))]
struct Line(AtomicU64);

/// Sends `rounds` requests from CPU `from` to CPU `to`, which must be another; the time from before the store until
/// the other has seen it. The counters of both CPUs must run together.
pub fn run(from: usize, to: usize, rounds: u64) -> Distribution {
    let (there, back) = (Line(AtomicU64::new(0)), Line(AtomicU64::new(0)));
    std::thread::scope(|scope| {
        let receiver = scope.spawn(|| steady::steadily(to, || receive(&there, &back, rounds)).0);
        let _ = steady::steadily(from, || {
            for round in 1..=rounds {
                there.0.store(stamp(), Ordering::Release);
                steady::spin_until(|| back.0.load(Ordering::Acquire) >= round);
            }
        });
        receiver.join().unwrap_or_default()
    })
}

fn receive(there: &Line, back: &Line, rounds: u64) -> Distribution {
    let mut found = Distribution::new();
    let mut last = 0;
    for round in 1..=rounds {
        let mut sent = last;
        steady::spin_until(|| {
            sent = there.0.load(Ordering::Acquire);
            sent != last
        });
        last = sent;
        found.add(stamp().saturating_sub(sent));
        back.0.store(round, Ordering::Release);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Several measurements at a time, in whatever order their threads come to the CPUs: each ends.
    #[test]
    fn measurements_side_by_side_do_not_wait_for_each_other_for_ever() {
        let cpus = steady::cpus();
        let (Some(&from), Some(&to)) = (cpus.first(), cpus.get(1)) else {
            println!("skipped: requests between CPUs: this process may use one");
            return;
        };
        let counted: u64 = std::thread::scope(|scope| {
            let pairs = [(from, to), (to, from), (from, to), (to, from)];
            let runs = pairs.map(|(from, to)| scope.spawn(move || run(from, to, 200).count()));
            runs.into_iter().map(|run| run.join().unwrap_or(0)).sum()
        });
        assert_eq!(counted, 800);
    }
}
