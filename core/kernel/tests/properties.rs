//! What the theory promises, and what must hold whatever happens.

mod common;

use common::{compute, experiment, ms, policy, task};
use proptest::prelude::*;
use solo_corpus::ideal::{Ideal, IdealOptions, run};
use solo_corpus::{Schedule, Segment};
use solo_kernel::{Criterion, State, Visitor, dispatch};
use solo_model::policy::{Policy, Scope, Timing};
use solo_model::task::Release;
use solo_model::work::{Lock, LockProtocol, Step};
use solo_model::{CoreId, CoreSet, Duration, Experiment, Instant, LockId, Record, Task, TaskClass, ThreadId};

/// Periods that divide 120, so that a run of two hyperperiods is short.
const PERIODS: [u64; 8] = [4, 5, 6, 8, 10, 12, 20, 30];
const HYPERPERIOD: u64 = 120;

/// Tasks as (period, execution time), execution time from 1 to the period.
fn demands(most: usize) -> impl Strategy<Value = Vec<(u64, u64)>> {
    let demand = (0..PERIODS.len(), 1..=30_u64).prop_map(|(at, time)| (PERIODS[at], 1 + time % PERIODS[at]));
    prop::collection::vec(demand, 1..=most)
}

fn tasks_of(demands: &[(u64, u64)]) -> Vec<Task> {
    demands.iter().enumerate().map(|(index, &(period, time))| task(index, period, time)).collect()
}

fn missed(records: &[Record], horizon: Instant) -> bool {
    records.iter().any(|record| match record {
        Record::Job(job) => job.missed(),
        Record::Unfinished(job) => job.deadline.is_some_and(|deadline| deadline < horizon),
        _ => false,
    })
}

proptest! {
    /// Liu and Layland 1973, thesis Theorem 2.4.3: on one core EDF keeps all implicit deadlines up to 100 %.
    #[test]
    fn edf_keeps_every_deadline_up_to_full_utilisation(demands in demands(8)) {
        let mut demand = 0;
        let mut fitting = Vec::new();
        for (period, time) in demands {
            let share = HYPERPERIOD / period * time;
            if demand + share <= HYPERPERIOD {
                demand += share;
                fitting.push((period, time));
            }
        }
        let horizon = 2 * HYPERPERIOD + 1;
        let edf = policy(Scope::Global, solo_model::Criterion::Edf);
        let records = run(&experiment(1, edf, tasks_of(&fitting), horizon), &IdealOptions::default()).unwrap().records;
        prop_assert!(!missed(&records, Instant::ZERO + ms(horizon)));
    }

    /// Below the bound of Liu and Layland, and so below the hyperbolic bound, product of (u + 1) <= 2, which is
    /// exact in integers, rate monotonic keeps all deadlines.
    #[test]
    fn rate_monotonic_keeps_every_deadline_below_its_bound(demands in demands(8)) {
        let (mut numerator, mut denominator) = (1_u128, 1_u128);
        let mut fitting = Vec::new();
        for (period, time) in demands {
            let (n, d) = (numerator * u128::from(period + time), denominator * u128::from(period));
            if n <= 2 * d {
                (numerator, denominator) = (n, d);
                fitting.push((period, time));
            }
        }
        let horizon = 2 * HYPERPERIOD + 1;
        let rm = policy(Scope::Global, solo_model::Criterion::Rm);
        let records = run(&experiment(1, rm, tasks_of(&fitting), horizon), &IdealOptions::default()).unwrap().records;
        prop_assert!(!missed(&records, Instant::ZERO + ms(horizon)));
    }
}

