//! Work in instructions: stretches of a program whose instructions are alike (PMCTrack 4.1.2, program phases).
//!
//! ```text
//!   cycles of an instruction = base of the kind of core + mispredicted branches x their cost + misses of translation buffers x theirs
//! ```
//! What its accesses to memory take comes on top, from caches and DRAM.

use crate::id::KindId;
use crate::platform::Platform;
use crate::units::{Duration, Picoseconds};
use alloc::vec::Vec;

/// Instructions that are alike.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Phase {
    /// Thousandths of a cycle that an instruction takes on each kind of core, in the order of the platform, with every branch
    /// predicted and every translation found. Zero, and beyond the list, is what the kind says of itself.
    pub millicycles: Vec<u32>,
    /// Branches among a million instructions.
    pub branches: u32,
    /// Of these, mispredicted.
    pub branch_misses: u32,
    /// Loads and stores among a million instructions whose translation the data buffer lacks.
    pub dtlb_misses: u32,
    /// Fetches among a million instructions whose translation the instruction buffer lacks.
    pub itlb_misses: u32,
}

impl Phase {
    /// The most thousandths of a cycle that an instruction can take: a thousand cycles.
    pub const MILLICYCLES_MAX: u32 = 1_000_000;

    /// Millionths of a cycle that an instruction takes on cores of a kind.
    fn microcycles(&self, platform: &Platform, kind: KindId) -> u64 {
        let Some(of) = platform.kinds.get(kind.index()) else { return 0 };
        let base = match self.millicycles.get(kind.index()).copied().unwrap_or(0) {
            0 => 1_000_000_000 / u64::from(of.instructions_per_kilocycle.max(1)),
            own => u64::from(own) * 1000,
        };
        let walks = u64::from(self.dtlb_misses) + u64::from(self.itlb_misses);
        base + u64::from(self.branch_misses) * u64::from(of.branch_miss) + walks * u64::from(of.tlb_miss)
    }

    /// How long so many of its instructions take on cores of a kind, memory apart; rounded down.
    pub fn time(&self, platform: &Platform, kind: KindId, instructions: u64) -> Picoseconds {
        let clock = platform.kinds.get(kind.index()).map_or(1, |kind| kind.clock.get());
        self.time_at(clock, platform, kind, instructions)
    }

    /// How long they take on the reference kind at the clock that it is described at, in whole nanoseconds, rounded up.
    pub fn on_reference(&self, platform: &Platform, instructions: u64) -> Duration {
        let reference = KindId(platform.reference);
        let clock = platform.kinds.get(reference.index()).map_or(1, |kind| kind.described_clock().get());
        rounded_up(self.time_at(clock, platform, reference, instructions))
    }

    fn time_at(&self, clock: u64, platform: &Platform, kind: KindId, instructions: u64) -> Picoseconds {
        let clock = clock.max(1);
        let cycles = u128::from(instructions) * u128::from(self.microcycles(platform, kind));
        let picoseconds = cycles.saturating_mul(1_000_000) / u128::from(clock);
        Picoseconds::new(u64::try_from(picoseconds).unwrap_or(u64::MAX))
    }

    /// The same in whole nanoseconds, rounded up.
    pub fn longest(&self, platform: &Platform, kind: KindId, instructions: u64) -> Duration {
        rounded_up(self.time(platform, kind, instructions))
    }
}

fn rounded_up(time: Picoseconds) -> Duration {
    Duration::new(time.get().saturating_add(1).div_ceil(1000))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::chip;
    use crate::units::Frequency;
    use alloc::vec;

    #[test]
    fn an_instruction_takes_its_base_its_branches_and_its_translations() {
        let mut platform = chip(1);
        platform.kinds.push(platform.kinds[0].clone());
        platform.kinds[1].clock = Frequency::new(500_000_000);
        (platform.kinds[0].branch_miss, platform.kinds[0].tlb_miss) = (20, 30);
        let plain = Phase { millicycles: vec![0, 1500], ..Phase::default() };
        let time = |phase: &Phase, kind| phase.time(&platform, KindId(kind), 1_000_000).get();
        // A nanosecond each at 1 GHz; 1.5 cycles of 2 ns.
        assert_eq!((time(&plain, 0), time(&plain, 1)), (1_000_000_000, 3_000_000_000));
        // Of a million 10,000 mispredicted branches of 20 cycles and 1,500 walks of 30 cycles: 245,000 cycles more.
        let costly =
            Phase { branches: 150_000, branch_misses: 10_000, dtlb_misses: 1_000, itlb_misses: 500, ..plain };
        assert_eq!((time(&costly, 0), time(&costly, 1)), (1_245_000_000, 3_000_000_000));
        assert_eq!(costly.longest(&platform, KindId(0), 1000), Duration::new(1246));
        let endless = Phase { millicycles: vec![Phase::MILLICYCLES_MAX], ..Phase::default() };
        assert_eq!(endless.time(&platform, KindId(0), u64::MAX), Picoseconds::MAX);
    }
}
