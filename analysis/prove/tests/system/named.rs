//! One case for each class of proof that was wrong, and for each reason why there is none.

use crate::{against, proofs, simulated};
use solo_corpus::{ideal, ideal_platform};
use solo_model::experiment::End;
use solo_model::overhead::OverheadTable;
use solo_model::policy::{Criterion, Policy, Scope, Timing};
use solo_model::task::{Release, Task, TaskClass};
use solo_model::units::Duration;
use solo_model::work::{Lock, LockProtocol, Span, Step, Work};
use solo_model::{CoreId, Experiment, LockId, Migration, Record};
use solo_prove::Effort;
use solo_prove::system::{Change, Declared, Open, Overall, System, TaskFinding, mends};

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}
fn compute(n: u64) -> Step {
    Step::Compute(Span::exactly(ms(n)))
}
fn sleep(n: u64) -> Step {
    Step::Sleep(Span::exactly(ms(n)))
}
fn take(lock: u16) -> Step {
    Step::Acquire(LockId(lock))
}
fn give(lock: u16) -> Step {
    Step::Release(LockId(lock))
}

/// A hard task of core 0, its deadline its period.
fn task(index: u32, period: u64, steps: Vec<Step>) -> Task {
    Task {
        name: format!("t{index}"),
        class: TaskClass::Hard,
        release: Release::Periodic { offset: Duration::ZERO, period: ms(period) },
        deadline: None,
        wcet: None,
        misses: None,
        migrate: None,
        priority: Some(index),
        core: Some(CoreId(0)),
        work: Work { steps },
    }
}

fn experiment(scope: Scope, criterion: Criterion, tasks: Vec<Task>) -> Experiment {
    let policy = Policy::new(scope, criterion);
    let lock = |index| Lock { name: format!("l{index}"), protocol: LockProtocol::Ceiling };
    Experiment {
        locks: (0..2).map(lock).collect(),
        sample_every: Duration::from_secs(1),
        ..Experiment::new("named", ideal_platform(2), policy, tasks, End::At(ms(400)))
    }
}

/// One that goes from core to core is at home on none: nobody has a bound, nobody is refuted, and no core is called overloaded that is
/// not.
#[test]
fn who_goes_from_core_to_core_is_refused_by_name() {
    let tasks = vec![task(0, 10, vec![compute(6)]), task(1, 10, vec![compute(6)])];
    let still = experiment(Scope::Global, Criterion::CpuAffinity, tasks);
    let judge = |experiment: &Experiment| System::of(experiment).judge(&mut Effort::default());
    assert_eq!(judge(&still).overall(), Overall::NotProved);
    assert_eq!(judge(&still).overloads.len(), 1);
    let mut moving = still.clone();
    moving.tasks[1].migrate = Some(Migration::EachPeriod);
    let judged = judge(&moving);
    let open = TaskFinding::Open(Open::Migrates(1));
    assert!(judged.tasks.iter().all(|task| task.outcome == open), "{judged:?}");
    assert_eq!((judged.overall(), judged.overloads.len()), (Overall::NoAnalysis, 0));
    // Six milliseconds of ten on the first core and, half of the time, as many of another: the run says what the proof leaves open.
    let missed = |experiment: &Experiment| {
        let run = ideal::run(experiment, &ideal::IdealOptions::default()).expect("admitted");
        run.records.iter().filter(|record| matches!(record, Record::Job(job) if job.missed())).count()
    };
    assert!(missed(&still) > 10);
    assert!(missed(&moving) > 10);
    moving.tasks[0].work = Work { steps: vec![compute(4)] };
    assert_eq!(missed(&moving), 0);
}

fn overall(experiment: &Experiment) -> Overall {
    System::of(experiment).judge(&mut Effort::default()).overall()
}

/// What is proved holds; whether everything is.
fn proved_and_kept(experiment: &Experiment) -> bool {
    let proofs = proofs(experiment);
    assert_eq!(simulated(experiment, &proofs), Ok(None), "{experiment:#?}");
    proofs.iter().all(Option::is_some)
}

