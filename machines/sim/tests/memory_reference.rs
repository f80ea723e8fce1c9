//! Hits, misses and write-backs equal those of a naive cache written from the policies' definitions.

use proptest::prelude::*;
use solo_model::platform::{Contents, Inclusion, Protocol, Replacement};
use solo_model::{Bytes, CoreId, CoreSet, Picoseconds, Platform, Signal};
use solo_sim::memory::fixtures::{bare, cache, private_only};
use solo_sim::memory::{AccessKind, Hierarchy, PhysicalAddress};
use std::collections::BTreeMap;

/// A line of the naive cache.
#[derive(Clone)]
struct Line {
    line: u64,
    dirty: bool,
    way: usize,
}

/// A cache as a list of sets, each a list of lines: least recently used (or oldest) first.
struct Naive {
    sets: Vec<Vec<Line>>,
    ways: usize,
    policy: Replacement,
    /// Tree-PLRU: for each set and each pair of half-open ways that a node covers, the half it points at.
    right: Vec<BTreeMap<(usize, usize), bool>>,
    /// Not recently used: for each set the ways used.
    used: Vec<Vec<bool>>,
}

impl Naive {
    fn new(sets: usize, ways: usize, policy: Replacement) -> Self {
        let used = vec![vec![false; ways]; sets];
        Self { sets: vec![Vec::new(); sets], ways, policy, right: vec![BTreeMap::new(); sets], used }
    }

    fn touch(&mut self, set: usize, way: usize) {
        let (mut low, mut high) = (0, self.ways.next_power_of_two());
        while high - low > 1 {
            let middle = (low + high) / 2;
            self.right[set].insert((low, high), way < middle);
            (low, high) = if way < middle { (low, middle) } else { (middle, high) };
        }
        self.used[set][way] = true;
        if self.used[set].iter().all(|used| *used) {
            self.used[set] = (0..self.ways).map(|other| other == way).collect();
        }
    }

    fn victim(&self, set: usize) -> usize {
        let way = match self.policy {
            Replacement::TreePlru => {
                let (mut low, mut high) = (0, self.ways.next_power_of_two());
                while high - low > 1 {
                    let middle = (low + high) / 2;
                    let right =
                        self.right[set].get(&(low, high)).copied().unwrap_or(false) && middle < self.ways;
                    (low, high) = if right { (middle, high) } else { (low, middle) };
                }
                low
            }
            Replacement::NotRecentlyUsed => self.used[set].iter().position(|used| !used).unwrap_or(0),
            _ => return 0,
        };
        self.sets[set].iter().position(|line| line.way == way).unwrap()
    }

    /// True for a hit; the changed line that had to leave.
    fn access(&mut self, line: u64, write: bool) -> (bool, Option<u64>) {
        let set = (line % self.sets.len() as u64) as usize;
        if let Some(position) = self.sets[set].iter().position(|held| held.line == line) {
            self.sets[set][position].dirty |= write;
            let way = self.sets[set][position].way;
            if self.policy == Replacement::Lru {
                let held = self.sets[set].remove(position);
                self.sets[set].push(held);
            }
            self.touch(set, way);
            return (true, None);
        }
        let mut way = self.sets[set].len();
        let mut written = None;
        if way == self.ways {
            let victim = self.victim(set);
            let gone = self.sets[set].remove(victim);
            way = gone.way;
            written = gone.dirty.then_some(gone.line);
        }
        self.sets[set].push(Line { line, dirty: write, way });
        self.touch(set, way);
        (false, written)
    }
}

/// One core with one cache of `sets` x `ways`.
fn one_level(sets: u64, ways: u16, line: u64, policy: Replacement) -> Platform {
    let mut platform = private_only(1, 1, 1);
    let cache = &mut platform.caches[0];
    (cache.ways, cache.line, cache.replacement) = (ways, Bytes::new(line), policy);
    cache.size = Bytes::new(sets * u64::from(ways) * line);
    platform.dram.timing.burst = (line / 8) as u16;
    platform
}

fn kind(write: bool) -> AccessKind {
    if write { AccessKind::Write } else { AccessKind::Read }
}

fn compare(platform: &Platform, stream: impl Iterator<Item = (u64, bool)>) {
    let description = platform.caches[0].clone();
    let mut memory = Hierarchy::new(platform, 1).unwrap();
    let mut naive =
        Naive::new(description.sets() as usize, usize::from(description.ways), description.replacement);
    let (mut hits, mut misses, mut written) = (0, 0, 0);
    for (number, (address, write)) in stream.enumerate() {
        let (hit, gone) = naive.access(address / description.line.get(), write);
        *if hit { &mut hits } else { &mut misses } += 1;
        written += u64::from(gone.is_some());
        let now = Picoseconds::new(number as u64 * 1_000_000);
        memory.advance(now, |_| {});
        memory.access(CoreId(0), now, PhysicalAddress(address), kind(write));
        let counts = memory.counts(CoreId(0));
        assert_eq!(
            counts[Signal::L1Miss],
            misses,
            "access {number} at {address:#x} ({:?})",
            description.replacement
        );
    }
    let counts = memory.counts(CoreId(0));
    assert_eq!(
        (counts[Signal::L1Hit], counts[Signal::DramRead], counts[Signal::DramWrite]),
        (hits, misses, written)
    );
}

