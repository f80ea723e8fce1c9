//! A counter's interrupt reaches the kernel after exactly as many events as were asked for.

mod common;

use common::*;
use solo_model::experiment::End;
use solo_model::isolation::{Budget, CoreBudget, Counted, Donation, Regulation, TaskBudget};
use solo_model::units::*;
use solo_model::work::Pattern;
use solo_model::{CoreId, EventId, Record, TaskId};

/// A reader on core 0 that may cause 1000 of `event` a millisecond, for 20 ms.
fn regulated(event: EventId, steps: Vec<solo_model::work::Step>) -> solo_model::Experiment {
    let buffers = [Bytes::from_mib(4)];
    let mut experiment = experiment(2, vec![continuous("hog", 0, steps)], &buffers, End::At(ms(20)));
    experiment.sample_every = ms(1);
    experiment.isolation.bandwidth = Some(Regulation {
        tasks: vec![TaskBudget { task: TaskId(0), budget: None, donates: Donation::Nothing }],
        best_effort: true,
        ..Regulation::new(
            ms(1),
            Counted::One(event),
            vec![CoreBudget {
                core: CoreId(0),
                budget: Budget::Events(solo_model::Events::new(1000)),
                writes: None,
            }],
            Bandwidth::new(1_000_000_000),
        )
    });
    experiment
}

fn per_period(experiment: &solo_model::Experiment, event: EventId) -> Vec<u64> {
    let (records, _) = run(experiment);
    let sample = |record: &Record| match record {
        Record::Sample(sample) if sample.core() == Some(CoreId(0)) => sample.counts.get(event),
        _ => None,
    };
    records.iter().filter_map(sample).collect()
}

#[test]
fn a_sweep_is_stopped_at_its_thousandth_miss() {
    let sweep = vec![touch(Pattern::Sweep, 0, Bytes::from_mib(4), 0)];
    let misses = per_period(&regulated(EventId::LLC_MISSES, sweep), EventId::LLC_MISSES);
    assert_eq!(misses.len(), 20);
    assert!(misses.iter().all(|count| *count == 1000), "{misses:?}");
}

#[test]
fn a_computation_is_stopped_at_its_thousandth_instruction() {
    let long = vec![compute(ms(5))];
    let instructions = per_period(&regulated(EventId::INSTRUCTIONS, long), EventId::INSTRUCTIONS);
    assert!(instructions.iter().all(|count| *count == 1000), "{instructions:?}");
}

#[test]
fn without_a_budget_nothing_is_stopped() {
    let sweep = vec![touch(Pattern::Sweep, 0, Bytes::from_mib(4), 0)];
    let mut free = regulated(EventId::LLC_MISSES, sweep);
    free.isolation.bandwidth = None;
    assert!(per_period(&free, EventId::LLC_MISSES).iter().all(|count| *count > 5000));
}
