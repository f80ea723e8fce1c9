//! Global EDF on cores of several speeds: nobody is late where the test for them accepts, and what a careless reader would make of it is
//! found out.

use crate::draw::Dice;
use crate::{proofs, seeds, sets, simulated};
use solo_corpus::{ideal, ideal_platform};
use solo_model::experiment::End;
use solo_model::platform::CoreKind;
use solo_model::policy::{Criterion, Policy, Scope};
use solo_model::record::Record;
use solo_model::task::{Release, Task, TaskClass};
use solo_model::units::{Duration, Frequency};
use solo_model::work::{Span, Step, Work};
use solo_model::{CoreSet, Experiment};
use solo_prove::Effort;
use solo_prove::Task as Parameters;
use solo_prove::global::uniform::{Speeds, nobody_is_late, nobody_is_late_fastest_first};
use solo_prove::system::{Open, System, TaskFinding};
use std::collections::BTreeMap;

/// Sets that fill two to four cores of up to three kinds, without any cost of the kernel.
fn drawn(seed: u64) -> Experiment {
    let dice = &mut Dice::new(seed ^ 0x55_4E49);
    let cores = dice.between(2, 4) as usize;
    let mut platform = ideal_platform(cores);
    let first = platform.kinds[0].clone();
    platform.kinds = (0..dice.between(2, 3))
        .map(|_| CoreKind { clock: Frequency::new(dice.between(2, 12) * 250_000_000), ..first.clone() })
        .collect();
    let kinds = platform.kinds.len() as u64;
    platform.reference = dice.below(kinds) as u8;
    platform.cores.iter_mut().for_each(|core| core.kind = dice.below(kinds) as u8);
    let slowest = platform.slowest(CoreSet::first(cores));
    let task = |index: u64, dice: &mut Dice| {
        let period = Duration::from_micros(100 * dice.pick(&[4_u64, 5, 6, 8, 10, 12, 15, 20]));
        let deadline = Duration::new(period.get() * dice.between(80, 100) / 100);
        // Of what the slowest core does until the deadline.
        let span = Duration::new(slowest.within(deadline).get() * dice.between(10, 95) / 100);
        Task {
            deadline: Some(deadline),
            work: Work { steps: vec![Step::Compute(Span::exactly(span))] },
            ..Task::new(
                format!("t{index}"),
                TaskClass::Hard,
                Release::Periodic { offset: Duration::ZERO, period },
            )
        }
    };
    let tasks = (0..dice.between(3, 7)).map(|index| task(index, dice)).collect();
    let policy = Policy::new(Scope::Global, Criterion::Edf);
    Experiment::new("uniform", platform, policy, tasks, End::At(Duration::from_millis(24)))
}

/// The same set where the most urgent job has the fastest core.
fn fastest_first(experiment: &Experiment) -> Experiment {
    let policy = Policy { fastest_first: true, ..experiment.policy.clone() };
    Experiment { policy, ..experiment.clone() }
}

/// What tests take: execution times on the fastest core, or on the slowest.
fn parameters(experiment: &Experiment, fastest: bool) -> Vec<Parameters> {
    let cores = experiment.platform.core_set();
    let speed = if fastest { experiment.platform.fastest(cores) } else { experiment.platform.slowest(cores) };
    let one = |task: &Task| {
        let Some(Step::Compute(span)) = task.work.steps.first() else { panic!("it computes") };
        let (period, deadline) =
            (task.release.period().expect("periodic"), task.relative_deadline().expect("hard"));
        Parameters::new(speed.longest(span.most).get(), period.get(), deadline.get())
    };
    experiment.tasks.iter().map(one).collect()
}

fn rates(experiment: &Experiment) -> Vec<u64> {
    let platform = &experiment.platform;
    platform.core_set().iter().map(|core| platform.kind(core).rate()).collect()
}

/// True where a job is late on the ideal machine.
fn somebody_is_late(experiment: &Experiment) -> bool {
    let run = ideal::run(experiment, &ideal::IdealOptions::default()).expect("the kernel admits it");
    run.records.iter().any(|record| match record {
        Record::Job(job) => job.deadline.is_some_and(|deadline| job.finish > deadline),
        Record::Unfinished(job) => job.deadline.is_some_and(|deadline| job.at > deadline),
        _ => false,
    })
}

/// What a careless reader of the test supposes.
const MISTAKES: [&str; 3] = ["times on the fastest core", "a core more", "all cores as the fastest"];

