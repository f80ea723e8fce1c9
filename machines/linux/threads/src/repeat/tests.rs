//! Made-up runs, whose changes are those of [`Priorities`] with system calls that do nothing; then each change is made wrong in some way.

use super::{Compared, Otherwise, repeat};
use crate::by_priority::Priorities;
use crate::change_log::{Change, ChangeLog, Room, users_of};
use crate::coordinate::Ran;
use crate::host::Host;
use crate::plane::{Plane, PlaneDomains};
use solo_model::experiment::End;
use solo_model::fixtures::chip;
use solo_model::record::{LockAction, LockRecord, ReleaseRecord};
use solo_model::task::Release;
use solo_model::work::{Lock, LockProtocol, Step, Work};
use solo_model::{
    CoreId, CoreSet, Duration, Experiment, Instant, JobIndex, JobRecord, LockId, Policy, Record, Scope,
    SplitMix64, Task, TaskClass, TaskId,
};
use solo_schedule::criteria::{Edf, Rm, Sjf};
use solo_schedule::{Criterion, JobView, Rank, TaskParameters};
use std::io;

/// All classes are one here.
fn key_of(rank: Rank) -> u64 {
    rank.key().cast_unsigned()
}

/// Tasks 0 to 3 on one core and 4 and 5 on another; 0, 1 and 3 use a lock with a ceiling.
fn experiment() -> Experiment {
    let bus = LockId(0);
    let task = |number: u64| {
        let core = CoreId(u16::from(number > 3));
        let steps = match number {
            0 | 1 | 3 => vec![Step::Acquire(bus), Step::Release(bus)],
            _ => Vec::new(),
        };
        let period = Duration::from_millis(10 + 7 * number);
        Task {
            core: Some(core),
            deadline: Some(Duration::from_millis(9 + 3 * number)),
            wcet: Some(Duration::from_millis(9 - number)),
            work: Work { steps },
            ..Task::new(
                format!("t{number}"),
                TaskClass::Hard,
                Release::Periodic { period, offset: Duration::ZERO },
            )
        }
    };
    let policy = Policy::new(Scope::Partitioned, solo_model::Criterion::Edf);
    let end = End::At(Duration::from_secs(1));
    let mut experiment = Experiment::new("made up", chip(2), policy, (0..6).map(task).collect(), end);
    experiment.locks = vec![Lock { name: "bus".into(), protocol: LockProtocol::Ceiling }];
    experiment
}

fn domains() -> PlaneDomains {
    PlaneDomains {
        cpus: vec![CoreSet::only(CoreId(0)), CoreSet::only(CoreId(1))],
        of_task: vec![0, 0, 0, 0, 1, 1],
    }
}

fn done(_: u32, _: i32) -> io::Result<()> {
    Ok(())
}

/// A job that is under way.
struct Doing {
    job: u64,
    start: Option<Instant>,
    holds: bool,
}

/// A run whose threads take turns by chance, with keys by a criterion.
struct Run {
    experiment: Experiment,
    plane: Priorities,
    began: u64,
    records: Vec<Record>,
}

impl Run {
    fn now(&self) -> Instant {
        // No two things at one time.
        let before = solo_perf::now();
        while solo_perf::now() == before {}
        Instant::new(solo_perf::now() - self.began)
    }

    fn key<C: Criterion>(&self, task: TaskId, job: u64) -> (Instant, Option<Instant>, u64) {
        let own = &self.experiment.tasks[task.index()];
        let period = own.release.period().map_or(0, Duration::get);
        let release = Instant::new(period * job);
        let deadline = own.relative_deadline().map(|deadline| release + deadline);
        let (parameters, executed) = (TaskParameters::from(own), Duration::ZERO);
        let view =
            JobView { task, parameters: &parameters, release, deadline, executed, turn: 0, yielded: false };
        (release, deadline, key_of(C::rank(&view)))
    }

    fn lock(&mut self, task: TaskId, action: LockAction) {
        let at = self.now();
        self.records.push(Record::Lock(LockRecord { at, task, lock: LockId(0), action }));
    }