/// A random experiment: anything that can be said without touching memory.
fn any_experiment() -> impl Strategy<Value = Experiment> {
    let tasks = prop::collection::vec(any_task(), 1..9);
    let scope = prop_oneof![
        Just(Scope::Global),
        Just(Scope::Partitioned),
        Just(Scope::Clustered(vec![CoreSet::first(2), CoreSet::from_bits(0b1100)])),
        Just(Scope::Clustered(vec![CoreSet::from_bits(0b1011), CoreSet::from_bits(0b0100)])),
    ];
    let timing = prop_oneof![3 => Just(Timing::OneShot), 1 => Just(Timing::Tick(ms(2)))];
    let criterion = prop::sample::select(solo_model::Criterion::ALL.to_vec());
    let protocols = prop::array::uniform3(prop_oneof![
        Just(LockProtocol::Plain),
        Just(LockProtocol::Inheritance),
        Just(LockProtocol::Ceiling),
        (0..3_u32).prop_map(|units| LockProtocol::Semaphore { units }),
    ]);
    (tasks, scope, timing, criterion, protocols).prop_map(|(tasks, scope, timing, criterion, protocols)| {
        let policy = Policy { timing, quantum: Some(ms(3)), ..Policy::new(scope, criterion) };
        let mut experiment = experiment(4, policy, tasks, 80);
        let named = |(index, protocol)| Lock { name: format!("L{index}"), protocol };
        experiment.locks = protocols.into_iter().enumerate().map(named).collect();
        experiment
    })
}

fn any_task() -> impl Strategy<Value = Task> {
    let class = prop_oneof![Just(TaskClass::Hard), Just(TaskClass::Soft), Just(TaskClass::BestEffort)];
    let release = prop_oneof![
        4 => (0..10_u64, 1..20_u64).prop_map(|(offset, period)| {
            Release::Periodic { offset: ms(offset), period: ms(period) }
        }),
        1 => (0..10_u64).prop_map(|offset| Release::Once { offset: ms(offset) }),
        1 => (0..10_u64).prop_map(|offset| Release::Continuous { offset: ms(offset) }),
    ];
    let step = prop_oneof![
        3 => (1..5_u64).prop_map(|length| vec![compute(length)]),
        // A critical section; now and then one that forgets the release or takes twice.
        2 => (0..3_u16, 0..4_u64).prop_map(|(lock, length)| {
            vec![Step::Acquire(LockId(lock)), compute(length), Step::Release(LockId(lock))]
        }),
        1 => (0..3_u16).prop_map(|lock| vec![Step::Release(LockId(lock))]),
        1 => (0..3_u16).prop_map(|lock| vec![Step::Acquire(LockId(lock))]),
    ];
    let steps = prop::collection::vec(step, 0..4);
    (class, release, steps, 0..4_u16, 0..4_u32, 1..15_u64, 1..30_u64).prop_map(
        |(class, release, steps, core, priority, wcet, deadline)| {
            let mut task = task(0, 1, wcet);
            task.class = class;
            task.release = release;
            // Rate monotonic refuses what has no period.
            if release.period().is_none() {
                task.class = TaskClass::BestEffort;
            }
            task.deadline = Some(ms(deadline));
            task.priority = Some(priority);
            task.core = Some(CoreId(core));
            task.work.steps = steps.concat();
            // A program that never rests must at least take time.
            task.work.steps.insert(0, compute(1));
            task
        },
    )
}

/// Steps an experiment to its end and checks after each instant.
struct Walk<'e>(&'e Experiment, &'e IdealOptions);

impl Visitor for Walk<'_> {
    type Output = Result<Vec<Record>, TestCaseError>;

    fn visit<C: Criterion>(self) -> Self::Output {
        let mut machine =
            Ideal::<C>::new(self.0, self.1).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let cores: Vec<_> = (0..self.0.platform.cores.len()).map(|core| CoreId(core as u16)).collect();
        while machine.step().map_err(|error| TestCaseError::fail(error.to_string()))? {
            check_places(&machine, &cores, self.0.tasks.len())?;
            if !machine.has_requests() {
                check_most_urgent_run(&machine, &cores, self.0.tasks.len())?;
            }
        }
        for task in 0..self.0.tasks.len() {
            let account = machine.kernel().account_of(solo_model::TaskId(task as u32)).unwrap();
            let waiting = u64::from(machine.kernel().job(ThreadId(task as u32)).is_some());
            prop_assert!(account.finished + account.skipped + waiting <= account.released, "{account:?}");
        }
        Ok(machine.records().to_vec())
    }
}

