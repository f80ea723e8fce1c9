//! The caches against a simulation written to be obvious: ways that stay in place, time stamps, linear search.

use proptest::prelude::*;
use solo_model::CoreId;
use solo_trace::{
    CacheCounts, CacheSpec, Caches, CoreCounts, Flaw, Geometry, Profile, Protocol, Reference, Replacement,
    Simulation, TraceError, cache, coherence, source,
};
use solo_workload::image::TraceKind;
use std::collections::HashMap;
use std::io::Cursor;

/// A way: the line and its state, when it was filled, when it was last used.
type Way = Option<(u64, char, u64, u64)>;

struct Naive {
    geometry: Geometry,
    sets: Vec<Vec<Way>>,
    /// By set and range of ways: the right half is older.
    tree: HashMap<(u64, usize, usize), bool>,
    referenced: HashMap<(u64, usize), bool>,
    now: u64,
}

impl Naive {
    fn new(geometry: Geometry) -> Self {
        let sets = vec![vec![None; geometry.ways() as usize]; geometry.sets() as usize];
        Self { geometry, sets, tree: HashMap::new(), referenced: HashMap::new(), now: 0 }
    }
    fn set(&self, line: u64) -> u64 {
        line % self.geometry.sets()
    }
    fn way(&self, line: u64) -> Option<usize> {
        self.sets[self.set(line) as usize].iter().position(|way| way.is_some_and(|way| way.0 == line))
    }
    fn state(&mut self, line: u64) -> Option<&mut char> {
        let (set, way) = (self.set(line), self.way(line)?);
        self.sets[set as usize][way].as_mut().map(|way| &mut way.1)
    }
    fn used(&mut self, set: u64, way: usize) {
        self.now += 1;
        self.sets[set as usize][way].as_mut().unwrap().3 = self.now;
        let ways = self.geometry.ways() as usize;
        let (mut low, mut high) = (0, ways.next_power_of_two());
        while high - low > 1 {
            let middle = (low + high) / 2;
            self.tree.insert((set, low, high), way < middle);
            if way < middle { high = middle } else { low = middle }
        }
        self.referenced.insert((set, way), true);
        if (0..ways).all(|other| self.referenced.get(&(set, other)) == Some(&true)) {
            (0..ways).for_each(|other| {
                self.referenced.insert((set, other), other == way);
            });
        }
    }
    fn victim(&self, set: u64) -> usize {
        let ways = &self.sets[set as usize];
        if let Some(empty) = ways.iter().position(Option::is_none) {
            return empty;
        }
        let oldest = |age: fn(&(u64, char, u64, u64)) -> u64| {
            (0..ways.len()).min_by_key(|&way| ways[way].as_ref().map(age)).unwrap()
        };
        match self.geometry.replacement() {
            Replacement::Lru => oldest(|way| way.3),
            Replacement::Fifo => oldest(|way| way.2),
            Replacement::NotRecentlyUsed => {
                let old = |way: &usize| self.referenced.get(&(set, *way)) != Some(&true);
                (0..ways.len()).find(old).unwrap_or(0)
            }
            Replacement::TreePlru => {
                let (mut low, mut high) = (0, ways.len().next_power_of_two());
                while high - low > 1 {
                    let middle = (low + high) / 2;
                    let right = middle < ways.len() && self.tree.get(&(set, low, high)) == Some(&true);
                    if right { low = middle } else { high = middle }
                }
                low
            }
            Replacement::Random => unreachable!("not compared"),
        }
    }
    /// Fills `line` and returns the victim.
    fn fill(&mut self, line: u64, state: char) -> Option<(u64, char)> {
        let set = self.set(line);
        let way = self.victim(set);
        self.now += 1;
        let old = self.sets[set as usize][way].replace((line, state, self.now, self.now));
        self.used(set, way);
        old.map(|way| (way.0, way.1))
    }
    fn drop_line(&mut self, line: u64) {
        let (set, way) = (self.set(line), self.way(line).unwrap());
        self.sets[set as usize][way] = None;
    }
}

