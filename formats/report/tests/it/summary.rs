//! The summary against what the records say one by one.

use crate::fabricate::{Stream, corun, mix, solo};
use proptest::prelude::*;
use solo_model::record::*;
use solo_model::*;
use solo_report::report::LockWait;
use solo_report::timeparts::TimePart;
use solo_report::{EndReason, EndedTask, Report, RunEnd, Shortfalls, Summary};

pub(crate) fn summarise(
    experiment: &Experiment,
    records: impl IntoIterator<Item = Record>,
    end: Instant,
) -> Report {
    let mut summary = Summary::new(experiment);
    records.into_iter().for_each(|record| summary.add(&record));
    summary.finish(end)
}

#[test]
fn every_figure_of_a_task_follows_from_its_records() {
    let what = corun();
    let end = Duration::from_secs(4);
    let records: Vec<Record> = Stream::new(&what, 3).until(end).collect();
    let report = summarise(&what.0, records.iter().cloned(), Instant::ZERO + end);
    let jobs: Vec<&JobRecord> = records
        .iter()
        .filter_map(|record| match record {
            Record::Job(job) if job.task == TaskId(0) => Some(job),
            _ => None,
        })
        .collect();
    let frame = &report.tasks[0];
    assert!(jobs.len() > 190, "{}", jobs.len());
    assert_eq!(frame.jobs, jobs.len() as u64);
    assert_eq!(frame.response.max(), jobs.iter().map(|job| job.response()).max());
    assert_eq!(frame.response.min(), jobs.iter().map(|job| job.response()).min());
    assert_eq!(frame.misses, jobs.iter().filter(|job| job.missed()).count() as u64);
    assert!(frame.misses > 0 && frame.misses < frame.jobs);
    assert_eq!(frame.tardiness_sum, jobs.iter().map(|job| job.tardiness()).sum::<Duration>());
    assert_eq!(frame.tardiness_max, jobs.iter().map(|job| job.tardiness()).max().unwrap());
    let lateness: i128 = jobs.iter().filter_map(|job| job.lateness_ns()).map(i128::from).sum();
    assert_eq!(frame.lateness_sum_ns, lateness);
    assert!(frame.lateness_mean_ns().unwrap() < 0, "an early job is negative (thesis 8.3.3)");
    assert_eq!(frame.executed, jobs.iter().map(|job| job.executed).sum::<Duration>());
    let queued: Duration = jobs.iter().map(|job| job.stalls.unwrap().dram_queue_others).sum();
    assert_eq!(frame.time.total(TimePart::DramQueueOthers), queued);
    let worst = jobs.iter().max_by_key(|job| (job.response(), std::cmp::Reverse(job.job))).unwrap();
    assert_eq!(frame.worst.as_ref().unwrap().job, worst.job);
    assert_eq!(report.doubts.records, records.len() as u64);
    assert_eq!(report.doubts.vanished, 0);
}

/// A scheduler that listens: whom it kept off a core, how often, for how long and which part of the run.
#[test]
fn who_was_kept_off_its_core_stands_in_the_report() {
    use solo_model::listening::{Listening, Observed, Reaction};
    let (mut experiment, at) = (mix().0, |ms| Instant::ZERO + Duration::from_millis(ms));
    let told = |experiment: &Experiment, records: Vec<Record>| {
        let report = summarise(experiment, records, at(1000));
        let verdict = solo_report::verdict::verdict(&report, None);
        solo_report::table::report(&report, &verdict, None, solo_report::table::Style::PLAIN)
    };
    assert!(!told(&experiment, Vec::new()).contains("listened to"), "nobody listens");
    let observed = Observed::count_of(EventId::SNOOP_HITM);
    experiment.listening = Some(Listening::new(observed, Duration::from_millis(10), Reaction::Yield));
    let idle = told(&experiment, Vec::new());
    assert!(idle.contains("`yield` had nothing to do") && !idle.contains("listened to"), "{idle}");
    // Who gives ways or slows cores has something to do, and holds nobody.
    let mut divides = experiment.clone();
    divides.listening.as_mut().expect("it listens").reaction = Reaction::Utility;
    let divides = told(&divides, Vec::new());
    assert!(divides.contains("for `utility`, which holds and moves nobody"), "{divides}");
    let held = |since, until| Record::Held(HeldRecord { at: at(until), since: at(since), task: TaskId(1) });
    let busy = told(&experiment, vec![held(10, 20), held(30, 40)]);
    let row =
        busy.lines().skip_while(|line| !line.contains("listened to")).find(|line| line.contains(" 2.0 %"));
    let row = row.unwrap_or_else(|| panic!("{busy}"));
    assert!(row.contains(&experiment.tasks[1].name) && row.contains("20"), "{row}");
}

