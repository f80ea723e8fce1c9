//! What a job cost: where its time went and what the hardware counted for it.

use crate::memory::{Reached, Stalls as CacheStalls};
use solo_model::record::Stalls;
use solo_model::{Picoseconds, SignalCounts};

/// The stalls of a job in the machine's own time; the fields are those of [`Stalls`].
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct StallClock {
    pub(crate) compute: Picoseconds,
    pub(crate) private_cache: Picoseconds,
    pub(crate) shared_cache: Picoseconds,
    pub(crate) coherence: Picoseconds,
    pub(crate) dram: Picoseconds,
    pub(crate) dram_queue_own: Picoseconds,
    pub(crate) dram_queue_others: Picoseconds,
    pub(crate) kernel: Picoseconds,
}

impl StallClock {
    /// Adds what an access cost before DRAM, of which this many overlap.
    pub(crate) fn charge(&mut self, stalls: &CacheStalls, overlap: u64) {
        let lookup = if overlap == 1 { stalls.lookup } else { stalls.lookup / overlap };
        match stalls.reached {
            Reached::FirstLevel => self.compute += lookup,
            Reached::PrivateCache => self.private_cache += lookup,
            Reached::SharedCache => self.shared_cache += lookup,
        }
        if !stalls.coherence.is_zero() {
            self.coherence += stalls.coherence / overlap;
        }
    }

    /// Whole nanoseconds of each.
    pub(crate) fn stalls(&self) -> Stalls {
        Stalls {
            compute: self.compute.nanoseconds(),
            private_cache: self.private_cache.nanoseconds(),
            shared_cache: self.shared_cache.nanoseconds(),
            coherence: self.coherence.nanoseconds(),
            dram: self.dram.nanoseconds(),
            dram_queue_own: self.dram_queue_own.nanoseconds(),
            dram_queue_others: self.dram_queue_others.nanoseconds(),
            kernel: self.kernel.nanoseconds(),
        }
    }
}

/// The account of the job that a thread works on.
#[derive(Clone, Default, Debug)]
pub(crate) struct JobAccount {
    pub(crate) counts: SignalCounts,
    pub(crate) stalls: StallClock,
}

/// `part * share / whole` without overflow; zero for an empty whole.
pub(crate) fn proportion(part: Picoseconds, share: Picoseconds, whole: Picoseconds) -> Picoseconds {
    if whole.is_zero() {
        return Picoseconds::ZERO;
    }
    if let Some(product) = part.get().checked_mul(share.get()) {
        return Picoseconds::new(product / whole.get());
    }
    let scaled = u128::from(part.get()) * u128::from(share.get()) / u128::from(whole.get());
    Picoseconds::new(scaled as u64)
}
