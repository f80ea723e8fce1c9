//! Tasks that go to another core at each release.

mod common;

use common::{compute, config, experiment, machine, ms, policy, task};
use solo_corpus::ideal::{IdealOptions, RunError, run};
use solo_hal::Faults;
use solo_kernel::{Kernel, KernelConfig};
use solo_model::isolation::WayOwner;
use solo_model::isolation::{Counted, Regulation, WayMask};
use solo_model::listening::{Observed, Reaction};
use solo_model::migration::Stays;
use solo_model::partition::Partitions;
use solo_model::policy::Scope;
use solo_model::task::Release;
use solo_model::work::{Lock, LockProtocol, Step};
use solo_model::{
    Bandwidth, Caps, CoreId, CoreSet, Criterion, Duration, EventId, Experiment, Instant, Listening, LockId,
    Migration, Overhead, Record, SplitMix64, Task, TaskId,
};
use solo_schedule::PolicyRefusal;
use solo_schedule::criteria::CpuAffinity;

/// Drawn experiments of each kind.
const CASES: u64 = 400;
/// The end of a run, in milliseconds.
const HORIZON: u64 = 240;

fn migrating(index: usize, core: u16, period: u64, length: u64) -> Task {
    let migrate = Some(Migration::EachPeriod);
    Task { core: Some(CoreId(core)), migrate, ..task(index, period, length) }
}

/// Tasks of distinct priorities under C- or G-AFFINITY, some of which migrate; together they may ask for too much.
fn drawn(seed: u64) -> Experiment {
    let mut random = SplitMix64::new(seed);
    let cores = 2 + random.below(4) as usize;
    let scope = if random.below(2) == 0 {
        Scope::Global
    } else {
        let odd = CoreSet::from_bits(0b10_1010).and(CoreSet::first(cores));
        let even = CoreSet::from_bits(0b01_0101).and(CoreSet::first(cores));
        Scope::Clustered(vec![even, odd])
    };
    let periods = [4, 5, 6, 8, 10, 12, 20, 30];
    let tasks = (0..1 + random.below(7) as usize).map(|index| {
        let period = periods[random.below(8) as usize];
        let most = if random.below(4) == 0 { 2 * period } else { period / 2 };
        let length = 1 + random.below(most);
        let offset = ms(random.below(10));
        let mut task = migrating(index, random.below(cores as u64) as u16, period, length);
        task.release = Release::Periodic { offset, period: ms(period) };
        if random.below(3) == 0 {
            task.migrate = None;
        }
        task
    });
    let tasks: Vec<Task> = tasks.collect();
    let mut experiment = experiment(cores, policy(scope, Criterion::CpuAffinity), tasks, HORIZON);
    if experiment.cannot_migrate().is_some() {
        // A cluster of one core.
        experiment.tasks.iter_mut().for_each(|task| task.migrate = None);
    }
    experiment
}

/// The core of a task's job, counted from the definition: one step through the scope for each release.
fn core_of(experiment: &Experiment, task: usize, job: u64) -> CoreId {
    let task = &experiment.tasks[task];
    let mut core = task.core.expect("bound");
    if task.migrate.is_none() {
        return core;
    }
    let scope = match &experiment.policy.scope {
        Scope::Clustered(clusters) => *clusters.iter().find(|set| set.contains(core)).expect("in a cluster"),
        _ => experiment.platform.core_set(),
    };
    for _ in 0..job {
        core = (core.0 + 1..64).chain(0..64).map(CoreId).find(|next| scope.contains(*next)).expect("a core");
    }
    core
}

/// What finishes when, millisecond by millisecond: on each core the most urgent job that is there goes on; a task's job begins when the
/// one before it has ended.
fn by_hand(experiment: &Experiment) -> Vec<(TaskId, u64, CoreId, Instant)> {
    let of = |task: &Task| {
        (task.release.offset().get() / 1_000_000, task.release.period().unwrap().get() / 1_000_000)
    };
    let length = |task: &Task| task.wcet.unwrap().get() / 1_000_000;
    let mut done = vec![0_u64; experiment.tasks.len()];
    let mut left: Vec<u64> = experiment.tasks.iter().map(length).collect();
    let mut finished = Vec::new();
    for now in 0..HORIZON {
        // Whose job ends in this millisecond is at its next one from the next on.
        let mut ran = vec![false; experiment.tasks.len()];
        for core in experiment.platform.core_set().iter() {
            let here = (0..experiment.tasks.len()).find(|&task| {
                let (offset, period) = of(&experiment.tasks[task]);
                let released = offset + done[task] * period <= now;
                released && !ran[task] && core_of(experiment, task, done[task]) == core
            });
            let Some(task) = here else { continue };
            (ran[task], left[task]) = (true, left[task] - 1);
            if left[task] == 0 {
                finished.push((TaskId(task as u32), done[task], core, at_ms(now + 1)));
                done[task] += 1;
                left[task] = length(&experiment.tasks[task]);
            }
        }
    }
    finished.sort_by_key(|&(task, job, _, at)| (at, task, job));
    finished
}

