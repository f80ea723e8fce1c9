//! Real threads of this Linux: who runs first, what locks do, how runs end. What is asserted holds however slow or loaded the
//! machine is: orders and sums, no lengths.

mod common;

use common::{
    BUS, GO, NEXT, SECTIONS, against_the_order, compute, experiment, host, inverts, jobs, lock, ms, once,
    pair, sections, signal, two_cpus, unfinished,
};
use solo_hal::Lack;
use solo_model::experiment::End;
use solo_model::fixtures::chip;
use solo_model::platform::CoreKind;
use solo_model::policy::Timing;
use solo_model::record::LockAction;
use solo_model::task::{Migration, Release};
use solo_model::work::{Flush, LockProtocol, Step, Work};
use solo_model::{
    BufferId, CoreId, Criterion, Duration, Experiment, Frequency, Policy, Record, Scope, Task, TaskClass,
    TaskId,
};
use solo_threads::{
    Host, Options, Plane, Priorities, Raises, Ran, Ranking, ThreadsError, ThreadsLack, Under, admit,
    plane_domains, run,
};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

fn ran(experiment: &Experiment, host: &Host) -> Ran {
    let ran = run(experiment, host, Options::default(), &|| false).expect("it runs");
    assert!(ran.records.is_sorted_by_key(Record::at), "records come in the order of time");
    let released = ran.records.iter().filter(|record| matches!(record, Record::Release(_))).count();
    let ended = ran.records.iter().filter(|r| matches!(r, Record::Job(_) | Record::Unfinished(_))).count();
    assert_eq!(released, ended, "what is released ends, or is told as unfinished");
    ran
}

#[test]
fn the_more_urgent_thread_takes_the_cpu() {
    let Some((host, _alone)) = host() else { return };
    // The low one lets the high one go while it runs: no clock decides who is first.
    let low = once("low", 5, vec![compute(ms(5)), Step::Release(GO), compute(ms(50))]);
    let high = once("high", 1, vec![Step::Acquire(GO), compute(ms(5))]);
    let mut experiment = experiment(vec![low, high]);
    experiment.locks = vec![lock("bus", LockProtocol::Plain), signal("go")];
    let ran = ran(&experiment, &host);
    let (low, high) = (jobs(&ran.records, 0)[0], jobs(&ran.records, 1)[0]);
    assert!(high.finish < low.finish, "{low:?} {high:?}");
    assert!(low.executed >= ms(55) && high.executed >= ms(5), "computing takes what it takes of a CPU");
    assert!(low.preemptions > 0);
    assert_eq!((low.migrations, high.migrations), (0, 0));
    if ran.no_switches.is_none() {
        let to_high = |record: &Record| matches!(record, Record::Switch(s) if s.from == Some(TaskId(0)) && s.to == Some(TaskId(1)));
        assert!(ran.records.iter().any(to_high), "the schedule shows it");
    }
}

