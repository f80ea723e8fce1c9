//! The kernel of the other machines in a process of Linux: what it decides is what threads do. What is asserted holds however slow or loaded
//! the machine is: orders and sums, no lengths.

mod common;

use common::{
    BUS, GO, NEXT, SECTIONS, against_the_order, compute, experiment, host, inverts, jobs, lock, ms, once,
    pair, periodic, sections, signal, unfinished,
};
use solo_model::experiment::End;
use solo_model::fixtures::chip;
use solo_model::policy::Timing;
use solo_model::record::{LockAction, SwitchReason};
use solo_model::task::{Migration, Release};
use solo_model::work::{LockProtocol, Step, Work};
use solo_model::{
    CoreId, Criterion, Duration, Experiment, LockId, Policy, Record, Scope, Task, TaskClass, TaskId,
};
use solo_threads::hosted::{Carried, run};
use solo_threads::{Host, Ran, ThreadsError, ThreadsLack};
use std::sync::atomic::{AtomicBool, Ordering};

fn ran(experiment: &Experiment, host: &Host) -> Ran {
    carried(experiment, host).0
}

fn carried(experiment: &Experiment, host: &Host) -> (Ran, Result<Carried, String>) {
    let (ran, carried) = run(experiment, host, None, &|| false).expect("it runs");
    assert!(ran.records.is_sorted_by_key(Record::at), "records come in the order of time");
    let released = ran.records.iter().filter(|record| matches!(record, Record::Release(_))).count();
    let ended = ran.records.iter().filter(|r| matches!(r, Record::Job(_) | Record::Unfinished(_))).count();
    assert_eq!(released, ended, "what is released ends, or is told as unfinished");
    println!("{}: {carried:?}", experiment.policy);
    (ran, carried)
}

fn under(criterion: Criterion, tasks: Vec<Task>) -> Experiment {
    let mut experiment = experiment(tasks);
    experiment.policy = Policy::new(Scope::Partitioned, criterion);
    experiment
}

/// A deadline, a period that never comes again, and what deadlines by laxity need.
fn urgent(by: u64, needs: u64, task: Task) -> Task {
    Task { deadline: Some(ms(by)), wcet: Some(ms(needs)), ..task }
}

/// The classic inversion, as on threads of SCHED_FIFO, under criteria that Linux does not have.
#[test]
fn locks_keep_their_protocols_under_any_criterion() {
    let Some((host, _alone)) = host() else { return };
    let with = |criterion, protocol| {
        let low = vec![Step::Acquire(BUS), Step::Release(GO), compute(ms(30)), Step::Release(BUS)];
        let middle = vec![Step::Acquire(NEXT), compute(ms(30))];
        let section = [Step::Acquire(BUS), compute(ms(1)), Step::Release(BUS)];
        let high = [Step::Acquire(GO), Step::Release(NEXT)].into_iter().chain(section).collect();
        let mut experiment = under(
            criterion,
            vec![
                urgent(9_000, 40, once("low", 9, low)),
                urgent(5_000, 40, once("middle", 5, middle)),
                urgent(1_000, 10, once("high", 1, high)),
            ],
        );
        experiment.policy.quantum = (criterion == Criterion::Llf).then(|| ms(2));
        experiment.locks = vec![lock("bus", protocol), signal("go"), signal("next")];
        ran(&experiment, &host)
    };
    for criterion in [Criterion::StaticPriority, Criterion::Edf, Criterion::Llf] {
        for (protocol, inverts) in
            [(LockProtocol::Plain, true), (LockProtocol::Inheritance, false), (LockProtocol::Ceiling, false)]
        {
            let ran = with(criterion, protocol);
            let (middle, high) = (jobs(&ran.records, 1)[0], jobs(&ran.records, 2)[0]);
            assert_eq!(high.finish > middle.finish, inverts, "{criterion:?} {protocol:?}");
            one_at_a_time(&ran);
        }
    }
}

