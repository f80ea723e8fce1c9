//! Hardware events and vectors of their counts.

use core::ops::{Index, IndexMut};

macro_rules! events {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// Something that hardware counts. The documentation of each is its definition; `observe` maps them to
        /// the encodings of real processors.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
        #[repr(u8)]
        pub enum Event {
            $($(#[$doc])* $variant,)*
        }

        impl Event {
            /// All events, in the order of their counts.
            pub const ALL: [Self; Self::COUNT] = [$(Self::$variant,)*];
            /// How many events there are.
            pub const COUNT: usize = [$($name,)*].len();

            /// The name in scenario files, tables and exports.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

events! {
    /// Instructions retired.
    Instructions = "instructions",
    /// Core clock cycles while the core is not idle.
    Cycles = "cycles",
    /// Loads and stores found in the first-level data cache.
    L1Hit = "l1_hits",
    /// Loads and stores not found in the first-level data cache.
    L1Miss = "l1_misses",
    /// First-level misses found in the second level; none on platforms with two levels.
    L2Hit = "l2_hits",
    /// First-level misses not found in the second level; none on platforms with two levels.
    L2Miss = "l2_misses",
    /// Accesses to the last level that found their line there.
    LlcHit = "llc_hits",
    /// Accesses to the last level that did not find their line there.
    LlcMiss = "llc_misses",
    /// Lines read from DRAM on behalf of this core.
    DramRead = "dram_reads",
    /// Modified lines written to DRAM because this core's access evicted them.
    DramWrite = "dram_writes",
    /// Reads and writes of DRAM that found their row open.
    DramRowHit = "dram_row_hits",
    /// Reads and writes of DRAM that had to close another row first.
    DramRowConflict = "dram_row_conflicts",
    /// Accesses answered by another core's cache that held the line modified (HITM).
    SnoopHitModified = "snoop_hitm",
    /// Accesses that found the line clean in another core's cache (HIT).
    SnoopHitClean = "snoop_hits",
    /// Writes to a line held shared, which had to invalidate the other copies first.
    Upgrade = "upgrades",
    /// Lines this core lost because another core wrote them or an inclusive cache evicted them.
    InvalidationReceived = "invalidations",
    /// Accesses found in the last level that asked a core listed there as a holder, which had dropped the line
    /// (local HIT and remote MISS of thesis Table 16).
    SnoopMiss = "snoop_misses",
    /// Lines that the core's second-level cache took into a way that was in state I: empty, or emptied because
    /// another core wrote its line (L2_LINES_IN.I).
    L2LinesInInvalid = "l2_lines_in_i",
    /// Lines that the core's second-level cache took in state S or F (L2_LINES_IN.S).
    L2LinesInShared = "l2_lines_in_s",
    /// Look-ups of this core's first-level data cache for a line that another core reads (CMP_SNOOP, share).
    CmpSnoopShare = "cmp_snoop_share",
    /// Look-ups of this core's first-level data cache for a line that another core is about to write
    /// (CMP_SNOOP, invalidate).
    CmpSnoopInvalidate = "cmp_snoop_invalidate",
    /// Front-side bus transactions of this core to which no other agent answered that it holds the line
    /// (EXT_SNOOP, clean, this agent).
    ExtSnoopClean = "ext_snoop_clean",
    /// Front-side bus transactions of this core to which another agent answered that it holds the line shared or
    /// exclusive (EXT_SNOOP, HIT, this agent).
    ExtSnoopHit = "ext_snoop_hit",
    /// Front-side bus transactions of this core to which another agent answered that it holds the line modified
    /// (EXT_SNOOP, HITM, this agent).
    ExtSnoopHitm = "ext_snoop_hitm",
    /// Bus clocks in which this core's agent sent data over the front-side bus.
    BusDrdyClocks = "bus_drdy_clocks",
    /// Bus clocks in which this core's agent received data over the front-side bus.
    BusDataReceived = "bus_data_rcv",
    /// Bus clocks in which this core's agent held HIT# to answer another agent's transaction.
    BusHitDriven = "bus_hit_drv",
    /// Bus clocks in which this core's agent held HITM# to answer another agent's transaction.
    BusHitmDriven = "bus_hitm_drv",
    /// Times that the bus was asked to wait (BNR#) when this core's agent wanted it, since as many transactions as it
    /// can keep were under way.
    BusBnrDriven = "bus_bnr_drv",
    /// Bus clocks in which LOCK# was held: none, since no simulated access is locked.
    BusLockClocks = "bus_lock_clocks",
    /// Cycles in which the address bus of the core's second-level cache carried a look-up, a fill or a line written
    /// back.
    L2AddressStrobes = "l2_ads",
    /// Lines that the core's prefetcher read from DRAM; they are among its `dram_reads`, but no misses.
    Prefetch = "prefetches",
}

/// One count for each [`Event`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct EventCounts([u64; Event::COUNT]);

impl EventCounts {
    /// All counts zero.
    pub const ZERO: Self = Self([0; Event::COUNT]);

    /// Adds one.
    pub fn increment(&mut self, event: Event) {
        self.0[event as usize] += 1;
    }
    /// Adds `count`.
    pub fn add(&mut self, event: Event, count: u64) {
        self.0[event as usize] += count;
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
    /// Each event with its count.
    pub fn iter(&self) -> impl Iterator<Item = (Event, u64)> + '_ {
        Event::ALL.into_iter().zip(self.0)
    }
}

impl Index<Event> for EventCounts {
    type Output = u64;
    fn index(&self, event: Event) -> &u64 {
        &self.0[event as usize]
    }
}

impl IndexMut<Event> for EventCounts {
    fn index_mut(&mut self, event: Event) -> &mut u64 {
        &mut self.0[event as usize]
    }
}