/// The classic inversion: without protocol the middle one delays the high one, with inheritance or ceiling it does not. Each
/// task lets the next one go, so that no clock decides.
#[test]
fn locks_keep_their_protocols() {
    let Some((host, _alone)) = host() else { return };
    let with = |protocol| {
        let low = vec![Step::Acquire(BUS), Step::Release(GO), compute(ms(50)), Step::Release(BUS)];
        let middle = vec![Step::Acquire(NEXT), compute(ms(50))];
        let section = [Step::Acquire(BUS), compute(ms(1)), Step::Release(BUS)];
        let high = [Step::Acquire(GO), Step::Release(NEXT)].into_iter().chain(section).collect();
        let mut experiment =
            experiment(vec![once("low", 9, low), once("middle", 5, middle), once("high", 1, high)]);
        experiment.locks = vec![lock("bus", protocol), signal("go"), signal("next")];
        ran(&experiment, &host)
    };
    for (protocol, inverts) in
        [(LockProtocol::Plain, true), (LockProtocol::Inheritance, false), (LockProtocol::Ceiling, false)]
    {
        let ran = with(protocol);
        let (middle, high) = (jobs(&ran.records, 1)[0], jobs(&ran.records, 2)[0]);
        assert_eq!(high.finish > middle.finish, inverts, "{protocol:?}");
        let mut holder = None;
        for record in &ran.records {
            let Record::Lock(lock) = record else { continue };
            if lock.lock != BUS {
                continue;
            }
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

/// What the memory of a job holds is still there behind a flush, and so is the job.
#[test]
fn jobs_take_the_lines_of_a_buffer_out_of_caches() {
    let Some((host, _alone)) = host() else { return };
    let size = solo_model::Bytes::from_kib(256);
    let flushes = once("flushes", 1, vec![Step::Flush(Flush::Buffer(BufferId(0))), compute(ms(1))]);
    let mut experiment = experiment(vec![flushes]);
    experiment.buffers = vec![solo_model::work::Buffer { name: "frame".into(), size }];
    if let Err(ThreadsLack::Machine(lack)) = admit(&experiment, &host) {
        assert_eq!(lack, Lack::Flush { all: false });
        println!("skipped: this processor lets no process take lines out of caches");
        return;
    }
    assert_eq!(jobs(&ran(&experiment, &host).records, 0).len(), 1);
    // A run that ends does not wait for the last line of a large buffer.
    experiment.buffers[0].size = solo_model::Bytes::from_mib(64);
    let flush = Step::Flush(Flush::Buffer(BufferId(0)));
    experiment.tasks[0].work.steps = vec![Step::Repeat { times: 1_000_000, steps: vec![flush] }];
    experiment.end = End::At(ms(20));
    let ran = ran(&experiment, &host);
    assert_eq!((jobs(&ran.records, 0).len(), unfinished(&ran.records, 0).len()), (0, 1));
}

#[test]
fn a_semaphore_that_another_task_gives_lets_a_job_go_on() {
    let Some((host, _alone)) = host() else { return };
    let taker = once("taker", 1, vec![Step::Acquire(BUS), compute(ms(1))]);
    let giver = once("giver", 2, vec![compute(ms(5)), Step::Release(BUS)]);
    let mut experiment = experiment(vec![taker, giver]);
    experiment.locks = vec![signal("items")];
    let ran = ran(&experiment, &host);
    let given = ran.records.iter().find_map(|record| match record {
        Record::Lock(lock) if lock.action == LockAction::Released => Some(lock.at),
        _ => None,
    });
    assert!(jobs(&ran.records, 0)[0].finish > given.expect("it is given"));
}

/// A task that never comes to its CPU has misses all the same: its releases are told, and that nothing became of them.
#[test]
fn a_starved_task_and_a_lock_that_nobody_gives_are_told_at_the_end() {
    let Some((host, _alone)) = host() else { return };
    let hog = once("hog", 1, vec![compute(Duration::from_secs(3600))]);
    let starved = Task {
        priority: Some(5),
        core: Some(CoreId(0)),
        work: Work { steps: vec![compute(ms(1))] },
        ..Task::new("starved", TaskClass::Hard, Release::Periodic { offset: ms(10), period: ms(50) })
    };
    let stuck = once("stuck", 0, vec![Step::Acquire(BUS)]);
    let mut experiment = experiment(vec![hog, starved, stuck]);
    experiment.locks = vec![signal("never")];
    experiment.end = End::At(ms(400));
    let ran = ran(&experiment, &host);
    assert_eq!(ran.end.get(), ms(400).get());
    assert!(!ran.cut_off);
    assert_eq!((unfinished(&ran.records, 0).len(), unfinished(&ran.records, 2).len()), (1, 1));
    // 10, 60, ... 360 ms: none is lost, and one may run where Linux keeps real-time threads from a part of each second.
    assert_eq!(jobs(&ran.records, 1).len() + unfinished(&ran.records, 1).len(), 8);
    assert!(unfinished(&ran.records, 1).iter().any(|job| job.deadline.is_some_and(|at| at < ran.end)));

    experiment.end = End::Jobs(3);
    let ran = self::ran(&experiment, &host);
    assert!(ran.cut_off, "the starved task can't finish three jobs, and the run ends all the same");
}

#[test]
fn who_asks_to_stop_is_heard() {
    let Some((host, _alone)) = host() else { return };
    let hog = once("hog", 1, vec![compute(Duration::from_secs(3600))]);
    let asked = AtomicBool::new(false);
    let cancelled = || asked.swap(true, Ordering::SeqCst);
    let stopped = run(&experiment(vec![hog]), &host, Options::default(), &cancelled);
    assert!(matches!(stopped, Err(ThreadsError::Interrupted)), "{stopped:?}");
}

/// Before anything starts, by name.
#[test]
fn what_linux_has_no_counterpart_for_is_refused() {
    let host = two_cpus();
    let plain = || experiment(vec![once("a", 1, vec![compute(ms(1))])]);
    assert_eq!(admit(&plain(), &host), Ok(()));
    let refused = |change: &dyn Fn(&mut Experiment)| {
        let mut changed = plain();
        change(&mut changed);
        admit(&changed, &host).expect_err("it is refused")
    };
    let edf = refused(&|experiment| experiment.policy.criterion = Criterion::Edf);
    assert_eq!(edf, ThreadsLack::Criterion(Criterion::Edf));
    let ticks = refused(&|experiment| experiment.policy.timing = Timing::Tick(ms(1)));
    assert_eq!(ticks, ThreadsLack::Ticks(ms(1)));
    let first = refused(&|experiment| {
        experiment.policy.scope = Scope::Global;
        experiment.policy.fastest_first = true;
        let slow = CoreKind { clock: Frequency::new(1_000_000), ..experiment.platform.kinds[0].clone() };
        experiment.platform.kinds.push(slow);
        experiment.platform.cores[1].kind = 1;
    });
    assert_eq!(first, ThreadsLack::FastestFirst);
    let many = refused(&|experiment| {
        experiment.tasks = (0..99).map(|i| once(&format!("t{i}"), i, vec![])).collect();
    });
    assert_eq!(many, ThreadsLack::Priorities { needed: 99, available: 98 });
    let huge = refused(&|experiment| {
        let size = solo_model::Bytes::new(1 << 40);
        experiment.buffers = vec![solo_model::work::Buffer { name: "b".into(), size }];
    });
    assert!(matches!(huge, ThreadsLack::Memory { .. }), "{huge:?}");
    let best_effort = refused(&|experiment| {
        experiment.tasks[0].class = TaskClass::BestEffort;
        experiment.tasks[0].work.steps = vec![Step::Acquire(BUS), Step::Release(BUS)];
        experiment.locks = vec![lock("bus", LockProtocol::Ceiling)];
    });
    assert!(matches!(best_effort, ThreadsLack::Ceiling { .. }), "{best_effort:?}");
    // What empties whole caches is the kernel's; and no release moves a thread.
    let all = refused(&|experiment| {
        experiment.tasks[0].work.steps = vec![Step::Flush(Flush::All)];
    });
    assert_eq!(all, ThreadsLack::Machine(Lack::Flush { all: true }));
    let migrates = refused(&|experiment| experiment.tasks[0].migrate = Some(Migration::EachPeriod));
    assert_eq!(migrates, ThreadsLack::Machine(Lack::Migration { name: "a".into() }));

    let without = Host { fifo: false, ..host.clone() };
    assert!(matches!(admit(&plain(), &without), Err(ThreadsLack::Fifo(_))));
    let one = Host { cpus: vec![3], ..host.clone() };
    let mut two = plain();
    two.tasks.push(Task { core: Some(CoreId(1)), ..two.tasks[0].clone() });
    assert_eq!(admit(&two, &one), Err(ThreadsLack::Cpus { needed: 2, available: 1 }));
    // Which cores they are does not matter, only how many.
    two.tasks.iter_mut().for_each(|task| task.core = Some(CoreId(1)));
    assert_eq!(admit(&two, &one), Ok(()));
}

/// A plane that schedules nobody, and remembers what it is told.
#[derive(Default)]
struct Told {
    entered: Mutex<Vec<(TaskId, u64)>>,
    keys: Mutex<Vec<(TaskId, u64)>>,
    looks: std::sync::atomic::AtomicU64,
}

impl Plane for Told {
    fn enter(&self, task: TaskId, thread: u32, key: u64) -> std::io::Result<()> {
        assert!(thread > 0);
        self.entered.lock().unwrap().push((task, key));
        Ok(())
    }

    fn rank(&self, task: TaskId, key: u64) -> std::io::Result<()> {
        self.keys.lock().unwrap().push((task, key));
        Ok(())
    }

    fn look(&self) {
        self.looks.fetch_add(1, Ordering::Relaxed);
    }
}

fn edf(tasks: Vec<Task>, scope: Scope, end: End) -> Experiment {
    Experiment::new("ranks", chip(2), Policy::new(scope, Criterion::Edf), tasks, end)
}

fn periodic(name: &str, core: u16, class: TaskClass, offset: Duration) -> Task {
    Task {
        core: Some(CoreId(core)),
        work: Work { steps: vec![compute(Duration::from_micros(100))] },
        ..Task::new(name, class, Release::Periodic { period: ms(10), offset })
    }
}

/// Each job has the key of its own deadline before it is waited for; tasks of best effort have none.
#[test]
fn a_plane_is_told_the_deadline_of_each_job_before_its_release() {
    let Some((host, _alone)) = host() else { return };
    let tasks = vec![
        periodic("hard", 0, TaskClass::Hard, Duration::ZERO),
        periodic("soft", 0, TaskClass::Soft, ms(3)),
        periodic("rest", 0, TaskClass::BestEffort, Duration::ZERO),
    ];
    let experiment = edf(tasks, Scope::Partitioned, End::Jobs(5));
    let told = Told::default();
    let key = |_: TaskId, deadline: Option<solo_model::Instant>| deadline.map_or(u64::MAX, |at| at.get());
    let ranking = Ranking { plane: &told, key: &key };
    let ran = run(
        &experiment,
        &host,
        Options { under: Under::Ranked(ranking), counted: None, folder: None },
        &|| false,
    )
    .expect("it runs");
    let of = |all: &Mutex<Vec<(TaskId, u64)>>, task: u32| -> Vec<u64> {
        all.lock().unwrap().iter().filter(|(own, _)| *own == TaskId(task)).map(|(_, key)| *key).collect()
    };
    for (task, first) in [(0, 10_000_000), (1, 13_000_000)] {
        assert_eq!(of(&told.entered, task), [first]);
        let expected: Vec<u64> = (0..5).map(|job| first + job * 10_000_000).collect();
        assert_eq!(of(&told.keys, task)[..5], expected, "task {task}");
        assert!(jobs(&ran.records, task).len() >= 5);
    }
    assert!(of(&told.entered, 2).is_empty() && of(&told.keys, 2).is_empty());
    assert!(told.looks.load(Ordering::Relaxed) > 0);
}

#[test]
fn domains_are_the_cpus_that_tasks_share() {
    let host = Host { cpus: vec![2, 5], ..Host::look() };
    let both = |scope| {
        let hard = |name, core| periodic(name, core, TaskClass::Hard, Duration::ZERO);
        let found = plane_domains(
            &edf(vec![hard("a", 0), hard("b", 1), hard("c", 0)], scope, End::Jobs(1)),
            &host,
            Raises::NONE,
        );
        let found = found.expect("it can be ranked");
        let cpus = |set: &solo_model::CoreSet| set.iter().map(|cpu| cpu.0).collect::<Vec<_>>();
        (found.cpus.iter().map(cpus).collect::<Vec<_>>(), found.of_task)
    };
    assert_eq!(both(Scope::Partitioned), (vec![vec![2], vec![5]], vec![0, 1, 0]));
    assert_eq!(both(Scope::Global), (vec![vec![2, 5]], vec![0, 0, 0]));
    let far = Host { cpus: vec![2, 64], ..Host::look() };
    let one = edf(vec![periodic("a", 1, TaskClass::Hard, Duration::ZERO)], Scope::Global, End::Jobs(1));
    assert_eq!(plane_domains(&one, &far, Raises::NONE), Err(ThreadsLack::Number { cpu: 64, most: 63 }));
}

#[test]
fn what_ranks_cannot_keep_the_meaning_of_is_refused() {
    let host = Host::look();
    let task = || vec![periodic("a", 0, TaskClass::Hard, Duration::ZERO)];
    let mut raising = edf(task(), Scope::Partitioned, End::Jobs(1));
    raising.locks = vec![lock("plain", LockProtocol::Plain), lock("bus", LockProtocol::Inheritance)];
    assert_eq!(
        plane_domains(&raising, &host, Raises::NONE),
        Err(ThreadsLack::Raising { lock: "bus".into() })
    );
    let mut turns = edf(task(), Scope::Partitioned, End::Jobs(1));
    turns.policy = Policy::new(Scope::Partitioned, Criterion::Llf);
    assert_eq!(plane_domains(&turns, &host, Priorities::RAISES), Err(ThreadsLack::NoRank(Criterion::Llf)));
}

/// Under RR two jobs that want more than a slice each take turns on a CPU, and under FP the one that was there first ends first. A hard
/// task waits for neither.
#[test]
fn equals_take_turns_under_round_robin() {
    let Some((host, _alone)) = host() else { return };
    let Some(slice) = host.slice else {
        return println!("skipped: SCHED_RR: the kernel does not say how long slices are");
    };
    let needs = Duration::new(slice.get() * 5 / 2);
    let soft = |name: &str, offset| Task {
        class: TaskClass::Soft,
        release: Release::Once { offset },
        priority: Some(5),
        ..once(name, 5, vec![compute(needs)])
    };
    let hard = Task { release: Release::Once { offset: slice / 2 }, ..once("hard", 1, vec![compute(ms(1))]) };
    let under = |criterion, quantum| {
        let mut experiment = experiment(vec![soft("first", ms(0)), soft("second", ms(5)), hard.clone()]);
        experiment.policy.criterion = criterion;
        experiment.policy.quantum = quantum;
        experiment
    };
    let ran = ran(&under(Criterion::RoundRobin, Some(slice)), &host);
    let [first, second, hard_job] = [0, 1, 2].map(|task| jobs(&ran.records, task)[0].clone());
    assert!(first.finish > second.start + slice, "{first:?} {second:?}");
    assert!(first.preemptions >= 2 && second.preemptions >= 1, "{first:?} {second:?}");
    assert!(hard_job.finish < second.finish && hard_job.finish < first.finish, "{hard_job:?}");
    let in_turn = self::ran(&under(Criterion::StaticPriority, None), &host);
    let (first, second) = (jobs(&in_turn.records, 0)[0].clone(), jobs(&in_turn.records, 1)[0].clone());
    assert!(second.start >= first.finish, "{first:?} {second:?}");
    let other = admit(&under(Criterion::RoundRobin, Some(slice / 2)), &host).unwrap_err();
    assert_eq!(other, ThreadsLack::Slice { quantum: slice / 2, slice: Some(slice) });
    // Nobody knows that two unknown lengths are equal.
    let unknown =
        admit(&under(Criterion::RoundRobin, None), &Host { slice: None, ..host.clone() }).unwrap_err();
    assert_eq!(unknown, ThreadsLack::Slice { quantum: Duration::ZERO, slice: None });
}

/// Under G-EDF on all CPUs of this machine; nothing where Linux does not take threads under SCHED_DEADLINE here.
fn reserved(tasks: Vec<Task>, host: &Host, jobs: u64) -> Option<Ran> {
    let policy = Policy::new(Scope::Global, Criterion::Edf);
    let experiment = Experiment::new("reserved", chip(host.online), policy, tasks, End::Jobs(jobs));
    let options = Options { under: Under::Deadline, counted: None, folder: None };
    match run(&experiment, host, options, &|| false) {
        Ok(ran) => Some(ran),
        Err(error @ (ThreadsError::Refused { .. } | ThreadsError::Lacks(ThreadsLack::NotAll { .. }))) => {
            println!("skipped: SCHED_DEADLINE: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn budgeted(name: &str, wcet: Duration, needs: Duration, period: Duration) -> Task {
    Task {
        wcet: Some(wcet),
        work: Work { steps: vec![compute(needs)] },
        ..Task::new(name, TaskClass::Hard, Release::Periodic { period, offset: Duration::ZERO })
    }
}

/// Who needs three times its budget has three periods for it, whatever else the CPUs could do.
#[test]
fn a_job_beyond_its_reservation_waits_for_the_next_period() {
    let Some((host, _alone)) = host() else { return };
    let tasks = vec![
        budgeted("beyond", ms(2), ms(6), ms(20)),
        budgeted("within", ms(2), Duration::from_micros(500), ms(20)),
    ];
    let Some(ran) = reserved(tasks, &host, 4) else { return };
    let (beyond, within) = (jobs(&ran.records, 0), jobs(&ran.records, 1));
    // The run does not wait for who falls behind for good.
    assert!(!beyond.is_empty() && within.len() >= 4, "{} and {}", beyond.len(), within.len());
    for job in &beyond {
        let took = job.finish.since(job.start);
        assert!(took >= ms(30), "6 ms by 2 ms in each 20: {took}");
    }
    // On an idle machine each is done in half a millisecond; on a busy one some are late, for others' reservations do not exist.
    let prompt = within.iter().filter(|job| job.finish.since(job.start) < ms(2)).count();
    assert!(prompt * 2 > within.len(), "{prompt} of {}", within.len());
}

#[test]
fn what_sched_deadline_does_not_take_is_refused_by_name() {
    let Some((host, _alone)) = host() else { return };
    let refused = |experiment: &Experiment, host: &Host| {
        let options = Options { under: Under::Deadline, counted: None, folder: None };
        run(experiment, host, options, &|| false).unwrap_err().to_string()
    };
    let task = || budgeted("t", ms(1), ms(1), ms(20));
    let edf = |tasks, scope| {
        Experiment::new("r", chip(host.online), Policy::new(scope, Criterion::Edf), tasks, End::Jobs(1))
    };
    let mut fixed = edf(vec![task()], Scope::Global);
    fixed.policy.criterion = Criterion::StaticPriority;
    assert!(refused(&fixed, &host).contains("it runs the earliest deadline first"));
    let bound = edf(vec![Task { core: Some(CoreId(0)), ..task() }], Scope::Partitioned);
    if host.online > 1 {
        assert!(refused(&bound, &host).contains("that may run on all CPUs"), "{}", refused(&bound, &host));
    }
    let few = Host { cpus: host.cpus[..1].to_vec(), online: 2, ..host.clone() };
    assert!(refused(&edf(vec![task()], Scope::Global), &few).contains("of which 2 are online"));
    let without = edf(vec![Task { wcet: None, ..task() }], Scope::Global);
    let once = edf(vec![Task { release: Release::Once { offset: Duration::ZERO }, ..task() }], Scope::Global);
    if host.cpus.len() == host.online {
        assert!(refused(&without, &host).contains("it lacks a wcet"));
        assert!(refused(&once, &host).contains("it lacks a period"));
        // More than all CPUs, by one.
        let many = (0..=host.online).map(|_| budgeted("full", ms(19), ms(1), ms(20))).collect();
        let error = refused(&edf(many, Scope::Global), &host);
        assert!(error.contains("does not admit all tasks"), "{error}");
        // What would have to be changed before the kernel takes it is refused, not changed.
        let late = Task { deadline: Some(ms(30)), ..task() };
        let tight = Task { deadline: Some(Duration::from_micros(900)), ..task() };
        let tiny = budgeted("t", Duration::new(1023), Duration::new(1), ms(20));
        for (odd, says) in [
            (late, "this is 1ms by 30ms in each 20ms"),
            (tight, "this is 1ms by 900us in each 20ms"),
            (tiny, "this is 1.023us by 20ms in each 20ms"),
        ] {
            let error = refused(&edf(vec![odd], Scope::Global), &host);
            assert!(
                error.contains("SCHED_DEADLINE reserves 1.024us or more") && error.contains(says),
                "{error}"
            );
        }
    }
}

/// The kernel counts of each job what it did: here the nanoseconds that it ran, which are known from elsewhere, too.
#[test]
fn jobs_are_counted_each_for_itself() {
    use solo_model::EventId;
    use solo_perf::resolve::Attr;
    let Some((host, _alone)) = host() else { return };
    // PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK.
    let clock = Attr { kind: 1, config: [1, 0, 0], exclude_user: false, exclude_kernel: false, period: 0 };
    let counted = solo_threads::Counted::new(vec![EventId::TASK_CLOCK], vec![vec![(0, clock)]]);
    if let Err(error) = counted.probe() {
        return println!("skipped: counters of jobs: {error}");
    }
    let task = |name: &str, core, needs| Task {
        priority: Some(1),
        work: Work { steps: vec![compute(needs)] },
        ..periodic(name, core, TaskClass::Hard, Duration::ZERO)
    };
    // Both on one CPU: neither's time is the other's.
    let tasks = vec![task("long", 0, ms(3)), task("short", 0, Duration::from_micros(400))];
    let mut experiment = experiment(tasks);
    experiment.end = End::Jobs(8);
    let options = Options { under: Under::Fifo, counted: Some(&counted), folder: None };
    let ran = run(&experiment, &host, options, &|| false).expect("it runs");
    assert_eq!(ran.multiplexed, 0);
    for (task, least) in [(0, ms(3)), (1, Duration::from_micros(400))] {
        let jobs = jobs(&ran.records, task);
        assert!(jobs.len() >= 8);
        for job in jobs {
            let count = Duration::new(job.counts.get(EventId::TASK_CLOCK).expect("it was counted"));
            assert!(count >= least && count < job.finish.since(job.start) + ms(1), "{count} of {job:?}");
            let (low, high) = (count.min(job.executed), count.max(job.executed));
            assert!(high - low < Duration::from_micros(500), "{count} and {}", job.executed);
        }
    }
}

/// Under EDF by priorities who holds a lock is raised by who waits for it, or at once, also where its own priority changes meanwhile: `top` is first, then
/// last, and everybody's place with it.
#[test]
fn priorities_that_follow_ranks_raise_who_holds_a_lock() {
    let Some((host, _alone)) = host() else { return };
    let with = |protocol| {
        let by = |deadline, task: Task| Task { deadline: Some(ms(deadline)), ..task };
        let low = vec![Step::Acquire(BUS), Step::Release(GO), compute(ms(50)), Step::Release(BUS)];
        let middle = vec![Step::Acquire(NEXT), compute(ms(50))];
        let section = [Step::Acquire(BUS), compute(ms(1)), Step::Release(BUS)];
        let high = [Step::Acquire(GO), Step::Release(NEXT)].into_iter().chain(section).collect();
        let release = Release::Periodic { period: ms(400), offset: ms(10) };
        let tasks = vec![
            by(300, once("low", 1, low)),
            by(200, once("middle", 1, middle)),
            by(100, once("high", 1, high)),
            by(40, Task { release, ..once("top", 1, vec![compute(ms(1))]) }),
        ];
        let mut experiment = experiment(tasks);
        experiment.policy = Policy::new(Scope::Partitioned, Criterion::Edf);
        experiment.end = End::At(ms(400));
        experiment.locks = vec![lock("bus", protocol), signal("go"), signal("next")];
        let plane = Priorities::new(
            &experiment,
            &plane_domains(&experiment, &host, Priorities::RAISES).unwrap(),
            &host,
        )
        .unwrap();
        let key = |_: TaskId, deadline: Option<solo_model::Instant>| deadline.map_or(u64::MAX, |at| at.get());
        let ranking = Ranking { plane: &plane, key: &key };
        run(
            &experiment,
            &host,
            Options { under: Under::Ranked(ranking), counted: None, folder: None },
            &|| false,
        )
        .expect("it runs")
    };
    for (protocol, inverts) in
        [(LockProtocol::Plain, true), (LockProtocol::Inheritance, false), (LockProtocol::Ceiling, false)]
    {
        let ran = with(protocol);
        let [low, middle, high, top] = [0, 1, 2, 3].map(|task| jobs(&ran.records, task)[0].clone());
        let waits = ran.records.iter().filter(|record| {
            matches!(record, Record::Lock(lock) if lock.action == LockAction::Waits && lock.lock == BUS)
        });
        // Who is above all who may ask is not preempted by them: `high` begins when the lock is free.
        let none = protocol == LockProtocol::Ceiling;
        assert_eq!(waits.count(), usize::from(!none), "{protocol:?}");
        assert!(top.start > low.start && top.finish < low.finish, "{top:?} {low:?}");
        assert_eq!(high.finish > middle.finish, inverts, "{protocol:?}");
    }
}

/// A section on one of two CPUs: the two that are less urgent than its ceiling have one CPU between them until it is over, by priorities that stay
/// and by those that follow ranks.
#[test]
fn a_ceiling_holds_on_two_cpus() {
    let Some((host, _alone)) = host() else { return };
    if host.cpus.len() < 2 {
        return println!("skipped: ceilings on two CPUs: one CPU");
    }
    for (protocol, is_asked, expected) in SECTIONS {
        let fixed = sections(Criterion::StaticPriority, protocol, is_asked);
        assert_eq!(inverts(&ran(&fixed, &host).records), expected, "{protocol:?}, asked: {is_asked}");
        let ranked = sections(Criterion::Edf, protocol, is_asked);
        let domains = plane_domains(&ranked, &host, Priorities::RAISES).unwrap();
        let plane = Priorities::new(&ranked, &domains, &host).unwrap();
        let key = |_: TaskId, deadline: Option<solo_model::Instant>| deadline.map_or(u64::MAX, |at| at.get());
        let under = Under::Ranked(Ranking { plane: &plane, key: &key });
        let ran =
            run(&ranked, &host, Options { under, counted: None, folder: None }, &|| false).expect("it runs");
        assert_eq!(inverts(&ran.records), expected, "by ranks: {protocol:?}, asked: {is_asked}");
    }
}

/// EDF by priorities that follow ranks: no job of a later deadline gets ahead of who is there. Rate monotonic priorities are found out by the same look,
/// on one CPU and on two.
#[test]
fn priorities_that_follow_ranks_are_edf() {
    let Some((host, _alone)) = host() else { return };
    if host.cpus.len() < 2 {
        return println!("skipped: EDF by priorities: one CPU");
    }
    for (scope, tasks, cpus) in [
        (Scope::Partitioned, pair(Some(CoreId(0))).to_vec(), 1),
        (Scope::Global, [pair(None), pair(None)].concat(), 2),
    ] {
        let count = tasks.len() as u32;
        let under = |criterion| {
            let policy = Policy::new(scope.clone(), criterion);
            Experiment::new("order", chip(2), policy, tasks.clone(), End::Jobs(8))
        };
        let experiment = under(Criterion::Edf);
        let domains = plane_domains(&experiment, &host, Priorities::RAISES).unwrap();
        let plane = Priorities::new(&experiment, &domains, &host).unwrap();
        let key = |_: TaskId, deadline: Option<solo_model::Instant>| deadline.map_or(u64::MAX, |at| at.get());
        let ranking = Ranking { plane: &plane, key: &key };
        let ranked = run(
            &experiment,
            &host,
            Options { under: Under::Ranked(ranking), counted: None, folder: None },
            &|| false,
        );
        let ranked = ranked.expect("it runs");
        let changes = plane.changes();
        println!("{scope:?}: {changes:?}");
        assert!(changes.count >= u64::from(count) * 8, "{changes:?}");
        assert_eq!(against_the_order(&ranked.records, count, cpus), [], "{scope:?}");
        let monotonic = against_the_order(&ran(&under(Criterion::Rm), &host).records, count, cpus);
        assert!(monotonic.len() >= 2, "{scope:?}: who goes by periods is found out: {monotonic:?}");
    }
}
