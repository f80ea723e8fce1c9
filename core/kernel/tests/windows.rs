//! Windows of partitions, against a schedule that is made millisecond by millisecond.

mod common;

use common::{CORE, at, compute, config, experiment, machine, ms, policy, task};
use solo_corpus::ideal::{self, IdealOptions};
use solo_corpus::{Schedule, Segment};
use solo_kernel::{Kernel, KernelConfig, PolicyRefusal, WindowRefusal};
use solo_model::partition::{MajorCycle, Partition, Partitions, TimeWindow};
use solo_model::policy::{Scope, Timing};
use solo_model::record::{Record, SwitchReason};
use solo_model::task::Release;
use solo_model::work::Work;
use solo_model::{
    CoreId, CoreSet, Criterion, Duration, Experiment, Instant, PartitionId, Policy, SplitMix64, Task, TaskId,
};
use solo_schedule::criteria::Rm;

const CORES: u16 = 2;
const HORIZON: u64 = 300;

/// Windows in milliseconds: of which partition, from, to.
type Line = Vec<(u16, u64, u64)>;

fn cycle(core: u16, length: u64, line: &Line) -> MajorCycle {
    let window = |&(partition, from, to): &(u16, u64, u64)| TimeWindow {
        partition: PartitionId(partition),
        begin: ms(from),
        length: ms(to - from),
    };
    MajorCycle { core: CoreId(core), length: ms(length), windows: line.iter().map(window).collect() }
}

fn partition(tasks: &[u32]) -> Partition {
    Partition { name: String::new(), tasks: tasks.iter().map(|&task| TaskId(task)).collect() }
}

/// A drawn system: tasks of whole milliseconds on two cores, two partitions on each, some tasks in none.
struct Drawn {
    experiment: Experiment,
    lines: Vec<(u64, Line)>,
    /// By task, its partition.
    homes: Vec<Option<u16>>,
}

fn drawn(seed: u64, criterion: Criterion) -> Drawn {
    let dice = &mut SplitMix64::new(seed * 77 + 5);
    let mut lines = Vec::new();
    for core in 0..CORES {
        let length = 6 + dice.below(15);
        let mut line = Line::new();
        let mut from = dice.below(3);
        while from + 1 < length {
            let to = (from + 1 + dice.below(5)).min(length);
            line.push((2 * core + dice.below(2) as u16, from, to));
            from = to + dice.below(3);
        }
        lines.push((length, line));
    }
    let mut members = vec![Vec::new(); 4];
    let (mut tasks, mut homes) = (Vec::new(), Vec::new());
    for index in 0..3 + dice.below(5) {
        let core = dice.below(u64::from(CORES)) as u16;
        // Periods that differ: no ties.
        let period = 10 + 8 * index + dice.below(8);
        let wcet = 1 + dice.below(1 + period / 8);
        let home = (dice.below(5) > 0).then(|| 2 * core + dice.below(2) as u16);
        if let Some(home) = home {
            members[usize::from(home)].push(index as u32);
        }
        homes.push(home);
        let release = Release::Periodic { offset: ms(dice.below(period)), period: ms(period) };
        let core = Some(CoreId(core));
        tasks.push(Task { release, core, deadline: None, ..task(index as usize, period, wcet) });
    }
    let mut experiment = experiment(CORES.into(), policy(Scope::Partitioned, criterion), tasks, HORIZON);
    let cycles = lines.iter().enumerate().map(|(core, (length, line))| cycle(core as u16, *length, line));
    let partitions = members.iter().map(|members| partition(members)).collect();
    experiment.isolation.partitions =
        Some(Partitions::new(partitions, cycles.collect()).expect("windows that do not overlap"));
    Drawn { experiment, lines, homes }
}

impl Drawn {
    fn is_open(&self, task: usize, core: usize, now: u64) -> bool {
        let (length, line) = &self.lines[core];
        let at = now % length;
        let open = line.iter().find(|(_, from, to)| (*from..*to).contains(&at)).map(|window| window.0);
        self.homes[task].is_none_or(|home| open == Some(home))
    }

    /// Who runs in each millisecond, most urgent first by `key`: the reference.
    fn reference(&self, key: impl Fn(&Task, u64) -> u64) -> Vec<Vec<Option<usize>>> {
        let tasks = &self.experiment.tasks;
        // Of each task, when its unfinished jobs were released and what is left of the first.
        let mut jobs: Vec<(Vec<u64>, u64)> = vec![(Vec::new(), 0); tasks.len()];
        let length = |task: &Task| task.wcet.expect("declared").get() / 1_000_000;
        let mut rows = vec![Vec::new(); CORES.into()];
        for now in 0..HORIZON {
            for (task, jobs) in tasks.iter().zip(&mut jobs) {
                let period = task.release.period().expect("periodic").get() / 1_000_000;
                let offset = task.release.offset().get() / 1_000_000;
                if now >= offset && (now - offset).is_multiple_of(period) {
                    if jobs.0.is_empty() {
                        jobs.1 = length(task);
                    }
                    jobs.0.push(now);
                }
            }
            for (core, row) in rows.iter_mut().enumerate() {
                let here = |at: &usize| tasks[*at].core == Some(CoreId(core as u16));
                let ready = |at: &usize| !jobs[*at].0.is_empty() && self.is_open(*at, core, now);
                let candidates = (0..tasks.len()).filter(|at| here(at) && ready(at));
                let first = candidates.min_by_key(|&at| (key(&tasks[at], jobs[at].0[0]), at));
                row.push(first);
                let Some(at) = first else { continue };
                jobs[at].1 -= 1;
                if jobs[at].1 == 0 {
                    jobs[at].0.remove(0);
                    jobs[at].1 = length(&tasks[at]);
                }
            }
        }
        rows
    }

