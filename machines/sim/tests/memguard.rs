//! The MemGuard case study at small size: each relation that the paper states between its configurations.
//! `docs/reproduction.md` has the figures of the full size.

mod common;

use common::{Keep, jobs};
use solo_model::experiment::End;
use solo_model::{CoreId, Duration, Experiment, Instant, Record};
use std::collections::BTreeMap;
use std::path::Path;

/// What a variant comes to.
struct Outcome {
    worst: Duration,
    missed: usize,
    jobs: usize,
    /// The share of time that the neighbour's core was busy, in thousandths: the X server's utilisation.
    neighbour: u64,
}

fn outcome(experiment: &Experiment) -> Outcome {
    let mut keep = Keep::default();
    let outcome = solo_sim::run(experiment, &[], &mut keep).expect("it runs");
    let frames = jobs(&keep.0, 0);
    let mut busy = 0;
    let mut since = None;
    for record in &keep.0 {
        let Record::Switch(switch) = record else { continue };
        if switch.core == CoreId(1) {
            busy += since.take().map_or(0, |since: Instant| switch.at.since(since).get());
            since = switch.to.map(|_| switch.at);
        }
    }
    Outcome {
        worst: frames.iter().map(|job| job.response()).max().expect("jobs finished"),
        missed: frames.iter().filter(|job| job.missed()).count(),
        jobs: frames.len(),
        neighbour: busy * 1000 / outcome.end.get(),
    }
}

/// How many jobs each variant runs: the full size is a hundred.
const JOBS: u64 = 6;

/// Some variants of the case study.
fn variants(names: &[&'static str]) -> BTreeMap<&'static str, Outcome> {
    let path = Path::new("../../scenarios/papers/memguard/case-study.toml");
    let scenario = solo_scenario::load(path, &solo_scenario::Platforms::builtin()).expect("it is sound");
    let run = |name: &&'static str| {
        let mut variant = scenario.variants.iter().find(|v| v.variant == *name).expect("it is there").clone();
        variant.end = End::Jobs(JOBS);
        (*name, outcome(&variant))
    };
    names.iter().map(run).collect()
}

#[test]
fn budgets_alone_stop_the_frame_task_as_the_paper_says() {
    let of = variants(&["solo", "solo (600,600)", "solo (600,600)+PS"]);
    // Fig. 5: its own budget stops it. Fig. 7: sharing gives it back what it needs while it is alone; the
    // periods that then follow each other quickly cost a little.
    assert!(of["solo (600,600)"].worst > of["solo"].worst + of["solo"].worst / 4);
    assert!(of["solo (600,600)+PS"].worst.get() < of["solo"].worst.get() * 102 / 100);
}

#[test]
fn the_tables_of_the_paper_keep_their_order() {
    let of = variants(&["corun", "(600,600)", "(600,600)+PS", "(900,300)", "(900,300)+PS"]);
    // Table 2: all deadlines missed with too small a reservation, none where it suffices or is shared.
    assert_eq!(of["(600,600)"].missed, of["(600,600)"].jobs);
    for name in ["(600,600)+PS", "(900,300)", "(900,300)+PS"] {
        assert_eq!(of[name].missed, 0, "{name}");
    }
    let worst = |name: &str| of[name].worst;
    assert!(worst("(600,600)") > worst("(600,600)+PS"));
    assert!(worst("(600,600)+PS") > worst("(900,300)").max(worst("(900,300)+PS")));
    // Here the two are within a few per cent, in the paper 11.23 and 10.72 ms: docs/reproduction.md says why.
    assert!(worst("(900,300)").get().abs_diff(worst("(900,300)+PS").get()) * 20 < worst("(900,300)").get());
    // Table 1: 78 % of the time without budgets, 61 and 48 % with sharing, 6 and 4 % without.
    let busy = |name: &str| of[name].neighbour;
    let order = ["corun", "(600,600)+PS", "(900,300)+PS", "(600,600)", "(900,300)"].map(busy);
    assert!(order.windows(2).all(|pair| pair[0] >= pair[1]), "{order:?}");
    assert!(order[2] * 2 > order[0] && order[3] * 2 < order[0], "{order:?}");
}
