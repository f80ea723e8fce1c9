//! The MemGuard case study at small size: each relation that the paper states between its configurations.
//! `docs/reproduction.md` has the figures of the full size.

mod common;

use common::{Keep, jobs};
use solo_model::experiment::End;
use solo_model::{CoreId, Duration, Event, Experiment, Record};
use std::collections::BTreeMap;
use std::path::Path;

/// What a variant comes to.
struct Outcome {
    worst: Duration,
    missed: usize,
    jobs: usize,
    /// Lines that the neighbour's core moved from and to DRAM.
    moved: u64,
}

fn outcome(experiment: &Experiment) -> Outcome {
    let mut keep = Keep::default();
    solo_sim::run(experiment, &[], &mut keep).expect("it runs");
    let frames = jobs(&keep.0, 0);
    let moved = keep.0.iter().filter_map(|record| match record {
        Record::Sample(sample) if sample.core == CoreId(1) => {
            Some(sample.counts[Event::DramRead] + sample.counts[Event::DramWrite])
        }
        _ => None,
    });
    Outcome {
        worst: frames.iter().map(|job| job.response()).max().expect("jobs finished"),
        missed: frames.iter().filter(|job| job.missed()).count(),
        jobs: frames.len(),
        moved: moved.sum(),
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
    // Table 2: all deadlines missed with too small a reservation, none with a sufficient one.
    assert_eq!(of["(600,600)"].missed, of["(600,600)"].jobs);
    for name in ["(900,300)", "(900,300)+PS"] {
        assert_eq!(of[name].missed, 0, "{name}");
        assert!(of[name].worst < of["corun"].worst, "{name}");
        assert!(of[name].worst < of["(600,600)+PS"].worst, "{name}");
    }
    assert!(of["(600,600)+PS"].worst < of["(600,600)"].worst);
    // Table 1: the X server's core is busy 78 % of the time, 61 and 48 % with sharing, 6 and 4 % without.
    let moved = |name: &str| of[name].moved;
    assert!(moved("corun") > moved("(600,600)+PS"));
    assert!(moved("(600,600)+PS") >= moved("(900,300)+PS") * 95 / 100);
    assert!(moved("(900,300)+PS") > moved("(600,600)"));
    assert!(moved("(600,600)") > moved("(900,300)"));
    for name in ["(600,600)+PS", "(900,300)+PS"] {
        assert!(moved(name) * 2 > moved("corun"), "{name}: {} of {}", moved(name), moved("corun"));
    }
}
