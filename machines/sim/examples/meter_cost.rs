//! What an energy meter costs the simulator: the same experiment with and without one, run in pairs.
//!
//! `cargo run --release -p solo-sim --example meter_cost`; with the word `with` or `without` one run of 100 ms of short jobs, for a profiler
//! (`valgrind --tool=callgrind`).
#![allow(clippy::print_stdout)]

use solo_model::experiment::End;
use solo_model::policy::{Criterion, Policy, Scope};
use solo_model::task::Release;
use solo_model::units::*;
use solo_model::work::{Buffer, Pattern, Span, Step, Touch, Work};
use solo_model::{BufferId, CoreId, Experiment, Record, Task, TaskClass};
use solo_scenario::Platforms;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

const PAIRS: usize = 31;

struct Nobody;

impl solo_sim::Observer for Nobody {
    fn record(&mut self, _: Record) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Six tasks on the six cores of juno: what is computed for a millisecond between passes over 1 MiB, or only computed, in jobs of 200 us.
fn experiment(name: &str, memory: bool) -> Experiment {
    let platform = Platforms::builtin().load("juno", Path::new("")).expect("it is sound");
    let size = Bytes::from_mib(1);
    let compute = |time| Step::Compute(Span::exactly(time));
    let touch = |task: u32| Touch {
        pattern: Pattern::Random,
        buffer: BufferId(task),
        accesses: 20_000,
        stride: Bytes::new(64),
        writes: PerMille::new(300).unwrap_or_default(),
        think: Duration::ZERO,
    };
    let task = |at: u32| {
        let steps = match memory {
            true => vec![compute(Duration::from_millis(1)), Step::Touch(touch(at))],
            false => vec![compute(Duration::from_micros(200))],
        };
        Task {
            core: Some(CoreId(at as u16)),
            work: Work { steps },
            ..Task::new(
                format!("t{at}"),
                TaskClass::BestEffort,
                Release::Continuous { offset: Duration::ZERO },
            )
        }
    };
    let mut policy = Policy::new(Scope::Partitioned, Criterion::RoundRobin);
    policy.quantum = Some(Duration::from_millis(1));
    let end = End::At(Duration::from_millis(if memory { 60 } else { 4_000 }));
    let mut experiment = Experiment::new(name, platform, policy, (0..6).map(task).collect(), end);
    experiment.buffers = (0..6).map(|at| Buffer { name: format!("b{at}"), size }).collect();
    experiment.sample_every = Duration::from_millis(1);
    experiment
}

fn seconds(experiment: &Experiment) -> f64 {
    let begun = Instant::now();
    solo_sim::run(experiment, &[], &mut Nobody).expect("it runs");
    begun.elapsed().as_secs_f64()
}

/// One run of 100 ms of short jobs.
fn once(meter: bool) {
    let mut experiment = experiment("once", false);
    experiment.end = End::At(Duration::from_millis(100));
    if !meter {
        experiment.platform.power = None;
    }
    seconds(&experiment);
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("with") => return once(true),
        Some("without") => return once(false),
        _ => {}
    }
    for (name, memory) in [("memory", true), ("jobs of 200 us, samples of 1 ms", false)] {
        let with = experiment(name, memory);
        let mut without = with.clone();
        without.platform.power = None;
        let (_, _) = (seconds(&with), seconds(&without));
        let mut ratios: Vec<f64> = (0..PAIRS)
            .map(|pair| match pair % 2 {
                0 => seconds(&with) / seconds(&without),
                _ => {
                    let plain = seconds(&without);
                    seconds(&with) / plain
                }
            })
            .collect();
        ratios.sort_by(f64::total_cmp);
        let quartile = |part: usize| ratios[PAIRS * part / 4];
        println!(
            "{name}: with a meter {:.4} of the time without (quartiles {:.4} and {:.4}, {PAIRS} pairs)",
            quartile(2),
            quartile(1),
            quartile(3)
        );
    }
}
