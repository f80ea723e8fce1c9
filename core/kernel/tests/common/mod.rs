//! Experiments for the tests of this crate.
#![allow(dead_code, reason = "each test program uses some of them")]

pub(crate) mod meter;

use solo_corpus::ideal::caps;
use solo_corpus::ideal_platform;
use solo_kernel::{KernelConfig, LockConfig, TaskParameters};
use solo_model::experiment::End;
use solo_model::policy::{Policy, Scope};
use solo_model::task::Release;
use solo_model::work::{Span, Step, Work};
use solo_model::{Caps, CoreId, Criterion, Duration, Experiment, Instant, Task, TaskClass};

pub(crate) fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

pub(crate) fn at(n: u64) -> Instant {
    Instant::ZERO + ms(n)
}

pub(crate) fn policy(scope: Scope, criterion: Criterion) -> Policy {
    Policy { quantum: Some(ms(1)), ..Policy::new(scope, criterion) }
}

/// A periodic hard task of `wcet` each `period`, both in milliseconds, with implicit deadline.
pub(crate) fn task(index: usize, period: u64, wcet: u64) -> Task {
    Task {
        name: format!("T{index}"),
        class: TaskClass::Hard,
        release: Release::Periodic { offset: Duration::ZERO, period: ms(period) },
        deadline: None,
        wcet: Some(ms(wcet)),
        misses: None,
        migrate: None,
        priority: Some(index as u32),
        core: None,
        work: Work { steps: vec![compute(wcet)] },
    }
}

pub(crate) fn compute(length_ms: u64) -> Step {
    Step::Compute(Span::exactly(ms(length_ms)))
}

pub(crate) fn experiment(cores: usize, policy: Policy, tasks: Vec<Task>, horizon_ms: u64) -> Experiment {
    Experiment {
        sample_every: ms(1),
        seed: 0,
        ..Experiment::new("test", ideal_platform(cores), policy, tasks, End::At(ms(horizon_ms)))
    }
}

/// A kernel's configuration for `tasks` on `cores` cores.
pub(crate) fn config(cores: usize, policy: Policy, tasks: &[Task], locks: Vec<LockConfig>) -> KernelConfig {
    KernelConfig {
        cores,
        policy,
        speeds: Vec::new(),
        tasks: tasks.iter().map(TaskParameters::from).collect(),
        locks,
        backlog_limit: KernelConfig::BACKLOG_LIMIT,
        regulation: None,
        counting: Vec::new(),
        listening: None,
        caching: None,
        partitions: None,
    }
}

pub(crate) fn machine(cores: usize) -> Caps {
    caps(cores)
}

pub(crate) const CORE: CoreId = CoreId(0);
