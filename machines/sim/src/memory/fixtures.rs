//! Platforms for tests and benches: two chips of the papers, and small machines whose behaviour can be worked
//! out by hand. Users' platforms come from files; see `platforms/`.

pub use solo_model::fixtures::cache;
use solo_model::fixtures::{chip, ddr3_1333, dram};
use solo_model::platform::{Cache, Contents, Dram, DramTiming, FramePolicy, Inclusion, XorBits};
use solo_model::{Bytes, CoreId, CoreSet, Cycles, Duration, Frequency, PerMille, Picoseconds, Platform};

/// A bank bit that is one address bit.
pub fn bit(number: u8) -> XorBits {
    XorBits(1 << number)
}

/// The DDR3-1600K device of the command-line's documentation: one channel, one rank, 8 banks of 8 KiB rows.
pub fn ddr3_1600k() -> Dram {
    Dram {
        size: Bytes::from_mib(4096),
        clock: Picoseconds::new(1250),
        timing: DramTiming {
            cl: 11,
            cwl: 8,
            rcd: 11,
            rp: 11,
            ras: 28,
            rc: 39,
            rrd: 5,
            faw: 24,
            wr: 12,
            wtr: 6,
            rtp: 6,
            rfc: 280,
            refi: 6240,
            ..ddr3_1333()
        },
        path: Duration::ZERO,
        ..dram()
    }
}

/// A machine of `cores` cores of 1 GHz without caches yet, with [`ddr3_1600k`] and MESI; costs of coherence are
/// 100 (clean), 200 (modified) and 50 (upgrade) cycles.
pub fn bare(cores: usize) -> Platform {
    let mut platform = Platform { name: "bare".into(), dram: ddr3_1600k(), ..chip(cores) };
    platform.kinds[0].outstanding_misses = 4;
    platform.coherence.snoop_clean = Cycles::new(100);
    platform.coherence.snoop_modified = Cycles::new(200);
    platform.coherence.upgrade = Cycles::new(50);
    platform
}

/// [`bare`] with a private data cache for each core and nothing else.
pub fn private_only(cores: usize, kib: u64, ways: u16) -> Platform {
    let mut platform = bare(cores);
    let private = |core| cache(1, Contents::Data, CoreSet::only(CoreId(core as u16)), kib, ways, 1);
    platform.caches = (0..cores).map(private).collect();
    platform
}

/// Private caches of a Nehalem or Sandy Bridge core: split first level, unified second.
fn intel_private(cores: CoreSet, code_ways: u16, l1: u64, l2: u64) -> [Cache; 3] {
    [
        cache(1, Contents::Instructions, cores, 32, code_ways, l1),
        cache(1, Contents::Data, cores, 32, 8, l1),
        cache(2, Contents::Unified, cores, 256, 8, l2),
    ]
}

fn by_level(mut caches: Vec<Cache>) -> Vec<Cache> {
    caches.sort_by_key(|cache| (cache.level, cache.cores.bits()));
    caches
}

/// Like a Xeon W3530 (memguard-case-study; as in `platforms/xeon-w3530.toml`): four cores, 8 MiB inclusive last level
/// without slices, one channel of DDR3-1333.
pub fn xeon_w3530() -> Platform {
    let mut platform = bare(4);
    platform.name = "xeon-w3530".into();
    platform.kinds[0].clock = Frequency::new(2_800_000_000);
    platform.kinds[0].outstanding_misses = 10;
    let mut last = cache(3, Contents::Unified, CoreSet::first(4), 8192, 16, 39);
    last.inclusion = Inclusion::Inclusive;
    let private = |core| intel_private(CoreSet::only(CoreId(core)), 4, 4, 10);
    platform.caches = by_level((0..4).flat_map(private).chain([last]).collect());
    platform.coherence.snoop_clean = Cycles::new(26);
    platform.coherence.snoop_modified = Cycles::new(36);
    platform.coherence.upgrade = Cycles::new(26);
    platform.dram = Dram {
        rank_bits: vec![bit(19)],
        bank_bits: vec![bit(12), bit(13), bit(20)],
        row_shift: 14,
        clock: Picoseconds::new(1500),
        timing: ddr3_1333(),
        // What is left of the 60 to 81 ns to DRAM after the last level and a row conflict.
        path: Duration::new(15),
        ..ddr3_1600k()
    };
    platform.frames = FramePolicy::Random;
    platform
}

/// Like an i7-2600 (thesis 5.1; as in `platforms/i7-2600.toml`): four cores of two threads, 8 MiB inclusive last
/// level in four hashed slices, two channels of DDR3-1333.
pub fn i7_2600() -> Platform {
    let mut platform = bare(8);
    platform.name = "i7-2600".into();
    platform.kinds[0].clock = Frequency::new(3_400_000_000);
    platform.kinds[0].outstanding_misses = 10;
    platform.kinds[0].smt_speed = PerMille::new(600).unwrap_or_default();
    for (number, core) in platform.cores.iter_mut().enumerate() {
        core.physical = number as u16 % 4;
    }
    let mut last = cache(3, Contents::Unified, CoreSet::first(8), 8192, 16, 29);
    last.inclusion = Inclusion::Inclusive;
    last.slice_hash = vec![
        mask(&[6, 10, 12, 14, 16, 17, 18, 20, 22, 24, 25, 26, 27, 28, 30, 32]),
        mask(&[7, 11, 13, 15, 17, 19, 20, 21, 22, 23, 24, 26, 28, 29, 31, 33]),
    ];
    let siblings = |core: u16| CoreSet::only(CoreId(core)).with(CoreId(core + 4));
    let private = |core| intel_private(siblings(core), 8, 4, 12);
    platform.caches = by_level((0..4).flat_map(private).chain([last]).collect());
    platform.coherence.snoop_clean = Cycles::new(20);
    platform.coherence.snoop_modified = Cycles::new(40);
    platform.coherence.upgrade = Cycles::new(20);
    platform.dram = Dram {
        channel_bits: vec![bit(6)],
        bank_bits: vec![bit(14), bit(15), bit(16)],
        row_shift: 17,
        clock: Picoseconds::new(1500),
        timing: ddr3_1333(),
        path: Duration::new(15),
        ..ddr3_1600k()
    };
    platform
}

fn mask(bits: &[u8]) -> XorBits {
    XorBits(bits.iter().fold(0, |mask, bit| mask | 1 << bit))
}