const POLICIES: [Replacement; 4] =
    [Replacement::Lru, Replacement::Fifo, Replacement::TreePlru, Replacement::NotRecentlyUsed];

/// Sets, ways and line sizes of the check list: 24 and 20 ways, direct-mapped, fully associative, sets that are
/// no power of two, lines of 32 bytes.
const SHAPES: [(u64, u16, u64); 8] = [
    (64, 8, 64),
    (64, 24, 64),
    (16, 20, 64),
    (128, 1, 64),
    (1, 128, 64),
    (96, 4, 64),
    (32, 4, 32),
    (8, 6, 32),
];

/// A program's mixture: sweeps, a stencil over rows, and random accesses to a hot and a cold region.
fn structured(seed: u64) -> impl Iterator<Item = (u64, bool)> {
    let mut state = seed | 1;
    (0..30_000_u64).map(move |n| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let address = match n / 1000 % 4 {
            0 => n * 24 % 20_000,
            1 => n % 3 * 4096 + n / 3 % 512 * 8,
            2 => state % 9_000,
            _ => state % 200_000,
        };
        (address, state >> 62 == 0)
    })
}

#[test]
fn structured_streams_agree_to_the_last_miss() {
    for (sets, ways, line) in SHAPES {
        for policy in POLICIES {
            compare(&one_level(sets, ways, line, policy), structured(sets + u64::from(ways)));
        }
    }
}

#[test]
fn random_replacement_is_repeatable_and_keeps_what_fits() {
    let platform = one_level(64, 8, 64, Replacement::Random);
    let misses = |seed| {
        let mut memory = Hierarchy::new(&platform, seed).unwrap();
        for (number, (address, write)) in structured(3).enumerate() {
            let now = Picoseconds::new(number as u64 * 1_000_000);
            memory.advance(now, |_| {});
            memory.access(CoreId(0), now, PhysicalAddress(address), kind(write));
        }
        memory.counts(CoreId(0))[Signal::L1Miss]
    };
    assert_eq!(misses(1), misses(1));
    assert_ne!(misses(1), misses(2));
    let fits = (0..100_000_u64).map(|n| (n * 64 % 32_768, false));
    let mut memory = Hierarchy::new(&platform, 1).unwrap();
    for (number, (address, write)) in fits.enumerate() {
        memory.access(CoreId(0), Picoseconds::new(number as u64), PhysicalAddress(address), kind(write));
    }
    assert_eq!(memory.counts(CoreId(0))[Signal::L1Miss], 512);
}

/// Split first level and unified second, neither inclusive nor exclusive, without coherence: the second level is
/// read on a first-level miss and then written with the first level's changed victim.
fn two_levels() -> Platform {
    let mut platform = bare(1);
    let only = CoreSet::first(1);
    platform.coherence.protocol = Protocol::None;
    platform.caches = vec![
        cache(1, Contents::Instructions, only, 2, 2, 1),
        cache(1, Contents::Data, only, 2, 4, 1),
        cache(2, Contents::Unified, only, 6, 6, 10),
    ];
    platform
}

#[test]
fn two_levels_agree_with_two_naive_caches() {
    let mut memory = Hierarchy::new(&two_levels(), 1).unwrap();
    let mut code = Naive::new(16, 2, Replacement::Lru);
    let mut data = Naive::new(8, 4, Replacement::Lru);
    let mut second = Naive::new(16, 6, Replacement::Lru);
    let (mut demand, mut missed, mut written) = (0, 0, 0);
    for (number, (address, write)) in structured(9).enumerate() {
        let fetch = number % 5 == 0;
        let address = if fetch { 1 << 20 | (address & 0x3fff) } else { address };
        let line = address / 64;
        let write = write && !fetch;
        let (hit, victim) = if fetch { code.access(line, false) } else { data.access(line, write) };
        if !hit {
            demand += 1;
            let (hit, gone) = second.access(line, false);
            missed += u64::from(!hit);
            written += u64::from(gone.is_some());
        }
        if let Some(victim) = victim {
            written += u64::from(second.access(victim, true).1.is_some());
        }
        let now = Picoseconds::new(number as u64 * 1_000_000);
        memory.advance(now, |_| {});
        let kind = if fetch { AccessKind::Fetch } else { kind(write) };
        memory.access(CoreId(0), now, PhysicalAddress(address), kind);
        let counts = memory.counts(CoreId(0));
        assert_eq!(
            (counts[Signal::LlcMiss], counts[Signal::DramWrite]),
            (missed, written),
            "access {number}"
        );
    }
    let counts = memory.counts(CoreId(0));
    assert_eq!(counts[Signal::LlcHit] + counts[Signal::LlcMiss], demand);
    assert!(missed > 1000 && written > 500, "the stream must exercise the second level");
}

