//! The chip on which a case runs.

use solo_model::platform::{
    Cache, Coherence, Contents, Core, CoreKind, Dram, DramTiming, FramePolicy, Inclusion, PagePolicy,
    Platform, Pmu, Protocol, Replacement, RequestOrder, XorBits,
};
use solo_model::{Bytes, CoreId, CoreSet, Cycles, Duration, Frequency, PerMille, Picoseconds};

/// A chip of `cores` equal cores at 1 GHz. The jobs of a case only compute, so that its caches and memory never
/// matter; they are there for machines that cannot do without.
///
/// # Panics
/// Above [`CoreSet::CAPACITY`] cores.
pub fn ideal_platform(cores: usize) -> Platform {
    let cache = |level, cores: CoreSet, size, latency| Cache {
        level,
        contents: if level == 1 { Contents::Data } else { Contents::Unified },
        cores,
        size: Bytes::from_kib(size),
        ways: 8,
        line: Bytes::new(64),
        latency: Cycles::new(latency),
        replacement: Replacement::Lru,
        inclusion: Inclusion::Inclusive,
        slice_hash: Vec::new(),
        hashed_slices: 1,
    };
    let all = CoreSet::first(cores);
    let mut caches: Vec<_> = all.iter().map(|core| cache(1, CoreSet::only(core), 32, 1)).collect();
    caches.push(cache(2, all, 1024, 10));
    Platform {
        name: "ideal".to_owned(),
        kinds: vec![CoreKind {
            name: "core".to_owned(),
            clock: Frequency::new(1_000_000_000),
            instructions_per_kilocycle: 1000,
            ports: None,
            outstanding_misses: 1,
            smt_speed: PerMille::new(1000).unwrap_or_default(),
            energy: Vec::new(),
        }],
        cores: all.iter().map(|CoreId(core)| Core { kind: 0, physical: core }).collect(),
        caches,
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
        pmu: Pmu { programmable: 4, fixed: 3, width: 48, overflow: true },
        sources: Vec::new(),
    }
}

/// One channel of eight banks with DDR3-1333 timing.
fn dram() -> Dram {
    Dram {
        size: Bytes::from_mib(1024),
        channel_bits: Vec::new(),
        rank_bits: Vec::new(),
        bank_bits: (13..16).map(|bit| XorBits(1 << bit)).collect(),
        row_shift: 16,
        clock: Picoseconds::new(1500),
        bus_width: Bytes::new(8),
        timing: DramTiming {
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
        },
        page_policy: PagePolicy::Open,
        order: RequestOrder::RowHitsFirst,
        queue: 16,
        path: Duration::new(20),
        guaranteed: None,
    }
}
