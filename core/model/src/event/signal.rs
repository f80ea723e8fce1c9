//! What the simulated hardware can count, before a table gives it a name.

use core::ops::{Index, IndexMut};

macro_rules! signals {
    ($($(#[doc = $doc:literal])+ $signal:ident = $name:literal,)*) => {
        /// Something that happens in the simulated machine. Which event it is, the [`EventTable`](super::EventTable)
        /// of a platform says; a signal that no event of the table names is counted by nobody.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
        pub enum Signal {
            $($(#[doc = $doc])+ $signal,)*
        }

        impl Signal {
            /// All signals, in the order of their counts.
            pub const ALL: [Self; Self::COUNT] = [$(Self::$signal,)*];
            /// How many signals there are.
            pub const COUNT: usize = [$($name,)*].len();

            /// Its name in platform files.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$signal => $name,)*
                }
            }
        }
    };
}

signals! {
    /// An instruction retires.
    Instructions = "instructions",
    /// A cycle passes while the core is not idle.
    Cycles = "cycles",
    /// A load or store finds its line in the first-level data cache.
    L1Hit = "l1-hit",
    /// A load or store does not.
    L1Miss = "l1-miss",
    /// A first-level miss finds its line in the second level; never with two levels.
    L2Hit = "l2-hit",
    /// A first-level miss does not; never with two levels.
    L2Miss = "l2-miss",
    /// An access to the last level finds its line there.
    LlcHit = "llc-hit",
    /// An access to the last level does not.
    LlcMiss = "llc-miss",
    /// A line is read from DRAM.
    DramRead = "dram-read",
    /// A modified line is written to DRAM.
    DramWrite = "dram-write",
    /// A read or write of DRAM finds its row open.
    DramRowHit = "dram-row-hit",
    /// A read or write of DRAM closes another row first.
    DramRowConflict = "dram-row-conflict",
    /// Another core's cache answers with a line that it held modified.
    SnoopHitModified = "snoop-hit-modified",
    /// An access finds its line clean in another core's cache.
    SnoopHitClean = "snoop-hit-clean",
    /// A write to a line held shared invalidates the other copies.
    Upgrade = "upgrade",
    /// The core loses a line.
    InvalidationReceived = "invalidation-received",
    /// The last level asks a core for a line that it has dropped.
    SnoopMiss = "snoop-miss",
    /// The second level takes a line into an empty way.
    L2LinesInInvalid = "l2-lines-in-invalid",
    /// The second level takes a line in state S or F.
    L2LinesInShared = "l2-lines-in-shared",
    /// The first-level data cache is looked up for a line that another core reads.
    CmpSnoopShare = "cmp-snoop-share",
    /// The first-level data cache is looked up for a line that another core is about to write.
    CmpSnoopInvalidate = "cmp-snoop-invalidate",
    /// No other agent answers to a transaction of the front-side bus that it holds the line.
    ExtSnoopClean = "ext-snoop-clean",
    /// Another agent answers that it holds the line shared or exclusive.
    ExtSnoopHit = "ext-snoop-hit",
    /// Another agent answers that it holds the line modified.
    ExtSnoopHitm = "ext-snoop-hitm",
    /// The core's agent sends data over the front-side bus for a bus clock.
    BusDrdyClocks = "bus-drdy-clocks",
    /// The core's agent receives data over the front-side bus for a bus clock.
    BusDataReceived = "bus-data-received",
    /// The core's agent holds HIT# for a bus clock.
    BusHitDriven = "bus-hit-driven",
    /// The core's agent holds HITM# for a bus clock.
    BusHitmDriven = "bus-hitm-driven",
    /// The bus is asked to wait (BNR#), as full as it is.
    BusBnrDriven = "bus-bnr-driven",
    /// LOCK# is held for a bus clock: never, since no simulated access is locked.
    BusLockClocks = "bus-lock-clocks",
    /// The address bus of the second-level cache carries something for a cycle.
    L2AddressStrobes = "l2-address-strobes",
    /// The core's prefetcher reads a line from DRAM.
    Prefetch = "prefetch",
    /// A branch retires; of work in phases only.
    Branch = "branch",
    /// A branch was predicted wrongly; of work in phases only.
    BranchMiss = "branch-miss",
    /// The data translation buffer lacks a translation; of work in phases only.
    DtlbMiss = "dtlb-miss",
    /// The instruction translation buffer lacks a translation; of work in phases only.
    ItlbMiss = "itlb-miss",
}

/// One count for each [`Signal`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SignalCounts([u64; Signal::COUNT]);

impl Default for SignalCounts {
    fn default() -> Self {
        Self::ZERO
    }
}

impl SignalCounts {
    /// All counts zero.
    pub const ZERO: Self = Self([0; Signal::COUNT]);

    /// Adds one.
    pub fn increment(&mut self, signal: Signal) {
        self.0[signal as usize] += 1;
    }
    /// Adds `count`.
    pub fn add(&mut self, signal: Signal, count: u64) {
        self.0[signal as usize] += count;
    }
    /// What was counted after `earlier`, a snapshot of the same counts; wraps like the hardware would.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self(core::array::from_fn(|i| self.0[i].wrapping_sub(earlier.0[i])))
    }
    /// Adds all counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count += more;
        }
    }
    /// Each signal with its count.
    pub fn iter(&self) -> impl Iterator<Item = (Signal, u64)> + '_ {
        Signal::ALL.into_iter().zip(self.0)
    }
}

impl Index<Signal> for SignalCounts {
    type Output = u64;
    fn index(&self, signal: Signal) -> &u64 {
        &self.0[signal as usize]
    }
}

impl IndexMut<Signal> for SignalCounts {
    fn index_mut(&mut self, signal: Signal) -> &mut u64 {
        &mut self.0[signal as usize]
    }
}
