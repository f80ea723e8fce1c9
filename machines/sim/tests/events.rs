//! The identities between events that `docs/events.md` states, on random accesses of several cores.

use proptest::prelude::*;
use solo_model::event::{CANONICAL, Definition};
use solo_model::platform::{FrontSideBus, Inclusion, Platform, StreamPrefetcher};
use solo_model::{CoreId, CoreSet, Picoseconds, Signal};
use solo_sim::memory::coherence::State;
use solo_sim::memory::fixtures::{bare, cache};
use solo_sim::memory::{AccessKind, Answer, Hierarchy, PhysicalAddress};
use std::collections::BTreeSet;
use std::path::Path;

const BUS: FrontSideBus = FrontSideBus {
    clock: Picoseconds::new(3_000),
    address: 2,
    snoop: 4,
    reply: 6,
    data: 2,
    signal: 1,
    depth: 4,
};

/// Two dies of two cores like a Core 2, with small caches, on a bus.
fn dies() -> Platform {
    use solo_model::platform::Contents::{Data, Unified};
    let mut platform = bare(4);
    let first = |core| cache(1, Data, CoreSet::only(CoreId(core)), 1, 2, 3);
    let second = |core| {
        let mut second = cache(2, Unified, CoreSet::only(CoreId(core)).with(CoreId(core + 1)), 4, 4, 15);
        second.inclusion = Inclusion::Inclusive;
        second
    };
    platform.caches = vec![first(0), first(1), first(2), first(3), second(0), second(2)];
    platform.bus = Some(BUS);
    platform
}

/// Four cores with two levels each before an inclusive third.
fn three_levels() -> Platform {
    use solo_model::platform::Contents::{Data, Unified};
    let mut platform = bare(4);
    let core = |core| CoreSet::only(CoreId(core));
    platform.caches = (0..4).map(|n| cache(1, Data, core(n), 1, 2, 4)).collect();
    platform.caches.extend((0..4).map(|n| cache(2, Unified, core(n), 2, 4, 12)));
    let mut last = cache(3, Unified, CoreSet::first(4), 16, 8, 30);
    last.inclusion = Inclusion::Inclusive;
    platform.caches.push(last);
    platform
}

/// The counts of all cores after accesses that each wait for the one before.
fn counts(platform: &Platform, accesses: &[(u16, u64, bool)]) -> (Vec<[u64; Signal::COUNT]>, u64) {
    counts_looking(platform, accesses, |_, _, _, _| {})
}

/// The same; `look` sees the memory before each access.
fn counts_looking(
    platform: &Platform,
    accesses: &[(u16, u64, bool)],
    mut look: impl FnMut(&Hierarchy, u16, u64, bool),
) -> (Vec<[u64; Signal::COUNT]>, u64) {
    let mut memory = Hierarchy::new(platform, 1).expect("it can be built");
    let mut now = Picoseconds::ZERO;
    for &(core, line, write) in accesses {
        look(&memory, core, line, write);
        let kind = if write { AccessKind::Write } else { AccessKind::Read };
        match memory.access(CoreId(core), now, PhysicalAddress(line * 64), kind) {
            Answer::Hit { latency, .. } => now += latency,
            Answer::Miss { request, .. } => {
                let mut back = None;
                while back.is_none() {
                    let next = memory.next_event().expect("memory works on it");
                    memory.advance(next, |done| {
                        if done.request == request {
                            back = Some(done.at);
                        }
                    });
                }
                now = back.unwrap_or(now);
            }
        }
    }
    // Whatever memory has been asked for, it does: then its own counts are those of the cores together.
    while let Some(next) = memory.next_event() {
        memory.advance(next, |_| {});
    }
    let all = |event| (0..4).map(|core| memory.counts(CoreId(core))[event]).sum::<u64>();
    let served = memory.dram_counts();
    let rows = [all(Signal::DramRowHit), all(Signal::DramRowConflict)];
    assert_eq!(rows, [served.row_hits, served.row_conflicts]);
    let found = served.row_hits + served.row_conflicts + served.row_closed + served.forwarded;
    assert_eq!((found, served.reads), (served.reads + served.writes, all(Signal::DramRead)));
    // Few writes are held back until there are more of them.
    assert!(served.writes <= all(Signal::DramWrite) && all(Signal::DramWrite) <= served.writes + 8);
    let of = |core| Signal::ALL.map(|event| memory.counts(CoreId(core))[event]);
    ((0..4).map(of).collect(), now.get())
}