/// Levels behind each other, and their accesses, misses and writebacks.
fn naive_access(levels: &mut [(Naive, [u64; 3])], line: u64, write: bool) {
    let Some(((level, counts), rest)) = levels.split_first_mut() else { return };
    counts[0] += 1;
    if let Some(way) = level.way(line) {
        if write {
            *level.state(line).unwrap() = 'M';
        }
        level.used(level.set(line), way);
        return;
    }
    counts[1] += 1;
    let victim = level.fill(line, if write { 'M' } else { 'C' });
    naive_access(rest, line, false);
    if let Some((victim, 'M')) = victim {
        counts[2] += 1;
        naive_access(rest, victim, true);
    }
}

fn lines(reference: &Reference, line: u64) -> Vec<(u64, bool)> {
    let range = reference.address / line..=(reference.address + u64::from(reference.size) - 1) / line;
    let each = |write: bool| range.clone().map(move |line| (line, write));
    match reference.kind {
        TraceKind::Read | TraceKind::Fetch => each(false).collect(),
        TraceKind::Write => each(true).collect(),
        TraceKind::Modify => each(false).chain(each(true)).collect(),
    }
}

prop_compose! {
    fn references(cores: u16)(
        kind in prop::sample::select(vec![
            TraceKind::Read, TraceKind::Read, TraceKind::Write, TraceKind::Modify, TraceKind::Fetch,
        ]),
        address in prop_oneof![0u64..0x800, 0u64..0x4000, Just(u64::MAX - 300)],
        size in prop_oneof![Just(8u32), 1u32..200],
        core in 0..cores,
    ) -> Reference {
        Reference { address, size, kind, core: CoreId(core) }
    }
}