/// No thread is on two cores, and states agree with cores.
fn check_places<C: Criterion>(
    machine: &Ideal<C>,
    cores: &[CoreId],
    threads: usize,
) -> Result<(), TestCaseError> {
    let kernel = machine.kernel();
    for thread in (0..threads as u32).map(ThreadId) {
        let on: Vec<_> = cores.iter().filter(|&&core| kernel.running(core) == Some(thread)).collect();
        let state = kernel.state(thread).unwrap();
        prop_assert!(on.len() <= 1, "{thread} runs on {on:?}");
        match (on.first(), state) {
            (Some(&&core), State::Running(other)) => prop_assert_eq!(core, other),
            (None, State::Running(_)) | (Some(_), _) => {
                prop_assert!(false, "{} is {:?} on {:?}", thread, state, on)
            }
            _ => {}
        }
        let has_job = matches!(state, State::Ready | State::Running(_) | State::Blocked(_));
        prop_assert_eq!(kernel.job(thread).is_some(), has_job, "{} is {:?}", thread, state);
    }
    Ok(())
}

/// In each domain no core is idle while a thread waits, and no waiting thread is more urgent than a running one.
fn check_most_urgent_run<C: Criterion>(
    machine: &Ideal<C>,
    cores: &[CoreId],
    threads: usize,
) -> Result<(), TestCaseError> {
    let kernel = machine.kernel();
    for (index, domain) in kernel.domains().enumerate() {
        let members =
            (0..threads as u32).map(ThreadId).filter(|&thread| kernel.domain_of(thread) == Some(index));
        let ready = members.filter(|&thread| kernel.state(thread) == Some(State::Ready));
        let Some(first) = ready.filter_map(|thread| kernel.rank_of(thread)).min() else { continue };
        for &core in cores.iter().filter(|&&core| domain.contains(core)) {
            let running = kernel.running(core);
            prop_assert!(running.is_some(), "{core} is idle at {} while a thread waits", machine.now());
            let rank = running.and_then(|thread| kernel.rank_of(thread));
            if C::PREEMPTIVE && !C::AGES {
                prop_assert!(
                    rank <= Some(first),
                    "{core} at {} runs {rank:?}, {first:?} waits",
                    machine.now()
                );
            }
        }
    }
    Ok(())
}

/// No two cores run the same task at the same time, as the records tell it.
fn check_records(records: &[Record], experiment: &Experiment) -> Result<(), TestCaseError> {
    let horizon = Instant::ZERO + ms(80);
    let cores = experiment.platform.cores.len();
    let schedule = Schedule::from_records(records, cores, horizon, Duration::ZERO);
    let mut all: Vec<Segment> = schedule.cores.concat();
    all.sort_by_key(|segment| (segment.task, segment.from));
    for pair in all.windows(2) {
        prop_assert!(pair[0].task != pair[1].task || pair[0].to <= pair[1].from, "{pair:?}");
    }
    let times: Vec<_> = records.iter().map(Record::at).collect();
    prop_assert!(times.is_sorted(), "records in the order of their times");
    Ok(())
}