fn accesses(lines: u64) -> impl Strategy<Value = Vec<(u16, u64, bool)>> {
    prop::collection::vec((0_u16..4, 0..lines, any::<bool>()), 1..600)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn on_a_bus(accesses in accesses(200)) {
        let mut permissions = 0;
        let (cores, _) = counts_looking(&dies(), &accesses, |memory, core, line, write| {
            let state = memory.state(4 + usize::from(core / 2), PhysicalAddress(line * 64));
            permissions += u64::from(write && state != State::Invalid && !state.is_writable());
        });
        let all = |event: Signal| cores.iter().map(|core| core[event as usize]).sum::<u64>();
        use Signal::*;
        for (number, core) in cores.iter().enumerate() {
            let of = |event: Signal| core[event as usize];
            let made = accesses.iter().filter(|access| usize::from(access.0) == number).count() as u64;
            prop_assert_eq!(of(L1Hit) + of(L1Miss), made);
            prop_assert_eq!(of(L1Miss), of(LlcHit) + of(LlcMiss));
            prop_assert_eq!(of(BusDataReceived), 2 * (of(DramRead) + of(ExtSnoopHitm)));
            // A line that the die does not have comes over the bus; permissions may go there too.
            let answers = of(ExtSnoopClean) + of(ExtSnoopHit) + of(ExtSnoopHitm);
            prop_assert!(answers >= of(DramRead) + of(ExtSnoopHitm));
            prop_assert!(answers <= of(LlcMiss) + of(Upgrade));
            prop_assert_eq!((of(L2Hit), of(L2Miss), of(BusLockClocks)), (0, 0, 0));
            prop_assert!(of(L2AddressStrobes) >= of(L1Miss));
        }
        let answers = all(ExtSnoopClean) + all(ExtSnoopHit) + all(ExtSnoopHitm);
        prop_assert_eq!(answers, all(DramRead) + all(ExtSnoopHitm) + permissions);
        prop_assert_eq!(all(BusHitmDriven), all(ExtSnoopHitm));
        prop_assert_eq!(all(BusHitDriven), all(ExtSnoopHit));
        // Implicit write-backs reach memory too, except where the writer takes the duty over.
        let explicit = all(BusDrdyClocks) / 2 - all(ExtSnoopHitm);
        prop_assert!(explicit <= all(DramWrite) && all(DramWrite) <= explicit + all(ExtSnoopHitm));
    }

    #[test]
    fn on_three_levels(accesses in accesses(400)) {
        let (cores, _) = counts(&three_levels(), &accesses);
        use Signal::*;
        let all = |event: Signal| cores.iter().map(|core| core[event as usize]).sum::<u64>();
        for core in &cores {
            let of = |event: Signal| core[event as usize];
            prop_assert_eq!(of(L1Miss), of(L2Hit) + of(L2Miss));
            prop_assert_eq!(of(L2Miss), of(LlcHit) + of(LlcMiss));
            prop_assert_eq!(of(LlcMiss), of(DramRead));
            prop_assert!(of(L2LinesInInvalid) + of(L2LinesInShared) <= 2 * of(L2AddressStrobes));
            prop_assert!(of(SnoopMiss) + of(SnoopHitClean) + of(SnoopHitModified) + of(Upgrade) <= of(L1Hit) + of(L1Miss));
            prop_assert_eq!(of(BusDrdyClocks) + of(BusDataReceived) + of(ExtSnoopClean), 0);
        }
        // Who answered was looked up.
        prop_assert!(all(SnoopHitModified) + all(SnoopHitClean) <= all(CmpSnoopShare) + all(CmpSnoopInvalidate));
    }

    /// Lines that fit the second levels: nothing is lost but to writes, and each loss was looked for in a first level
    /// or concerned a line that only a second level held.
    #[test]
    fn what_is_lost_was_looked_for(accesses in accesses(64)) {
        let held = |memory: &Hierarchy, cache, line| memory.state(cache, PhysicalAddress(line * 64)) != State::Invalid;
        let mut second_only = 0;
        let (cores, _) = counts_looking(&dies(), &accesses, |memory, core, line, write| {
            // The caches of the other die: two first levels and the second.
            let (firsts, second) = if core < 2 { ([2, 3], 5) } else { ([0, 1], 4) };
            let behind = firsts.iter().any(|first| held(memory, *first, line));
            second_only += u64::from(write && held(memory, second, line) && !behind);
        });
        let all = |event: Signal| cores.iter().map(|core| core[event as usize]).sum::<u64>();
        prop_assert!(all(Signal::InvalidationReceived) <= all(Signal::CmpSnoopInvalidate) + second_only);
        let shared = accesses.iter().any(|one| one.2 && accesses.iter().any(|other| (other.0, other.1, other.2) == (one.0 ^ 1, one.1, true)));
        prop_assert!(!shared || all(Signal::InvalidationReceived) > 0, "two cores of a die that write a line take it from each other");
        let (cores, _) = counts(&three_levels(), &accesses.iter().map(|&(core, line, write)| (core, line % 16, write)).collect::<Vec<_>>());
        let all = |event: Signal| cores.iter().map(|core| core[event as usize]).sum::<u64>();
        prop_assert!(all(Signal::InvalidationReceived) <= all(Signal::CmpSnoopInvalidate));
    }

    #[test]
    fn without_sharing_nothing_is_snooped(accesses in accesses(50)) {
        let own: Vec<_> = accesses.iter().map(|&(core, line, write)| (core, line + 64 * u64::from(core), write)).collect();
        for platform in [dies(), three_levels()] {
            let (cores, _) = counts(&platform, &own);
            use Signal::*;
            for event in [SnoopHitModified, SnoopHitClean, Upgrade, ExtSnoopHit, ExtSnoopHitm, BusHitDriven, BusHitmDriven] {
                prop_assert_eq!(cores.iter().map(|core| core[event as usize]).sum::<u64>(), 0, "{}", event.name());
            }
        }
    }
}

