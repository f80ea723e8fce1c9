//! Coherence: the tables line by line, counters equal to a naive reference, and invariants under random streams.

use proptest::prelude::*;
use solo_model::platform::{Contents, Inclusion, Protocol};
use solo_model::{CoreId, CoreSet, Picoseconds, Platform, Signal};
use solo_sim::memory::coherence::{MESI, MESIF, MOESI, State};
use solo_sim::memory::fixtures::{bare, cache, i7_2600, private_only, xeon_w3530};
use solo_sim::memory::{AccessKind, Hierarchy, PhysicalAddress};

use State::{Exclusive as E, Forward as F, Invalid as I, Modified as M, Owned as O, Shared as S};

#[test]
fn the_tables_say_what_the_protocols_say() {
    // State before a remote read, state after, supplies, writes back.
    let mesi = [(I, I, false, false), (S, S, false, false), (E, S, true, false), (M, S, true, true)];
    let mesif = [(F, S, true, false), (S, S, false, false), (E, S, true, false), (M, S, true, true)];
    let moesi = [(O, O, true, false), (M, O, true, false), (E, S, true, false), (S, S, false, false)];
    for (rules, rows) in [(MESI, mesi), (MESIF, mesif), (MOESI, moesi)] {
        for (state, next, supplies, writes_back) in rows {
            let reaction = rules.remote_read(state);
            assert_eq!(
                (reaction.next, reaction.supplies, reaction.writes_back),
                (next, supplies, writes_back)
            );
        }
        for state in State::ALL {
            let reaction = rules.remote_write(state);
            assert_eq!((reaction.next, reaction.writes_back), (I, false));
            assert_eq!(reaction.supplies, !matches!(state, I | S));
        }
    }
    assert_eq!([MESI.read_shared, MESIF.read_shared, MOESI.read_shared], [S, F, S]);
    assert_eq!(State::ALL.map(State::is_writable), [false, false, true, true, false, false]);
    assert_eq!(State::ALL.map(State::is_dirty), [false, false, false, true, false, true]);
}

const COUNTED: [Signal; 7] = [
    Signal::L1Hit,
    Signal::L1Miss,
    Signal::SnoopHitModified,
    Signal::SnoopHitClean,
    Signal::Upgrade,
    Signal::InvalidationReceived,
    Signal::DramWrite,
];

/// Private LRU caches under MESI: each a list of sets, each a list of (line, state), least recently used first.
struct Naive {
    cores: Vec<Vec<Vec<(u64, char)>>>,
    ways: usize,
    /// By core, in the order of `COUNTED`.
    counts: Vec<[u64; 7]>,
}

impl Naive {
    fn new(cores: usize, sets: usize, ways: usize) -> Self {
        Self { cores: vec![vec![Vec::new(); sets]; cores], ways, counts: vec![[0; 7]; cores] }
    }

    /// Takes the line from all others (or makes it shared); what the best of their copies was.
    fn others(&mut self, core: usize, set: usize, line: u64, write: bool) -> Option<char> {
        let mut best = None;
        for other in (0..self.cores.len()).filter(|other| *other != core) {
            let lines = &mut self.cores[other][set];
            if let Some(position) = lines.iter().position(|held| held.0 == line) {
                let state = lines[position].1;
                best = if state == 'M' || best == Some('M') { Some('M') } else { Some(state) };
                if write {
                    lines.remove(position);
                    self.counts[other][5] += 1;
                } else {
                    lines[position].1 = 'S';
                }
            }
        }
        best
    }

    fn access(&mut self, core: usize, line: u64, write: bool) {
        let set = (line % self.cores[core].len() as u64) as usize;
        let held = self.cores[core][set].iter().position(|held| held.0 == line);
        if let Some(position) = held {
            let (_, mut state) = self.cores[core][set].remove(position);
            self.counts[core][0] += 1;
            if write {
                if state == 'S' {
                    self.counts[core][4] += 1;
                    self.others(core, set, line, true);
                }
                state = 'M';
            }
            self.cores[core][set].push((line, state));
            return;
        }
        self.counts[core][1] += 1;
        let remote = self.others(core, set, line, write);
        match remote {
            Some('M') => {
                self.counts[core][2] += 1;
                self.counts[core][6] += u64::from(!write);
            }
            Some(_) => self.counts[core][3] += 1,
            None => {}
        }
        if self.cores[core][set].len() == self.ways {
            let gone = self.cores[core][set].remove(0);
            self.counts[core][6] += u64::from(gone.1 == 'M');
        }
        let state = if write {
            'M'
        } else if remote.is_some() {
            'S'
        } else {
            'E'
        };
        self.cores[core][set].push((line, state));
    }
}

fn drive(memory: &mut Hierarchy, number: usize, core: u16, line: u64, write: bool) {
    let now = Picoseconds::new(number as u64 * 1_000_000);
    memory.advance(now, |_| {});
    let kind = if write { AccessKind::Write } else { AccessKind::Read };
    memory.access(CoreId(core), now, PhysicalAddress(line * 64), kind);
}

