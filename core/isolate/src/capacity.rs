//! What memory can promise, by what is counted and by what the tasks do.
//!
//! A budget of misses promises lines that are read. Where tasks write, each of these misses may push a modified line out, which
//! memory has to take as well: then a budget of misses promises two transfers for each. Only where reads and writes are counted by
//! themselves is a transfer a transfer.

use crate::banks::row_miss_rate_written;
use solo_model::event::Signal;
use solo_model::isolation::{Counted, Regulation};
use solo_model::{Bandwidth, EventId, Platform, Task};

/// What can be promised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Capacity {
    /// What memory moves whatever the addresses.
    pub rate: Bandwidth,
    /// Lines that move at most for each event that is counted: 1 or 2.
    pub transfers: u64,
}

impl Capacity {
    /// What can be promised in counted events, as the rate of the lines that they read.
    pub fn countable(self) -> Bandwidth {
        Bandwidth::new(self.rate.get() / self.transfers.max(1))
    }
}

/// What memory can promise to these tasks under this regulation.
pub fn capacity(regulation: &Regulation, tasks: &[Task]) -> Capacity {
    let transfers = regulation.transfers(tasks);
    let written = transfers > 1 || regulation.counted == Counted::ReadsAndWrites;
    let with_writes = regulation.guaranteed_with_writes.filter(|_| written);
    Capacity { rate: with_writes.unwrap_or(regulation.guaranteed), transfers }
}

/// What a platform promises where lines are written back: what was measured of it, else what its timing says.
pub fn written_back(platform: &Platform) -> Bandwidth {
    let line = platform.line();
    platform.dram.guaranteed_with_writes.unwrap_or_else(|| row_miss_rate_written(&platform.dram, line))
}

/// False for an event that can't happen on this platform: who counts it counts nothing.
pub fn happens(event: EventId, platform: &Platform) -> bool {
    let levels = platform.levels();
    let signal = platform.events.get(event).and_then(|definition| definition.signal);
    signal.is_some_and(|signal| match signal {
        Signal::L1Hit | Signal::L1Miss | Signal::LlcMiss | Signal::LlcHit => levels >= 1,
        Signal::L2Hit | Signal::L2Miss => levels >= 3,
        Signal::L2LinesInInvalid | Signal::L2LinesInShared | Signal::L2AddressStrobes => levels >= 2,
        Signal::ExtSnoopClean
        | Signal::ExtSnoopHit
        | Signal::ExtSnoopHitm
        | Signal::BusDrdyClocks
        | Signal::BusDataReceived
        | Signal::BusHitDriven
        | Signal::BusHitmDriven
        | Signal::BusBnrDriven => platform.bus.is_some(),
        Signal::BusLockClocks => false,
        Signal::Prefetch => platform.prefetcher.is_some_and(|prefetcher| prefetcher.on),
        Signal::SnoopHitModified
        | Signal::SnoopHitClean
        | Signal::SnoopMiss
        | Signal::Upgrade
        | Signal::InvalidationReceived
        | Signal::CmpSnoopShare
        | Signal::CmpSnoopInvalidate => levels >= 1 && platform.cores.len() > 1,
        Signal::Instructions
        | Signal::Cycles
        | Signal::Branch
        | Signal::BranchMiss
        | Signal::DtlbMiss
        | Signal::ItlbMiss
        | Signal::DramRead
        | Signal::DramWrite
        | Signal::DramRowHit
        | Signal::DramRowConflict => true,
    })
}