fn latencies() -> impl Strategy<Value = IdealOptions> {
    let latency = (0..4000_u64).prop_map(Duration::from_micros);
    prop::collection::vec(latency, 0..12)
        .prop_map(|ipi_latencies| IdealOptions { ipi_latencies, ..IdealOptions::default() })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    /// Requests may be late and arrive in any order: no thread is lost or on two cores, and when all have arrived
    /// the most urgent threads run.
    #[test]
    fn the_most_urgent_threads_run_however_late_requests_arrive(
        experiment in any_experiment(),
        options in latencies(),
    ) {
        let records = dispatch(experiment.policy.criterion, Walk(&experiment, &options))?;
        check_records(&records, &experiment)?;
    }

    /// A mutex has one holder at a time, whatever its users do.
    #[test]
    fn a_mutex_has_one_holder(experiment in any_experiment(), options in latencies()) {
        use solo_model::record::LockAction;
        let records = dispatch(experiment.policy.criterion, Walk(&experiment, &options))?;
        let mut holders = [None; 3];
        for record in &records {
            let Record::Lock(lock) = record else { continue };
            if matches!(experiment.locks[lock.lock.index()].protocol, LockProtocol::Semaphore { .. }) {
                continue;
            }
            let holder = &mut holders[lock.lock.index()];
            match lock.action {
                LockAction::Acquired | LockAction::Granted => {
                    prop_assert_eq!(holder.replace(lock.task), None, "{:?}", lock);
                }
                LockAction::Released => prop_assert_eq!(holder.take(), Some(lock.task), "{:?}", lock),
                LockAction::Waits | LockAction::Deadlock => prop_assert!(holder.is_some(), "{:?}", lock),
            }
        }
    }

    /// The same state and the same events lead to the same decisions.
    #[test]
    fn a_copy_of_the_machine_goes_the_same_way(
        experiment in any_experiment(),
        options in latencies(),
        steps in 0..40_usize,
    ) {
        struct Fork<'e>(&'e Experiment, &'e IdealOptions, usize);
        impl Visitor for Fork<'_> {
            type Output = (Vec<Record>, Vec<Record>, Vec<Record>);
            fn visit<C: Criterion>(self) -> Self::Output {
                let mut machine = Ideal::<C>::new(self.0, self.1).unwrap();
                for _ in 0..self.2 {
                    machine.step().unwrap();
                }
                let copy = machine.clone();
                let again = Ideal::<C>::new(self.0, self.1).unwrap();
                (machine.run().unwrap().records, copy.run().unwrap().records, again.run().unwrap().records)
            }
        }
        let (a, b, c) = dispatch(experiment.policy.criterion, Fork(&experiment, &options, steps));
        prop_assert_eq!(&a, &b);
        prop_assert_eq!(&a, &c);
    }

    /// A partition is a uniprocessor: each core does what it would do alone with its tasks.
    #[test]
    fn each_partition_behaves_as_a_uniprocessor(
        tasks in prop::collection::vec(any_task(), 1..9),
        criterion in prop::sample::select(solo_model::Criterion::ALL.to_vec()),
    ) {
        let mut tasks = tasks;
        for task in &mut tasks {
            task.work.steps.retain(|step| matches!(step, Step::Compute(_)));
        }
        let together = experiment(4, policy(Scope::Partitioned, criterion), tasks.clone(), 80);
        let horizon = Instant::ZERO + ms(80);
        let observed = run(&together, &IdealOptions::default()).unwrap().records;
        let observed = Schedule::from_records(&observed, 4, horizon, Duration::ZERO);
        for core in 0..4_usize {
            let own: Vec<_> = (0..tasks.len()).filter(|&i| tasks[i].core == Some(CoreId(core as u16))).collect();
            let alone = own.iter().map(|&i| Task { core: Some(CoreId(0)), ..tasks[i].clone() }).collect();
            let alone = experiment(1, policy(Scope::Partitioned, criterion), alone, 80);
            let expected = run(&alone, &IdealOptions::default()).unwrap().records;
            let expected = Schedule::from_records(&expected, 1, horizon, Duration::ZERO);
            let renamed = |segment: &Segment| Segment { task: solo_model::TaskId(own[segment.task.index()] as u32), ..*segment };
            let expected: Vec<_> = expected.cores[0].iter().map(renamed).collect();
            prop_assert_eq!(&observed.cores[core], &expected, "core {}", core);
        }
    }
}