fn counts(all: &[CacheCounts]) -> Vec<[u64; 3]> {
    all.iter().map(|row| [row.accesses, row.misses, row.writebacks]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn one_level_agrees_with_the_obvious_cache(
        all in prop::collection::vec(references(1), 1..600),
        shape in prop::sample::select(vec!["1K:2:64", "1K:8:32", "1K:1:64", "2K:32:64", "1536:24:64", "3K:3:32"]),
        policy in prop::sample::select(vec!["lru", "fifo", "plru", "nru"]),
    ) {
        let spec: CacheSpec = format!("U={shape}:{policy}").parse().unwrap();
        let mut simulation = Simulation::new(&spec);
        let mut naive = [(Naive::new(spec.levels[0]), [0; 3])];
        for reference in &all {
            simulation.refer(reference);
            for (line, write) in lines(reference, spec.levels[0].line()) {
                naive_access(&mut naive, line, write);
            }
        }
        prop_assert_eq!(counts(&simulation.into_counts()), [naive[0].1]);
    }

    #[test]
    fn two_levels_agree_with_the_obvious_caches(
        all in prop::collection::vec(references(1), 1..800),
        policy in prop::sample::select(vec!["lru", "fifo", "plru"]),
    ) {
        let spec: CacheSpec = format!("H=512:2:64:{policy}+2K:4:64:{policy}").parse().unwrap();
        let mut simulation = Simulation::new(&spec);
        let second = (Naive::new(spec.levels[1]), [0; 3]);
        let mut data = vec![(Naive::new(spec.levels[0]), [0; 3]), second];
        let mut code = (Naive::new(spec.levels[0]), [0; 3]);
        for reference in &all {
            simulation.refer(reference);
            let fetch = reference.kind == TraceKind::Fetch;
            // Both first levels stand before the same second one.
            if fetch { std::mem::swap(&mut data[0], &mut code) }
            for (line, write) in lines(reference, 64) {
                naive_access(&mut data, line, write);
            }
            if fetch { std::mem::swap(&mut data[0], &mut code) }
        }
        prop_assert_eq!(counts(&simulation.into_counts()), [code.1, data[0].1, data[1].1]);
    }

    #[test]
    fn the_reuse_profile_is_that_of_fully_associative_caches(
        all in prop::collection::vec(references(1), 1..600),
    ) {
        let mut profile = Profile::new(64, 50);
        all.iter().for_each(|reference| profile.refer(reference));
        let report = profile.report(3);
        for point in &report.misses {
            let lines = point.bytes / 64;
            let spec: CacheSpec = format!("D={}:{lines}:64:lru", point.bytes).parse().unwrap();
            let mut cache = Simulation::new(&spec);
            all.iter().for_each(|reference| cache.refer(reference));
            let row = &cache.into_counts()[0];
            prop_assert_eq!((row.accesses, row.misses), (report.accesses, point.misses));
        }
        prop_assert_eq!(report.accesses, report.lines + report.distances.iter().sum::<u64>());
        // The working set: the distinct lines of every fifty accesses, counted.
        let data = all.iter().filter(|reference| reference.kind != TraceKind::Fetch);
        let touched: Vec<u64> = data.flat_map(|reference| lines(reference, 64)).map(|(line, _)| line).collect();
        let distinct = |window: &[u64]| window.iter().collect::<std::collections::HashSet<_>>().len() as u64;
        prop_assert_eq!(report.working_set, touched.chunks(50).map(distinct).collect::<Vec<_>>());
        prop_assert!(report.pages.is_sorted_by(|a, b| a.accesses >= b.accesses) && report.pages.len() <= 3);
    }

    #[test]
    fn coherence_agrees_with_the_obvious_caches(
        all in prop::collection::vec(references(4), 1..1200),
        policy in prop::sample::select(vec!["lru", "fifo", "plru"]),
    ) {
        let geometry: Geometry = format!("512:4:64:{policy}").parse().unwrap();
        let reports = [Protocol::Mesi, Protocol::Mesif, Protocol::Moesi].map(|protocol| {
            let mut caches = Caches::new(4, &geometry, protocol);
            all.iter().for_each(|reference| caches.refer(reference));
            caches.counts().to_vec()
        });
        prop_assert_eq!(&reports[0], &naive_mesi(&all, geometry));
        // The protocols differ only in who writes to memory when.
        let but_evictions = |counts: &CoreCounts| CoreCounts { dirty_evictions: 0, ..*counts };
        for report in &reports {
            let same: Vec<_> = report.iter().map(but_evictions).collect();
            prop_assert_eq!(same, reports[0].iter().map(but_evictions).collect::<Vec<_>>());
            for row in report {
                prop_assert_eq!(row.accesses, row.hits + row.misses);
                prop_assert_eq!(row.misses, row.hitm + row.hit_remote + row.clean_miss);
            }
        }
        prop_assert_eq!(&reports[0], &reports[1]);
    }
}

fn naive_mesi(all: &[Reference], geometry: Geometry) -> Vec<CoreCounts> {
    let mut caches: Vec<Naive> = (0..4).map(|_| Naive::new(geometry)).collect();
    let mut counts: Vec<_> = (0..4).map(|core| CoreCounts { core, ..Default::default() }).collect();
    for reference in all.iter().filter(|one| one.kind != TraceKind::Fetch) {
        let core = reference.core.index();
        for (line, write) in lines(reference, 64) {
            counts[core].accesses += 1;
            let others: Vec<usize> =
                (0..4).filter(|&other| other != core && caches[other].way(line).is_some()).collect();
            let dirty = others.iter().any(|&other| caches[other].state(line) == Some(&mut 'M'));
            let mine = caches[core].state(line).copied();
            for &other in &others {
                if write {
                    caches[other].drop_line(line);
                    counts[other].invalidations += 1;
                } else if mine.is_none() {
                    *caches[other].state(line).unwrap() = 'S';
                }
            }
            if let Some(state) = mine {
                counts[core].hits += 1;
                if write {
                    counts[core].upgrades += u64::from(state == 'S');
                    *caches[core].state(line).unwrap() = 'M';
                }
                let (set, way) = (caches[core].set(line), caches[core].way(line).unwrap());
                caches[core].used(set, way);
                continue;
            }
            counts[core].misses += 1;
            *match (dirty, others.is_empty()) {
                (true, _) => &mut counts[core].hitm,
                (_, false) => &mut counts[core].hit_remote,
                _ => &mut counts[core].clean_miss,
            } += 1;
            let state = if write {
                'M'
            } else if others.is_empty() {
                'E'
            } else {
                'S'
            };
            if let Some((_, 'M')) = caches[core].fill(line, state) {
                counts[core].dirty_evictions += 1;
            }
        }
    }
    counts
}

fn report(text: &str, specs: &[&str]) -> Result<solo_trace::CacheReport, TraceError> {
    let specs: Vec<CacheSpec> = specs.iter().map(|spec| spec.parse().unwrap()).collect();
    cache(&mut source(Box::new(Cursor::new(text.to_string()))).unwrap(), &specs)
}

#[test]
fn any_number_of_caches_sees_the_trace_in_one_pass() {
    // 40000 loads over 256 lines, one instruction each, and a store to line 0 that straddles into line 1.
    let pair = |i: u64| format!("I  {:x},4\n L {:x},8\n", 0x40_0000 + i % 4 * 4, i % 256 * 64);
    let text: String = (0..40_000).map(pair).chain([" S 3c,8\n".to_string()]).collect();
    let specs = ["D=16K:4:64:lru", "I=1K:1:64:fifo", "U=32K:8:64:plru", "H=8K:8:64:lru+32K:8:64:lru"];
    let found = report(&text, &specs).unwrap();
    let rows: Vec<_> = found
        .caches
        .iter()
        .map(|row| (row.cache.as_str(), row.accesses, row.misses, row.writebacks))
        .collect();
    assert_eq!(
        rows,
        [
            ("D", 40_002, 256, 0),
            ("I", 40_000, 1, 0),
            ("U", 80_002, 257, 0),
            ("L1I", 40_000, 1, 0),
            // Twice as many lines as fit, in a circle: the least recently used one goes just before it is needed,
            // so every load misses. The last lap ends at line 63, so the store still finds lines 0 and 1.
            ("L1D", 40_002, 40_000, 0),
            ("L2", 40_001, 257, 0),
        ]
    );
    assert_eq!(
        (found.references.fetches, found.references.reads, found.references.writes),
        (40_000, 40_000, 1)
    );
    let table = found.to_string();
    let row = table.lines().nth(5).unwrap();
    assert_eq!(
        row,
        "H=8K:8:64:lru+32K:8:64:lru  L1D            40002          40000    99.99%              0"
    );
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!(json["caches"][5]["spec"], "H=8K:8:64:lru+32K:8:64:lru");
    assert_eq!(json["caches"][5]["writebacks"], 0);

    let error = report(&(text + "oops\n"), &specs).unwrap_err();
    assert!(matches!(error, TraceError::Malformed { line: 80_002, flaw: Flaw::Unknown, .. }), "{error}");
}

#[test]
fn the_last_line_is_a_line_like_others() {
    let text = " L ffffffffffffffff,1\n M ffffffffffffffc0,64\n S fffffffffffffff0,16\n L 0,8\n";
    let specs = ["D=1K:1:16:fifo", "D=1K:2:64:plru", "H=64:1:64:lru+1K:1:16:lru", "D=1K:16:64:nru"];
    let rows = report(text, &specs).unwrap().caches;
    let found: Vec<_> = rows.iter().map(|row| (row.cache.as_str(), row.accesses, row.misses)).collect();
    let data = [("D", 11, 5), ("D", 5, 2), ("L1I", 0, 0), ("L1D", 5, 2), ("L2", 12, 8), ("D", 5, 2)];
    assert_eq!(found, data);
    let mut caches = Caches::new(2, &"1K:2:64:lru".parse().unwrap(), Protocol::Mesi);
    let mut profile = Profile::new(64, 10);
    source(Box::new(Cursor::new(text)))
        .unwrap()
        .for_each(|one| {
            caches.refer(one);
            profile.refer(one);
        })
        .unwrap();
    assert_eq!((caches.counts()[0].accesses, caches.counts()[0].misses), (5, 2));
    assert_eq!((profile.report(1).accesses, profile.report(1).lines), (5, 2));
}

#[test]
fn random_replacement_is_reproducible_and_between_best_and_worst() {
    let text: String = (0..20_000u64).map(|i| format!(" L {:x},8\n", i % 192 * 64)).collect();
    let specs = ["D=8K:128:64:random", "D=8K:128:64:lru"];
    let first = report(&text, &specs).unwrap();
    assert_eq!(first, report(&text, &specs).unwrap());
    let [random, lru] = [&first.caches[0], &first.caches[1]].map(|row| row.misses);
    // A circle of 192 lines in 128 ways: least recently used never hits, an optimal choice misses half.
    assert_eq!(lru, 20_000);
    assert!((7_000..15_000).contains(&random), "{random}");
}

#[test]
fn cores_see_each_other_as_the_protocol_says() {
    let text = "0 R 1000\n1 R 1000\n1 W 1000\n0 R 1000\n0 W 1000\n1 W 1008\n";
    let geometry = "32K:8:64:lru".parse().unwrap();
    let open = || source(Box::new(Cursor::new(text))).unwrap();
    let found = coherence(&mut open(), 2, &geometry, Protocol::Mesi).unwrap();
    let first = CoreCounts {
        core: 0,
        accesses: 3,
        hits: 1,
        misses: 2,
        hitm: 1,
        clean_miss: 1,
        upgrades: 1,
        invalidations: 2,
        ..CoreCounts::default()
    };
    let second = CoreCounts {
        core: 1,
        accesses: 3,
        hits: 1,
        misses: 2,
        hitm: 1,
        hit_remote: 1,
        upgrades: 1,
        invalidations: 1,
        ..CoreCounts::default()
    };
    assert_eq!(found.cores, [first, second]);
    let error = coherence(&mut open(), 1, &geometry, Protocol::Mesi).unwrap_err();
    assert!(matches!(error, TraceError::Malformed { line: 2, flaw: Flaw::CoreBeyond(1), .. }), "{error}");
    assert!("MESI ".parse::<Protocol>().is_err());
}

#[test]
fn distances_survive_the_renumbering_of_times() {
    // 300000 accesses in a circle of 1000 lines: after the first lap each is 999 lines away.
    let mut profile = Profile::new(64, 100_000);
    for i in 0..300_000 {
        let (address, core) = (i % 1000 * 64, CoreId(0));
        profile.refer(&Reference { address, size: 8, kind: TraceKind::Read, core });
    }
    let report = profile.report(1);
    assert_eq!((report.lines, report.distances[10]), (1000, 299_000));
    assert_eq!(report.distances.iter().sum::<u64>(), 299_000);
    assert_eq!(report.working_set, [1000, 1000, 1000]);
    let last = report.misses.last().unwrap();
    assert_eq!((last.bytes, last.misses), (64 << 10, 1000));
    assert_eq!((report.pages[0].address, report.pages[0].accesses), (0, 64 * 300));
    let text = report.to_string();
    assert!(text.starts_with("300000 accesses to 1000 lines of 64 bytes\n"), "{text}");
    assert!(text.contains("\n     64KiB           1000     0.33%\n"), "{text}");
    assert!(text.ends_with("\n               0x0       0        0x0          19200     6.40%\n"), "{text}");
}
