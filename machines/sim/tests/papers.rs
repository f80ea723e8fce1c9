//! Figures of the papers about isolation, at small size: the relations that they state.
//! `docs/reproduction.md` has the figures of the full size.

mod common;

use common::{Keep, jobs};
use solo_model::experiment::End;
use solo_model::{Experiment, TaskId};
use std::path::Path;

/// The worst response time of each task of a variant, in nanoseconds, with `count` jobs.
fn worst(file: &str, variant: &str, count: u64) -> Vec<u64> {
    let path = Path::new("../../scenarios/papers").join(file);
    let scenario = solo_scenario::load(&path, &solo_scenario::Platforms::builtin()).expect("it is sound");
    let found = scenario.variants.iter().find(|known| known.variant == variant).expect("it is there");
    let experiment = Experiment { end: End::Jobs(count), ..found.clone() };
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

/// Isolation quality of budgets on the video scenario: (corun - solo) / solo of the worst response time.
#[test]
fn budgets_bring_the_video_task_within_six_per_cent_of_itself_alone() {
    let time = |variant: &str| worst("isolation-quality.toml", variant, 5)[0];
    let (solo, corun) = (time("solo"), time("budgets"));
    let quality = (corun - solo) * 1000 / solo;
    assert!(quality <= 60, "{quality} thousandths");
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
