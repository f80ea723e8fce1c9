//! Timing pairs of addresses, from which the functions of the DRAM banks follow (the idea of DRAMA): two lines of one
//! bank in different rows keep closing each other's row, all others do not.
//!
//! The lines are asked of DRAM itself, as by a program that flushes them from its caches before each access, both at the
//! same time, as a core does that need not wait for the first. Refreshes come in between as they would.

use crate::memory::{Dram, DramError, PhysicalAddress};
use solo_isolate::map::Measured;
use solo_model::{Bytes, CoreId, Cycles, Picoseconds, Platform, SplitMix64};

/// What is timed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pairs {
    /// Pairs of addresses, drawn from all of memory.
    pub count: usize,
    /// How often each is timed.
    pub repeats: usize,
    /// Addresses are multiples of this, a power of two: a line, or a page where only placement of pages matters.
    pub granule: Bytes,
    /// What they are drawn by.
    pub seed: u64,
}

/// Times both accesses of each pair together, [`repeats`](Pairs::repeats) times one after the other, in cycles of the
/// first core.
///
/// # Errors
/// If the platform's DRAM contradicts itself.
pub fn time_pairs(platform: &Platform, pairs: Pairs) -> Result<Vec<Measured>, DramError> {
    let line = platform.line();
    let mut probe = Probe { dram: Dram::new(&platform.dram, line, 1)?, now: Picoseconds::ZERO };
    let clock = platform.kinds.first().map_or(1_000_000_000, |kind| kind.clock.get());
    let in_cycles = |time: Picoseconds| {
        Cycles::new((u128::from(time.get()) * u128::from(clock) / 1_000_000_000_000) as u64)
    };
    let granules = platform.dram.size.get() / pairs.granule.get().max(1);
    let mut random = SplitMix64::new(pairs.seed);
    let mut address = || random.below(granules) * pairs.granule.get();
    let mut times = Vec::with_capacity(pairs.count.saturating_mul(pairs.repeats));
    for _ in 0..pairs.count {
        let (a, b) = (address(), address());
        // Opens the rows: only what comes after tells whether one closes the other's.
        let _ = probe.both(a, b);
        times.extend((0..pairs.repeats).map(|_| Measured { a, b, time: in_cycles(probe.both(a, b)) }));
    }
    Ok(times)
}

/// Whoever asks, and what time it is.
struct Probe {
    dram: Dram,
    now: Picoseconds,
}

impl Probe {
    /// Reads both lines; how long until the later one is back.
    fn both(&mut self, a: u64, b: u64) -> Picoseconds {
        let from = self.now;
        for address in [a, b] {
            let _ = self.dram.submit(from, CoreId(0), PhysicalAddress(address), false);
        }
        while self.dram.waiting() > 0 {
            let Some(next) = self.dram.next_event() else { break };
            let now = &mut self.now;
            self.dram.advance(next, |served| {
                if let crate::memory::dram::Served::Read(completion) = served {
                    *now = (*now).max(completion.at);
                }
            });
        }
        self.now - from
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::fixtures;

    #[test]
    fn a_pair_in_one_bank_takes_longer() {
        let dram = Dram::new(&fixtures::ddr3_1600k(), Bytes::new(64), 1).unwrap();
        let mut probe = Probe { dram, now: Picoseconds::ZERO };
        let mut time = |b| (0..3).map(|_| probe.both(0, b)).last().unwrap();
        let (other_row, other_bank, same_row) = (time(1 << 28), time(1 << 28 | 1 << 13), time(1 << 6));
        assert!(other_row > other_bank, "{other_row} {other_bank}");
        assert!(other_row > same_row, "{other_row} {same_row}");
    }
}