fn misses(experiment: &Experiment) -> bool {
    let run = ideal::run(experiment, &ideal::IdealOptions::default()).expect("the kernel admits it");
    run.records.iter().any(|record| match record {
        solo_model::Record::Job(job) => job.missed(),
        _ => false,
    })
}

fn open(experiment: &Experiment, task: usize) -> Open {
    match System::of(experiment).judge(&mut Effort::default()).tasks.swap_remove(task).outcome {
        TaskFinding::Open(open) => open,
        other => panic!("{other:?}"),
    }
}

/// The AFFINITY criterion binds tasks to cores, whatever the scope.
#[test]
fn bound_tasks_are_judged_core_by_core() {
    let set = |c| {
        let tasks = vec![task(0, 10, vec![compute(c)]), task(1, 10, vec![compute(c)])];
        experiment(Scope::Global, Criterion::CpuAffinity, tasks)
    };
    assert!(misses(&set(6)) && overall(&set(6)) == Overall::NotProved);
    assert!(proved_and_kept(&set(5)));
}

/// A declared time does not hide the sleep, of the task itself or of one above it.
#[test]
fn sleep_counts_for_the_sleeper_and_for_those_below() {
    for criterion in [Criterion::Rm, Criterion::Edf, Criterion::StaticPriority] {
        let mut own = task(0, 10, vec![compute(1), sleep(5), compute(1)]);
        own.deadline = Some(ms(4));
        own.wcet = Some(ms(2));
        let own = experiment(Scope::Partitioned, criterion, vec![own, task(1, 20, vec![compute(9)])]);
        assert!(misses(&own) && overall(&own) == Overall::NotProved, "{criterion:?}");
    }
    // Two jobs of the sleeper back to back: the one below waits for both.
    let mut sleeper = task(0, 10, vec![sleep(7), compute(3)]);
    sleeper.wcet = Some(ms(3));
    let mut below = task(1, 40, vec![compute(6)]);
    below.deadline = Some(ms(11));
    let mut first = experiment(Scope::Partitioned, Criterion::StaticPriority, vec![sleeper, below]);
    first.tasks[1].release = Release::Periodic { offset: ms(7), period: ms(40) };
    assert_eq!(overall(&first), Overall::NotProved);
    // 6 + 2 * 3: the sleeper may end one job at 10 and execute the next without sleep.
    first.tasks[1].deadline = Some(ms(12));
    assert!(proved_and_kept(&first));
}

/// Who waits for the first of a chain of sections waits to its end.
#[test]
fn sections_that_overlap_block_as_one() {
    let chain = vec![take(0), compute(2), take(1), compute(1), give(0), compute(2), give(1)];
    let user = |deadline| {
        let mut urgent = task(0, 10, vec![take(0), compute(1), give(0), take(1), give(1)]);
        urgent.release = Release::Periodic { offset: Duration::new(1), period: ms(10) };
        urgent.deadline = Some(ms(deadline));
        experiment(Scope::Partitioned, Criterion::Rm, vec![urgent, task(1, 40, chain.clone())])
    };
    assert!(misses(&user(5)) && overall(&user(5)) == Overall::NotProved);
    assert!(proved_and_kept(&user(6)));
}

/// Nested in opposite order, with ticks or sleep before the lock: no deadlock, and bounds that hold.
#[test]
fn ceilings_hold_against_late_releases() {
    let urgent = vec![sleep(2), take(1), compute(1), take(0), compute(1), give(0), give(1)];
    let other = vec![compute(1), take(0), compute(2), take(1), compute(2), give(1), give(0)];
    for tick in [None, Some(Duration::new(1_300_000))] {
        let tasks = vec![task(0, 20, urgent.clone()), task(1, 50, other.clone())];
        let mut nested = experiment(Scope::Partitioned, Criterion::Edf, tasks);
        nested.policy.timing = tick.map_or(Timing::OneShot, Timing::Tick);
        assert!(proved_and_kept(&nested), "{tick:?}");
    }
}