/// A bus makes two cores that stream wait for each other; one alone it hardly delays.
#[test]
fn a_line_written_by_turns_costs_a_transfer_each_time() {
    let by_turns: Vec<_> = (0..200).map(|n| (if n % 2 == 0 { 0 } else { 2 }, 5, true)).collect();
    let alone: Vec<_> = (0..200).map(|_| (0, 5, true)).collect();
    let (cores, shared) = counts(&dies(), &by_turns);
    let (_, single) = counts(&dies(), &alone);
    assert!(shared > 10 * single, "{shared} against {single} ps");
    let hitm: u64 = cores.iter().map(|core| core[Signal::ExtSnoopHitm as usize]).sum();
    assert_eq!(hitm, 199);
    // Look-up of the second level instead of a hit in the first, wait for the clock's edge, address, snoop, reply, data.
    let each = (shared - single) / 199;
    let least = 12_000 + 14 * 3_000;
    assert!((least..=least + 3_001).contains(&each), "{each} ps");
}

/// The second level of a die with a prefetcher reads what missed and what was foreseen.
#[test]
fn lines_that_are_read_were_missed_or_foreseen() {
    let mut platform = three_levels();
    platform.prefetcher = Some(StreamPrefetcher { on: true, streams: 4, after: 1, distance: 4 });
    let sweep: Vec<_> = (0..3000).map(|n| ((n % 2) as u16, n / 2 + (n % 2) * 4096, n % 5 == 0)).collect();
    let (cores, _) = counts(&platform, &sweep);
    for core in &cores[..2] {
        let of = |event: Signal| core[event as usize];
        assert!(of(Signal::Prefetch) > 100);
        assert_eq!(of(Signal::DramRead), of(Signal::LlcMiss) + of(Signal::Prefetch));
    }
}

/// Names between backquotes in the first column of the table that begins with this line.
fn first_column(page: &str, header: &str) -> Vec<String> {
    let rows =
        page.lines().skip_while(|line| *line != header).skip(2).take_while(|line| line.starts_with('|'));
    let cells = rows.map(|row| row.split('|').nth(1).expect("a cell"));
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2).map(String::from).collect::<Vec<_>>()).collect()
}

#[test]
fn the_page_defines_every_event_once_and_no_other() {
    let page = std::fs::read_to_string("../../docs/events.md").expect("the page is there");
    let named = |header: &str| first_column(&page, header).into_iter().collect::<BTreeSet<_>>();
    let names = |definitions: &[Definition]| {
        definitions.iter().map(|event| event.name.clone().into_owned()).collect()
    };
    let mut canonical: BTreeSet<String> = names(CANONICAL);
    assert_eq!(
        named("| event | one of it is | in the sources |").into_iter().find(|name| !canonical.remove(name)),
        None
    );
    assert_eq!(
        named("| event | what Linux counts |"),
        canonical,
        "what the simulated machine does not count"
    );
    let core2 = solo_scenario::Platforms::builtin().load("core2-q9550", Path::new(".")).expect("it is sound");
    assert_eq!(named("| event of the Core 2 | one of it is | in the manual |"), names(core2.events.own()));
}