/// On two CPUs, too, where somebody may ask for a lock while another CPU's thread holds it.
#[test]
fn locks_keep_their_protocols_on_two_cpus() {
    let Some((host, _alone)) = host() else { return };
    if host.cpus.len() < 2 {
        return println!("skipped: locks of a hosted kernel on two CPUs: one CPU");
    }
    for (protocol, is_asked, expected) in SECTIONS {
        for criterion in [Criterion::StaticPriority, Criterion::Edf] {
            let ran = ran(&sections(criterion, protocol, is_asked), &host);
            let what = format!("{criterion:?} {protocol:?}, asked: {is_asked}");
            assert_eq!(inverts(&ran.records), expected, "{what}");
        }
    }
}

/// Who has a lock is the only one.
fn one_at_a_time(ran: &Ran) {
    let mut holder = None;
    for record in &ran.records {
        let Record::Lock(lock) = record else { continue };
        if lock.lock != BUS {
            continue;
        }
        match lock.action {
            LockAction::Acquired | LockAction::Granted => assert_eq!(holder.replace(lock.task), None),
            LockAction::Released => assert_eq!(holder.take(), Some(lock.task)),
            LockAction::Waits | LockAction::Deadlock => {}
        }
    }
}

/// A task of best effort holds a lock that a hard one wants: it goes before a less urgent hard one that was preempted in the middle of a
/// computation, for which Linux's own priorities of tasks of best effort would not do.
#[test]
fn who_is_raised_by_a_lock_runs_before_hard_threads_that_were_preempted() {
    let Some((host, _alone)) = host() else { return };
    let spare = vec![Step::Acquire(BUS), Step::Release(GO), compute(ms(20)), Step::Release(BUS)];
    let middle = vec![Step::Acquire(GO), compute(ms(60))];
    let high = vec![Step::Acquire(BUS), compute(ms(1)), Step::Release(BUS)];
    // It is there when `middle` computes, and waits for the lock.
    let later = Release::Once { offset: ms(20) };
    let mut experiment = under(
        Criterion::Edf,
        vec![
            Task { class: TaskClass::BestEffort, ..once("spare", 9, spare) },
            urgent(5_000, 50, once("middle", 5, middle)),
            urgent(1_000, 10, Task { release: later, ..once("high", 1, high) }),
        ],
    );
    experiment.locks = vec![lock("bus", LockProtocol::Inheritance), signal("go")];
    let ran = ran(&experiment, &host);
    let (middle, high) = (jobs(&ran.records, 1)[0], jobs(&ran.records, 2)[0]);
    assert!(high.finish < middle.finish && middle.preemptions > 0, "{high:?} {middle:?}");
    // What it computes while others are chosen is not in this: it would go on in their place.
    assert!(middle.executed >= ms(50), "{middle:?}");
}

/// A more urgent job waits until the one at hand is done, though it is there in the middle of it.
#[test]
fn first_come_first_served_takes_no_cpu_away() {
    let Some((host, _alone)) = host() else { return };
    let first =
        once("first", 9, vec![Step::Release(GO), compute(ms(30)), Step::Release(NEXT), compute(ms(30))]);
    let second = once("second", 5, vec![Step::Acquire(GO), compute(ms(5))]);
    let third = once("third", 1, vec![Step::Acquire(NEXT), compute(ms(5))]);
    let mut experiment = under(
        Criterion::Fcfs,
        vec![urgent(9_000, 60, first), urgent(5_000, 5, second), urgent(10, 5, third)],
    );
    experiment.locks = vec![lock("bus", LockProtocol::Plain), signal("go"), signal("next")];
    let ran = ran(&experiment, &host);
    let [first, second, third] = [0, 1, 2].map(|task| jobs(&ran.records, task)[0].clone());
    assert_eq!(first.preemptions, 0);
    assert!(first.finish <= second.finish && second.finish < third.finish, "{first:?} {second:?} {third:?}");
}

