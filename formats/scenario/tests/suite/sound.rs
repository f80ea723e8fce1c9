//! What holds for every experiment that the reader hands out.

use solo_model::work::{Flush, Step, Visit, Work};
use solo_model::{Experiment, Scope, TaskId};
use solo_scenario::Scenario;
use solo_workload::Program;
use std::collections::HashSet;

/// Panics where a scenario that was accepted could not run.
pub(crate) fn assert_sound(scenario: &Scenario) {
    for experiment in std::iter::once(&scenario.base).chain(&scenario.variants) {
        assert_experiment(experiment);
    }
}

fn assert_experiment(experiment: &Experiment) {
    assert!(!experiment.tasks.is_empty());
    assert!(!experiment.sample_every.is_zero());
    let names: HashSet<&str> = experiment.tasks.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(names.len(), experiment.tasks.len(), "names are unique");
    let cores = experiment.platform.cores.len();
    if let Scope::Clustered(clusters) = &experiment.policy.scope {
        let mut seen = Vec::new();
        clusters.iter().for_each(|cluster| seen.extend(cluster.iter().map(|core| core.index())));
        seen.sort_unstable();
        assert_eq!(seen, (0..cores).collect::<Vec<_>>(), "clusters are disjoint and cover all cores");
    }
    for task in &experiment.tasks {
        assert!(task.core.is_none_or(|core| core.index() < cores));
        assert!(task.deadline.is_none_or(|deadline| !deadline.is_zero()));
        assert!(task.release.period().is_none_or(|period| !period.is_zero()));
        assert!(task.core.is_some() || experiment.policy.scope == Scope::Global);
        assert_work(experiment, &task.work);
    }
    if experiment.traces.is_empty() {
        let line = experiment.platform.line();
        for (index, task) in experiment.tasks.iter().enumerate().take(20) {
            let id = TaskId(index as u32);
            // A program of the host's has no operations.
            if task.work.command().is_some() {
                continue;
            }
            let program = Program::new(&task.work, id, &experiment.buffers, line, experiment.seed, &[]);
            assert!(program.is_ok(), "{:?}", program.err());
        }
    }
}

fn assert_work(experiment: &Experiment, work: &Work) {
    for visit in work.walk() {
        match visit {
            Visit::Begin { times } | Visit::End { times } => assert!(times > 0),
            Visit::Step(step) => match step {
                Step::Compute(span) | Step::Sleep(span) => assert!(span.least <= span.most),
                Step::Touch(touch) => {
                    let buffer = &experiment.buffers[touch.buffer.index()];
                    assert!(!touch.stride.is_zero() && touch.stride <= buffer.size);
                    assert!(touch.accesses > 0);
                }
                Step::Command(words) => assert!(!words.is_empty() && !words[0].is_empty()),
                Step::Replay(replay) => {
                    assert!((replay.trace as usize) < experiment.traces.len());
                    assert!(replay.buffer.index() < experiment.buffers.len());
                }
                Step::Acquire(lock) | Step::Release(lock) => {
                    assert!(lock.index() < experiment.locks.len());
                }
                Step::Execute(execute) => assert!(
                    execute.instructions > 0
                        && step.buffer().is_none_or(|buffer| buffer.index() < experiment.buffers.len())
                ),
                Step::Allocate { buffer, .. } | Step::Free(buffer) | Step::Flush(Flush::Buffer(buffer)) => {
                    assert!(buffer.index() < experiment.buffers.len());
                }
                Step::Flush(Flush::All) => {}
                Step::Repeat { .. } => unreachable!("a walk announces repetitions"),
            },
        }
    }
}