/// Each signal of the hardware is an event of some platform: nothing is counted that nobody can ask for.
#[test]
fn every_signal_has_a_name() {
    let load =
        |name: &str| solo_scenario::Platforms::builtin().load(name, Path::new(".")).expect("it is sound");
    let chips = ["core2-q9550", "juno"].map(load);
    let named: BTreeSet<Signal> =
        chips.iter().flat_map(|chip| chip.events.simulated()).map(|(_, signal)| signal).collect();
    assert_eq!(named, Signal::ALL.into_iter().collect());
}

/// None of the events that memory counts stays at zero whatever is done, but for locked accesses, which there are none
/// of; what a core counts by itself, `accounting` and `overflow` look at.
#[test]
fn every_event_of_memory_happens() {
    let mut state = 1_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 40
    };
    let mixed: Vec<_> =
        (0..20_000).map(|_| ((random() % 4) as u16, random() % 300, random() % 3 == 0)).collect();
    let sweep: Vec<_> = (0..3000).map(|n| (1, n, false)).collect();
    // Lines of many rows of each bank.
    let apart: Vec<_> = mixed.iter().map(|&(core, line, write)| (core, line * 1031, write)).collect();
    let (mut bus, mut levels) = (dies(), three_levels());
    // A bus that keeps one transaction makes everybody wait who writes a line back.
    bus.bus = Some(FrontSideBus { depth: 1, ..BUS });
    levels.prefetcher = Some(StreamPrefetcher { on: true, streams: 4, after: 1, distance: 4 });
    let runs =
        [counts(&bus, &mixed), counts(&levels, &mixed), counts(&levels, &sweep), counts(&levels, &apart)];
    for event in Signal::ALL {
        let sum: u64 = runs.iter().flat_map(|(cores, _)| cores).map(|core| core[event as usize]).sum();
        let by_core = [Signal::Instructions, Signal::Cycles, Signal::Branch, Signal::BranchMiss]
            .into_iter()
            .chain([Signal::DtlbMiss, Signal::ItlbMiss]);
        let none = event == Signal::BusLockClocks || by_core.into_iter().any(|other| other == event);
        assert_eq!(sum == 0, none, "{}", event.name());
    }
}

/// The ratios of `Perf_Mon` are what their names say, of counts that can be added up by hand.
#[test]
fn the_ratios_of_the_page_are_expressions_over_events() {
    use solo_observe::expr::Expression;
    let page = std::fs::read_to_string("../../docs/events.md").expect("the page is there");
    let rows = page.lines().skip_while(|line| *line != "| ratio | expression |").skip(2);
    let rows: Vec<Vec<&str>> =
        rows.take_while(|line| line.starts_with('|')).map(|row| row.split('|').collect()).collect();
    // Each event that takes part, so often as it happened; the interval of a millisecond.
    let fixed = solo_observe::Fixed::parse;
    let count = |name: &str| match name {
        "seconds" => fixed("0.001"),
        "instructions" => fixed("1000"),
        "cycles" => fixed("2500"),
        "ext_snoop_hitm" => fixed("20"),
        "snoop_hitm" => fixed("10"),
        "snoop_hits" => fixed("30"),
        "bus_drdy_clocks" => fixed("20000"),
        "bus_data_rcv" => fixed("80000"),
        "llc_misses" => fixed("7"),
        "llc_hits" => fixed("100"),
        "l2_hits" => fixed("50"),
        _ => None,
    };
    let mut values = Vec::new();
    for row in &rows {
        for text in row[2].split('`').skip(1).step_by(2) {
            let expression = Expression::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            values.push(expression.value(&count).unwrap_or_else(|| panic!("{text} names something else")));
        }
    }
    // 31 for 60 hits that nobody snooped, 43 for each other, 60 for a changed line (thesis 5.8, equation 2).
    let expected =
        ["2.5", "0.02", "0.01", "0.3", "1400", "3750", "600"].map(|text| fixed(text).expect("a number"));
    assert_eq!(values.len(), expected.len());
    assert_eq!(values, expected);
}