/// Turns of another length than SCHED_RR's: in order, many of them, and nobody is far ahead of the others.
#[test]
fn turns_are_as_long_as_the_scenario_says() {
    let Some((host, _alone)) = host() else { return };
    let quantum = ms(4);
    let tasks: Vec<Task> = ["a", "b", "c"].map(|name| once(name, 1, vec![compute(ms(40))])).to_vec();
    let mut experiment = under(Criterion::RoundRobin, tasks);
    experiment.policy.quantum = Some(quantum);
    let ran = ran(&experiment, &host);
    let turns = ran
        .records
        .iter()
        .filter(|record| matches!(record, Record::Switch(switch) if switch.reason == SwitchReason::Quantum));
    // 120 ms in turns of 4 are some 27, of SCHED_RR's one; fewer where the machine is late.
    let turns = turns.count();
    assert!(turns >= 10, "{turns}");
    let finish = |task| jobs(&ran.records, task)[0].finish;
    let (first, last) = ([0, 1, 2].map(finish).into_iter().min(), [0, 1, 2].map(finish).into_iter().max());
    let (first, last) = (first.unwrap_or_default(), last.unwrap_or_default());
    // Who is done first has computed 40 ms, and each of the others at least nine turns of four meanwhile.
    assert!(last.since(first) <= last.since(solo_model::Instant::ZERO) / 2, "{first} {last}");
    let order: Vec<_> = ran
        .records
        .iter()
        .filter_map(|record| match record {
            Record::Switch(switch) => switch.to,
            _ => None,
        })
        .take(12)
        .collect();
    assert_eq!(order, [0, 1, 2].map(TaskId).repeat(4), "in turn");
}

/// EDF on one CPU and on two, with migrations: threads do not finish against the order of deadlines, and rate monotonic priorities are found out.
#[test]
fn partitioned_and_global_edf_keep_the_order_of_deadlines() {
    let Some((host, _alone)) = host() else { return };
    if host.cpus.len() < 2 {
        return println!("skipped: a hosted kernel on two CPUs: one CPU");
    }
    let third = periodic("third", None, [60, 60, 20]);
    for (scope, tasks, cpus) in [
        (Scope::Partitioned, pair(Some(CoreId(0))).to_vec(), 1),
        (Scope::Global, [&pair(None)[..], &[third]].concat(), 2),
    ] {
        let count = tasks.len() as u32;
        let with = |criterion| {
            let policy = Policy::new(scope.clone(), criterion);
            ran(&Experiment::new("order", chip(2), policy, tasks.clone(), End::Jobs(8)), &host)
        };
        let edf = with(Criterion::Edf);
        assert_eq!(against_the_order(&edf.records, count, cpus), [], "{scope:?}");
        if scope == Scope::Partitioned {
            assert!(
                against_the_order(&with(Criterion::Rm).records, count, cpus).len() >= 2,
                "who goes by periods is found out"
            );
        } else {
            assert_eq!(ran_on(&edf), [0, 1].map(CoreId), "both cores");
        }
    }
}

fn ran_on(ran: &Ran) -> Vec<CoreId> {
    let mut cores: Vec<CoreId> = ran
        .records
        .iter()
        .filter_map(|record| match record {
            Record::Switch(switch) if switch.to.is_some() => Some(switch.core),
            _ => None,
        })
        .collect();
    cores.sort_unstable();
    cores.dedup();
    cores
}

/// A preempted thread stands still: it has used no more of a CPU than what it was chosen for.
#[test]
fn who_is_not_chosen_does_not_compute() {
    let Some((host, _alone)) = host() else { return };
    let core = Some(CoreId(0));
    let tasks = vec![periodic("often", core, [10, 10, 3]), periodic("seldom", core, [200, 200, 60])];
    let mut experiment = under(Criterion::Edf, tasks);
    experiment.end = End::Jobs(4);
    let (ran, carried) = carried(&experiment, &host);
    let unchosen = carried.as_ref().map_or(ms(60), |carried| carried.unchosen);
    for job in jobs(&ran.records, 1) {
        assert!(job.executed + unchosen >= ms(60), "60 ms of a CPU are not had in less: {job:?}");
        assert!(job.preemptions >= 5, "{job:?}");
    }
    match carried {
        // Half of it would be chance; most of it is what a thread without SCHED_FIFO's lower priority would have.
        Ok(carried) if carried.lost == 0 => {
            assert!(carried.chosen >= 80, "{carried:?}");
            assert!(carried.unchosen.get() * 4 < carried.granted.get(), "{carried:?}");
        }
        Ok(carried) => println!("skipped: when threads ran: {} switches were lost", carried.lost),
        Err(why) => println!("skipped: when threads ran: {why}"),
    }
}