/// Waking up costs what a release costs, however often: each sleeps for a fifth of the time that the first computes.
#[test]
fn sleepers_interrupt() {
    let mut overheads = OverheadTable::free();
    overheads.steps = core::array::from_fn(|_| vec![(0, Duration::new(300))]);
    let napper = |index| Task {
        class: TaskClass::BestEffort,
        release: Release::Continuous { offset: Duration::ZERO },
        work: Work {
            steps: vec![
                Step::Sleep(Span::exactly(Duration::new(200_000))),
                Step::Compute(Span::exactly(Duration::new(1000))),
            ],
        },
        ..task(index, 1, Vec::new())
    };
    let mut tasks = vec![task(0, 20, vec![compute(1)])];
    tasks.extend((1..50).map(napper));
    let mut crowd = experiment(Scope::Partitioned, Criterion::Rm, tasks);
    crowd.overheads = overheads;
    let proofs = proofs(&crowd);
    assert!(
        proofs[0].as_ref().is_some_and(|proof| proof.bound > Duration::new(1_200_000)),
        "{:?}",
        proofs[0]
    );
    assert_eq!(simulated(&crowd, &proofs), Ok(None));
}

/// A resumed job pays for switches back; that is no overrun.
#[test]
fn switches_back_are_not_taken_for_overruns() {
    let mut overheads = OverheadTable::free();
    // Switches are dear, releases cheap.
    overheads.steps[0] = vec![(0, Duration::new(200_000))];
    let mut switching = experiment(
        Scope::Partitioned,
        Criterion::Rm,
        vec![task(0, 5, vec![compute(1)]), task(1, 50, vec![compute(20)])],
    );
    switching.overheads = overheads;
    assert!(proved_and_kept(&switching));
}

/// What the file itself shows outweighs what it declares.
#[test]
fn work_that_computes_longer_than_declared_is_counted() {
    let mut late = task(0, 10, vec![compute(3)]);
    late.wcet = Some(ms(2));
    late.deadline = Some(ms(2));
    let late = experiment(Scope::Partitioned, Criterion::Rm, vec![late]);
    let judged = System::of(&late).judge(&mut Effort::default());
    assert_eq!(judged.overall(), Overall::NotProved);
    assert_eq!(judged.tasks[0].wcet, Some(Declared::Work(ms(3))));
    assert_eq!(judged.tasks[0].understated, Some(ms(2)));
}

/// A run counts what a best-effort task with a deadline misses, and so does the proof.
#[test]
fn best_effort_with_a_deadline_is_judged() {
    for criterion in [Criterion::Rm, Criterion::Edf] {
        for scope in [Scope::Partitioned, Scope::Global] {
            let mut rest = task(1, 10, vec![compute(6)]);
            rest.class = TaskClass::BestEffort;
            rest.deadline = Some(ms(9));
            let mut idle = task(2, 10, vec![compute(9)]);
            idle.class = TaskClass::BestEffort;
            let tasks = vec![task(0, 10, vec![compute(2)]), rest, idle];
            let mut judged = experiment(scope.clone(), criterion, tasks);
            assert!(proofs(&judged)[1].is_some(), "{scope:?} {criterion:?}");
            assert_eq!(simulated(&judged, &proofs(&judged)), Ok(None));
            judged.tasks[1].deadline = Some(ms(5));
            assert_eq!(overall(&judged), Overall::NotProved);
        }
    }
}

