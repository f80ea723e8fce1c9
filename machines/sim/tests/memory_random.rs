//! A random tester of whole memories: accesses of several cores, way masks, locked lines, prefetchers and buses in any
//! combination, and what must hold after every single step.

use proptest::prelude::*;
use solo_model::platform::{Contents, FrontSideBus, Inclusion, Protocol, Replacement, StreamPrefetcher};
use solo_model::{CoreId, CoreSet, Picoseconds, Platform, Signal};
use solo_sim::memory::coherence::State;
use solo_sim::memory::fixtures::{bare, cache, private_only};
use solo_sim::memory::{AccessKind, Hierarchy, PhysicalAddress};
use std::collections::{BTreeMap, BTreeSet};

use Inclusion::{Exclusive, Inclusive, NonInclusive};

const REPLACEMENTS: [Replacement; 5] = [
    Replacement::Lru,
    Replacement::Fifo,
    Replacement::TreePlru,
    Replacement::Random,
    Replacement::NotRecentlyUsed,
];

fn set(cores: &[u16]) -> CoreSet {
    cores.iter().map(|core| CoreId(*core)).collect()
}

/// First levels, pairs of cores that do not stand side by side behind second levels, a third level for all.
fn crossed(second: Inclusion, third: Inclusion) -> Platform {
    let mut platform = bare(4);
    platform.caches = (0..4).map(|n| cache(1, Contents::Data, set(&[n]), 1, 2, 1)).collect();
    for pair in [[0, 2], [1, 3]] {
        let level = cache(2, Contents::Unified, set(&pair), 2, 4, 10);
        platform.caches.push(solo_model::platform::Cache { inclusion: second, ..level });
    }
    let last = cache(3, Contents::Unified, CoreSet::first(4), 4, 4, 20);
    platform.caches.push(solo_model::platform::Cache { inclusion: third, ..last });
    platform
}

/// Six levels, the inner three private, each larger than the one before.
fn deep(inclusion: Inclusion) -> Platform {
    let mut platform = bare(4);
    for level in 1..=6_u8 {
        let groups: &[&[u16]] = match level {
            1..=3 => &[&[0], &[1], &[2], &[3]],
            4 => &[&[0, 3], &[1, 2]],
            _ => &[&[0, 1, 2, 3]],
        };
        for group in groups {
            let contents = if level == 1 { Contents::Data } else { Contents::Unified };
            let mut built = cache(level, contents, set(group), u64::from(level), 2, u64::from(level) * 5);
            if level == 6 {
                built.inclusion = inclusion;
            }
            platform.caches.push(built);
        }
    }
    platform
}

/// Two dies of two cores on a front-side bus.
fn dies() -> Platform {
    let mut platform = bare(4);
    platform.caches = (0..4).map(|n| cache(1, Contents::Data, set(&[n]), 1, 2, 1)).collect();
    for pair in [[0, 1], [2, 3]] {
        let level = cache(2, Contents::Unified, set(&pair), 2, 4, 10);
        platform.caches.push(solo_model::platform::Cache { inclusion: Inclusive, ..level });
    }
    let clock = Picoseconds::new(3_000);
    platform.bus = Some(FrontSideBus { clock, address: 2, snoop: 4, reply: 6, data: 2, signal: 1, depth: 3 });
    platform
}

/// Each machine, and whether all its cores stand behind one cache.
fn machines() -> Vec<(Platform, bool)> {
    let mut machines = vec![(private_only(4, 1, 2), false), (dies(), false)];
    for second in [Inclusive, NonInclusive, Exclusive] {
        for third in [Inclusive, NonInclusive, Exclusive] {
            machines.push((crossed(second, third), true));
        }
    }
    machines.extend([(deep(Inclusive), true), (deep(NonInclusive), true)]);
    machines
}

/// Something that happens.
#[derive(Clone, Copy, Debug)]
enum Step {
    Access {
        core: u16,
        line: u64,
        kind: AccessKind,
    },
    /// The ways of the last level that a core may fill from now on.
    Restrict {
        core: u16,
        mask: u64,
    },
    /// A line is loaded by a core and locked in its last level.
    Lock {
        core: u16,
        line: u64,
    },
    Unlock {
        line: u64,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let (core, line) = (0_u16..4, 0_u64..96);
    use AccessKind::{Fetch, Read, Write};
    let access = (core.clone(), line.clone(), prop::sample::select(&[Read, Read, Write, Write, Fetch][..]));
    prop_oneof![
        30 => access.prop_map(|(core, line, kind)| Step::Access { core, line, kind }),
        1 => (core.clone(), 1_u64..16).prop_map(|(core, mask)| Step::Restrict { core, mask }),
        1 => (core, line.clone()).prop_map(|(core, line)| Step::Lock { core, line }),
        1 => line.prop_map(|line| Step::Unlock { line }),
    ]
}

/// A memory and what is known about it from outside.
struct Watched {
    platform: Platform,
    one_root: bool,
    memory: Hierarchy,
    now: Picoseconds,
    locked: BTreeSet<u64>,
}

impl Watched {
    fn new(platform: Platform, one_root: bool) -> Self {
        let memory = Hierarchy::new(&platform, 1).unwrap();
        Self { platform, one_root, memory, now: Picoseconds::ZERO, locked: BTreeSet::new() }
    }

