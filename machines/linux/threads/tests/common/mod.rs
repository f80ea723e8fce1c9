//! What tests of threads share: tasks, locks, this machine for one test at a time.
#![allow(dead_code, reason = "each test program uses its part")]

use solo_model::experiment::End;
use solo_model::fixtures::chip;
use solo_model::record::{LockAction, UnfinishedRecord};
use solo_model::task::Release;
use solo_model::work::{Lock, LockProtocol, Span, Step, Work};
use solo_model::{
    CoreId, Criterion, Duration, Experiment, Instant, JobRecord, LockId, Policy, Record, Scope, Task,
    TaskClass, TaskId,
};
use solo_threads::Host;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) const BUS: LockId = LockId(0);
pub(crate) const GO: LockId = LockId(1);
pub(crate) const NEXT: LockId = LockId(2);
pub(crate) const LAST: LockId = LockId(3);

pub(crate) fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

pub(crate) fn compute(span: Duration) -> Step {
    Step::Compute(Span::exactly(span))
}

/// A task on core 0 that runs once, from the beginning.
pub(crate) fn once(name: &str, priority: u32, steps: Vec<Step>) -> Task {
    Task {
        priority: Some(priority),
        core: Some(CoreId(0)),
        work: Work { steps },
        ..Task::new(name, TaskClass::Hard, Release::Once { offset: Duration::ZERO })
    }
}

/// Under P-FP on two cores.
pub(crate) fn experiment(tasks: Vec<Task>) -> Experiment {
    let policy = Policy::new(Scope::Partitioned, Criterion::StaticPriority);
    Experiment::new("threads", chip(2), policy, tasks, End::Jobs(1))
}

/// A lock.
pub(crate) fn lock(name: &str, protocol: LockProtocol) -> Lock {
    Lock { name: name.into(), protocol }
}

/// A semaphore without units: who takes it waits for who gives it.
pub(crate) fn signal(name: &str) -> Lock {
    lock(name, LockProtocol::Semaphore { units: 0 })
}

/// This machine, where it may do what tests need, for one test at a time: all of them want the first CPU.
pub(crate) fn host() -> Option<(Host, MutexGuard<'static, ()>)> {
    static ALONE: Mutex<()> = Mutex::new(());
    let host = Host::look();
    if host.fifo {
        return Some((host, ALONE.lock().unwrap_or_else(PoisonError::into_inner)));
    }
    println!("skipped: threads under SCHED_FIFO: this process may not use it");
    None
}

/// A machine on paper, with two CPUs and all rights.
pub(crate) fn two_cpus() -> Host {
    Host {
        cpus: vec![0, 1],
        online: 2,
        fifo: true,
        priorities: (1, 99),
        memory: 1 << 30,
        real_time_share: None,
        slice: Some(ms(100)),
    }
}

pub(crate) fn jobs(records: &[Record], task: u32) -> Vec<&JobRecord> {
    let job = |record: &'_ Record| matches!(record, Record::Job(job) if job.task == TaskId(task));
    let of = records.iter().filter(|record| job(record));
    of.filter_map(|record| if let Record::Job(job) = record { Some(job) } else { None }).collect()
}

pub(crate) fn unfinished(records: &[Record], task: u32) -> Vec<&UnfinishedRecord> {
    let of = records.iter().filter_map(|record| match record {
        Record::Unfinished(job) if job.task == TaskId(task) => Some(job),
        _ => None,
    });
    of.collect()
}

/// A task that computes in each period.
pub(crate) fn periodic(name: &str, core: Option<CoreId>, [period, deadline, needs]: [u64; 3]) -> Task {
    Task {
        core,
        deadline: Some(ms(deadline)),
        work: Work { steps: vec![compute(ms(needs))] },
        ..Task::new(name, TaskClass::Hard, Release::Periodic { period: ms(period), offset: Duration::ZERO })
    }
}

/// Nearly full. At 40 ms the short period has the later deadline: who goes by periods takes the CPU away from the long one.
pub(crate) fn pair(core: Option<CoreId>) -> [Task; 2] {
    [periodic("short", core, [40, 40, 15]), periodic("long", core, [80, 70, 45])]
}