/// Tasks that the criterion cannot order are served as they come, whatever their order in the file.
#[test]
fn tasks_without_a_place_in_the_order_delay_one_another() {
    let once = |index: u32, at: u64, c: u64, deadline: u64| Task {
        class: TaskClass::BestEffort,
        release: Release::Once { offset: ms(at) },
        deadline: Some(ms(deadline)),
        priority: None,
        ..task(index, 1, vec![compute(c)])
    };
    for (scope, criterion) in [
        (Scope::Partitioned, Criterion::Rm),
        (Scope::Partitioned, Criterion::StaticPriority),
        (Scope::Global, Criterion::CpuAffinity),
        (Scope::Global, Criterion::Rm),
    ] {
        let set = |deadline| {
            let mut tasks = vec![once(0, 1, 2, deadline), once(1, 0, 6, 50)];
            if criterion == Criterion::Rm && scope == Scope::Global {
                tasks.push(once(2, 0, 6, 50));
            }
            experiment(scope.clone(), criterion, tasks)
        };
        assert!(misses(&set(4)), "{scope:?} {criterion:?}");
        assert!(proofs(&set(4))[0].is_none(), "{scope:?} {criterion:?}");
        let (enough, shared) = (set(8), scope == Scope::Global && criterion == Criterion::Rm);
        assert!(
            proved_and_kept(&enough) != shared,
            "{scope:?} {criterion:?}: on several cores nothing is said"
        );
    }
}

/// A job that has nothing to do waits for its turn all the same.
#[test]
fn jobs_without_work_wait_like_any_other() {
    for criterion in [Criterion::Rm, Criterion::Edf, Criterion::StaticPriority] {
        for scope in [Scope::Partitioned, Scope::Global] {
            for nothing in [vec![], vec![compute(0)], vec![take(0), give(0)]] {
                let mut idle = task(2, 50, nothing);
                idle.deadline = Some(ms(4));
                let busy = |index| task(index, 20, vec![compute(5)]);
                let judged = experiment(scope.clone(), criterion, vec![busy(0), busy(1), idle]);
                let proofs = proofs(&judged);
                assert_eq!(simulated(&judged, &proofs), Ok(None), "{scope:?} {criterion:?}");
                // By its deadline it comes first; else it waits for both, on one core and on two.
                assert!(proofs[2].is_none() || criterion == Criterion::Edf, "{scope:?} {criterion:?}");
            }
        }
    }
    let mut idle = task(1, 50, vec![]);
    idle.deadline = Some(ms(6));
    let late = experiment(Scope::Partitioned, Criterion::Rm, vec![task(0, 20, vec![compute(5)]), idle]);
    assert!(proved_and_kept(&late));
    assert!(proofs(&late)[1].as_ref().is_some_and(|proof| proof.bound > ms(5)));
}

/// Loss of cache affinity is counted where there is memory work, and nowhere else.
#[test]
fn tasks_that_only_compute_lose_no_affinity() {
    let tasks = vec![task(0, 5, vec![compute(1)]), task(1, 20, vec![compute(10)])];
    let mut dear = experiment(Scope::Partitioned, Criterion::Edf, tasks);
    dear.overheads.steps[5] = vec![(0, ms(1))];
    let proofs = proofs(&dear);
    assert_eq!(proofs[0].as_ref().map(|proof| proof.bound), Some(ms(5).min(ms(1)).max(ms(1))));
    assert!(proved_and_kept(&dear));
}

#[test]
fn what_stands_in_the_way_is_named() {
    let held = |steps: Vec<Step>| {
        let tasks = vec![task(0, 10, vec![compute(1)]), task(1, 20, steps)];
        experiment(Scope::Partitioned, Criterion::Rm, tasks)
    };
    let why = |experiment: &Experiment| match open(experiment, 0) {
        Open::Lock { why, .. } => why,
        other => panic!("{other:?}"),
    };
    assert_eq!(why(&held(vec![take(0), sleep(1), give(0)])), "a job sleeps while it holds it");
    assert_eq!(why(&held(vec![take(0), compute(1)])), "a job ends while it holds it");
    let mut one_way = held(vec![take(0)]);
    one_way.locks[0].protocol = LockProtocol::Semaphore { units: 0 };
    one_way.tasks[0].work.steps.push(give(0));
    assert_eq!(why(&one_way), "semaphores are not analysed");
    let mut plain = held(vec![take(0), compute(1), give(0)]);
    plain.tasks[0].work.steps.extend([take(0), give(0)]);
    assert!(proved_and_kept(&plain));
    plain.locks[0].protocol = LockProtocol::Plain;
    assert_eq!(why(&plain), "without a protocol blocking has no bound");
    plain.policy.criterion = Criterion::Llf;
    assert_eq!(open(&plain, 0), Open::Criterion(Criterion::Llf));
    let mut continuous = held(vec![compute(1)]);
    continuous.tasks[0].deadline = Some(ms(10));
    continuous.tasks[0].release = Release::Continuous { offset: Duration::ZERO };
    assert_eq!(open(&continuous, 0), Open::NoPeriod(0));
}

