//! Instructions of a phase on a core: how long they take there, and what they count.

use solo_model::{CoreId, KindId, Phase, Picoseconds, Platform, Signal, SignalCounts};

/// What a million instructions cause, in this order.
const CAUSED: [Signal; 4] = [Signal::Branch, Signal::BranchMiss, Signal::DtlbMiss, Signal::ItlbMiss];

/// Instructions that a core computes in one go, as far as it is not interrupted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Burst {
    /// How many.
    pub(crate) instructions: u64,
    /// Of which phase of the program.
    pub(crate) phase: u16,
    /// How long they take.
    pub(crate) whole: Picoseconds,
    /// What a million of them cause.
    caused: [u32; CAUSED.len()],
}

impl Burst {
    /// So many instructions of a phase on `core`.
    pub(crate) fn new(platform: &Platform, core: CoreId, phase: (u16, &Phase), instructions: u64) -> Self {
        let (number, of) = phase;
        let kind = platform.cores.get(core.index()).map_or(0, |core| core.kind);
        Self {
            instructions,
            phase: number,
            whole: of.time(platform, KindId(kind), instructions),
            caused: [of.branches, of.branch_misses, of.dtlb_misses, of.itlb_misses],
        }
    }

    /// How many have begun where `left` of their time is left.
    pub(crate) fn done(&self, left: Picoseconds) -> u64 {
        let passed = u128::from(self.whole.get().saturating_sub(left.get()));
        let done = (passed * u128::from(self.instructions)).div_ceil(u128::from(self.whole.get().max(1)));
        done as u64
    }

    /// How long so many of them take.
    pub(crate) fn time_of(&self, instructions: u64) -> Picoseconds {
        let scaled = u128::from(self.whole.get()) * u128::from(instructions);
        let time = scaled.div_ceil(u128::from(self.instructions.max(1)));
        Picoseconds::new(u64::try_from(time).unwrap_or(u64::MAX))
    }
}

/// What all instructions of phases came to on a core.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Retired {
    pub(crate) instructions: u64,
    /// In millionths of an event.
    caused: [u128; CAUSED.len()],
}

impl Retired {
    /// So many instructions of `burst` are done.
    pub(crate) fn add(&mut self, burst: &Burst, instructions: u64) {
        self.instructions += instructions;
        for (sum, each) in self.caused.iter_mut().zip(burst.caused) {
            *sum += u128::from(each) * u128::from(instructions);
        }
    }

    /// Adds what was caused to what is counted elsewhere.
    pub(crate) fn count(&self, counts: &mut SignalCounts) {
        if self.instructions == 0 {
            return;
        }
        counts.add(Signal::Instructions, self.instructions);
        for (signal, sum) in CAUSED.into_iter().zip(self.caused) {
            counts.add(signal, (sum / 1_000_000) as u64);
        }
    }
}
