//! Computing takes longer on small cores: as long as the speedup factor of pure computing says, wherever the job goes.

mod common;

use common::*;
use solo_model::experiment::End;
use solo_model::policy::{Criterion, Policy, Scope};
use solo_model::units::*;
use solo_model::{CoreId, EventId, Experiment, Platform, SplitMix64, Task};
use solo_scenario::Platforms;
use std::path::Path;

fn platform(name: &str) -> Platform {
    Platforms::builtin().load(name, Path::new("")).unwrap_or_else(|report| panic!("{report}"))
}

fn computing(platform: Platform, tasks: Vec<Task>, scope: Scope, criterion: Criterion) -> Experiment {
    Experiment::new("kinds", platform, Policy::new(scope, criterion), tasks, End::Jobs(1))
}

/// PMCTrack 4.1 and Table 4: QuickIA 4.02, Opteron 2B-10S 2.625, Juno 2.157 by clocks and instructions a cycle.
#[test]
fn pure_computing_has_the_speedup_factor_of_the_platform() {
    let expected = [("quickia", 2, 4.02), ("opteron-2425", 2, 2.625), ("juno", 2, 2.157), ("tc2", 2, 2.344)];
    for (name, small, factor) in expected {
        let task = |name: &str, core| periodic(name, core, ms(50), vec![compute(ms(4))]);
        let tasks = vec![task("big", 0), task("small", small)];
        let (records, _) = run(&computing(platform(name), tasks, Scope::Partitioned, Criterion::Rm));
        let [big, small] = [0, 1].map(|task| jobs(&records, task)[0].clone());
        assert_eq!(big.response(), ms(4), "{name}");
        let found = small.response().get() as f64 / big.response().get() as f64;
        assert!((found - factor).abs() < 0.005, "{name}: {found}");
        let [instructions, cycles] = [EventId::INSTRUCTIONS, EventId::CYCLES]
            .map(|event| [&big, &small].map(|job| job.counts.get(event).expect("it is counted")));
        assert!(instructions[0].abs_diff(instructions[1]) <= 2, "{name}: {instructions:?}");
        assert!(cycles[0] != cycles[1] || name == "opteron-2425", "{name}: {cycles:?}");
    }
}

/// A job that is thrown from core to core does all of its work: as many instructions as on one core, and in a time between the one
/// that it takes on the fastest and the one on the slowest core.
#[test]
fn a_job_that_changes_the_kind_of_core_does_the_same_work() {
    let mut migrations = 0;
    for seed in 0..120 {
        let mut random = SplitMix64::new(seed);
        let tasks: Vec<Task> = (0..9)
            .map(|index| {
                let work = vec![compute(Duration::new(1_000_000 + random.below(3_000_000)))];
                let mut task = periodic(&format!("t{index}"), 0, ms(12 + 7 * random.below(5)), work);
                (task.core, task.wcet) = (None, None);
                task
            })
            .collect();
        let mut experiment = computing(platform("juno"), tasks, Scope::Global, Criterion::Edf);
        experiment.end = End::At(ms(300));
        let (records, _) = run(&experiment);
        let (fast, slow) = (experiment.platform.speed(CoreId(0)), experiment.platform.speed(CoreId(2)));
        for (index, task) in experiment.tasks.iter().enumerate() {
            let Some(solo_model::work::Step::Compute(span)) = task.work.steps.first() else {
                panic!("it computes")
            };
            for job in jobs(&records, index as u32) {
                migrations += u64::from(job.migrations > 0);
                assert!(
                    job.executed <= slow.longest(span.most)
                        && job.executed + Duration::new(1) >= fast.longest(span.most)
                );
                // 1.65 instructions a nanosecond on the reference kind.
                let whole = span.most.get() * 165 / 100;
                let counted = job.counts.get(EventId::INSTRUCTIONS).expect("it is counted");
                assert!(
                    counted.abs_diff(whole) <= 2 + 2 * u64::from(job.migrations),
                    "seed {seed}: {counted} {whole}"
                );
            }
        }
    }
    assert!(migrations > 100, "{migrations} jobs changed their core");
}

/// The work on an element of memory is computing as well.
#[test]
fn thinking_about_an_element_takes_longer_on_a_small_core() {
    let think = |core| {
        let mut step = touch(solo_model::work::Pattern::Sweep, 0, Bytes::from_kib(4), 0);
        if let solo_model::work::Step::Touch(touch) = &mut step {
            touch.think = Duration::new(1_000);
        }
        let mut experiment = computing(
            platform("juno"),
            vec![periodic("t", core, ms(50), vec![step])],
            Scope::Partitioned,
            Criterion::Rm,
        );
        experiment.buffers = vec![solo_model::work::Buffer { name: "b".into(), size: Bytes::from_kib(4) }];
        let (records, _) = run(&experiment);
        jobs(&records, 0)[0].response()
    };
    // 512 elements of a microsecond each, and what memory takes beside.
    let difference = think(2).get() as f64 - think(0).get() as f64;
    assert!((difference / (512_000.0 * 1.157) - 1.0).abs() < 0.05, "{difference}");
}