#[test]
fn nobody_is_late_where_cores_of_several_speeds_suffice() {
    let sets = sets(2000);
    let (mut accepted, mut more, mut late, mut caught) = (0_u64, 0_u64, 0_u64, [0_u64; MISTAKES.len()]);
    for seed in seeds(sets) {
        let experiment = drawn(seed);
        let (tasks, rates) = (parameters(&experiment, false), rates(&experiment));
        let speeds = Speeds::of(rates.iter().copied()).expect("cores");
        let holds = nobody_is_late(&tasks, &speeds);
        let misses = somebody_is_late(&experiment);
        late += u64::from(misses);
        assert!(!(holds && misses), "seed {seed}: {tasks:?} on {rates:?}");
        let proofs = proofs(&experiment);
        let by_it =
            proofs.iter().flatten().any(|proof| proof.by.starts_with("capacity of cores of several kinds"));
        if holds {
            accepted += 1;
            more += u64::from(by_it);
            assert!(proofs.iter().all(Option::is_some), "seed {seed}: what the test accepts is proved");
            assert_eq!(simulated(&experiment, &proofs), Ok(None), "seed {seed}: {tasks:?} on {rates:?}");
        }
        assert!(holds || !by_it, "seed {seed}");
        let most = rates.iter().copied().max().unwrap_or(1);
        let with_one_more = Speeds::of(rates.iter().copied().chain([most])).expect("cores");
        let all_fast = Speeds::of(rates.iter().map(|_| most)).expect("cores");
        let careless = [
            nobody_is_late(&parameters(&experiment, true), &speeds),
            nobody_is_late(&tasks, &with_one_more),
            nobody_is_late(&parameters(&experiment, true), &all_fast),
        ];
        for (caught, wrong) in caught.iter_mut().zip(careless) {
            *caught += u64::from(wrong && misses);
        }
    }
    println!(
        "count: accepted = {accepted}\ncount: by this test alone = {more}\ncount: somebody is late = {late}"
    );
    for (mistake, caught) in MISTAKES.iter().zip(caught) {
        println!("count: mistake: {mistake} found out = {caught}");
        assert!(sets < 1000 || caught > 0, "{mistake} is never found out");
    }
    assert!(sets < 1000 || (accepted * 10 > sets && more > 0 && late * 10 > sets));
}

/// Moments at which the records show another job on a core than the definition says: of all jobs that are released and not finished, by
/// deadline and task, the first has one of the fastest cores, and so on; cores that are equally fast may have each other's.
fn misplaced(experiment: &Experiment, records: &[Record]) -> Vec<String> {
    let horizon = 24_000_000;
    let mut finish: BTreeMap<(usize, u64), u64> = BTreeMap::new();
    let mut on: BTreeMap<u64, Vec<(usize, Option<usize>)>> = BTreeMap::new();
    for record in records {
        match record {
            Record::Job(job) => {
                let _ = finish.insert((job.task.index(), job.release.get()), job.finish.get());
            }
            Record::Switch(switch) => on
                .entry(switch.at.get())
                .or_default()
                .push((switch.core.index(), switch.to.map(|task| task.index()))),
            _ => {}
        }
    }
    // Each task's jobs, one after the other: what is overrun waits behind.
    let jobs: Vec<(u64, usize, u64, u64)> = (experiment.tasks.iter().enumerate())
        .flat_map(|(task, of)| {
            let (period, deadline) =
                (of.release.period().expect("periodic").get(), of.relative_deadline().expect("hard").get());
            let finish = &finish;
            (0..horizon / period + 1).map(move |number| {
                let release = number * period;
                (release + deadline, task, release, finish.get(&(task, release)).copied().unwrap_or(u64::MAX))
            })
        })
        .collect();
    let speed = |core: usize| experiment.platform.kind(solo_model::CoreId(core as u16)).rate();
    let cores = experiment.platform.cores.len();
    let mut order: Vec<usize> = (0..cores).collect();
    order.sort_by_key(|&core| std::cmp::Reverse(speed(core)));
    let (mut running, mut wrong) = (vec![None; cores], Vec::new());
    for (at, switches) in on {
        switches.into_iter().for_each(|(core, to)| running[core] = to);
        let mut ready: Vec<_> = jobs.iter().filter(|job| job.2 <= at && at < job.3 && at < horizon).collect();
        ready.sort_unstable();
        // A task executes one job at a time.
        let mut seen = Vec::new();
        ready.retain(|job| {
            !seen.contains(&job.1) && {
                seen.push(job.1);
                true
            }
        });
        let suited: Vec<_> =
            (0..cores).map(|place| (speed(order[place]), ready.get(place).map(|job| job.1))).collect();
        let found: Vec<_> = order.iter().map(|&core| (speed(core), running[core])).collect();
        let sorted = |mut of: Vec<(u64, Option<usize>)>| {
            of.sort_unstable();
            of
        };
        if at < horizon && sorted(suited.clone()) != sorted(found.clone()) {
            wrong.push(format!("at {at}: {found:?} instead of {suited:?}"));
        }
    }
    wrong
}