    fn last(&self, core: u16) -> usize {
        let caches = self.platform.caches.iter().enumerate();
        let mine = caches.filter(|(_, cache)| cache.cores.contains(CoreId(core)));
        mine.max_by_key(|(_, cache)| cache.level).unwrap().0
    }

    fn access(&mut self, core: u16, line: u64, kind: AccessKind) {
        self.now += Picoseconds::new(40_000);
        self.memory.advance(self.now, |_| {});
        self.memory.access(CoreId(core), self.now, PhysicalAddress(line * 64), kind);
    }

    /// Every line that some cache holds: each cache's state of it.
    fn held(&self) -> BTreeMap<u64, Vec<(usize, State)>> {
        let mut held: BTreeMap<u64, Vec<(usize, State)>> = BTreeMap::new();
        for cache in 0..self.platform.caches.len() {
            for (address, state) in self.memory.lines(cache) {
                held.entry(address.0 / 64).or_default().push((cache, state));
            }
        }
        held
    }

    fn written_to_memory(&self) -> u64 {
        (0..4).map(|core| self.memory.counts(CoreId(core))[Signal::DramWrite]).sum()
    }

    /// Lines of which some cache knows that memory's copy is old.
    fn dirty(&self) -> BTreeSet<u64> {
        let dirty = |copies: &[(usize, State)]| copies.iter().any(|(_, state)| state.is_dirty());
        self.held().into_iter().filter(|(_, copies)| dirty(copies)).map(|(line, _)| line).collect()
    }

    fn behind(&self, outer: usize, inner: usize) -> bool {
        let (outer, inner) = (&self.platform.caches[outer], &self.platform.caches[inner]);
        outer.level > inner.level && outer.cores.and(inner.cores) == inner.cores
    }

    /// One writer, one owner, one forwarder; inclusive caches hold what is behind them; what is locked is there.
    fn check(&self, step: Step) {
        let coherent = self.platform.coherence.protocol != Protocol::None;
        for (line, copies) in self.held() {
            for &(cache, state) in &copies {
                for outer in (0..self.platform.caches.len()).filter(|outer| self.behind(*outer, cache)) {
                    let holds = copies.iter().any(|(other, _)| *other == outer);
                    let inclusive = self.platform.caches[outer].inclusion == Inclusive;
                    assert!(holds || !inclusive, "{step:?}: {line} is in {cache} but not in {outer}");
                }
                for &(other, theirs) in copies.iter().filter(|(other, _)| coherent && *other != cache) {
                    if self.behind(cache, other) || self.behind(other, cache) {
                        continue;
                    }
                    let said = format!("{step:?}: {line} is {state:?} in {cache} and {theirs:?} in {other}");
                    assert!(!state.is_writable(), "two may write: {said}");
                    assert!(!(state.is_dirty() && theirs.is_dirty()), "two owners: {said}");
                    let forwards = |state| state == State::Forward;
                    assert!(!(forwards(state) && forwards(theirs)), "two forwarders: {said}");
                }
            }
        }
        let last = self.last(0);
        for line in &self.locked {
            let state = self.memory.state(last, PhysicalAddress(line * 64));
            assert_ne!(state, State::Invalid, "{step:?}: {line} was locked");
        }
    }

