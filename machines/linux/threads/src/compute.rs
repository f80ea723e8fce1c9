//! Computing for a while.

use crate::sched;
use std::sync::atomic::{AtomicBool, Ordering};

/// Turns between two looks at the clock: about a microsecond, so that a look costs little beside it.
const TURNS: u64 = 1000;

/// Nanoseconds of computation below which looking at the clock would take longer than the computation.
const SHORT: u64 = 2_000;

/// How long a turn takes here, for computations that are too short to be measured while they last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Turns in a millionth of a second, at least 1.
    per_us: u64,
}

impl Pace {
    /// Looks how fast this CPU turns: the fastest of several looks, since others can only slow it down.
    pub(crate) fn look() -> Self {
        let fastest = (0..20)
            .map(|_| {
                let before = sched::used();
                turn(100 * TURNS);
                sched::used().saturating_sub(before).max(1)
            })
            .min()
            .unwrap_or(1);
        Self { per_us: (100 * TURNS * 1000 / fastest).max(1) }
    }

    /// Computes until the calling thread has used `span` nanoseconds more of a CPU. False where `over` ended it.
    pub(crate) fn compute(self, span: u64, over: &AtomicBool) -> bool {
        if span < SHORT {
            turn(span * self.per_us / 1000);
            return !over.load(Ordering::Relaxed);
        }
        let end = sched::used() + span;
        loop {
            let left = end.saturating_sub(sched::used());
            if left == 0 {
                return true;
            }
            if over.load(Ordering::Relaxed) {
                return false;
            }
            turn(TURNS.min(left * self.per_us / 1000).max(1));
        }
    }
}

fn turn(turns: u64) {
    for turn in 0..turns {
        std::hint::black_box(turn);
    }
}