/// What moving costs is not counted: where cores differ and the kernel takes time that is said, and where they are equal nobody moves.
#[test]
fn where_the_kernel_takes_time_moves_are_named_and_equal_cores_have_none() {
    let taking_time = |mut experiment: Experiment| {
        experiment.overheads.steps = core::array::from_fn(|_| vec![(0, Duration::new(300))]);
        experiment
    };
    let outcomes = |experiment: &Experiment| -> Vec<TaskFinding> {
        let judged = System::of(experiment).judge(&mut Effort::default());
        judged.tasks.into_iter().map(|task| task.outcome).collect()
    };
    let mut stays = taking_time(drawn(0));
    let platform = &mut stays.platform;
    platform.kinds[0].clock = Frequency::new(platform.kinds[1].clock.get() / 2);
    (platform.cores[0].kind, platform.cores[1].kind) = (0, 1);
    let named = outcomes(&fastest_first(&stays));
    assert!(named.iter().all(|outcome| *outcome == TaskFinding::Open(Open::MovesUp)), "{named:?}");
    let mut equal = stays;
    equal.platform.cores.iter_mut().for_each(|core| core.kind = equal.platform.reference);
    assert_eq!(outcomes(&fastest_first(&equal)), outcomes(&equal));
}

/// What a careless reader of Funk, Goossens & Baruah supposes.
const READINGS: [&str; 3] = [
    "nothing for slower cores beside a waiting job",
    "times on the fastest core",
    "jobs that stay where they are",
];

#[test]
fn nobody_is_late_where_the_most_urgent_job_has_the_fastest_core() {
    let sets = sets(2000);
    let (mut accepted, mut more, mut late, mut moments, mut caught) =
        (0_u64, 0_u64, 0_u64, 0_u64, [0_u64; READINGS.len()]);
    for seed in seeds(sets) {
        let stays = drawn(seed);
        let experiment = fastest_first(&stays);
        let (tasks, rates) = (parameters(&experiment, false), rates(&experiment));
        let speeds = Speeds::of(rates.iter().copied()).expect("cores");
        let holds = nobody_is_late_fastest_first(&tasks, &speeds);
        let run = ideal::run(&experiment, &ideal::IdealOptions::default()).expect("the kernel admits it");
        assert_eq!(
            misplaced(&experiment, &run.records),
            Vec::<String>::new(),
            "seed {seed}: {tasks:?} on {rates:?}"
        );
        moments += run.records.iter().filter(|record| matches!(record, Record::Switch(_))).count() as u64;
        let misses = somebody_is_late(&experiment);
        late += u64::from(misses);
        assert!(!(holds && misses), "seed {seed}: {tasks:?} on {rates:?}");
        let proofs = proofs(&experiment);
        if holds {
            accepted += 1;
            more += u64::from(proofs.iter().flatten().any(|proof| proof.by.contains("the fastest first")));
            assert!(
                proofs.iter().all(Option::is_some) || rates.iter().all(|rate| *rate == rates[0]),
                "seed {seed}"
            );
        }
        assert_eq!(simulated(&experiment, &proofs), Ok(None), "seed {seed}: {tasks:?} on {rates:?}");
        // The sum of densities against all that the cores do, without what slower cores can't do for one job.
        let density = |task: &Parameters| task.c.get() as f64 / task.window().get() as f64;
        let slowest = rates.iter().copied().min().unwrap_or(1) as f64;
        let whole = tasks.iter().map(density).sum::<f64>() * slowest <= rates.iter().sum::<u64>() as f64;
        let fast = parameters(&experiment, true);
        caught[0] += u64::from(whole && misses);
        caught[1] += u64::from(nobody_is_late_fastest_first(&fast, &speeds) && misses);
        caught[2] += u64::from(holds && somebody_is_late(&stays));
    }
    println!(
        "count: accepted = {accepted}\ncount: by this test alone = {more}\ncount: somebody is late = {late}\ncount: switches looked at = {moments}"
    );
    for (reading, caught) in READINGS.iter().zip(caught) {
        println!("count: reading: {reading} found out = {caught}");
    }
    assert!(
        sets < 1000
            || (accepted * 20 > sets && more > 0 && late * 10 > sets && caught[0] > 0 && caught[1] > 0)
    );
}