/// Whoever may write is alone, changed data have one owner, at most one forwards, and an inclusive cache holds
/// what is behind it.
fn check(platform: &Platform, memory: &Hierarchy, coherent: bool) {
    let behind = |outer: usize, inner: usize| {
        let (outer, inner) = (&platform.caches[outer], &platform.caches[inner]);
        outer.level > inner.level && outer.cores.and(inner.cores) == inner.cores
    };
    let count = platform.caches.len();
    for (address, state, cache) in (0..count).flat_map(|c| memory.lines(c).map(move |(a, s)| (a, s, c))) {
        for outer in (0..count).filter(|outer| behind(*outer, cache)) {
            if platform.caches[outer].inclusion == Inclusion::Inclusive {
                assert_ne!(memory.state(outer, address), I, "{address:?} is in {cache} but not in {outer}");
            }
        }
        for other in (0..count).filter(|other| coherent && *other != cache) {
            let theirs = memory.state(other, address);
            if theirs == I || behind(cache, other) || behind(other, cache) {
                continue;
            }
            assert!(!state.is_writable(), "{address:?}: {state:?} in {cache}, {theirs:?} in {other}");
            assert!(!(state == F && theirs == F), "two forwarders of {address:?}");
            assert!(!(state.is_dirty() && theirs.is_dirty()), "two owners of {address:?}");
        }
    }
}

/// A small machine with two clusters of two cores, each behind a shared second level; no common cache.
fn clusters(inclusion: Inclusion) -> Platform {
    let mut platform = bare(4);
    let pair = |first: u16| CoreSet::only(CoreId(first)).with(CoreId(first + 1));
    platform.caches =
        (0..4).map(|core| cache(1, Contents::Data, CoreSet::only(CoreId(core)), 1, 2, 1)).collect();
    for first in [0, 2] {
        let mut second = cache(2, Contents::Unified, pair(first), 2, 4, 10);
        second.inclusion = inclusion;
        platform.caches.push(second);
    }
    platform
}

/// Three private or shared levels in small.
fn small_three_levels(inclusion: Inclusion) -> Platform {
    let mut platform = bare(4);
    for core in 0..4 {
        let only = CoreSet::only(CoreId(core));
        platform.caches.push(cache(1, Contents::Instructions, only, 1, 2, 1));
        platform.caches.push(cache(1, Contents::Data, only, 1, 2, 1));
        platform.caches.push(cache(2, Contents::Unified, only, 2, 4, 5));
    }
    let mut last = cache(3, Contents::Unified, CoreSet::first(4), 8, 4, 20);
    last.inclusion = inclusion;
    platform.caches.push(last);
    platform
}

fn machines() -> Vec<Platform> {
    let kinds = [Inclusion::Inclusive, Inclusion::NonInclusive, Inclusion::Exclusive];
    let mut machines = vec![private_only(4, 1, 2), xeon_w3530(), i7_2600()];
    machines.extend(kinds.map(clusters));
    machines.extend(kinds.map(small_three_levels));
    machines
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn mesi_counts_equal_the_naive_ones(
        four in any::<bool>(),
        stream in prop::collection::vec((0_u16..4, 0_u64..64, prop::bool::weighted(0.3)), 1..3000),
    ) {
        let cores = if four { 4 } else { 2 };
        let mut memory = Hierarchy::new(&private_only(cores, 1, 2), 1).unwrap();
        let mut naive = Naive::new(cores, 8, 2);
        for (number, (core, line, write)) in stream.into_iter().enumerate() {
            let core = core % cores as u16;
            drive(&mut memory, number, core, line, write);
            naive.access(usize::from(core), line, write);
        }
        for core in 0..cores {
            let counts = memory.counts(CoreId(core as u16));
            prop_assert_eq!(COUNTED.map(|event| counts[event]), naive.counts[core]);
        }
    }

    #[test]
    fn protocols_agree_in_hits_misses_upgrades_and_invalidations(
        stream in prop::collection::vec((0_u16..4, 0_u64..64, prop::bool::weighted(0.3)), 1..2000),
    ) {
        let run = |protocol| {
            let mut platform = private_only(4, 1, 2);
            platform.coherence.protocol = protocol;
            let mut memory = Hierarchy::new(&platform, 1).unwrap();
            for (number, (core, line, write)) in stream.iter().enumerate() {
                drive(&mut memory, number, *core, *line, *write);
            }
            let same = [Signal::L1Hit, Signal::L1Miss, Signal::Upgrade, Signal::InvalidationReceived];
            (0..4).map(|core| same.map(|event| memory.counts(CoreId(core))[event])).collect::<Vec<_>>()
        };
        let mesi = run(Protocol::Mesi);
        prop_assert_eq!(&mesi, &run(Protocol::Mesif));
        prop_assert_eq!(&mesi, &run(Protocol::Moesi));
    }

    #[test]
    fn invariants_hold_on_every_machine(
        machine in 0_usize..9,
        protocol in prop::sample::select(&[Protocol::None, Protocol::Mesi, Protocol::Mesif, Protocol::Moesi][..]),
        stream in prop::collection::vec((0_u16..8, 0_u64..96, 0_u8..10), 1..400),
    ) {
        let mut platform = machines().swap_remove(machine);
        platform.coherence.protocol = protocol;
        let mut memory = Hierarchy::new(&platform, 1).unwrap();
        let every = if machine == 1 || machine == 2 { 100 } else { 1 };
        for (number, (core, line, what)) in stream.into_iter().enumerate() {
            let core = CoreId(core % platform.cores.len() as u16);
            let now = Picoseconds::new(number as u64 * 30_000);
            memory.advance(now, |_| {});
            let kind = match what { 0..5 => AccessKind::Read, 5..9 => AccessKind::Write, _ => AccessKind::Fetch };
            memory.access(core, now, PhysicalAddress(line * 64), kind);
            if number % every == 0 {
                check(&platform, &memory, protocol != Protocol::None);
            }
        }
        check(&platform, &memory, protocol != Protocol::None);
    }
}
