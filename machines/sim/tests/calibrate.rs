//! Counters are held against walks that cause a known number of events.

use solo_isolate::diagnose::{self, Warning};
use solo_model::{EventId, Platform};
use solo_scenario::Platforms;
use solo_sim::Faults;
use solo_sim::calibrate::{Calibration, Walk, calibrate};
use std::path::Path;

fn platform(name: &str) -> Platform {
    let mut platform = Platforms::builtin().load(name, Path::new("../..")).expect("it is sound");
    // Caches of an eighth keep their shape, and the walks short.
    for cache in &mut platform.caches {
        if cache.level > 1 {
            cache.size = cache.size / 8;
        }
    }
    platform
}

fn found(platform: &Platform, faults: Faults) -> Vec<Calibration> {
    calibrate(platform, 1, faults).expect("it has counters")
}

fn doubts(all: &[Calibration]) -> Vec<(Walk, Warning)> {
    let doubt = |one: &Calibration| {
        diagnose::counter(one.event, one.expected, one.counted).map(|warning| (one.walk, warning))
    };
    all.iter().filter_map(doubt).collect()
}

#[test]
fn sound_counters_count_what_their_names_say() {
    for name in ["xeon-w3530", "i7-2600", "platforms/p4080.toml"] {
        let all = found(&platform(name), Faults::default());
        assert_eq!(doubts(&all), [], "{name}: {all:?}");
        let exact = |event, walk| {
            all.iter().any(|one| (one.event, one.walk) == (event, walk) && one.counted == one.expected)
        };
        assert!(
            exact(EventId::LLC_MISSES, Walk::Chase) && exact(EventId::CYCLES, Walk::Computation),
            "{name}: {all:?}"
        );
        assert!(exact(EventId::L1_MISSES, Walk::Resident), "{name}: {all:?}");
    }
}

/// The failure that users of the published regulators meet: an event code that means something else here.
#[test]
fn a_counter_of_another_event_is_found() {
    let mistakes = [
        (EventId::LLC_MISSES, EventId::LLC_HITS),
        (EventId::LLC_MISSES, EventId::INSTRUCTIONS),
        (EventId::DRAM_READS, EventId::DRAM_WRITES),
    ];
    for (asked, counted) in mistakes {
        let faults = Faults { miscounted: Some((asked, counted)), ..Faults::default() };
        let all = found(&platform("xeon-w3530"), faults);
        let doubts = doubts(&all);
        assert!(!doubts.is_empty(), "{asked:?} as {counted:?}: {all:?}");
        for (_, warning) in &doubts {
            assert!(matches!(warning, Warning::WrongCounter { event, .. } if *event == asked), "{warning:?}");
            assert!(warning.to_string().contains("choose another event"));
        }
    }
}

/// A counter that wraps within a period loses what is beyond its width.
#[test]
fn a_counter_that_is_too_narrow_is_found() {
    let mut narrow = platform("xeon-w3530");
    narrow.pmu.width = 10;
    let doubts = doubts(&found(&narrow, Faults::default()));
    assert!(doubts.iter().any(|(walk, _)| *walk == Walk::Chase), "{doubts:?}");
}

/// With a prefetcher on, misses are not what memory moves in order: DRAM's own count is.
#[test]
fn prefetches_are_outside_of_the_counted_misses() {
    let mut fetching = platform("core2-q9550");
    fetching.prefetcher.as_mut().expect("it has one").on = true;
    let all = found(&fetching, Faults::default());
    let of = |event, walk| {
        all.iter().find(|one| (one.event, one.walk) == (event, walk)).copied().expect("it was run")
    };
    let (chase, sweep) = (of(EventId::LLC_MISSES, Walk::Chase), of(EventId::LLC_MISSES, Walk::Sweep));
    assert_eq!(diagnose::counter(EventId::LLC_MISSES, chase.expected, chase.counted), None, "{chase:?}");
    let moved = of(EventId::DRAM_READS, Walk::Sweep).counted;
    let warning = diagnose::coverage(moved, sweep.counted, false).expect("most lines were prefetched");
    assert!(warning.to_string().contains("prefetchers"), "{warning}");
}