    fn perform(&mut self, step: Step) {
        let (mut before, writes) = (self.dirty(), self.written_to_memory());
        match step {
            Step::Access { core, line, kind } => {
                self.access(core, line, kind);
                if kind == AccessKind::Write {
                    before.insert(line);
                }
            }
            Step::Restrict { core, mask } => {
                let last = self.last(core);
                let none = mask & ((1 << self.platform.caches[last].ways) - 1) == 0;
                assert_eq!(self.memory.restrict_ways(CoreId(core), last, mask).is_err(), none);
            }
            Step::Lock { core, line } => {
                let last = self.last(core);
                let exclusive = self.platform.caches[last].inclusion == Exclusive;
                // Another agent's write takes a locked line away like any: only a cache for all cores keeps its own.
                if self.one_root && !exclusive {
                    self.access(core, line, AccessKind::Read);
                    if self.memory.lock_line(last, PhysicalAddress(line * 64)) {
                        self.locked.insert(line);
                    }
                }
            }
            Step::Unlock { line } => {
                self.memory.unlock_line(self.last(0), PhysicalAddress(line * 64));
                self.locked.remove(&line);
            }
        }
        self.check(step);
        // Changed data are somewhere: in a cache that knows, or on their way to memory.
        let after = self.dirty();
        let gone = before.difference(&after).count() as u64;
        let wrote = self.written_to_memory() - writes;
        assert!(gone <= wrote, "{step:?}: {gone} changed lines have left the caches, {wrote} were written");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn nothing_is_lost_or_held_twice_whatever_happens(
        machine in 0_usize..13,
        protocol in prop::sample::select(&[Protocol::Mesi, Protocol::Mesif, Protocol::Moesi, Protocol::None][..]),
        replacement in prop::sample::select(&REPLACEMENTS[..]),
        prefetches in any::<bool>(),
        steps in prop::collection::vec(step(), 1..250),
    ) {
        let (mut platform, one_root) = machines().swap_remove(machine);
        platform.coherence.protocol = protocol;
        platform.caches.iter_mut().for_each(|cache| cache.replacement = replacement);
        let prefetcher = StreamPrefetcher { on: true, streams: 4, after: 1, distance: 4 };
        platform.prefetcher = prefetches.then_some(prefetcher);
        let mut watched = Watched::new(platform, one_root);
        for step in steps {
            watched.perform(step);
        }
    }

    /// With ways of its own a core never evicts another's line, keeps to its ways in every set, and hits a line in
    /// whichever way it lies.
    #[test]
    fn a_masked_core_fills_its_own_ways_only(
        replacement in prop::sample::select(&REPLACEMENTS[..]),
        mask in 1_u64..255,
        before in prop::collection::vec((0_u64..400, any::<bool>()), 0..200),
        stream in prop::collection::vec((0_u16..2, 0_u64..400, any::<bool>()), 1..400),
    ) {
        let mut platform = private_only(2, 1, 1);
        let last = cache(2, Contents::Unified, CoreSet::first(2), 8, 8, 10);
        platform.caches.push(solo_model::platform::Cache { inclusion: Inclusive, replacement, ..last });
        let mut watched = Watched::new(platform, true);
        let sets = 16;
        let kind = |write| if write { AccessKind::Write } else { AccessKind::Read };
        // Core 0 has filled any ways before the masks are set.
        for (line, write) in before {
            watched.access(0, line, kind(write));
        }
        for (core, mask) in [(0, mask), (1, !mask & 255)] {
            watched.memory.restrict_ways(CoreId(core), 2, mask).unwrap();
        }
        let ways = 8 - mask.count_ones() as usize;
        // Lines of core 1 lie far above those of core 0, in the same sets.
        let far = 1 << 20;
        let held = |memory: &Hierarchy, of: u16| -> BTreeSet<u64> {
            let lines = memory.lines(2).map(|(address, _)| address.0 / 64);
            lines.filter(|line| (*line >= far) == (of == 1)).collect()
        };
        let in_set = |lines: &BTreeSet<u64>, set: u64| lines.iter().filter(|line| *line % sets == set).count();
        // What core 0 had before stays where it is, also in ways that are core 1's now.
        let mut old = held(&watched.memory, 0);
        for (core, line, write) in stream {
            let line = line + if core == 1 { far } else { 0 };
            let (theirs, mine) = (held(&watched.memory, 1 - core), held(&watched.memory, core));
            let hits = watched.memory.counts(CoreId(core))[Signal::LlcHit];
            let misses = watched.memory.counts(CoreId(core))[Signal::LlcMiss];
            watched.access(core, line, kind(write));
            let [hit, missed] = [(Signal::LlcHit, hits), (Signal::LlcMiss, misses)]
                .map(|(event, before)| watched.memory.counts(CoreId(core))[event] - before);
            let right = if mine.contains(&line) { missed == 0 } else { (hit, missed) == (0, 1) };
            prop_assert!(right, "{} hits and {} misses", hit, missed);
            let (left, now) = (held(&watched.memory, 1 - core), held(&watched.memory, core));
            for gone in theirs.difference(&left) {
                prop_assert!(core == 1 && old.contains(gone), "core {} took {} from the other", core, gone);
            }
            old.retain(|line| left.contains(line) || now.contains(line));
            prop_assert!(core == 0 || in_set(&now, line % sets) <= ways);
        }
    }
}