#[test]
fn overload_is_told_where_there_is_one() {
    let tasks =
        vec![task(0, 3, vec![compute(1)]), task(1, 3, vec![compute(1)]), task(2, 3, vec![compute(1)])];
    let mut full = experiment(Scope::Partitioned, Criterion::Edf, tasks);
    let overloads = |experiment: &Experiment| System::of(experiment).overloads();
    assert_eq!(overloads(&full), []);
    full.tasks[2].work.steps.push(Step::Compute(Span::exactly(Duration::new(1))));
    assert_eq!(overloads(&full).len(), 1);
    assert_eq!(overloads(&full)[0].asked_per_mille, 1001);
}

/// What is held over sections of another lock lasts as long as the kernel's paths within it: each time that the inner lock is taken and
/// given back the holder rises and falls, and the kernel chooses.
#[test]
fn a_section_lasts_as_long_as_the_paths_of_those_within_it() {
    for criterion in [Criterion::Rm, Criterion::StaticPriority, Criterion::Edf] {
        let moment = |nanoseconds| Step::Compute(Span::exactly(Duration::new(nanoseconds)));
        let round = vec![take(1), moment(1), give(1)];
        let many = Step::Repeat { times: 300, steps: round };
        let inner = task(0, 2, vec![take(1), moment(10_000), give(1)]);
        let outer = task(1, 4, vec![take(0), moment(10_000), give(0)]);
        let below = task(2, 7, vec![take(0), many, give(0)]);
        let mut nested = experiment(Scope::Partitioned, criterion, vec![inner, outer, below]);
        nested.overheads = OverheadTable::free();
        let rows = nested.overheads.steps.iter_mut();
        rows.for_each(|row| *row = vec![(0, Duration::new(500))]);
        for (member, offset) in nested.tasks.iter_mut().zip([1_900_000, 10_000, 0]) {
            let period = member.release.period().unwrap_or(ms(1));
            member.release = Release::Periodic { offset: Duration::new(offset), period };
        }
        assert!(proved_and_kept(&nested), "{criterion:?}");
        nested.tasks[1].deadline = Some(Duration::new(100_000));
        if criterion != Criterion::Edf {
            assert_eq!(overall(&nested), Overall::NotProved, "{criterion:?}");
        }
    }
}

/// A job can be late only where the clock releases together what delays it: offsets may keep it in time for ever.
#[test]
fn what_is_never_released_together_is_not_refuted() {
    let refuted = |experiment: &Experiment| -> Vec<Option<bool>> {
        let judged = System::of(experiment).judge(&mut Effort::default());
        let exact = |outcome: &TaskFinding| match outcome {
            TaskFinding::NotProved(gap) => Some(gap.exact),
            _ => None,
        };
        judged.tasks.iter().map(|task| exact(&task.outcome)).collect()
    };
    let late = |period, c, d| Task { deadline: Some(ms(d)), ..task(0, period, vec![compute(c)]) };
    for criterion in [Criterion::Rm, Criterion::Edf] {
        let mut apart = experiment(Scope::Partitioned, criterion, vec![late(10, 4, 6), late(10, 4, 5)]);
        let together = match criterion {
            Criterion::Rm => [None, Some(true)],
            // The second would have to be released 1 ms after the first.
            _ => [Some(true), Some(false)],
        };
        assert_eq!(refuted(&apart), together, "{criterion:?}");
        apart.tasks[1].release = Release::Periodic { offset: ms(5), period: ms(10) };
        assert!(!misses(&apart) && overall(&apart) == Overall::NotProved);
        assert!(refuted(&apart).iter().all(|exact| *exact != Some(true)), "{criterion:?}");
    }
    // The first would be late if it were released 1 ms after the second, which it never is.
    let phases = experiment(Scope::Partitioned, Criterion::Edf, vec![late(6, 3, 4), late(100, 3, 5)]);
    assert_eq!(refuted(&phases), [Some(false), Some(true)]);
    // Of two that are due together the first in the file comes first.
    let ties = experiment(Scope::Partitioned, Criterion::Edf, vec![late(20, 3, 5), late(20, 3, 5)]);
    assert_eq!(refuted(&ties), [Some(false), Some(false)]);
}

