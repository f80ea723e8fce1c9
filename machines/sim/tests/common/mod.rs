//! Small experiments and what they record.
#![allow(dead_code, unreachable_pub, missing_docs)]

pub mod listening;

use solo_model::experiment::{End, Experiment};
use solo_model::fixtures::{cache, chip};
use solo_model::platform::*;
use solo_model::policy::{Criterion, Policy, Scope};
use solo_model::task::{Release, Task, TaskClass};
use solo_model::units::*;
use solo_model::work::{Buffer, Pattern, Span, Step, Touch, Work};
use solo_model::{BufferId, CoreId, CoreSet, Instant, JobRecord, Record};
use solo_sim::{Observer, SimulationEnd};
use std::ops::ControlFlow;

/// `n` milliseconds.
pub fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// A chip with small private caches, a shared second level and DDR3-1333.
pub fn platform(cores: u16) -> Platform {
    let all = CoreSet::first(usize::from(cores));
    let private = all.iter().map(|core| cache(1, Contents::Data, CoreSet::only(core), 16, 4, 4));
    let shared = Cache { inclusion: Inclusion::Inclusive, ..cache(2, Contents::Unified, all, 256, 8, 30) };
    let mut platform = Platform { caches: private.chain([shared]).collect(), ..chip(usize::from(cores)) };
    platform.kinds[0].clock = Frequency::new(2_000_000_000);
    platform.kinds[0].outstanding_misses = 4;
    platform.kinds[0].smt_speed = PerMille::new(600).unwrap();
    platform.coherence.snoop_clean = Cycles::new(20);
    platform.coherence.snoop_modified = Cycles::new(30);
    platform.coherence.upgrade = Cycles::new(20);
    platform
}

/// A hard periodic task with an implicit deadline.
pub fn periodic(name: &str, core: u16, period: Duration, steps: Vec<Step>) -> Task {
    Task {
        name: name.into(),
        class: TaskClass::Hard,
        release: Release::Periodic { offset: Duration::ZERO, period },
        deadline: Some(period),
        wcet: Some(period),
        misses: None,
        migrate: None,
        priority: Some(0),
        core: Some(CoreId(core)),
        work: Work { steps },
    }
}

/// A best-effort task that never rests.
pub fn continuous(name: &str, core: u16, steps: Vec<Step>) -> Task {
    Task {
        class: TaskClass::BestEffort,
        release: Release::Continuous { offset: Duration::ZERO },
        deadline: None,
        ..periodic(name, core, ms(1), steps)
    }
}

pub fn compute(length: Duration) -> Step {
    Step::Compute(Span::exactly(length))
}

/// A pass over a whole buffer of `size`.
pub fn touch(pattern: Pattern, buffer: u32, size: Bytes, writes: u16) -> Step {
    Step::Touch(Touch {
        pattern,
        buffer: BufferId(buffer),
        accesses: size.get() / 8,
        stride: Bytes::new(8),
        writes: PerMille::new(writes).unwrap(),
        think: Duration::ZERO,
    })
}

/// An experiment of these tasks; buffer `i` has the size `buffers[i]`.
pub fn experiment(cores: u16, tasks: Vec<Task>, buffers: &[Bytes], end: End) -> Experiment {
    let buffers = buffers.iter().enumerate().map(|(i, &size)| Buffer { name: format!("b{i}"), size });
    let policy = Policy::new(Scope::Partitioned, Criterion::Rm);
    Experiment {
        buffers: buffers.collect(),
        sample_every: ms(1),
        ..Experiment::new("test", platform(cores), policy, tasks, end)
    }
}

/// Keeps every record.
#[derive(Default)]
pub struct Keep(pub Vec<Record>);

impl Observer for Keep {
    fn record(&mut self, record: Record) -> ControlFlow<()> {
        self.0.push(record);
        ControlFlow::Continue(())
    }
}

pub fn run(experiment: &Experiment) -> (Vec<Record>, SimulationEnd) {
    let mut keep = Keep::default();
    let outcome = solo_sim::run(experiment, &[], &mut keep).expect("the experiment can run");
    (keep.0, outcome)
}

pub fn jobs(records: &[Record], task: u32) -> Vec<&JobRecord> {
    fn job(record: &Record) -> Option<&JobRecord> {
        if let Record::Job(job) = record { Some(job) } else { None }
    }
    records.iter().filter_map(job).filter(|job| job.task.0 == task).collect()
}

/// A point in time, in milliseconds.
pub fn at(n: u64) -> Instant {
    Instant::ZERO + ms(n)
}
