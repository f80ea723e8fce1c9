//! Applications of several threads: what they do together, from scenario files (PMCTrack 4.1.3).

mod common;

use common::{jobs, ms, run};
use solo_model::units::*;
use solo_model::{Experiment, Record};
use solo_scenario::Platforms;
use std::path::Path;

fn scenario(text: &str) -> Experiment {
    let head =
        "name = \"applications\"\nplatform = \"opteron-2425\"\njobs = 3\n[scheduler]\npolicy = \"P-RR\"\n";
    let scenario =
        solo_scenario::parse(&format!("{head}{text}"), Path::new("made.toml"), &Platforms::builtin());
    scenario.unwrap_or_else(|report| panic!("{report}")).base
}

fn responses(records: &[Record], task: u32) -> Vec<Duration> {
    jobs(records, task).iter().map(|job| job.response()).collect()
}

/// 10 ms for one, then 5 ms for each of three on slow cores (2.625 times as long), then 1 ms for one.
#[test]
fn parts_follow_one_another_and_runs_begin_together() {
    let experiment = scenario(
        "[[application]]\nname = \"solver\"\nthreads = 4\ncores = [0, 2, 3, 4]\nwork = [{ serial = [{ compute = \"10ms\" }] }, \
         { parallel = [{ compute = \"5ms\" }] }, { serial = [{ compute = \"1ms\" }] }]",
    );
    assert_eq!(experiment.applications.len(), 1);
    assert_eq!(experiment.applications[0].threads.len(), 4);
    let (records, _) = run(&experiment);
    let whole = ms(11).get() + 13_125_000;
    let first = responses(&records, 0);
    assert!(first.len() >= 3);
    for response in &first {
        assert!(response.get().abs_diff(whole) <= 10, "{response} of {whole}");
    }
    // All begin when the first does, and are done when it is.
    for task in 1..4 {
        for (own, leader) in jobs(&records, task).iter().zip(jobs(&records, 0)) {
            assert!(own.finish.get().abs_diff(leader.finish.get()) <= 10, "{own:?} {leader:?}");
        }
    }
}

/// The others go on from the beginning until the longest has run three times.
#[test]
fn applications_begin_anew_until_the_longest_is_done() {
    let experiment = scenario(
        "[[application]]\nname = \"long\"\ncores = [0]\nwork = [{ compute = \"30ms\" }]\n\
         [[application]]\nname = \"short\"\nweight = 300\ncores = [1]\nwork = [{ execute = 3_150_000 }]",
    );
    let weights: Vec<u32> = experiment.applications.iter().map(|application| application.weight).collect();
    assert_eq!(weights, [100, 300]);
    let (records, _) = run(&experiment);
    assert_eq!(responses(&records, 0), [ms(30); 3]);
    // 3.15 instructions a nanosecond.
    let short = responses(&records, 1);
    assert!(
        short.len() >= 89 && short.iter().all(|response| response.get().abs_diff(1_000_000) <= 2),
        "{}",
        short.len()
    );
}
