//! Real threads of this Linux: who runs first, what locks do, how runs end. What is asserted holds however slow or loaded the
//! machine is: orders and sums, no lengths.

use solo_model::experiment::End;
use solo_model::fixtures::chip;
use solo_model::policy::Timing;
use solo_model::record::{LockAction, UnfinishedRecord};
use solo_model::task::Release;
use solo_model::work::{Lock, LockProtocol, Span, Step, Work};
use solo_model::{
    CoreId, Criterion, Duration, Experiment, JobRecord, LockId, Policy, Record, Scope, Task, TaskClass,
    TaskId,
};
use solo_threads::{Host, Lack, Ran, ThreadsError, admit, run};
use std::sync::atomic::{AtomicBool, Ordering};

const BUS: LockId = LockId(0);

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn compute(span: Duration) -> Step {
    Step::Compute(Span::exactly(span))
}

/// A task on core 0 that runs once.
fn once(name: &str, priority: u32, offset: Duration, steps: Vec<Step>) -> Task {
    Task {
        priority: Some(priority),
        core: Some(CoreId(0)),
        work: Work { steps },
        ..Task::new(name, TaskClass::Hard, Release::Once { offset })
    }
}

/// Under P-FP on two cores.
fn experiment(tasks: Vec<Task>) -> Experiment {
    let policy = Policy::new(Scope::Partitioned, Criterion::StaticPriority);
    Experiment::new("threads", chip(2), policy, tasks, End::Jobs(1))
}

/// This machine, where it may do what tests need.
fn host() -> Option<Host> {
    let host = Host::look();
    if host.fifo {
        return Some(host);
    }
    println!("skipped: threads under SCHED_FIFO: this process may not use it");
    None
}

fn ran(experiment: &Experiment, host: &Host) -> Ran {
    let ran = run(experiment, host, &|| false).expect("it runs");
    assert!(ran.records.is_sorted_by_key(Record::at), "records come in the order of time");
    let released = ran.records.iter().filter(|record| matches!(record, Record::Release(_))).count();
    let ended = ran.records.iter().filter(|r| matches!(r, Record::Job(_) | Record::Unfinished(_))).count();
    assert_eq!(released, ended, "what is released ends, or is told as unfinished");
    ran
}

fn jobs(ran: &Ran, task: u32) -> Vec<&JobRecord> {
    let job = |record: &'_ Record| matches!(record, Record::Job(job) if job.task == TaskId(task));
    let of = ran.records.iter().filter(|record| job(record));
    of.filter_map(|record| if let Record::Job(job) = record { Some(job) } else { None }).collect()
}

fn unfinished(ran: &Ran, task: u32) -> Vec<&UnfinishedRecord> {
    let of = ran.records.iter().filter_map(|record| match record {
        Record::Unfinished(job) if job.task == TaskId(task) => Some(job),
        _ => None,
    });
    of.collect()
}

#[test]
fn the_more_urgent_thread_takes_the_cpu() {
    let Some(host) = host() else { return };
    let low = once("low", 5, Duration::ZERO, vec![compute(ms(300))]);
    let high = once("high", 1, ms(20), vec![compute(ms(5))]);
    let ran = ran(&experiment(vec![low, high]), &host);
    let (low, high) = (jobs(&ran, 0)[0], jobs(&ran, 1)[0]);
    assert!(low.start < high.start && high.finish < low.finish, "{low:?} {high:?}");
    assert!(low.executed >= ms(300) && high.executed >= ms(5), "computing takes what it takes of a CPU");
    assert!(low.preemptions > 0 && high.preemptions == 0);
    assert_eq!((low.migrations, high.migrations), (0, 0));
    if ran.no_switches.is_none() {
        let to_high = |record: &Record| matches!(record, Record::Switch(s) if s.from == Some(TaskId(0)) && s.to == Some(TaskId(1)));
        assert!(ran.records.iter().any(to_high), "the schedule shows it");
    }
}

/// The classic inversion: without protocol the middle one delays the high one, with inheritance or ceiling it does not.
#[test]
fn locks_keep_their_protocols() {
    let Some(host) = host() else { return };
    let section = |length| vec![Step::Acquire(BUS), compute(length), Step::Release(BUS)];
    let with = |protocol| {
        let mut experiment = experiment(vec![
            once("low", 9, Duration::ZERO, section(ms(200))),
            once("middle", 5, ms(40), vec![compute(ms(300))]),
            once("high", 1, ms(20), section(ms(5))),
        ]);
        experiment.locks = vec![Lock { name: "bus".into(), protocol }];
        ran(&experiment, &host)
    };
    for (protocol, inverts) in
        [(LockProtocol::Plain, true), (LockProtocol::Inheritance, false), (LockProtocol::Ceiling, false)]
    {
        let ran = with(protocol);
        let (middle, high) = (jobs(&ran, 1)[0], jobs(&ran, 2)[0]);
        assert_eq!(high.finish > middle.finish, inverts, "{protocol:?}");
        let mut holder = None;
        for record in &ran.records {
            let Record::Lock(lock) = record else { continue };
            match lock.action {
                LockAction::Acquired | LockAction::Granted => {
                    assert_eq!(holder, None, "{protocol:?}: one at a time");
                    holder = Some(lock.task);
                }
                LockAction::Released => assert_eq!(holder.take(), Some(lock.task), "{protocol:?}"),
                LockAction::Waits => {
                    assert_ne!(protocol, LockProtocol::Ceiling, "who holds it can't be preempted")
                }
                LockAction::Deadlock => panic!("nobody looks for circles"),
            }
        }
    }
}

