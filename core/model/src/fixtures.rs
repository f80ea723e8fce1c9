//! Chips to start from, for tests and examples: equal cores and plain memory, whose behaviour can be worked out by hand.
//! What a test is about, it changes. Users' chips come from files; see `platforms/`.

use crate::id::CoreSet;
use crate::platform::{
    Cache, Coherence, Contents, Core, CoreKind, Dram, DramTiming, FramePolicy, Inclusion, PagePolicy,
    Platform, Pmu, Protocol, Replacement, RequestOrder, XorBits,
};
use crate::units::{Bytes, Cycles, Duration, Frequency, PerMille, Picoseconds};
use alloc::vec;
use alloc::vec::Vec;

/// A chip of `cores` equal cores of 1 GHz, one instruction a cycle, without caches: [`dram`], pages of 4 KiB one after the
/// other, MESI at no cost, four programmable and three fixed counters of 48 bits that interrupt on overflow.
///
/// # Panics
/// Above [`CoreSet::CAPACITY`] cores.
pub fn chip(cores: usize) -> Platform {
    Platform {
        name: "test".into(),
        kinds: vec![CoreKind {
            name: "core".into(),
            clock: Frequency::new(1_000_000_000),
            instructions_per_kilocycle: 1000,
            ports: None,
            outstanding_misses: 1,
            smt_speed: PerMille::new(1000).unwrap_or_default(),
            branch_miss: 0,
            tlb_miss: 0,
            energy: Vec::new(),
            steps: Vec::new(),
            described_at: None,
        }],
        reference: 0,
        cores: CoreSet::first(cores).iter().map(|core| Core { kind: 0, physical: core.0 }).collect(),
        caches: Vec::new(),
        coherence: Coherence {
            protocol: Protocol::Mesi,
            snoop_clean: Cycles::ZERO,
            snoop_modified: Cycles::ZERO,
            upgrade: Cycles::ZERO,
        },
        bus: None,
        prefetcher: None,
        dram: dram(),
        page: Bytes::from_kib(4),
        frames: FramePolicy::Sequential,
        pmu: Pmu { programmable: 4, fixed: 3, width: 48, overflow: true, rmids: 0 },
        events: crate::EventTable::default(),
        power: None,
        sources: Vec::new(),
    }
}

/// A cache of `level` for `cores`: LRU, non-inclusive, lines of 64 bytes; `latency` in cycles.
pub fn cache(level: u8, contents: Contents, cores: CoreSet, kib: u64, ways: u16, latency: u64) -> Cache {
    Cache {
        level,
        contents,
        cores,
        size: Bytes::from_kib(kib),
        ways,
        line: Bytes::new(64),
        latency: Cycles::new(latency),
        replacement: Replacement::Lru,
        inclusion: Inclusion::NonInclusive,
        slice_hash: Vec::new(),
        hashed_slices: 1,
    }
}

/// 1 GiB of [`ddr3_1333`] behind one channel: eight banks by address bits 13 to 15, open rows, row hits first, 20 ns of
/// way, 32 waiting requests.
pub fn dram() -> Dram {
    Dram {
        size: Bytes::from_mib(1024),
        channel_bits: Vec::new(),
        rank_bits: Vec::new(),
        bank_bits: (13..16).map(|bit| XorBits(1 << bit)).collect(),
        row_shift: 16,
        clock: Picoseconds::new(1500),
        bus_width: Bytes::new(8),
        timing: ddr3_1333(),
        page_policy: PagePolicy::Open,
        order: RequestOrder::RowHitsFirst,
        queue: 32,
        path: Duration::new(20),
        guaranteed: None,
        guaranteed_with_writes: None,
    }
}

/// DDR3 timing in clocks at 1333 MT/s, CL9 (JESD79-3F, speed bin 1333H; tRFC of a 2 Gb device).
pub const fn ddr3_1333() -> DramTiming {
    DramTiming {
        cl: 9,
        cwl: 7,
        rcd: 9,
        rp: 9,
        ras: 24,
        rc: 33,
        rrd: 4,
        faw: 20,
        wr: 10,
        wtr: 5,
        rtp: 5,
        ccd: 4,
        rfc: 107,
        refi: 5200,
        burst: 8,
    }
}