fn at_ms(n: u64) -> Instant {
    Instant::ZERO + ms(n)
}

#[test]
fn jobs_finish_where_and_when_a_count_by_hand_says() {
    let (mut late, mut moved) = (0, 0);
    for seed in 0..CASES {
        let experiment = drawn(seed);
        let records = run(&experiment, &IdealOptions::default()).expect("admitted").records;
        let mut found: Vec<_> = records
            .iter()
            .filter_map(|record| match record {
                Record::Job(job) => Some((job.task, job.job.0, job.core, job.finish)),
                _ => None,
            })
            .collect();
        found.sort_by_key(|&(task, job, _, at)| (at, task, job));
        let mut expected = by_hand(&experiment);
        // What happens at the very end no longer counts.
        found.retain(|job| job.3 < at_ms(HORIZON));
        expected.retain(|job| job.3 < at_ms(HORIZON));
        assert_eq!(found, expected, "seed {seed}");
        late += records.iter().filter(|record| matches!(record, Record::Job(job) if job.missed())).count();
        moved += found.iter().filter(|job| Some(job.2) != experiment.tasks[job.0.index()].core).count();
    }
    assert!(late > 100 && moved > 1000, "{late} late, {moved} elsewhere");
}

/// However late requests and timers are, and whatever is lost: a job runs on its core only, and no job before the one in front of it.
#[test]
fn no_job_runs_on_another_core_than_its_own_whatever_is_late() {
    let mut switches = 0;
    for seed in 0..CASES {
        let mut experiment = drawn(seed);
        let mut random = SplitMix64::new(!seed);
        let cores = experiment.platform.cores.len();
        experiment.locks = vec![Lock {
            name: "l".into(),
            protocol: if seed % 2 == 0 { LockProtocol::Plain } else { LockProtocol::Inheritance },
        }];
        for task in &mut experiment.tasks {
            if random.below(2) == 0 {
                task.work.steps = vec![
                    Step::Acquire(LockId(0)),
                    compute(1),
                    Step::Release(LockId(0)),
                    Step::Sleep(solo_model::work::Span::exactly(Duration::from_micros(random.below(2000)))),
                    compute(1),
                ];
            }
        }
        let options = IdealOptions {
            ipi_latencies: (0..5).map(|_| Duration::from_micros(random.below(1500))).collect(),
            faults: Faults {
                late_timers: CoreSet::from_bits(random.below(1 << cores)),
                lateness: Duration::from_micros(random.below(3000)),
                ..Faults::default()
            },
            ..IdealOptions::default()
        };
        let records = run(&experiment, &options).expect("admitted").records;
        let mut done = vec![0; experiment.tasks.len()];
        for record in &records {
            match record {
                Record::Job(job) => {
                    let (task, number) = (job.task.index(), job.job.0);
                    assert_eq!(number, done[task], "seed {seed}");
                    assert_eq!(job.core, core_of(&experiment, task, number), "seed {seed}: {job:?}");
                    assert_eq!(job.migrations, 0, "seed {seed}: {job:?}");
                    done[task] += 1;
                }
                Record::Switch(switch) => {
                    let Some(task) = switch.to else { continue };
                    let core = core_of(&experiment, task.index(), done[task.index()]);
                    assert_eq!(switch.core, core, "seed {seed}: {switch:?}");
                    switches += 1;
                }
                _ => {}
            }
        }
    }
    assert!(switches > 10_000, "{switches}");
}

/// The loss of cache affinity is charged once for each job that begins on another core than the one before it, and once for each that
/// lost its core.
#[test]
fn each_move_loses_cache_affinity_once() {
    let affinity = |tasks: Vec<Task>| {
        let experiment = experiment(3, policy(Scope::Global, Criterion::CpuAffinity), tasks, 40);
        let run = run(&experiment, &IdealOptions::default()).expect("admitted");
        run.paths[Overhead::ALL.iter().position(|path| *path == Overhead::CacheAffinity).unwrap()]
    };
    // Releases at 0, 4, ... 36; the first has nothing to lose.
    assert_eq!(affinity(vec![migrating(0, 1, 4, 1)]), 9);
    assert_eq!(affinity(vec![Task { migrate: None, ..migrating(0, 1, 4, 1) }]), 0);
    // At 4 (core 2), 16 and 28 it takes core 2 from another, which goes on behind it.
    let other = Task { migrate: None, ..migrating(1, 2, 40, 30) };
    assert_eq!(affinity(vec![migrating(0, 1, 4, 1), other]), 9 + 3);
}