/// Thesis 2.4.1.1: response times 2, 7 and 26 of tasks (2, 10), (5, 15), (10, 25); the third is late by one.
#[test]
fn the_thesis_example_is_explained_and_mended() {
    let tasks =
        vec![task(0, 10, vec![compute(2)]), task(1, 15, vec![compute(5)]), task(2, 25, vec![compute(10)])];
    let thesis = experiment(Scope::Partitioned, Criterion::Rm, tasks);
    let judged = System::of(&thesis).judge(&mut Effort::default());
    assert_eq!(judged.overall(), Overall::NotProved);
    let TaskFinding::NotProved(gap) = &judged.tasks[2].outcome else { panic!("{:?}", judged.tasks[2]) };
    assert_eq!((gap.needs, gap.has, gap.exact), (ms(26), ms(25), true));
    let changes = mends(&thesis, 2, &mut Effort::default());
    assert!(changes.contains(&Change::Wcet { task: 2, from: ms(10), to: ms(9) }), "{changes:?}");
    assert!(changes.contains(&Change::Period { task: 2, from: ms(25), to: ms(26) }), "{changes:?}");
    assert!(changes.contains(&Change::Move { task: 0, to: 1 }) || changes.len() > 4, "{changes:?}");
}

/// Every change that is offered mends: made, the experiment is proved, and its run keeps the bounds. A tie is no mend.
#[test]
fn mends_mend() {
    let mut offered = 0;
    for seed in crate::seeds(crate::sets(300).min(20_000)) {
        let drawn = crate::draw::experiment(seed);
        let judged = System::of(&drawn).judge(&mut Effort::steps(1 << 22));
        let refused = |task: &usize| matches!(judged.tasks[*task].outcome, TaskFinding::NotProved(_));
        let Some(task) = (0..judged.tasks.len()).find(refused) else { continue };
        for change in mends(&drawn, task, &mut Effort::steps(1 << 22)) {
            offered += 1;
            let mut changed = drawn.clone();
            assert!(change.apply(&mut changed), "seed {seed}: {change:?}");
            let proofs = proofs(&changed);
            assert!(proofs[task].is_some(), "seed {seed}: {change:?} does not mend t{task}");
            match change {
                Change::Wcet { from, to, .. } => assert!(to < from, "{change:?}"),
                Change::Period { from, to, .. } | Change::Deadline { from, to, .. } => {
                    assert!(to > from, "{change:?}")
                }
                Change::Move { .. } => {}
            }
        }
    }
    assert!(offered > 20, "{offered}");
    // A period of 20 ms would be a tie that the first wins.
    let ties = vec![task(0, 10, vec![compute(6)]), task(1, 20, vec![compute(9)])];
    let mut ties = experiment(Scope::Partitioned, Criterion::Rm, ties);
    ties.tasks[1].deadline = Some(ms(12));
    for change in mends(&ties, 1, &mut Effort::default()) {
        let mut changed = ties.clone();
        assert!(change.apply(&mut changed));
        let run = ideal::run(&changed, &ideal::IdealOptions::default()).expect("the kernel admits it");
        let proofs = proofs(&changed);
        assert!(proofs[1].is_some(), "{change:?}");
        assert_eq!(run.records.iter().find_map(|record| against(&proofs, record)), None, "{change:?}");
    }
}