/// Cores confined to disjoint colors miss exactly as often as each alone on a cache with only its sets.
#[test]
fn disjoint_colors_leave_each_core_its_own_misses() {
    let shared = |cores: usize, sets: u64| {
        let mut platform = bare(cores);
        let mut last = cache(2, Contents::Unified, CoreSet::first(cores), sets * 8 * 64 / 1024, 8, 10);
        last.inclusion = Inclusion::Inclusive;
        let private = |core| cache(1, Contents::Data, CoreSet::only(CoreId(core as u16)), 2, 2, 1);
        platform.caches = (0..cores).map(private).chain([last]).collect();
        Hierarchy::new(&platform, 1).unwrap()
    };
    // 512 sets of 64 bytes: eight colors of 4 KiB pages. Core c may use colors 4c to 4c + 3.
    let mut both = shared(2, 512);
    let mut alone = [shared(1, 256), shared(1, 256)];
    let streams = [structured(1), structured(2)].map(|stream| stream.collect::<Vec<_>>());
    let pairs = streams[0].iter().zip(&streams[1]);
    for (number, (first, second)) in pairs.enumerate() {
        for (core, (address, write)) in [(0_u64, *first), (1, *second)] {
            let now = Picoseconds::new(number as u64 * 2_000_000 + core * 1_000_000);
            // The page number's low two bits stay, then comes the core's bit, then the rest.
            let (page, offset) = (address >> 12, address & 0xfff);
            let colored = (page >> 2) << 15 | core << 14 | (page & 3) << 12 | offset;
            both.advance(now, |_| {});
            both.access(CoreId(core as u16), now, PhysicalAddress(colored), kind(write));
            alone[core as usize].advance(now, |_| {});
            alone[core as usize].access(CoreId(0), now, PhysicalAddress(address), kind(write));
        }
    }
    for core in 0..2 {
        let (corun, solo) = (both.counts(CoreId(core)), alone[usize::from(core)].counts(CoreId(0)));
        for event in [Signal::L1Miss, Signal::LlcHit, Signal::LlcMiss, Signal::DramRead, Signal::DramWrite] {
            assert_eq!(corun[event], solo[event], "core {core}, {}", event.name());
        }
        assert!(solo[Signal::LlcMiss] > 1000);
    }
}

#[test]
fn a_way_mask_keeps_neighbours_apart() {
    let mut platform = bare(2);
    let mut last = cache(2, Contents::Unified, CoreSet::first(2), 32, 8, 10);
    last.inclusion = Inclusion::Inclusive;
    let private = |core| cache(1, Contents::Data, CoreSet::only(CoreId(core)), 1, 1, 1);
    platform.caches = vec![private(0), private(1), last];
    for policy in [
        Replacement::Lru,
        Replacement::Fifo,
        Replacement::TreePlru,
        Replacement::Random,
        Replacement::NotRecentlyUsed,
    ] {
        platform.caches[2].replacement = policy;
        let mut memory = Hierarchy::new(&platform, 1).unwrap();
        assert!(memory.restrict_ways(CoreId(0), 2, 0).is_err());
        assert!(memory.restrict_ways(CoreId(0), 2, 0b0000_0011).is_ok());
        assert!(memory.restrict_ways(CoreId(1), 2, 0b1111_1100).is_ok());
        // Core 0 holds two lines of each set; core 1 floods.
        for line in 0..128_u64 {
            memory.access(CoreId(0), Picoseconds::ZERO, PhysicalAddress(line * 64), AccessKind::Read);
        }
        for line in 0..4096_u64 {
            let at = Picoseconds::new(line * 1_000_000);
            memory.advance(at, |_| {});
            memory.access(CoreId(1), at, PhysicalAddress((1 << 20) + line * 64), AccessKind::Write);
        }
        let held = memory.lines(2).filter(|(address, _)| address.0 < 1 << 20).count();
        assert_eq!(held, 128, "{policy:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn random_streams_agree(
        shape in prop::sample::select(&SHAPES[..]),
        policy in prop::sample::select(&POLICIES[..]),
        reach in 1_u64..400,
        stream in prop::collection::vec((any::<u32>(), any::<bool>()), 1..2000),
    ) {
        let (sets, ways, line) = shape;
        let stream = stream.into_iter().map(|(draw, write)| (u64::from(draw) % (reach * line * 4), write));
        compare(&one_level(sets, ways, line, policy), stream);
    }
}