    /// A thread goes on by a step.
    fn step<C: Criterion>(&mut self, task: TaskId, doing: &mut Doing) {
        let (bus, own) = (LockId(0), JobIndex(doing.job));
        let (release, deadline, _) = self.key::<C>(task, doing.job);
        let users = users_of(&self.experiment, bus);
        match (doing.start, doing.holds) {
            (None, _) => {
                let at = self.now();
                doing.start = Some(at);
                let core = CoreId(0);
                self.records.push(Record::Release(ReleaseRecord {
                    at,
                    core,
                    task,
                    job: own,
                    release,
                    deadline,
                }));
                if users.contains(&task) {
                    self.plane.raise(task, bus, &users).unwrap();
                    self.lock(task, LockAction::Acquired);
                    doing.holds = true;
                }
            }
            (Some(_), true) => {
                self.lock(task, LockAction::Released);
                self.plane.lower(task, bus).unwrap();
                doing.holds = false;
            }
            (Some(start), false) => {
                let finish = self.now();
                self.records.push(Record::Job(JobRecord {
                    task,
                    job: own,
                    core: CoreId(0),
                    release,
                    start,
                    finish,
                    deadline,
                    executed: Duration::ZERO,
                    preemptions: 0,
                    migrations: 0,
                    backlog: 0,
                    counts: solo_model::Counts::default(),
                    stalls: None,
                }));
                *doing = Doing { job: doing.job + 1, start: None, holds: false };
                let (_, _, key) = self.key::<C>(task, doing.job);
                self.plane.rank(task, key).unwrap();
            }
        }
    }
}

/// A run with keys by a criterion, and room for so many changes of an order.
fn made_up<C: Criterion>(seed: u64, room: usize) -> (Experiment, Vec<ChangeLog>, Ran) {
    let host = Host { priorities: (1, 99), ..Host::look() };
    let plane =
        Priorities::giving(&domains(), &host, done, |tasks, orders| Room::new(room, tasks.len(), orders));
    let mut random = SplitMix64::new(seed);
    let mut run =
        Run { experiment: experiment(), plane: plane.unwrap(), began: solo_perf::now(), records: Vec::new() };
    let mut doing: Vec<Doing> = (0..6).map(|_| Doing { job: 0, start: None, holds: false }).collect();
    for task in (0..6).map(TaskId) {
        let (_, _, key) = run.key::<C>(task, 0);
        run.plane.enter(task, 100 + task.0, key).unwrap();
        run.plane.rank(task, key).unwrap();
    }
    for _ in 0..400 {
        let task = random.below(6) as u32;
        run.step::<C>(TaskId(task), &mut doing[task as usize]);
    }
    let end = run.now();
    let Run { experiment, plane, began, records } = run;
    let ran = Ran {
        records,
        began,
        end,
        cut_off: false,
        cpus: Vec::new(),
        no_switches: None,
        multiplexed: 0,
        failed: Vec::new(),
    };
    (experiment, plane.into_logs(), ran)
}

fn compared<C: Criterion>((experiment, logs, ran): &(Experiment, Vec<ChangeLog>, Ran)) -> Compared {
    repeat::<C>(logs, experiment, ran, key_of)
}

/// The number of a change among all by time.
fn number(logs: &[ChangeLog], at: u64) -> u64 {
    logs.iter().flat_map(|log| &log.changes).filter(|changed| changed.at < at).count() as u64
}

#[test]
fn what_the_criterion_demands_is_found_to_be_so() {
    for seed in 0..20 {
        for (made, compared) in [
            (made_up::<Edf>(seed, 1000), compared::<Edf> as fn(&_) -> _),
            (made_up::<Sjf>(seed, 1000), compared::<Sjf>),
            (made_up::<Rm>(seed, 1000), compared::<Rm>),
        ] {
            let changes: u64 = made.1.iter().map(|log| log.changes.len() as u64).sum();
            assert!(changes > 200, "{changes}");
            assert_eq!(compared(&made), Compared { changes, ..Compared::default() }, "{seed}");
        }
    }
}

/// Who has keys by periods is not EDF, however well the order fits the keys.
#[test]
fn an_order_by_another_criterion_is_found() {
    let made = made_up::<Rm>(1, 1000);
    let found = compared::<Edf>(&made);
    assert!(found.otherwise * 2 > found.changes, "{found:?}");
    assert_eq!(found.first, Some((0, Otherwise::Key)), "{found:?}");
}

