//! Figures of the papers about isolation, at small size: the relations that they state.
//! `docs/reproduction.md` has the figures of the full size.

mod common;

use common::{Keep, jobs};
use solo_model::experiment::End;
use solo_model::{CoreId, EventId, Experiment, Record, TaskId};
use std::path::Path;

/// A variant of a scenario.
fn variant_of(file: &str, variant: &str) -> Experiment {
    let path = Path::new("../../scenarios/papers").join(file);
    let scenario = solo_scenario::load(&path, &solo_scenario::Platforms::builtin()).expect("it is sound");
    scenario.variants.into_iter().find(|known| known.variant == variant).expect("it is there")
}

/// The worst response time of each task of a variant, in nanoseconds, with `count` jobs.
fn worst(file: &str, variant: &str, count: u64) -> Vec<u64> {
    let experiment = Experiment { end: End::Jobs(count), ..variant_of(file, variant) };
    let mut keep = Keep::default();
    solo_sim::run(&experiment, &[], &mut keep).expect("it runs");
    let of = |task: usize| {
        let all = jobs(&keep.0, TaskId(task as u32).0);
        all.iter().map(|job| job.response().get()).max().unwrap_or(0)
    };
    (0..experiment.tasks.len()).map(of).collect()
}

/// Thesis Fig. 72: the factor of S3 against S1 grows with the working set as long as S1 fits its colors, and
/// falls beyond.
#[test]
fn one_color_for_all_slows_tasks_down_most_while_their_own_would_do() {
    let factor = |kib: u32| {
        let file = format!("thesis/chapter-6-{kib}k.toml");
        let (own, same) = (worst(&file, "S1", 3), worst(&file, "S3", 3));
        let percent: u64 = own.iter().zip(&same).map(|(own, same)| same * 100 / own).sum();
        percent / own.len() as u64
    };
    let [small, fits, large] = [32, 128, 256].map(factor);
    println!("S3 / S1 in per cent: {small}, {fits}, {large}");
    assert!(small < fits && large < fits);
    assert!(fits > 250 && small < 200);
}

/// SCE Fig. 4: more than half of the performance is lost beside a hog; with reservations the hog makes no
/// difference; with reclaiming and sharing both cases are faster than with reservations alone.
#[test]
fn reservations_make_the_hog_invisible_and_sharing_gives_the_speed_back() {
    let time = |variant: &str| worst("sce/fig4-memguard.toml", variant, 2)[0];
    let (alone, corun) = (time("alone"), time("corun"));
    assert!(corun > alone * 2, "{corun} against {alone}");
    let (alone_reserved, corun_reserved) = (time("alone, MemGuard"), time("corun, MemGuard"));
    assert!(corun_reserved.abs_diff(alone_reserved) * 100 < alone_reserved);
    assert!(alone_reserved > alone, "the program needs more than its reservation");
    let (alone_shared, corun_shared) = (time("alone, reclaim + share"), time("corun, reclaim + share"));
    assert!(alone_shared * 2 < alone_reserved && corun_shared * 2 < corun_reserved);
    assert!(corun_shared < corun);
}

/// Isolation quality on the video scenario, (corun - solo) / solo of the worst response time: at most 5 % where lines
/// written back count too and each core evicts its own lines only, a little more where they do not.
#[test]
fn the_video_task_is_within_five_per_cent_of_itself_alone() {
    let time = |variant: &str| worst("isolation-quality.toml", variant, 5)[0];
    let solo = time("solo");
    let quality = |corun: u64| (corun - solo) * 1000 / solo;
    let [reads, both] = ["budgets", "budgets of reads and writes, and ways"].map(|name| quality(time(name)));
    println!(
        "thousandths over solo: {reads} with budgets of misses, {both} with budgets of reads and writes"
    );
    assert!(both <= 50, "{both} thousandths");
    assert!(both < reads && reads <= 60, "{reads} and {both} thousandths");
}

/// SCE Figs. 7 and 11: the more of the hottest pages are locked the shorter the worst case, and half of the pages
/// give most of the gain.
#[test]
fn the_lockdown_curve_falls_steeply_and_then_little() {
    let time = |pages: &str| worst("sce/fig7-lockdown-curve.toml", pages, 2)[0];
    let curve = ["0 pages", "16 pages", "64 pages", "110 pages", "217 pages"].map(time);
    println!("worst case with 0, 16, 64, 110, 217 pages locked: {curve:?} ns");
    assert!(curve.iter().rev().is_sorted(), "{curve:?}");
    let gain = |at: usize| curve[0] - curve[at];
    assert!(gain(3) * 10 > gain(4) * 7, "half of the pages: {} of {}", gain(3), gain(4));
}

