//! How late jobs are under global EDF, against the bound.

use crate::draw::Dice;
use crate::{seeds, sets};
use solo_corpus::{ideal, ideal_platform};
use solo_model::Experiment;
use solo_model::experiment::End;
use solo_model::policy::{Criterion, Policy, Scope};
use solo_model::record::Record;
use solo_model::task::{Release, Task, TaskClass};
use solo_model::units::Duration;
use solo_model::work::{Span, Step, Work};
use solo_prove::global::tardiness::tardiness_bounds;
use solo_prove::{Task as Parameters, TaskSet};

/// Sets that fill two to four cores, and whether all jobs are released together.
fn drawn(seed: u64) -> Option<(TaskSet, Experiment)> {
    let dice = &mut Dice::new(seed ^ 0x7A2D);
    let cores = dice.between(2, 4) as u32;
    let mut tasks: Vec<Parameters> = Vec::new();
    let share = |tasks: &[Parameters]| {
        tasks.iter().map(|task| task.c.get() as f64 / task.t.get() as f64).sum::<f64>()
    };
    while tasks.len() < 12 {
        let left = f64::from(cores) - share(&tasks);
        let period = dice.pick(&[2_u64, 3, 4, 5, 6, 8, 10, 12]);
        let most = (period as f64 * left.min(1.0) + 1e-9).floor() as u64;
        if most == 0 {
            break;
        }
        let c = if dice.once_in(3) { most } else { dice.between(1, most) };
        tasks.push(Parameters::implicit(c, period));
    }
    let task = |(index, parameters): (usize, &Parameters)| Task {
        work: Work { steps: vec![Step::Compute(Span::exactly(Duration::new(parameters.c.get())))] },
        ..Task::new(
            format!("t{index}"),
            TaskClass::Soft,
            Release::Periodic { offset: Duration::ZERO, period: Duration::new(parameters.t.get()) },
        )
    };
    let policy = Policy::new(Scope::Global, Criterion::Edf);
    let platform = ideal_platform(cores as usize);
    let model = tasks.iter().enumerate().map(task).collect();
    let experiment = Experiment::new("tardy", platform, policy, model, End::At(Duration::new(400)));
    Some((TaskSet::new(cores, tasks).ok()?, experiment))
}

#[test]
fn no_job_is_later_than_the_bound_and_some_comes_half_way() {
    let mut closest = 0.0_f64;
    let sets = sets(2000);
    for seed in seeds(sets) {
        let Some((set, experiment)) = drawn(seed) else { continue };
        let Some(bounds) = tardiness_bounds(&set) else { continue };
        let run = ideal::run(&experiment, &ideal::IdealOptions::default()).expect("the kernel admits it");
        for record in &run.records {
            let (task, late) = match record {
                Record::Job(job) => (job.task, job.tardiness()),
                Record::Unfinished(job) => {
                    (job.task, job.deadline.map_or(Duration::ZERO, |deadline| job.at.since(deadline)))
                }
                _ => continue,
            };
            let bound = bounds[task.index()].get();
            assert!(late.get() <= bound, "seed {seed}: {task} is late by {late} of {bound}: {set:?}");
            closest = closest.max(late.get() as f64 / bound.max(1) as f64);
        }
    }
    println!("closest: {closest:.2}");
    assert!(closest >= 0.5 || sets < 1000, "{closest}");
}
