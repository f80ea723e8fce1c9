//! What a job loses to cold caches, by preemption and migration: relations that a chip cannot break, and sums by hand.
#![allow(missing_docs)]

use solo_lab::Control;
use solo_lab::campaign::cpmd::{CpmdRequest, CpmdRow, Disturbance, cpmd};
use solo_model::{Bytes, Duration, Platform};
use solo_scenario::Platforms;
use std::path::Path;

fn platform(name: &str) -> Platform {
    Platforms::builtin().load(name, Path::new(".")).expect("it comes with the program")
}

fn rows(platform: Platform, kib: &[u64]) -> Vec<CpmdRow> {
    let working_sets = kib.iter().map(|&kib| Bytes::from_kib(kib)).collect();
    let request = CpmdRequest { platform, working_sets, iterations: 2, seed: 1 };
    cpmd(&request, &Control::silent()).expect("it runs")
}

/// The most that was lost, and how many losses were measured.
fn worst(row: &CpmdRow, by: Disturbance) -> (Duration, u64) {
    let losses = row.losses.iter().find(|losses| losses.by == by);
    losses.map_or((Duration::ZERO, 0), |losses| (losses.worst, losses.samples))
}

/// A thousandth more, for what lies between two nanoseconds and for the rows that memory happens to have open.
fn about(duration: Duration) -> Duration {
    duration + duration / 100 + Duration::new(20)
}

#[test]
fn sharing_a_cache_loses_least_and_nothing_loses_more_than_an_empty_one() {
    // Pairs of cores share a second level, and the pairs nothing.
    for row in rows(platform("core2-q9550"), &[4, 64, 256]) {
        let what = format!("{row:?}");
        let [computed, preempted, flushed, within, across] = [
            Disturbance::Computed,
            Disturbance::Preempted,
            Disturbance::Flushed,
            Disturbance::MigratedBehind(2),
            Disturbance::Migrated,
        ]
        .map(|by| worst(&row, by));
        assert_eq!([computed.1, preempted.1, flushed.1, within.1, across.1], [2, 2, 2, 2, 4], "{what}");
        assert!(computed.0 <= Duration::new(1), "who only computes takes nobody's lines: {what}");
        assert!(preempted.0 <= flushed.0 && within.0 < across.0, "{what}");
        assert!(across.0 <= about(flushed.0) && flushed.0 <= about(row.cold), "{what}");
        assert!(row.cold <= row.bound && row.holds(), "{what}");
    }
}

#[test]
fn a_line_that_another_core_holds_costs_what_equation_3_says() {
    let row = &rows(platform("i7-2600"), &[4])[0];
    // 64 lines by a hit of the last level that another core holds, 43 cycles (thesis 5.8), in place of 4, at 3.4 GHz.
    let by_hand = 64 * (43 - 4) * 10 / 34;
    let (found, samples) = worst(row, Disturbance::MigratedBehind(3));
    assert_eq!(samples, 12, "each of six cores that are no sibling, twice");
    assert!(found.get().abs_diff(by_hand) <= 1, "{found} and {by_hand} ns");
    let (sibling, _) = worst(row, Disturbance::MigratedBehind(1));
    assert!(sibling <= Duration::new(1), "a sibling has the same caches: {sibling}");
}

#[test]
fn without_a_prefetcher_an_emptied_cache_costs_every_line() {
    let mut bare = platform("i7-2600");
    bare.prefetcher = None;
    let row = &rows(bare, &[16])[0];
    // What the second read would have taken from the first level: 256 lines of 4 cycles.
    let warm = Duration::new(256 * 4 * 10 / 34);
    let (flushed, _) = worst(row, Disturbance::Flushed);
    let every_line = row.cold.saturating_sub(warm);
    assert!(flushed.get().abs_diff(every_line.get()) * 100 <= every_line.get(), "{flushed}, {every_line}");
    let mut helped = platform("i7-2600");
    helped.prefetcher.iter_mut().for_each(|prefetcher| prefetcher.on = true);
    let row = &rows(helped, &[16])[0];
    let (helped, _) = worst(row, Disturbance::Flushed);
    assert!(helped < flushed / 2, "{helped} and {flushed}: lines in a row come before they are asked for");
    assert!(row.cold.get().abs_diff((every_line + warm).get()) < 2, "read cold, nobody prefetches: {row:?}");
}

#[test]
fn a_job_does_not_move_where_there_is_no_other_core_of_its_kind() {
    let mut one = platform("i7-2600");
    one.cores.truncate(1);
    let cores = solo_model::CoreSet::first(1);
    one.caches.retain(|cache| cache.cores.contains(solo_model::CoreId(0)));
    one.caches.iter_mut().for_each(|cache| cache.cores = cores);
    let row = &rows(one, &[4])[0];
    let kinds: Vec<Disturbance> = row.losses.iter().map(|losses| losses.by).collect();
    assert_eq!(kinds, [Disturbance::Computed, Disturbance::Preempted, Disturbance::Flushed]);
}