#[test]
fn a_semaphore_that_another_task_gives_lets_a_job_go_on() {
    let Some(host) = host() else { return };
    let taker = once("taker", 1, Duration::ZERO, vec![Step::Acquire(BUS), compute(ms(1))]);
    let giver = once("giver", 2, ms(30), vec![compute(ms(5)), Step::Release(BUS)]);
    let mut experiment = experiment(vec![taker, giver]);
    experiment.locks = vec![Lock { name: "items".into(), protocol: LockProtocol::Semaphore { units: 0 } }];
    let ran = ran(&experiment, &host);
    let given = ran.records.iter().find_map(|record| match record {
        Record::Lock(lock) if lock.action == LockAction::Released => Some(lock.at),
        _ => None,
    });
    assert!(jobs(&ran, 0)[0].finish > given.expect("it is given"));
}

/// A task that never comes to its CPU has misses all the same: its releases are told, and that nothing became of them.
#[test]
fn a_starved_task_and_a_lock_that_nobody_gives_are_told_at_the_end() {
    let Some(host) = host() else { return };
    let hog = once("hog", 1, Duration::ZERO, vec![compute(Duration::from_secs(3600))]);
    let starved = Task {
        priority: Some(5),
        core: Some(CoreId(0)),
        work: Work { steps: vec![compute(ms(1))] },
        ..Task::new("starved", TaskClass::Hard, Release::Periodic { offset: ms(10), period: ms(50) })
    };
    let stuck = once("stuck", 0, Duration::ZERO, vec![Step::Acquire(BUS)]);
    let mut experiment = experiment(vec![hog, starved, stuck]);
    experiment.locks = vec![Lock { name: "never".into(), protocol: LockProtocol::Semaphore { units: 0 } }];
    experiment.end = End::At(ms(400));
    let ran = ran(&experiment, &host);
    assert_eq!(ran.end.get(), ms(400).get());
    assert!(!ran.cut_off);
    assert_eq!((unfinished(&ran, 0).len(), unfinished(&ran, 2).len()), (1, 1));
    // 10, 60, ... 360 ms: none is lost, and one may run where Linux keeps real-time threads from a part of each second.
    assert_eq!(jobs(&ran, 1).len() + unfinished(&ran, 1).len(), 8);
    assert!(unfinished(&ran, 1).iter().any(|job| job.deadline.is_some_and(|at| at < ran.end)));

    experiment.end = End::Jobs(3);
    let ran = self::ran(&experiment, &host);
    assert!(ran.cut_off, "the starved task can't finish three jobs, and the run ends all the same");
}

#[test]
fn who_asks_to_stop_is_heard() {
    let Some(host) = host() else { return };
    let hog = once("hog", 1, Duration::ZERO, vec![compute(Duration::from_secs(3600))]);
    let asked = AtomicBool::new(false);
    let cancelled = || asked.swap(true, Ordering::SeqCst);
    let stopped = run(&experiment(vec![hog]), &host, &cancelled);
    assert!(matches!(stopped, Err(ThreadsError::Interrupted)), "{stopped:?}");
}

/// Before anything starts, by name.
#[test]
fn what_linux_has_no_counterpart_for_is_refused() {
    let host =
        Host { cpus: vec![0, 1], fifo: true, priorities: (1, 99), memory: 1 << 30, real_time_share: None };
    let plain = || experiment(vec![once("a", 1, Duration::ZERO, vec![compute(ms(1))])]);
    assert_eq!(admit(&plain(), &host), Ok(()));
    let refused = |change: &dyn Fn(&mut Experiment)| {
        let mut changed = plain();
        change(&mut changed);
        admit(&changed, &host).expect_err("it is refused")
    };
    let edf = refused(&|experiment| experiment.policy.criterion = Criterion::Edf);
    assert_eq!(edf, Lack::Criterion(Criterion::Edf));
    let ticks = refused(&|experiment| experiment.policy.timing = Timing::Tick(ms(1)));
    assert_eq!(ticks, Lack::Ticks(ms(1)));
    let many = refused(&|experiment| {
        experiment.tasks = (0..99).map(|i| once(&format!("t{i}"), i, Duration::ZERO, vec![])).collect();
    });
    assert_eq!(many, Lack::Priorities { needed: 99, available: 98 });
    let huge = refused(&|experiment| {
        let size = solo_model::Bytes::new(1 << 40);
        experiment.buffers = vec![solo_model::work::Buffer { name: "b".into(), size }];
    });
    assert!(matches!(huge, Lack::Memory { .. }), "{huge:?}");
    let best_effort = refused(&|experiment| {
        experiment.tasks[0].class = TaskClass::BestEffort;
        experiment.tasks[0].work.steps = vec![Step::Acquire(BUS), Step::Release(BUS)];
        experiment.locks = vec![Lock { name: "bus".into(), protocol: LockProtocol::Ceiling }];
    });
    assert!(matches!(best_effort, Lack::Ceiling { .. }), "{best_effort:?}");

    let without = Host { fifo: false, ..host.clone() };
    assert!(matches!(admit(&plain(), &without), Err(Lack::Rights { priority: 98 })));
    let one = Host { cpus: vec![3], ..host.clone() };
    let mut two = plain();
    two.tasks.push(Task { core: Some(CoreId(1)), ..two.tasks[0].clone() });
    assert_eq!(admit(&two, &one), Err(Lack::Cpus { needed: 2, available: 1 }));
    // Which cores they are does not matter, only how many.
    two.tasks.iter_mut().for_each(|task| task.core = Some(CoreId(1)));
    assert_eq!(admit(&two, &one), Ok(()));
}
