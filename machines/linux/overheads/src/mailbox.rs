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
                while back.0.load(Ordering::Acquire) < round {
                    std::hint::spin_loop();
                }
            }
        });
        receiver.join().unwrap_or_default()
    })
}

fn receive(there: &Line, back: &Line, rounds: u64) -> Distribution {
    let mut found = Distribution::new();
    let mut last = 0;
    for round in 1..=rounds {
        let sent = loop {
            let sent = there.0.load(Ordering::Acquire);
            if sent != last {
                break sent;
            }
            std::hint::spin_loop();
        };
        last = sent;
        found.add(stamp().saturating_sub(sent));
        back.0.store(round, Ordering::Release);
    }
    found
}