/// SCE Fig. 1, and isolation quality with seven hogs: what slows the task down several times in a legacy system
/// costs at most a tenth where cache, banks and bandwidth are parted.
#[test]
fn seven_hogs_cost_next_to_nothing_under_single_core_equivalence() {
    let time = |variant: &str| worst("sce/fig1-p4080.toml", variant, 1)[0];
    let (one, eight) = (time("legacy 1"), time("legacy 8"));
    let (alone, all) = (time("SCE 1"), time("SCE 8"));
    println!("legacy {one} and {eight} ns, SCE {alone} and {all} ns");
    assert!(eight > one * 2, "{eight} against {one}");
    assert!(all * 10 <= alone * 11, "{all} against {alone}");
}

/// The same hogs, mechanism by mechanism: each takes something off, and only all together bring it below a tenth of
/// what the task takes alone.
#[test]
fn colors_banks_and_budgets_each_take_something_off_seven_hogs() {
    let time = |variant: &str| worst("isolation-quality-p4080.toml", variant, 1)[0];
    // Thousandths that the hogs add to what the task takes alone with the same mechanism.
    let added = |name: &str| {
        let alone = time(&format!("{name} (alone)"));
        (time(name) - alone) * 1000 / alone
    };
    let (solo, corun) = (time("solo"), time("corun"));
    let none = (corun - solo) * 1000 / solo;
    let [colors, banks, budgets, all] = ["colors", "banks", "budgets", "all"].map(added);
    println!("thousandths: none {none}, colors {colors}, banks {banks}, budgets {budgets}, all {all}");
    for one in [colors, banks, budgets] {
        assert!(all < one && one < none, "none {none}, one {one}, all {all}");
    }
    assert!(all <= 100, "{all} thousandths");
}

/// SCE Fig. 2: in one bank the latency grows with every core that joins; in private banks it does not.
#[test]
fn latency_grows_in_a_shared_bank_and_not_in_private_ones() {
    for (file, cores) in [("sce/fig2-banks-xeon.toml", 4), ("sce/fig2-banks-p4080.toml", 8)] {
        let time = |variant: String| worst(file, &variant, 1)[0];
        let same: Vec<u64> = (1..=cores).map(|n| time(format!("same {n}"))).collect();
        let private = [time("private 1".into()), time(format!("private {cores}"))];
        println!("{file}: same bank {same:?} ns, private banks {private:?} ns");
        assert!(same.is_sorted(), "{same:?}");
        assert!(same[cores - 1] * 10 > same[0] * 18, "{same:?}");
        assert!(private[1] * 100 < private[0] * 115, "{private:?}");
        assert!(private[1] < same[2], "{private:?} {same:?}");
    }
}

/// SCE Fig. 3: misses a millisecond go up and down without regulation, and never above the reservation with it.
#[test]
fn a_reservation_bounds_the_misses_of_every_millisecond() {
    let misses = |variant: &str| {
        let mut experiment = variant_of("sce/fig3-misses.toml", variant);
        experiment.end = End::At(solo_model::Duration::from_millis(30));
        let mut keep = Keep::default();
        solo_sim::run(&experiment, &[], &mut keep).expect("it runs");
        let sample = |record: &Record| match record {
            Record::Sample(sample) if sample.core() == Some(CoreId(0)) => {
                sample.counts.get(EventId::LLC_MISSES)
            }
            _ => None,
        };
        keep.0.iter().filter_map(sample).collect::<Vec<u64>>()
    };
    let free = misses("without MemGuard");
    let (least, most) = (free.iter().min().unwrap(), free.iter().max().unwrap());
    assert!(*most > 2 * 16_384 && least * 2 < *most, "{free:?}");
    let regulated = misses("1 GB/s");
    // Ten misses can be under way when the counter interrupts.
    assert!(regulated.iter().all(|count| *count <= 16_384 + 10), "{regulated:?}");
    assert!(regulated.iter().filter(|count| **count >= 16_384).count() > 5, "{regulated:?}");
}

/// SCE Fig. 6: seven hogs slow the benchmark down many times in a legacy system; with its pages locked it takes its
/// time alone, and no more than in a legacy system alone.
#[test]
fn locked_pages_make_seven_hogs_harmless() {
    let time = |variant: &str| worst("sce/fig6-locked-pages.toml", variant, 2)[0];
    let (alone, hogs) = (time("legacy, alone"), time("legacy, 7 hogs"));
    let (locked, locked_hogs) = (time("locked, alone"), time("locked, 7 hogs"));
    println!("legacy {alone} and {hogs} ns, locked {locked} and {locked_hogs} ns");
    assert!(hogs > alone * 2, "{hogs} against {alone}");
    assert!(locked_hogs * 100 <= locked * 102, "{locked_hogs} against {locked}");
    assert!(locked <= alone);
}