#[test]
fn the_worst_window_shows_the_worst_job_uncut() {
    let what = mix();
    let end = Duration::from_secs(3);
    let report = summarise(&what.0, Stream::new(&what, 5).until(end), Instant::ZERO + end);
    let window = report.worst.unwrap();
    assert!(window.from <= window.release && window.finish <= window.to);
    let own: Vec<_> = window.segments.iter().filter(|s| s.task == window.task).collect();
    assert!(!own.is_empty());
    assert!(own.iter().any(|segment| segment.to == window.finish), "the job's last stretch ends with it");
    for pair in window.segments.windows(2) {
        assert!(pair[0].core != pair[1].core || pair[0].to <= pair[1].from, "overlap: {pair:?}");
    }
    assert!(window.segments.iter().all(|s| window.from <= s.from && s.from < s.to && s.to <= window.to));
}

#[test]
fn busy_time_is_the_time_between_switches() {
    let what = mix();
    let end = Duration::from_secs(1);
    let report = summarise(&what.0, Stream::new(&what, 2).until(end), Instant::ZERO + end);
    let on_core: Duration = report.tasks.iter().map(|task| task.on_core).sum();
    assert_eq!(on_core, report.cores.iter().map(|core| core.busy).sum::<Duration>());
    assert!(report.cores.iter().all(|core| core.busy <= end));
}

#[test]
fn an_unfinished_job_past_its_deadline_is_a_miss_and_one_before_it_is_not() {
    let (experiment, _) = solo();
    let unfinished = |deadline_ms: u64| {
        Record::Unfinished(UnfinishedRecord {
            at: Instant::new(50_000_000),
            task: TaskId(0),
            job: JobIndex(0),
            release: Instant::ZERO,
            deadline: Some(Instant::ZERO + Duration::from_millis(deadline_ms)),
            executed: Duration::ZERO,
        })
    };
    let late = summarise(&experiment, [unfinished(13)], Instant::new(50_000_000));
    let task = &late.tasks[0];
    assert_eq!((task.misses, task.misses_unfinished, task.judged), (1, 1, 1));
    assert_eq!(task.tardiness_max, Duration::from_millis(37));
    let open = summarise(&experiment, [unfinished(60)], Instant::new(50_000_000));
    assert_eq!((open.tasks[0].misses, open.tasks[0].judged, open.tasks[0].unfinished), (0, 0, 1));
}

#[test]
fn what_cannot_be_right_is_counted_as_a_doubt() {
    let (experiment, _) = solo();
    let switch = |at: u64, core: u16, task: u32| {
        let (at, core, to) = (Instant::new(at), CoreId(core), Some(TaskId(task)));
        Record::Switch(SwitchRecord { at, core, from: None, to, reason: SwitchReason::Idle })
    };
    let dropped = Record::Dropped(DroppedRecord { at: Instant::new(30), count: 7 });
    let records = [switch(20, 0, 0), switch(10, 0, 0), switch(20, 99, 0), switch(20, 0, 99), dropped];
    let doubts = summarise(&experiment, records, Instant::new(100)).doubts;
    assert_eq!((doubts.records, doubts.dropped), (5, 7));
    assert_eq!((doubts.out_of_order, doubts.strangers), (1, 2));
}

#[test]
fn what_the_machine_did_not_do_is_told() {
    let (experiment, _) = solo();
    let report = || summarise(&experiment, [], Instant::new(100));
    let ended = |shortfalls| RunEnd {
        end: Instant::new(100),
        reason: EndReason::TimeOver,
        stop_on: None,
        shortfalls,
        ended: Vec::new(),
        heard: Vec::new(),
        curves: Vec::new(),
    };
    let doubt = |shortfalls| {
        let lines = solo_report::verdict::verdict(&report().with_outcome(&ended(shortfalls)), None).lines;
        lines.into_iter().find(|line| line.starts_with("Doubt"))
    };
    assert_eq!(doubt(Shortfalls::default()), None);
    let told = doubt(Shortfalls { unlocked_lines: 1, refused_counters: 9 }).expect("it is a doubt");
    assert!(told.contains("1 line was to be locked and is not"), "{told}");
    assert!(told.contains("9 requests to performance counters were refused"), "{told}");
}

