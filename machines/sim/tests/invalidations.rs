//! Figs. 5, 8, 10 and 11 of hpc-invalidations at sizes that a test can bear: the relations that the paper states.
//! `solo plot scenarios/papers/hpc-invalidations/figures.toml` draws all of them.

mod common;

use common::Keep;
use solo_model::work::{Pattern, Step};
use solo_model::{Counts, EventTable, Experiment, Record};
use std::path::Path;

/// What the functions of a variant did, and how long in nanoseconds.
struct Measured {
    counts: Counts,
    events: EventTable,
    nanoseconds: u64,
}

impl Measured {
    fn of(&self, event: &str) -> u64 {
        let id = self.events.find(event).expect("the platform's file defines it");
        self.counts.get(id).expect("it is counted")
    }
    fn accesses(&self) -> u64 {
        self.of("l1_hits") + self.of("l1_misses")
    }
}

/// Runs a variant with a part of its repetitions.
fn run(variant: &str, part: u64) -> Measured {
    let path = Path::new("../../scenarios/papers/hpc-invalidations/invalidations.toml");
    let scenario = solo_scenario::load(path, &solo_scenario::Platforms::builtin()).expect("it is sound");
    let mut experiment: Experiment =
        scenario.variants.iter().find(|known| known.variant == variant).expect("it is there").clone();
    for task in experiment.tasks.iter_mut().filter(|task| task.name.starts_with("function")) {
        for step in &mut task.work.steps {
            if let Step::Touch(touch) = step {
                touch.accesses /= part;
            }
        }
    }
    let mut keep = Keep::default();
    solo_sim::run(&experiment, &[], &mut keep).expect("it runs");
    let (mut counts, mut nanoseconds) = (Counts::NONE, 0);
    for record in &keep.0 {
        if let Record::Job(job) = record
            && experiment.tasks[job.task.index()].name.starts_with("function")
        {
            counts.merge(&job.counts);
            nanoseconds = nanoseconds.max(job.finish.get());
        }
    }
    Measured { counts, events: experiment.platform.events, nanoseconds }
}

#[test]
fn sharing_eats_the_gain_of_a_second_core_and_shows_in_the_snoops() {
    for (size, part) in [("32KiB", 10), ("128KiB", 10), ("512KiB", 5)] {
        let [sequential, parallel, best] =
            ["sequential", "parallel", "best case"].map(|version| run(&format!("{version}, {size}"), part));
        let time = |measured: &Measured| measured.nanoseconds;
        println!("{size}: {} {} {} ns", time(&sequential), time(&parallel), time(&best));
        // The same accesses in all of them.
        assert_eq!(sequential.accesses(), parallel.accesses());
        assert_eq!(sequential.accesses(), best.accesses());
        // Best case about twice as fast as sequential, parallel slower than that.
        let halves = time(&sequential) * 10 / time(&best);
        assert!((17..=21).contains(&halves), "{size}: {halves} tenths");
        assert!(time(&parallel) * 100 > time(&best) * 105, "{size}");
        // Where rows are short, two cores are slower than one.
        assert!(size != "32KiB" || time(&parallel) > time(&sequential), "{size}");
        // Snoops two to three orders of magnitude apart.
        let snoops = |measured: &Measured| {
            measured.of("cmp_snoop_invalidate").max(1) * 10_000_000 / time(measured).max(1)
        };
        let (loud, quiet) = (snoops(&parallel), snoops(&sequential).max(snoops(&best)).max(1));
        println!("{size}: {loud} snoops in 10 ms beside {quiet}");
        assert!(loud >= 100 * quiet, "{size}");
        // HIT and HITM tell sharing; nobody else answers in the other two.
        let answered = |measured: &Measured| measured.of("ext_snoop_hit") + measured.of("ext_snoop_hitm");
        assert!(answered(&parallel) > 100 * answered(&sequential).max(answered(&best)).max(1), "{size}");
    }
}

/// Beyond the cache CLEAN says as much about a program that shares nothing; HIT jumps where two copies don't fit.
#[test]
fn clean_answers_tell_nothing_beyond_the_cache_and_hits_jump_there() {
    let share = |measured: &Measured, event| measured.of(event) * 100_000 / measured.accesses();
    let (fits, beyond) = (run("parallel, 2MiB", 2), run("parallel, 8MiB", 4));
    let alone = run("sequential, 8MiB", 4);
    let hits = [share(&fits, "ext_snoop_hit"), share(&beyond, "ext_snoop_hit")];
    println!("HIT, in 100,000 accesses: {hits:?}");
    assert!(hits[1] > 3 * hits[0], "{hits:?}");
    let clean = [share(&alone, "ext_snoop_clean"), share(&beyond, "ext_snoop_clean")];
    println!("CLEAN, in 100,000 accesses: {clean:?}");
    assert!(clean[0] > clean[1], "{clean:?}");
}

/// A pass over rows that is cut into pieces is, to a core that does nothing between two of them, the pass that is not cut: every record
/// with every count and every time.
#[test]
fn rows_in_pieces_are_the_pass_that_is_not_cut_to_the_nanosecond() {
    let path = Path::new("../../scenarios/papers/hpc-invalidations/row-by-row.toml");
    let scenario = solo_scenario::load(path, &solo_scenario::Platforms::builtin()).expect("it is sound");
    for (variant, passes, rows) in [("sequential, 32KiB", 200, 64), ("sequential, 128KiB", 100, 128)] {
        let whole = scenario.variants.iter().find(|known| known.variant == variant).expect("it is there");
        let records = |experiment: &Experiment| {
            let mut keep = Keep::default();
            solo_sim::run(experiment, &[], &mut keep).expect("it runs");
            keep.0
        };
        let uncut = records(whole);
        assert!(
            uncut.iter().any(|record| matches!(record, Record::Job(job) if job.finish.get() > 1_000_000))
        );
        for piece in [1, 2, rows, 2 * rows] {
            let mut cut = whole.clone();
            let [Step::Touch(touch)] = &mut cut.tasks[0].work.steps[..] else { panic!("one pass") };
            let Pattern::Rows { goes_on, .. } = &mut touch.pattern else { panic!("of rows") };
            *goes_on = true;
            let each = touch.accesses / passes / rows;
            let times = touch.accesses / each / piece;
            touch.accesses = each * piece;
            let steps = std::mem::take(&mut cut.tasks[0].work.steps);
            cut.tasks[0].work.steps = vec![Step::Repeat { times: times as u32, steps }];
            assert_eq!(records(&cut), uncut, "{variant}, {piece} at a time");
        }
    }
}