/// Each change of a run is made wrong, one at a time: it is the first one that is found, and what is wrong with it is told.
#[test]
fn whatever_is_wrong_with_a_change_is_found_there() {
    let made = made_up::<Edf>(2, 1000);
    let wrong = |what: Otherwise, change: &dyn Fn(&mut ChangeLog, usize, usize) -> bool| {
        let mut tried = 0;
        for log in 0..made.1.len() {
            let mut from = 0;
            for at in 0..made.1[log].changes.len() {
                let mut other = made.clone();
                if change(&mut other.1[log], at, from) {
                    tried += 1;
                    let found = compared::<Edf>(&other);
                    let here = number(&other.1, made.1[log].changes[at].at);
                    assert_eq!(found.first, Some((here, what)), "{log} {at}: {found:?}");
                    assert!(found.otherwise >= 1 && found.changes == number(&made.1, u64::MAX), "{found:?}");
                }
                from += made.1[log].changes[at].calls as usize;
            }
        }
        assert!(tried > 40, "{what:?}: {tried}");
    };
    wrong(Otherwise::Key, &|log, at, _| {
        log.changes[at].key += 1;
        true
    });
    wrong(Otherwise::Order, &|log, at, _| {
        let changed = &mut log.changes[at];
        changed.place = if changed.place == 0 { 1 } else { changed.place - 1 };
        true
    });
    let calls = |log: &ChangeLog, at: usize| log.changes[at].calls;
    wrong(Otherwise::Priorities, &|log, at, from| {
        let called = calls(log, at) > 0;
        if called {
            // The last call is that of the thread that moves.
            let last = from + calls(log, at) as usize - 1;
            log.calls[last].priority += 1;
        }
        called
    });
    wrong(Otherwise::Priorities, &|log, at, from| {
        let called = calls(log, at) > 0;
        if called {
            log.calls[from].refused = libc::EPERM;
        }
        called
    });
    wrong(Otherwise::Priorities, &|log, at, from| {
        let called = calls(log, at) > 0;
        if called {
            log.calls.remove(from + calls(log, at) as usize - 1);
            log.changes[at].calls -= 1;
        }
        called
    });
    wrong(Otherwise::Priorities, &|log, at, from| {
        let called = calls(log, at) > 0;
        if called {
            log.calls[from].thread = 999;
        }
        called
    });
    wrong(Otherwise::Meanwhile, &|log, at, from| {
        // Those that make room, in the other direction: two of them are in the wrong order for a moment.
        let enough = calls(log, at) > 2;
        if enough {
            let last = from + calls(log, at) as usize - 1;
            log.calls[from..last].reverse();
        }
        enough
    });
}

/// Changes that come too late for the job or the section that they are for, or never.
#[test]
fn changes_out_of_time_and_changes_that_never_were_are_found() {
    let made = made_up::<Edf>(3, 1000);
    let tell = |change: &dyn Fn(&mut Vec<ChangeLog>, &mut Ran)| {
        let mut other = made.clone();
        change(&mut other.1, &mut other.2);
        compared::<Edf>(&other)
    };
    let last = |logs: &[ChangeLog], of: &dyn Fn(Change) -> bool| {
        logs[0].changes.iter().rposition(|changed| of(changed.change)).unwrap()
    };
    // Later than the thread asked for the lock.
    let raise = last(&made.1, &|change| matches!(change, Change::Raise(_)));
    let late = tell(&|logs, ran| {
        logs[0].changes[raise].at += 1_000_000_000;
        ran.end = Instant::new(ran.end.get() + 2_000_000_000);
    });
    assert!(matches!(late.first, Some((_, Otherwise::Time))) && late.otherwise == 1, "{late:?}");
    // Before the job before was done, and before the lock was given back.
    for kind in [Change::Rank, Change::Lower(LockId(0))] {
        let own = last(&made.1, &|change| change == kind);
        let early = tell(&|logs, ran| logs[0].changes[own].at = ran.began);
        assert!(early.first.is_some_and(|(_, what)| what == Otherwise::Time), "{kind:?}: {early:?}");
    }
    // The last change of an order is left out, with its calls, and the records know of it.
    for kind in [Change::Raise(LockId(0)), Change::Lower(LockId(0)), Change::Rank] {
        let without = tell(&|logs, ran| {
            let log = &mut logs[0];
            let own = last(std::slice::from_ref(log), &|change| change == kind);
            let from: u32 = log.changes[..own].iter().map(|changed| changed.calls).sum();
            log.changes.truncate(own);
            log.calls.truncate(from as usize);
            // So that a last place is that of a job which was done.
            if let Some(Record::Job(job)) =
                ran.records.iter().rev().find(|record| matches!(record, Record::Job(_)))
            {
                let mut more = job.clone();
                (more.task, more.job) = (TaskId(0), JobIndex(9_999));
                ran.records.push(Record::Job(more));
            }
        });
        assert!(matches!(without.first, Some((_, Otherwise::Missing))), "{kind:?}: {without:?}");
        assert!(without.otherwise > 0 && without.not_kept == 0, "{kind:?}: {without:?}");
    }
    // Left out in the middle, and the others are numbered as if it had never been.
    let mut found = 0;
    for own in 0..made.1[0].changes.len() - 12 {
        let without = tell(&|logs, _| {
            let log = &mut logs[0];
            let from: u32 = log.changes[..own].iter().map(|changed| changed.calls).sum();
            let until = from + log.changes[own].calls;
            log.changes.remove(own);
            log.calls.drain(from as usize..until as usize);
            (0..).zip(&mut log.changes).for_each(|(number, changed)| changed.number = number);
        });
        assert!(without.otherwise > 0, "{own}: {without:?}");
        found += 1;
    }
    assert!(found > 100, "{found}");
    // A task without any place, whose jobs were done.
    let without = tell(&|logs, _| drop(logs.remove(1)));
    assert!(matches!(without.first, Some((_, Otherwise::Missing))), "{without:?}");
}