/// Sleeps, also with a lock; semaphores from one core to another; a circle of locks, which is told, and ends by the time of the run.
#[test]
fn jobs_sleep_wait_across_cores_and_deadlock() {
    let Some((host, _alone)) = host() else { return };
    if host.cpus.len() < 2 {
        return println!("skipped: a hosted kernel on two CPUs: one CPU");
    }
    let sleeps = vec![
        Step::Acquire(BUS),
        Step::Sleep(solo_model::work::Span::exactly(ms(5))),
        Step::Release(GO),
        compute(ms(2)),
        Step::Release(BUS),
    ];
    let other = vec![Step::Acquire(GO), Step::Acquire(BUS), compute(ms(2)), Step::Release(BUS)];
    let far = Task { core: Some(CoreId(1)), ..once("far", 1, other) };
    let mut awake =
        under(Criterion::Edf, vec![urgent(500, 10, once("sleeps", 1, sleeps)), urgent(400, 10, far)]);
    awake.locks = vec![lock("bus", LockProtocol::Inheritance), signal("go")];
    let ran_awake = ran(&awake, &host);
    one_at_a_time(&ran_awake);
    let [sleeper, far] = [0, 1].map(|task| jobs(&ran_awake.records, task)[0].clone());
    assert!(sleeper.finish.since(sleeper.release) >= ms(7), "{sleeper:?}");
    assert!(far.finish > sleeper.release + ms(5) && far.core == CoreId(1), "{far:?}");
    assert!(
        ran_awake
            .records
            .iter()
            .any(|record| matches!(record, Record::Sleep(slept) if slept.task == TaskId(0)))
    );

    // Each tells the other that it has its first lock, and waits for the other's word before it takes its second.
    let back = LockId(3);
    let both = |own, tells, waits, others| {
        let take = [Step::Acquire(own), Step::Release(tells), Step::Acquire(waits), Step::Acquire(others)];
        take.into_iter().chain([Step::Release(others), Step::Release(own)]).collect::<Vec<_>>()
    };
    let two = Task { core: Some(CoreId(1)), ..once("two", 1, both(NEXT, back, GO, BUS)) };
    let one = urgent(50, 10, once("one", 1, both(BUS, GO, back, NEXT)));
    let mut stuck = under(Criterion::Edf, vec![one, urgent(50, 10, two)]);
    let plain = |name| lock(name, LockProtocol::Plain);
    stuck.locks = vec![plain("bus"), signal("go"), plain("next"), signal("back")];
    stuck.end = End::At(ms(100));
    let stuck = ran(&stuck, &host);
    assert_eq!(stuck.end, solo_model::Instant::ZERO + ms(100));
    assert_eq!(unfinished(&stuck.records, 0).len() + unfinished(&stuck.records, 1).len(), 2);
    assert!(
        stuck.records.iter().any(|r| matches!(r, Record::Lock(lock) if lock.action == LockAction::Deadlock))
    );
}

