//! Thesis Figs. 39, 63 and 86 to 90, hpc-invalidations Fig. 9, at sizes that a test can bear: the relations that the text
//! states. `solo plot` with the `*-figures.toml` of these scenarios draws them.

mod common;

use common::Keep;
use solo_model::work::Step;
use solo_model::{Event, EventCounts, Experiment, Record};
use std::path::Path;

/// Every variant of a scenario with at most so many accesses in a step: what its jobs counted, and how long the longest took.
fn variants(file: &str, most: u64) -> Vec<(String, EventCounts, u64)> {
    let path = Path::new("../../scenarios/papers").join(file);
    let scenario = solo_scenario::load(&path, &solo_scenario::Platforms::builtin()).expect("it is sound");
    let run = |experiment: &Experiment| {
        let mut experiment = experiment.clone();
        for step in experiment.tasks.iter_mut().flat_map(|task| &mut task.work.steps) {
            if let Step::Touch(touch) = step {
                touch.accesses = touch.accesses.min(most);
            }
        }
        let mut keep = Keep::default();
        solo_sim::run(&experiment, &[], &mut keep).expect("it runs");
        let (mut counts, mut nanoseconds) = (EventCounts::ZERO, 0);
        for record in &keep.0 {
            if let Record::Job(job) = record {
                counts.merge(&job.counts);
                nanoseconds = nanoseconds.max(job.response().get());
            }
        }
        (experiment.variant, counts, nanoseconds)
    };
    scenario.variants.iter().map(run).collect()
}

/// Figs. 86 to 90: the same array against arrays in colors of their own.
#[test]
fn sharing_an_array_shows_in_every_event_of_table_16() {
    use Event::{L2LinesInInvalid, L2LinesInShared, SnoopHitClean, SnoopHitModified, SnoopMiss};
    let all = variants("thesis/coherence-events.toml", 200_000);
    let of = |name: &str, event| {
        let (_, counts, nanoseconds) = all.iter().find(|one| one.0 == name).expect("it is there");
        counts[event] * 1_000_000 / nanoseconds
    };
    // In a millisecond.
    let at = |event| {
        ["same array, 128KiB", "own colors, 128KiB", "same array, 512KiB", "own colors, 512KiB"]
            .map(|name| of(name, event))
    };
    for event in [SnoopHitModified, SnoopHitClean, SnoopMiss, L2LinesInInvalid, L2LinesInShared] {
        println!("{}: {:?} in a millisecond", event.name(), at(event));
    }
    let [small, own_small, large, own_large] = at(SnoopHitModified);
    assert!(small > large && large > 1000, "Fig. 86: {small} falls to {large}");
    assert_eq!((own_small, own_large), (0, 0), "Fig. 86: none with colors of their own");
    let [_, own_small, large, own_large] = at(SnoopHitClean);
    assert!(large > 1000 && own_small + own_large == 0, "Fig. 87: {large}");
    let [_, own_small, large, own_large] = at(SnoopMiss);
    assert!(large > 1000 && own_small + own_large == 0, "Fig. 88: {large}");
    let [small, own_small, large, own_large] = at(L2LinesInInvalid);
    assert!(small > large, "Fig. 89: {small} falls to {large}");
    assert!(large > own_large && small > own_small, "Fig. 89: above {own_small} and {own_large}");
    let [small, own_small, large, own_large] = at(L2LinesInShared);
    assert!(large > small && small > 1000 && own_small + own_large == 0, "Fig. 90: {small}, {large}");
}

/// Fig. 63: without a prefetcher every line costs what the calculated bound says, with one far less.
#[test]
fn the_bound_of_the_migration_delay_is_every_line_missing() {
    let all = variants("thesis/cpmd.toml", 1 << 16);
    let delay = |counts: &EventCounts| {
        200 * counts[Event::LlcMiss] + 31 * counts[Event::LlcHit] + 12 * counts[Event::L2Hit]
    };
    let mut sizes = 0;
    for (name, counts, _) in all.iter().filter(|one| one.0.starts_with("bound: no prefetcher, ")) {
        let size = name.rsplit(", ").next().expect("a size");
        let (_, with, _) = all
            .iter()
            .find(|other| other.0.ends_with(&format!(", {size}")) && other.0 != *name)
            .expect("each size is there with a prefetcher");
        // 4 bytes an access, 64 a line.
        let lines = (counts[Event::L1Hit] + counts[Event::L1Miss]) / 16;
        assert_eq!(delay(counts), 200 * lines, "{name}");
        assert!(delay(with) * 3 < delay(counts), "{size}: {} against {}", delay(with), delay(counts));
        sizes += 1;
    }
    assert!(sizes >= 8, "{sizes}");
}

/// Hpc-invalidations Fig. 9: alone nearly all cycles are the second level's own; with sharing the bus's signals take
/// their part, and none is locked.
#[test]
fn the_cycles_of_the_bus_tell_sharing() {
    use Event::{BusBnrDriven, BusDataReceived, BusDrdyClocks, BusHitDriven, BusHitmDriven, BusLockClocks};
    let all = variants("hpc-invalidations/invalidations.toml", 150_000);
    let share = |name: &str, events: &[Event]| {
        let (_, counts, _) = all.iter().find(|one| one.0 == name).expect("it is there");
        let bus = [BusDrdyClocks, BusHitDriven, BusHitmDriven, BusDataReceived, BusLockClocks];
        let whole: u64 = bus.iter().map(|event| counts[*event]).sum::<u64>()
            + 2 * counts[BusBnrDriven]
            + counts[Event::L2AddressStrobes];
        assert_eq!(counts[BusLockClocks], 0);
        events.iter().map(|event| counts[*event]).sum::<u64>() * 1000 / whole.max(1)
    };
    let signals = [BusHitDriven, BusHitmDriven];
    for size in ["128KiB", "512KiB"] {
        let [alone, parallel] =
            ["sequential", "parallel"].map(|version| share(&format!("{version}, {size}"), &signals));
        println!("{size}: signals are {alone} and {parallel} thousandths");
        assert!(parallel > 10 * alone.max(1), "{size}: {alone} and {parallel} thousandths");
    }
}