/// Jobs that were done before as many more urgent ones as there are CPUs that had been there for two milliseconds when they began. Beginning is
/// no sign: for some microseconds Linux lets a less urgent thread have a CPU until another CPU has sent the right one.
pub(crate) fn against_the_order(records: &[Record], tasks: u32, cpus: usize) -> Vec<(JobRecord, usize)> {
    let all: Vec<&JobRecord> = (0..tasks).flat_map(|task| jobs(records, task)).collect();
    let waiting = |late: &JobRecord, job: &JobRecord| {
        job.deadline < late.deadline && job.release + ms(2) < late.start && late.finish < job.finish
    };
    let before = |late: &JobRecord| all.iter().filter(|job| waiting(late, job)).count();
    all.iter().map(|late| ((*late).clone(), before(late))).filter(|(_, before)| *before >= cpus).collect()
}

/// Sections on two CPUs, with what each protocol makes of them: whether `high` asks for the lock while `low` holds it, and whether `low` has to let both
/// CPUs to less urgent ones. Inheritance raises where somebody asks, a ceiling where somebody may.
pub(crate) const SECTIONS: [(LockProtocol, bool, bool); 6] = [
    (LockProtocol::Plain, true, true),
    (LockProtocol::Inheritance, true, false),
    (LockProtocol::Ceiling, true, false),
    (LockProtocol::Plain, false, true),
    (LockProtocol::Inheritance, false, true),
    (LockProtocol::Ceiling, false, false),
];

/// One of [`SECTIONS`] under global scheduling: `low` holds a lock that `high` uses, too, and two between them want a CPU each meanwhile, ten times as
/// long as the section. Each task lets the next one go.
pub(crate) fn sections(criterion: Criterion, protocol: LockProtocol, is_asked: bool) -> Experiment {
    let rush = [Step::Release(NEXT), Step::Release(LAST)];
    let section = |length| [Step::Acquire(BUS), compute(ms(length)), Step::Release(BUS)];
    let low = match is_asked {
        true => vec![Step::Acquire(BUS), Step::Release(GO), compute(ms(20)), Step::Release(BUS)],
        false => {
            let end = [compute(ms(20)), Step::Release(BUS), Step::Release(GO)];
            [Step::Acquire(BUS)].into_iter().chain(rush.clone()).chain(end).collect()
        }
    };
    let rush = rush.into_iter().filter(|_| is_asked);
    let high = [Step::Acquire(GO)].into_iter().chain(rush).chain(section(1)).collect();
    let between = |signal| vec![Step::Acquire(signal), compute(ms(200))];
    let task = |name, priority: u32, steps| Task {
        core: None,
        deadline: Some(ms(u64::from(priority) * 1000)),
        wcet: Some(ms(250)),
        ..once(name, priority, steps)
    };
    let tasks = vec![
        task("low", 9, low),
        task("first", 5, between(NEXT)),
        task("second", 6, between(LAST)),
        task("high", 1, high),
    ];
    let policy = Policy::new(Scope::Global, criterion);
    let mut experiment = Experiment::new("sections", chip(2), policy, tasks, End::Jobs(1));
    experiment.locks = vec![lock("bus", protocol), signal("go"), signal("next"), signal("last")];
    experiment
}

/// Whether `low` of [`sections`] gave its lock back only after one of the two had ended; whoever holds the lock is the only one, and the two did not wait
/// for the section's end to begin: both CPUs were at work.
pub(crate) fn inverts(records: &[Record]) -> bool {
    let locks = || {
        records.iter().filter_map(|record| if let Record::Lock(lock) = record { Some(lock) } else { None })
    };
    let mut holder = None;
    for lock in locks().filter(|lock| lock.lock == BUS) {
        match lock.action {
            LockAction::Acquired | LockAction::Granted => assert_eq!(holder.replace(lock.task), None),
            LockAction::Released => assert_eq!(holder.take(), Some(lock.task)),
            LockAction::Waits | LockAction::Deadlock => {}
        }
    }
    let end: Instant = locks()
        .find(|lock| (lock.lock, lock.action) == (BUS, LockAction::Released))
        .expect("low gives it back")
        .at;
    let is_begin = |lock: &&solo_model::record::LockRecord| {
        [NEXT, LAST].contains(&lock.lock) && matches!(lock.action, LockAction::Acquired | LockAction::Granted)
    };
    assert!(locks().filter(is_begin).any(|lock| lock.at < end), "one of the two runs beside the section");
    let [first, second, high] = [1, 2, 3].map(|task| jobs(records, task)[0]);
    let inverts = end > first.finish.min(second.finish);
    // Where nobody asked, `high` is told only after the section, by who is the last of all by then.
    if locks().any(|lock| (lock.lock, lock.action) == (BUS, LockAction::Waits)) {
        assert_eq!(
            high.finish > first.finish.min(second.finish),
            inverts,
            "who waits for the lock waits for them"
        );
    }
    inverts
}