    fn observed(&self) -> Vec<Record> {
        let run = ideal::run(&self.experiment, &IdealOptions::default()).expect("the ideal machine takes it");
        run.records
    }
}

fn schedule(records: &[Record]) -> Schedule {
    let horizon = Instant::ZERO + ms(HORIZON);
    Schedule::from_records(records, CORES.into(), horizon, Duration::ZERO)
}

/// Rows of milliseconds as segments.
fn segments(rows: &[Vec<Option<usize>>]) -> Vec<Vec<Segment>> {
    let row = |row: &Vec<Option<usize>>| {
        let mut found: Vec<Segment> = Vec::new();
        for (now, task) in row.iter().enumerate() {
            let Some(task) = task.map(|task| TaskId(task as u32)) else { continue };
            let (from, to) = (at(now as u64), at(now as u64 + 1));
            match found.last_mut() {
                Some(last) if last.task == task && last.to == from => last.to = to,
                _ => found.push(Segment { from, to, task }),
            }
        }
        found
    };
    rows.iter().map(row).collect()
}

#[test]
fn fixed_priorities_in_windows_are_as_a_reference_makes_them() {
    let mut windows = 0;
    for seed in 0..400 {
        let criterion = if seed % 2 == 0 { Criterion::Rm } else { Criterion::StaticPriority };
        let drawn = drawn(seed, criterion);
        let period = |task: &Task, _| task.release.period().expect("periodic").get();
        // Both orders are the same: priorities and periods grow with the number.
        let expected = segments(&drawn.reference(period));
        let records = drawn.observed();
        assert_eq!(schedule(&records).cores, expected, "seed {seed}");
        let turned = |record: &&Record| matches!(record, Record::Switch(switch) if switch.reason == SwitchReason::Window);
        windows += records.iter().filter(turned).count();
    }
    assert!(windows > 4000, "{windows} switches because of windows");
}

#[test]
fn under_every_criterion_nobody_runs_outside_its_windows() {
    for criterion in Criterion::ALL {
        for seed in 1000..1060 {
            let drawn = drawn(seed, criterion);
            let found = schedule(&drawn.observed());
            assert!(found.cores.iter().any(|row| !row.is_empty()), "{criterion:?} {seed}");
            for (core, row) in found.cores.iter().enumerate() {
                for segment in row {
                    let (from, to) = (segment.from.get() / 1_000_000, segment.to.get().div_ceil(1_000_000));
                    let task = segment.task.index();
                    let outside = (from..to).find(|&now| !drawn.is_open(task, core, now));
                    assert_eq!(outside, None, "{criterion:?} {seed}: task {task} on core {core}");
                }
            }
        }
    }
}

fn divided(cycles: Vec<MajorCycle>) -> Option<Partitions> {
    Some(Partitions::new(vec![partition(&[0])], cycles).expect("windows"))
}

fn refused(policy: Policy, partitions: Option<Partitions>) -> Option<PolicyRefusal> {
    let tasks = [Task { core: Some(CORE), ..task(0, 10, 1) }];
    let plain = config(2, policy, &tasks, Vec::new());
    Kernel::<Rm>::new(KernelConfig { partitions, ..plain }, &machine(2)).err()
}

#[test]
fn windows_that_cannot_be_kept_to_are_refused() {
    let policy = |scope, timing| Policy { timing, ..policy(scope, Criterion::Rm) };
    let line = divided(vec![cycle(0, 10, &vec![(0, 3, 5)])]);
    let partitioned = |timing| refused(policy(Scope::Partitioned, timing), line.clone());
    assert_eq!(partitioned(Timing::OneShot), None);
    assert_eq!(partitioned(Timing::Tick(ms(1))), None);
    let why = WindowRefusal::BetweenTicks { time: ms(3), tick: ms(2) };
    assert_eq!(partitioned(Timing::Tick(ms(2))), Some(PolicyRefusal::Windows { core: CORE, why }));
    let shared = Some(PolicyRefusal::Windows { core: CORE, why: WindowRefusal::SharedQueue });
    assert_eq!(refused(policy(Scope::Global, Timing::OneShot), line.clone()), shared);
    let pair = Scope::Clustered(vec![CoreSet::first(2)]);
    assert_eq!(refused(policy(pair, Timing::OneShot), line.clone()), shared);
    // A cluster of one core is a queue of its own.
    let alone = Scope::Clustered(vec![CoreSet::only(CORE), CoreSet::only(CoreId(1))]);
    assert_eq!(refused(policy(alone, Timing::OneShot), line), None);
}

#[test]
fn a_partition_without_a_window_on_a_divided_core_never_runs() {
    let tasks = vec![Task { core: Some(CORE), work: Work { steps: vec![compute(1)] }, ..task(0, 10, 1) }];
    let mut experiment = experiment(1, policy(Scope::Partitioned, Criterion::Rm), tasks, 50);
    experiment.isolation.partitions = divided(vec![cycle(0, 10, &Line::new())]);
    let run = ideal::run(&experiment, &IdealOptions::default()).expect("taken");
    assert!(!run.records.iter().any(|record| matches!(record, Record::Job(_))));
    let unfinished = run.records.iter().filter(|record| matches!(record, Record::Unfinished(_))).count();
    assert_eq!(unfinished, 5, "released at 0 to 40 ms and told as unfinished");
}