/// What is said of a run whose first task ended before it, and why.
fn of_one_that_ended(experiment: &Experiment, why: &str) -> solo_report::Verdict {
    let end = EndedTask { task: TaskId(0), at: Instant::new(90), why: why.to_owned() };
    let outcome = RunEnd {
        end: Instant::new(100),
        reason: EndReason::TimeOver,
        stop_on: None,
        shortfalls: Shortfalls::default(),
        ended: vec![end],
        heard: Vec::new(),
        curves: Vec::new(),
    };
    let report = summarise(experiment, [], Instant::new(100)).with_outcome(&outcome);
    solo_report::verdict::verdict(&report, None)
}

/// A thread that died is no thread whose deadlines hold, however early it died.
#[test]
fn a_task_that_ended_before_its_time_is_told_first_and_holds_nothing() {
    let (mut experiment, _) = solo();
    for (class, held, hard_held) in
        [(TaskClass::Hard, false, false), (TaskClass::Soft, false, true), (TaskClass::BestEffort, true, true)]
    {
        experiment.tasks[0].class = class;
        let told = of_one_that_ended(&experiment, "no memory");
        assert_eq!((told.held, told.hard_held, told.ended_tasks), (held, hard_held, u64::from(!held)));
        let name = &experiment.tasks[0].name;
        let first = format!("{name} ended at 90.0 ns, and none of its later jobs was released: no memory.");
        assert_eq!(told.lines[0] == first, !held, "{:?}", told.lines);
    }
}

/// Why a thread of a program ended is the program's own text: a panic's, for example.
#[test]
fn why_a_task_ended_says_nothing_to_a_terminal() {
    let (experiment, _) = solo();
    let told = of_one_that_ended(&experiment, "red \u{1b}[31m\nand more");
    assert!(told.lines[0].ends_with("released: red \\u{1b}[31m\\nand more."), "{:?}", told.lines);
    assert!(told.lines.iter().all(|line| !line.contains(solo_model::text::is_hidden)), "{:?}", told.lines);
}

#[test]
fn a_lock_wait_is_told_from_waiting_for_a_core() {
    let (mut experiment, _) = solo();
    let protocol = work::LockProtocol::Plain;
    experiment.locks.push(work::Lock { name: "buffer".into(), protocol });
    let lock = |at: u64, action| {
        Record::Lock(LockRecord { at: Instant::new(at), task: TaskId(0), lock: LockId(0), action })
    };
    let job = Record::Job(JobRecord {
        task: TaskId(0),
        job: JobIndex(0),
        core: CoreId(0),
        release: Instant::new(0),
        start: Instant::new(100),
        finish: Instant::new(1000),
        deadline: None,
        executed: Duration::new(400),
        preemptions: 0,
        migrations: 0,
        backlog: 0,
        counts: Counts::NONE,
        stalls: None,
    });
    let records = [lock(200, LockAction::Waits), lock(500, LockAction::Granted), job];
    let report = summarise(&experiment, records, Instant::new(1000));
    let time = &report.tasks[0].time;
    let part = |part| time.total(part).get();
    assert_eq!((part(TimePart::Blocked), part(TimePart::Ready), part(TimePart::Running)), (300, 300, 400));
    let expected = LockWait { lock: LockId(0), name: "buffer".to_owned(), waited: Duration::new(300) };
    assert_eq!(report.tasks[0].lock_waits, [expected]);
    assert_eq!(report.doubts.jobs_without_stalls, 1);
}

