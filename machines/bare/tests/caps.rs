//! Bare metal answers for itself from what was found: each need is met or refused by the one admission of all machines.

use solo_bare::agenda::MOST_CORES;
use solo_bare::caps::{Counting, Found, MOST_THREADS};
use solo_bare::frame::InstructionSet;
use solo_hal::{Able, Lack, admit};
use solo_model::experiment::End;
use solo_model::fixtures::chip;
use solo_model::isolation::*;
use solo_model::policy::Scope;
use solo_model::task::Release;
use solo_model::work::{Buffer, Pattern, Step, Touch, TraceSource};
use solo_model::{
    Bandwidth, Bank, BufferId, Bytes, Color, CoreId, Criterion, Duration, EventId, EventSet, Experiment,
    PerMille, Policy, Task, TaskClass, TaskId,
};

/// A PC with two cores and two counters of misses.
fn pc() -> Found {
    let countable = EventSet::EMPTY.with(EventId::LLC_MISSES);
    Found {
        cores: 2,
        timer_resolution: Duration::from_micros(1),
        counting: Some(Counting { general: 2, fixed: 3, width: 48, countable }),
        settled: false,
        devices: false,
        flushes_lines: true,
        flushes_all: true,
        colors: 32,
        banks: 8,
    }
}

fn settled() -> Found {
    Found { settled: true, ..pc() }
}

fn experiment(cores: usize, change: impl FnOnce(&mut Experiment)) -> Experiment {
    let task = Task {
        core: Some(CoreId(0)),
        ..Task::new("t", TaskClass::Hard, Release::Once { offset: Duration::ZERO })
    };
    let policy = Policy::new(Scope::Partitioned, Criterion::Fcfs);
    let mut experiment =
        Experiment::new("t", chip(cores), policy, vec![task], End::At(Duration::from_secs(1)));
    change(&mut experiment);
    experiment
}

fn lacks(found: Found, change: impl FnOnce(&mut Experiment)) -> Option<Lack> {
    admit(&experiment(2, change), &found.caps()).err()
}

fn budgets(counted: Counted, period: Duration) -> impl Fn(&mut Experiment) {
    move |experiment| {
        experiment.isolation.bandwidth = Some(Regulation {
            best_effort: true,
            ..Regulation::new(period, counted, Vec::new(), Bandwidth::new(1))
        });
    }
}

const MILLISECOND: Duration = Duration::from_millis(1);

#[test]
fn budgets_need_counters_that_count_the_event_while_time_goes_on() {
    let misses = budgets(Counted::One(EventId::LLC_MISSES), MILLISECOND);
    assert_eq!(lacks(pc(), &misses), None);
    let none = Lack::Counters { needed: 1, available: 0, interrupt: false };
    assert_eq!(lacks(Found { counting: None, ..pc() }, &misses), Some(none.clone()));
    assert_eq!(
        lacks(Found::emulated(InstructionSet::X86_64), &misses),
        Some(none),
        "an emulator's counters do not count"
    );
    let silent = Lack::Counters { needed: 1, available: 2, interrupt: false };
    assert_eq!(lacks(settled(), &misses), Some(silent), "time stands still while jobs run");
    let both = budgets(Counted::ReadsAndWrites, MILLISECOND);
    let event = Lack::Event { event: EventId::DRAM_READS, name: "dram_reads".to_owned() };
    assert_eq!(lacks(pc(), &both), Some(event));
    let single = Counting { general: 1, ..pc().counting.expect("it counts") };
    let few = Lack::Counters { needed: 2, available: 1, interrupt: true };
    assert_eq!(lacks(Found { counting: Some(single), ..pc() }, &both), Some(few), "fixed ones do not help");
    let (period, finest) = (Duration::new(999), Duration::from_micros(1));
    let hasty = budgets(Counted::One(EventId::LLC_MISSES), period);
    assert_eq!(lacks(pc(), hasty), Some(Lack::Timer { period, finest }));
}

#[test]
fn cores_threads_memory_and_recordings_are_what_the_image_has() {
    let with_cores = |cores, found: Found| admit(&experiment(cores, |_| ()), &found.caps()).err();
    assert_eq!(with_cores(2, pc()), None);
    assert_eq!(with_cores(3, pc()), Some(Lack::Cores { needed: 3, available: 2 }));
    assert_eq!(with_cores(MOST_CORES, Found::emulated(InstructionSet::X86_64)), None);
    let (needed, available) = (MOST_CORES + 1, MOST_CORES);
    assert_eq!(
        with_cores(needed, Found::emulated(InstructionSet::X86_64)),
        Some(Lack::Cores { needed, available })
    );
    let crowd = |count: usize| {
        move |experiment: &mut Experiment| experiment.tasks = vec![experiment.tasks[0].clone(); count]
    };
    assert_eq!(lacks(pc(), crowd(MOST_THREADS)), None);
    let available = MOST_THREADS as u32;
    let lack = Lack::Threads { needed: MOST_THREADS + 1, available };
    assert_eq!(lacks(pc(), crowd(MOST_THREADS + 1)), Some(lack));
    let touch = |experiment: &mut Experiment| {
        experiment.buffers.push(Buffer { name: "b".into(), size: Bytes::new(64) });
        experiment.tasks[0].work.steps.push(Step::Touch(Touch {
            pattern: Pattern::Sweep,
            buffer: BufferId(0),
            accesses: 1,
            stride: Bytes::new(64),
            writes: PerMille::default(),
            think: Duration::ZERO,
        }));
    };
    assert_eq!((lacks(pc(), touch), lacks(settled(), touch)), (None, Some(Lack::Memory)));
    let replay = |experiment: &mut Experiment| {
        experiment.traces.push(TraceSource { path: "t".into(), hash: String::new() });
    };
    assert_eq!(lacks(pc(), replay), Some(Lack::Recordings));
}

#[test]
fn pages_are_placed_and_caches_are_left_alone() {
    let colors = |experiment: &mut Experiment| {
        let owner = ColorOwner { task: TaskId(0), colors: vec![Color(1)], banks: vec![Bank(1)] };
        experiment.isolation.memory = Some(Coloring { owners: vec![owner], ..Coloring::default() });
    };
    assert_eq!(lacks(pc(), colors), None);
    assert_eq!(lacks(Found { colors: 0, ..pc() }, colors), Some(Lack::Colors));
    assert_eq!(lacks(Found { banks: 0, ..pc() }, colors), Some(Lack::Banks));
    let ways = |experiment: &mut Experiment| {
        experiment.isolation.ways.push(WayMask { owner: WayOwner::Core(CoreId(0)), mask: 1 });
    };
    assert_eq!(lacks(pc(), ways), Some(Lack::Ways));
    let lock = |experiment: &mut Experiment| {
        let page = LockedPage { task: TaskId(0), buffer: BufferId(0), page: 0, color: Color(0) };
        experiment.isolation.lockdown = Some(Lockdown { pages: vec![page], ..Lockdown::default() });
    };
    assert_eq!(lacks(pc(), lock), Some(Lack::Locking));
}