#[test]
fn cores_between_which_tasks_migrate_are_in_one_part() {
    let parts = |scope: Scope, from: &[u16]| {
        let tasks: Vec<Task> =
            from.iter().enumerate().map(|(index, core)| migrating(index, *core, 10, 1)).collect();
        let config = config(6, policy(scope, Criterion::CpuAffinity), &tasks, vec![]);
        let parts = Kernel::<CpuAffinity>::in_parts(config, &machine(6)).expect("admitted");
        parts.iter().map(|part| part.own().bits()).collect::<Vec<_>>()
    };
    let clusters = || Scope::Clustered([0b00_0101, 0b11_1010].map(CoreSet::from_bits).to_vec());
    assert_eq!(parts(Scope::Global, &[3]), [0b11_1111]);
    assert_eq!(parts(clusters(), &[2]), [0b00_0101, 0b00_0010, 0b00_1000, 0b01_0000, 0b10_0000]);
    assert_eq!(parts(clusters(), &[2, 3, 3]), [0b00_0101, 0b11_1010]);
}

#[test]
fn who_cant_migrate_is_refused_by_name() {
    type Change = fn(&mut Experiment);
    let whole = || {
        let tasks = vec![task(0, 10, 1), migrating(1, 0, 10, 1)];
        let tasks = tasks.into_iter().map(|task| Task { core: Some(CoreId(0)), ..task }).collect();
        experiment(4, policy(Scope::Global, Criterion::CpuAffinity), tasks, 10)
    };
    let changes: [(Change, Stays); 9] = [
        (|experiment| experiment.policy.criterion = Criterion::StaticPriority, Stays::Unbound),
        (|experiment| experiment.policy.scope = Scope::Partitioned, Stays::OneCore),
        (
            |experiment| {
                experiment.policy.scope = Scope::Clustered([0b1110, 0b0001].map(CoreSet::from_bits).to_vec());
            },
            Stays::OneCore,
        ),
        (
            |experiment| experiment.tasks[1].release = Release::Once { offset: Duration::ZERO },
            Stays::NotPeriodic,
        ),
        (|experiment| experiment.tasks[1].core = None, Stays::NoCore),
        (
            |experiment| {
                let observed = Observed::count_of(EventId::CYCLES);
                experiment.listening = Some(Listening::new(observed, ms(1), Reaction::Report));
            },
            Stays::Listener,
        ),
        (
            |experiment| {
                experiment.isolation.bandwidth = Some(Regulation::new(
                    ms(1),
                    Counted::One(EventId::LLC_MISSES),
                    vec![],
                    Bandwidth::new(1 << 30),
                ));
            },
            Stays::Budgets,
        ),
        (|experiment| experiment.isolation.partitions = Partitions::new(vec![], vec![]).ok(), Stays::Windows),
        (
            |experiment| {
                experiment.isolation.ways = vec![WayMask { owner: WayOwner::Core(CoreId(0)), mask: 1 }];
            },
            Stays::CacheParts,
        ),
    ];
    assert!(KernelConfig::from_experiment(&whole()).is_ok());
    for (change, why) in changes {
        let mut experiment = whole();
        change(&mut experiment);
        let refusal = PolicyRefusal::Stays { task: TaskId(1), why };
        assert_eq!(KernelConfig::from_experiment(&experiment), Err(refusal.clone()));
        assert!(refusal.to_string().contains(&why.to_string()));
        assert_eq!(refusal.task(), Some(TaskId(1)));
    }
    // Where nobody migrates, none of this is refused.
    let mut still = whole();
    still.tasks[1].migrate = None;
    still.policy.scope = Scope::Partitioned;
    assert!(KernelConfig::from_experiment(&still).is_ok());
    // Cores have to be asked.
    let config = KernelConfig::from_experiment(&whole()).expect("sound");
    let deaf = Caps { reschedule_ipi: false, ..machine(4) };
    let refused = Kernel::<CpuAffinity>::new(config, &deaf).err();
    assert_eq!(refused, Some(PolicyRefusal::NoRescheduleRequests));
    let ideal = run(
        &Experiment { policy: policy(Scope::Partitioned, Criterion::CpuAffinity), ..whole() },
        &IdealOptions::default(),
    );
    assert!(matches!(ideal, Err(RunError::Refused(PolicyRefusal::Stays { .. }))));
}