/// Three jobs of 400 each 300: each waits for the one before. In the second the core is stopped for 50, of which 30 lie
/// after the first one's end.
#[test]
fn its_own_backlog_and_the_cores_budget_are_told_from_waiting_for_a_core() {
    let (mut experiment, _) = solo();
    experiment.tasks[0].core = Some(CoreId(0));
    experiment.isolation.bandwidth = Some(crate::isolation::regulation());
    let release = |job: u64| {
        let at = Instant::new(300 * job);
        let job = JobIndex(job);
        Record::Release(ReleaseRecord {
            at,
            core: CoreId(0),
            task: TaskId(0),
            job,
            release: at,
            deadline: None,
        })
    };
    let job = |number: u64, start: u64, finish: u64| {
        Record::Job(JobRecord {
            task: TaskId(0),
            job: JobIndex(number),
            core: CoreId(0),
            release: Instant::new(300 * number),
            start: Instant::new(start),
            finish: Instant::new(finish),
            deadline: None,
            executed: Duration::new(400),
            preemptions: 0,
            migrations: 0,
            backlog: 0,
            counts: Counts::NONE,
            stalls: None,
        })
    };
    let throttle = |since: u64, at: u64| {
        let (at, since) = (Instant::new(at), Instant::new(since));
        Record::Throttle(ThrottleRecord { at, since, core: CoreId(0) })
    };
    let time = |upto: usize| {
        let records = [
            release(0),
            release(1),
            job(0, 0, 400),
            // Of the stop from 380 on, the first 20 belong to the first job.
            throttle(380, 430),
            release(2),
            job(1, 430, 840),
            job(2, 840, 1240),
            // The core was stopped again before this one came: it did not wait for that.
            throttle(1300, 1450),
            release(5),
            job(5, 1500, 1900),
        ];
        let records = records.into_iter().take(upto);
        summarise(&experiment, records, Instant::new(2000)).tasks[0].time.clone()
    };
    let parts = |time: &solo_report::timeparts::TimeSplit| {
        [TimePart::Backlog, TimePart::Throttled, TimePart::Ready, TimePart::Running]
            .map(|part| time.total(part).get())
    };
    assert_eq!(parts(&time(3)), [0, 0, 0, 400]);
    // Released at 300, begins at 430: 100 behind the first, 30 while its core is stopped, and 10 lost in between.
    assert_eq!(parts(&time(6)), [100, 30, 10, 800]);
    assert_eq!(parts(&time(7)), [100 + 240, 30, 10, 1200]);
    assert_eq!(parts(&time(10)), [340, 30, 10, 1600]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    /// Pausing anywhere, here by going through a run directory's frames of any size, changes nothing.
    #[test]
    fn a_summary_does_not_depend_on_how_its_records_arrive(seed in 0_u64..1000, cut in 0_usize..2000) {
        let what = corun();
        let end = Instant::new(400_000_000);
        let records: Vec<Record> = Stream::new(&what, seed).until(Duration::from_millis(400)).collect();
        let whole = summarise(&what.0, records.iter().cloned(), end);
        let mut summary = Summary::new(&what.0);
        let (head, tail) = records.split_at(cut.min(records.len()));
        for chunk in [head, &[], tail] {
            chunk.iter().for_each(|record| summary.add(record));
        }
        prop_assert_eq!(summary.finish(end), whole);
    }
}

#[test]
fn memory_does_not_grow_with_the_run() {
    let what = corun();
    let size_after = |records: usize| {
        let mut summary = Summary::new(&what.0);
        Stream::new(&what, 1).take(records).for_each(|record| summary.add(&record));
        let report = summary.finish(Instant::ZERO);
        serde_json::to_string(&report).unwrap().len()
    };
    let (small, large) = (size_after(200_000), size_after(1_000_000));
    assert!(large < small * 5 / 4, "a report of {small} bytes grew to {large}");
}

/// A deadlock is named, and a job that was given up counts as a miss, however far off its deadline is.
#[test]
fn a_deadlock_and_jobs_that_never_ran_are_told() {
    let what = mix();
    let mut experiment = what.0.clone();
    experiment.locks =
        vec![solo_model::work::Lock { name: "bus".into(), protocol: solo_model::work::LockProtocol::Plain }];
    let at = Instant::new(2_000_000);
    let lock = LockRecord { at, task: TaskId(0), lock: LockId(0), action: LockAction::Deadlock };
    let skipped = |job| SkippedRecord {
        at,
        task: TaskId(0),
        job: JobIndex(job),
        release: Instant::new(job),
        deadline: Some(Instant::new(9_000_000)),
    };
    let records = [Record::Lock(lock), Record::Skipped(skipped(1)), Record::Skipped(skipped(2))];
    let report = summarise(&experiment, records, Instant::new(10_000_000));
    assert_eq!((report.tasks[0].skipped, report.tasks[0].misses, report.tasks[0].judged), (2, 2, 2));
    let verdict = solo_report::verdict::verdict(&report, None);
    assert!(!verdict.held);
    let name = &report.tasks[0].name;
    assert!(
        verdict.lines[0].starts_with(&format!("Deadlock at 2.00 ms: {name} waits for the lock bus")),
        "{verdict:?}"
    );
    assert!(verdict.lines[1].starts_with(&format!("{name} waits for a lock that never")), "{verdict:?}");
    assert!(verdict.lines[2].starts_with(&format!("2 jobs of {name} never ran")), "{verdict:?}");
}

/// Tasks that wait in a circle, and who waits for what they hold, miss nothing as long as their deadlines are far off: they do not hold
/// them either.
#[test]
fn who_waits_for_ever_holds_nothing() {
    let (mut experiment, _) = solo();
    let lock = |name: &str| work::Lock { name: name.into(), protocol: work::LockProtocol::Plain };
    experiment.locks = vec![lock("a"), lock("b")];
    let template = experiment.tasks[0].clone();
    experiment.tasks = (0..4)
        .map(|task| {
            let class = if task == 2 { TaskClass::Soft } else { TaskClass::BestEffort };
            solo_model::task::Task { name: format!("t{task}"), class, ..template.clone() }
        })
        .collect();
    let record = |task: u32, lock: u16, action| {
        Record::Lock(LockRecord { at: Instant::new(5), task: TaskId(task), lock: LockId(lock), action })
    };
    let circle = [
        record(0, 0, LockAction::Acquired),
        record(1, 1, LockAction::Acquired),
        record(0, 1, LockAction::Waits),
        record(2, 1, LockAction::Waits),
        record(1, 0, LockAction::Waits),
        record(1, 0, LockAction::Deadlock),
    ];
    let verdict = |experiment: &Experiment| {
        let report = summarise(experiment, circle.clone(), Instant::new(100));
        assert_eq!(report.tasks.iter().map(|task| task.stuck).collect::<Vec<_>>(), [true, true, true, false]);
        solo_report::verdict::verdict(&report, None)
    };
    // The soft one is in no circle.
    let told = verdict(&experiment);
    assert_eq!((told.held, told.hard_held, told.stuck_tasks), (false, true, 1), "{told:?}");
    experiment.tasks[0].class = TaskClass::Hard;
    let told = verdict(&experiment);
    assert_eq!((told.held, told.hard_held, told.stuck_tasks), (false, false, 2), "{told:?}");
    assert!(told.lines[1].starts_with("t0, t1 and t2 wait for a lock"), "{told:?}");
    for task in &mut experiment.tasks {
        task.class = TaskClass::BestEffort;
    }
    assert!(verdict(&experiment).held);
}

/// A bound that is exceeded is a bug only where nobody's execution time is unknown: what a task without a bound declares isn't held
/// against what it took, so it is named.
#[test]
fn a_bound_that_is_exceeded_is_no_bug_for_sure_while_others_have_none() {
    let what = corun();
    let end = Duration::from_secs(1);
    let report = summarise(&what.0, Stream::new(&what, 3).until(end), Instant::ZERO + end);
    let bound = Some(solo_report::Bound {
        response: Duration::new(1),
        occupied: Duration::from_secs(1),
        misses: None,
    });
    let told = |bounds: &[Option<solo_report::Bound>]| {
        solo_report::verdict::verdict(&report.clone().with_bounds(bounds), None).lines.join("\n")
    };
    let all = vec![bound; report.tasks.len()];
    assert!(
        told(&all).contains("for longer than the proofs suppose: this is a bug of Solocore"),
        "{}",
        told(&all)
    );
    let mut one = vec![None; report.tasks.len()];
    one[0] = bound;
    let told = told(&one);
    assert!(told.contains("above its bound") && told.contains("If none of "), "{told}");
    assert!(told.contains(&report.tasks[1].name), "{told}");
}