/// The records of a job say otherwise than what the key was made of.
#[test]
fn the_records_count_and_not_the_key_that_was_kept() {
    let mut made = made_up::<Edf>(4, 1000);
    let own = made.2.records.iter_mut().filter_map(|record| match record {
        Record::Release(release) if release.job.0 == 3 => Some(release),
        _ => None,
    });
    let changed = own.map(|release| release.deadline = Some(Instant::new(1))).count() as u64;
    let found = compared::<Edf>(&made);
    assert!(changed > 2 && found.otherwise >= changed, "{changed}: {found:?}");
    assert!(matches!(found.first, Some((_, Otherwise::Key))), "{found:?}");
}

/// What is not kept is counted, and nothing after it is compared; what comes after the end of the run is not.
#[test]
fn changes_without_room_or_after_the_end_are_counted_and_not_compared() {
    let whole = made_up::<Edf>(5, 1000);
    let changes = number(&whole.1, u64::MAX);
    let small = made_up::<Edf>(5, 20);
    let kept: Vec<_> = small.1.iter().map(|log| (log.changes.len(), log.not_kept > 0)).collect();
    assert_eq!(kept, [(20, true), (20, true)]);
    let found = compared::<Edf>(&small);
    assert_eq!(found, Compared { changes: 40, not_kept: changes - 40, ..Compared::default() });
    // A hole is seen by its number.
    let mut hole = whole.clone();
    let gone = hole.1[0].changes.remove(30);
    hole.1[0].calls.drain(..gone.calls as usize);
    let found = compared::<Edf>(&hole);
    let others = whole.1[1].changes.len() as u64;
    assert_eq!(found, Compared { changes: 30 + others, not_kept: 1, ..Compared::default() }, "{found:?}");
    // Half of the run, with the records that are left of it.
    let mut half = whole.clone();
    half.2.end = Instant::new(half.2.end.get() / 2);
    let end = half.2.end;
    half.2.records.retain(|record| record.at() <= end);
    let found = compared::<Edf>(&half);
    assert!(found.after_end > 20 && found.changes + found.after_end == changes, "{found:?}");
    assert_eq!(found.otherwise, 0, "{found:?}");
}

/// Who has ended is given no priority, and that is no fault; who went on afterwards had not ended.
#[test]
fn threads_that_have_ended_need_no_priority() {
    let made = made_up::<Edf>(6, 1000);
    let gone = |log: usize, task: u32, at: usize| {
        let mut other = made.clone();
        let from: usize = other.1[log].changes[..at].iter().map(|changed| changed.calls as usize).sum();
        let own = other.1[log].calls[from..].iter_mut().filter(|call| call.thread == 100 + task);
        let refused = own.map(|call| call.refused = libc::ESRCH).count();
        (refused, compared::<Edf>(&other))
    };
    for (log, task) in [(0, 0), (0, 1), (0, 2), (0, 3), (1, 4), (1, 5)] {
        // Its last change is its own, and it was there to make it.
        let own = made.1[log].changes.iter().rposition(|changed| changed.task == TaskId(task));
        let (_, found) = gone(log, task, own.unwrap() + 1);
        assert_eq!(found.otherwise, 0, "{task}: {found:?}");
        let (refused, found) = gone(log, task, 0);
        assert!(refused > 0 && matches!(found.first, Some((_, Otherwise::Priorities))), "{task}: {found:?}");
    }
}
