//! What a job loses to cold caches, by preemption and migration: relations that a chip cannot break, and sums by hand.
#![allow(missing_docs)]

use solo_lab::Control;
use solo_lab::campaign::cpmd::{CpmdRequest, CpmdRow, Disturbance, cpmd};
use solo_model::platform::PagePolicy;
use solo_model::{Bytes, CoreId, Duration, JobRecord, Platform, Record};
use solo_scenario::Platforms;
use solo_sim::Observer;
use std::ops::ControlFlow;
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

/// Caches that a job shares with where it goes on keep more than those that it does not share, and these more than empty ones.
#[test]
fn a_near_migration_costs_less_than_a_far_one_and_that_less_than_empty_caches() {
    let mut bare = platform("i7-2600");
    bare.prefetcher = None;
    for row in rows(bare, &[4, 64, 256]) {
        let what = format!("{row:?}");
        let [near, far, flushed] =
            [Disturbance::MigratedBehind(1), Disturbance::MigratedBehind(3), Disturbance::Flushed]
                .map(|by| worst(&row, by));
        assert_eq!([near.1, far.1, flushed.1], [2, 12, 2], "{what}");
        assert!(near.0 < far.0 && far.0 < flushed.0 && flushed.0 <= row.bound, "{what}");
    }
}

/// At 4 KiB a preemption by a task that touches nothing costs nothing, on each platform.
#[test]
fn who_touches_nothing_costs_nothing() {
    for name in ["core2-q9550", "i7-2600", "xeon-w3530", "juno"] {
        let row = &rows(platform(name), &[4])[0];
        let (computed, samples) = worst(row, Disturbance::Computed);
        assert_eq!(samples, 2, "{name}");
        // A job ends between two nanoseconds.
        assert!(computed <= Duration::new(1), "{name}: {computed}");
    }
}

/// Where memory answers each line alike, in as long as its clocks say, an emptied cache costs what pencil and paper say.
#[test]
fn emptied_caches_cost_each_line_what_the_clocks_of_memory_say() {
    let mut plain = platform("i7-2600");
    plain.prefetcher = None;
    plain.dram.timing.refi = 0;
    plain.dram.page_policy = PagePolicy::Closed;
    let (clock, timing) = (plain.dram.clock.get(), plain.dram.timing);
    let clocks = u64::from(timing.rcd) + u64::from(timing.cl) + u64::from(timing.burst) / 2;
    let memory = clocks * clock + plain.dram.path.get() * 1000;
    let cycle = 1_000_000_000_000 / 3_400_000_000;
    let last = plain.last_level().expect("it has caches").latency.get();
    for row in rows(plain, &[4, 32, 64]) {
        let lines = row.working_set.get() / 64;
        // From memory instead of the first level, or of the second where the first has no place for it.
        let instead = if row.working_set <= Bytes::from_kib(32) { 4 } else { 12 };
        let analytic = lines * (memory + (last - instead) * cycle) / 1000;
        let (flushed, samples) = worst(&row, Disturbance::Flushed);
        println!("{}: {flushed}, by hand {analytic} ns, bound {}", row.working_set, row.bound);
        assert_eq!(samples, 2);
        assert!(flushed.get().abs_diff(analytic) * 100 <= analytic, "{flushed} and {analytic} ns: {row:?}");
        assert!(flushed <= row.bound, "{row:?}");
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

/// Losses by a job that is taken from its core half way are those of a task that goes to another core at each release, which nobody
/// disturbs and which needs no other task: what it takes on a core to which it comes, less what it takes there when it has been there
/// before. Two ways to the same lines.
#[test]
fn a_forced_migration_each_period_loses_as_much() {
    let mut bare = platform("i7-2600");
    bare.prefetcher = None;
    for kib in [4, 32] {
        let row = &rows(bare.clone(), &[kib])[0];
        let (measured, _) = worst(row, Disturbance::MigratedBehind(3));
        let text = format!(
            "name = \"forced\"\nplatform = \"i7-2600\"\nprefetcher = \"off\"\njobs = 6\n[scheduler]\npolicy = \"C-AFFINITY\"\n\
             clusters = [[0, 2], [1, 3, 4, 5, 6, 7]]\n[[task]]\nname = \"t\"\nclass = \"soft\"\npriority = 0\ncore = 0\nperiod = \"1ms\"\n\
             migrate = \"each-period\"\nwork = [{{ sweep = \"{kib}KiB\", stride = \"64B\" }}]\n"
        );
        let scenario = solo_scenario::parse(&text, Path::new("forced.toml"), &Platforms::builtin());
        let experiment = scenario.unwrap_or_else(|report| panic!("{}", report.to_json())).base;
        let mut jobs = Jobs::default();
        solo_sim::run(&experiment, &[], &mut jobs).expect("it runs");
        let [_, first, _, again, ..] = &jobs.0[..] else { panic!("six jobs") };
        assert_eq!((first.core, again.core), (CoreId(2), CoreId(2)));
        let forced = first.executed.saturating_sub(again.executed);
        println!("{kib} KiB: {forced} by a forced migration, {measured} measured");
        assert!(forced.get().abs_diff(measured.get()) * 100 <= measured.get(), "{forced} and {measured}");
    }
}

#[derive(Default)]
struct Jobs(Vec<JobRecord>);

impl Observer for Jobs {
    fn record(&mut self, record: Record) -> ControlFlow<()> {
        if let Record::Job(job) = record {
            self.0.push(job);
        }
        ControlFlow::Continue(())
    }
}
