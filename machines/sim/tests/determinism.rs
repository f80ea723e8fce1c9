//! Same experiment, same records, byte for byte: twice in a row, and in debug and release builds.

mod common;

use common::*;
use solo_model::experiment::End;
use solo_model::platform::FramePolicy;
use solo_model::policy::{Criterion, Scope};
use solo_model::units::*;
use solo_model::work::Pattern;
use solo_model::{Experiment, Record};

fn seeded(seed: u64) -> Experiment {
    let sizes = [Bytes::from_kib(48), Bytes::from_kib(320), Bytes::from_kib(16)];
    let tasks = vec![
        periodic("random", 0, ms(1), vec![touch(Pattern::Random, 0, sizes[0], 200)]),
        continuous(
            "stream",
            1,
            vec![touch(Pattern::Stream, 1, sizes[1], 500), compute(Duration::from_micros(30))],
        ),
        periodic("chase", 1, ms(2), vec![touch(Pattern::Chase, 2, sizes[2], 0)]),
    ];
    let mut experiment = experiment(2, tasks, &sizes, End::Jobs(1));
    experiment.seed = seed;
    experiment.platform.frames = FramePolicy::Random;
    experiment.policy.scope = Scope::Global;
    experiment.policy.criterion = Criterion::Edf;
    experiment
}

/// FNV-1a over the records as they serialise: any difference in any field changes it.
fn fingerprint(records: &[Record]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for record in records {
        for byte in postcard::to_allocvec(record).expect("records serialise") {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    hash
}

#[test]
fn a_hundred_seeds_run_twice_give_identical_records() {
    let mut prints = Vec::new();
    for seed in 0..100 {
        let experiment = seeded(seed);
        let first = fingerprint(&run(&experiment).0);
        assert_eq!(first, fingerprint(&run(&experiment).0), "seed {seed} ran differently the second time");
        prints.push(first);
    }
    let mut distinct = prints.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert!(distinct.len() > 95, "only {} of 100 seeds make a difference", distinct.len());
    // Debug and release builds read the same file.
    let lines: Vec<String> =
        prints.iter().enumerate().map(|(seed, print)| format!("{seed:>2} {print:016x}")).collect();
    insta::assert_snapshot!("hundred_seeds", lines.join("\n"));
}
