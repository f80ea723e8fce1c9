//! Thesis Figs. 39, 63 and 86 to 90, hpc-invalidations Fig. 9, at sizes that a test can bear: the relations that the text
//! states. `solo plot` with the `*-figures.toml` of these scenarios draws them.

mod common;

use common::Keep;
use solo_model::work::Step;
use solo_model::{Counts, EventId, Experiment, Record};
use std::path::Path;

/// What was counted of an event that the simulated machine counts.
fn count(counts: &Counts, event: EventId) -> u64 {
    counts.get(event).unwrap_or_else(|| panic!("{event} was not counted"))
}

/// Every variant of a scenario with at most so many accesses in a step: what its jobs counted, and how long the longest took.
fn variants(file: &str, most: u64) -> Vec<(String, Counts, u64)> {
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
        let (mut counts, mut nanoseconds) = (Counts::NONE, 0);
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
    let all = variants("thesis/coherence-events.toml", 200_000);
    let of = |name: &str, event| {
        let (_, counts, nanoseconds) = all.iter().find(|one| one.0 == name).expect("it is there");
        count(counts, event) * 1_000_000 / nanoseconds
    };
    // In a millisecond.
    let at = |event| {
        ["same array, 128KiB", "own colors, 128KiB", "same array, 512KiB", "own colors, 512KiB"]
            .map(|name| of(name, event))
    };
    for event in [
        EventId::SNOOP_HITM,
        EventId::SNOOP_HITS,
        EventId::SNOOP_MISSES,
        EventId::L2_LINES_IN_I,
        EventId::L2_LINES_IN_S,
    ] {
        println!("{event}: {:?} in a millisecond", at(event));
    }
    let [small, own_small, large, own_large] = at(EventId::SNOOP_HITM);
    assert!(small > large && large > 1000, "Fig. 86: {small} falls to {large}");
    assert_eq!((own_small, own_large), (0, 0), "Fig. 86: none with colors of their own");
    let [_, own_small, large, own_large] = at(EventId::SNOOP_HITS);
    assert!(large > 1000 && own_small + own_large == 0, "Fig. 87: {large}");
    let [_, own_small, large, own_large] = at(EventId::SNOOP_MISSES);
    assert!(large > 1000 && own_small + own_large == 0, "Fig. 88: {large}");
    let [small, own_small, large, own_large] = at(EventId::L2_LINES_IN_I);
    assert!(small > large, "Fig. 89: {small} falls to {large}");
    assert!(large > own_large && small > own_small, "Fig. 89: above {own_small} and {own_large}");
    let [small, own_small, large, own_large] = at(EventId::L2_LINES_IN_S);
    assert!(large > small && small > 1000 && own_small + own_large == 0, "Fig. 90: {small}, {large}");
}

/// Fig. 63: without a prefetcher every line costs what the calculated bound says, with one far less.
#[test]
fn the_bound_of_the_migration_delay_is_every_line_missing() {
    let all = variants("thesis/cpmd.toml", 1 << 16);
    let delay = |counts: &Counts| {
        200 * count(counts, EventId::LLC_MISSES)
            + 31 * count(counts, EventId::LLC_HITS)
            + 12 * count(counts, EventId::L2_HITS)
    };
    let mut sizes = 0;
    for (name, counts, _) in all.iter().filter(|one| one.0.starts_with("bound: no prefetcher, ")) {
        let size = name.rsplit(", ").next().expect("a size");
        let (_, with, _) = all
            .iter()
            .find(|other| other.0.ends_with(&format!(", {size}")) && other.0 != *name)
            .expect("each size is there with a prefetcher");
        // 4 bytes an access, 64 a line.
        let lines = (count(counts, EventId::L1_HITS) + count(counts, EventId::L1_MISSES)) / 16;
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
    let platform =
        solo_scenario::Platforms::builtin().load("core2-q9550", Path::new(".")).expect("it is sound");
    let event = |name: &str| platform.events.find(name).expect("the platform's file defines it");
    let (drdy, received) = (event("bus_drdy_clocks"), event("bus_data_rcv"));
    let (hit, hitm, bnr) = (event("bus_hit_drv"), event("bus_hitm_drv"), event("bus_bnr_drv"));
    let (locked, strobes) = (event("bus_lock_clocks"), event("l2_ads"));
    let all = variants("hpc-invalidations/invalidations.toml", 150_000);
    let share = |name: &str, events: &[EventId]| {
        let (_, counts, _) = all.iter().find(|one| one.0 == name).expect("it is there");
        let bus = [drdy, hit, hitm, received, locked];
        let whole: u64 = bus.iter().map(|event| count(counts, *event)).sum::<u64>()
            + 2 * count(counts, bnr)
            + count(counts, strobes);
        assert_eq!(count(counts, locked), 0);
        events.iter().map(|event| count(counts, *event)).sum::<u64>() * 1000 / whole.max(1)
    };
    let signals = [hit, hitm];
    for size in ["128KiB", "512KiB"] {
        let [alone, parallel] =
            ["sequential", "parallel"].map(|version| share(&format!("{version}, {size}"), &signals));
        println!("{size}: signals are {alone} and {parallel} thousandths");
        assert!(parallel > 10 * alone.max(1), "{size}: {alone} and {parallel} thousandths");
    }
}