/// Runs end: by jobs, by time, in the middle of a computation and by the caller's wish. Jobs of overload are released and told.
#[test]
fn runs_end() {
    let Some((host, _alone)) = host() else { return };
    let periodic = |period, needs| Task {
        core: Some(CoreId(0)),
        work: Work { steps: vec![compute(ms(needs))] },
        ..Task::new("t", TaskClass::Hard, Release::Periodic { period: ms(period), offset: Duration::ZERO })
    };
    let with = |task, end| Experiment { end, ..under(Criterion::Edf, vec![task]) };
    let by_jobs = ran(&with(periodic(10, 1), End::Jobs(5)), &host);
    assert_eq!((jobs(&by_jobs.records, 0).len(), by_jobs.cut_off), (5, false));
    let by_time = ran(&with(periodic(20, 300), End::At(ms(50))), &host);
    assert_eq!((by_time.end, by_time.cut_off), (solo_model::Instant::ZERO + ms(50), false));
    assert_eq!(unfinished(&by_time.records, 0).len(), 3, "released at 0, 20 and 40 ms");
    let never = ran(&with(periodic(10, 1_000), End::Jobs(5)), &host);
    assert!(never.cut_off, "twice the time of its jobs is not enough");
    let asked = AtomicBool::new(false);
    let cancelled = || asked.swap(true, Ordering::Relaxed);
    let stopped = run(&with(periodic(10, 1), End::Jobs(100_000)), &host, None, &cancelled);
    assert!(matches!(stopped, Err(ThreadsError::Interrupted)), "{stopped:?}");
}

/// A task that migrates each period is on the CPUs of both cores in turn.
#[test]
fn a_task_goes_to_the_next_cpu_at_each_release() {
    let Some((host, _alone)) = host() else { return };
    if host.cpus.len() < 2 {
        return println!("skipped: a hosted kernel on two CPUs: one CPU");
    }
    let task = Task {
        core: Some(CoreId(1)),
        migrate: Some(Migration::EachPeriod),
        work: Work { steps: vec![compute(ms(1))] },
        ..Task::new("t", TaskClass::Hard, Release::Periodic { period: ms(10), offset: Duration::ZERO })
    };
    let mut experiment = under(Criterion::CpuAffinity, vec![Task { priority: Some(1), ..task }]);
    experiment.policy.scope = Scope::Global;
    experiment.end = End::Jobs(6);
    let ran = ran(&experiment, &host);
    let cores: Vec<u16> = jobs(&ran.records, 0).iter().map(|job| job.core.0).collect();
    assert_eq!(cores, [1, 0, 1, 0, 1, 0]);
}

/// Releases at ticks come at no other time.
#[test]
fn releases_come_at_ticks() {
    let Some((host, _alone)) = host() else { return };
    let task = Task {
        core: Some(CoreId(0)),
        work: Work { steps: vec![compute(ms(1))] },
        ..Task::new("t", TaskClass::Hard, Release::Periodic { period: ms(15), offset: Duration::ZERO })
    };
    let mut experiment = under(Criterion::Edf, vec![task]);
    experiment.policy.timing = Timing::Tick(ms(10));
    experiment.end = End::Jobs(6);
    let ran = ran(&experiment, &host);
    for job in jobs(&ran.records, 0) {
        let tick = job.release.get().next_multiple_of(ms(10).get());
        assert!(job.start.get() >= tick, "{job:?}");
    }
}

/// What it can't do it refuses, before anything runs.
#[test]
fn what_a_hosted_kernel_lacks_is_named() {
    let Some((host, _alone)) = host() else { return };
    let experiment = under(Criterion::Edf, vec![once("t", 1, vec![compute(ms(1))])]);
    let one = Host { cpus: vec![host.cpus[0]], ..host.clone() };
    let mut wide = experiment.clone();
    wide.policy.scope = Scope::Global;
    let refused = |experiment: &Experiment, host: &Host| match run(experiment, host, None, &|| false) {
        Err(ThreadsError::Lacks(lack)) => lack,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(&wide, &one), ThreadsLack::Cpus { needed: 2, available: 1 });
    let without = Host { fifo: false, ..host.clone() };
    assert!(matches!(refused(&experiment, &without), ThreadsLack::Fifo(_)));
    let mut turns = experiment.clone();
    turns.policy.criterion = Criterion::RoundRobin;
    let refused = run(&turns, &host, None, &|| false);
    assert!(matches!(refused, Err(ThreadsError::Policy(_))), "round robin without a quantum: {refused:?}");
}
