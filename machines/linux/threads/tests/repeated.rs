//! Real threads whose priorities follow ranks, and the criterion that decides each change again from the records of the run.

mod common;

use common::{BUS, compute, host, lock, ms, pair, periodic, sections};
use solo_model::experiment::End;
use solo_model::fixtures::chip;
use solo_model::work::{LockProtocol, Step, Work};
use solo_model::{CoreId, Criterion as Name, Experiment, Instant, Policy, Record, Scope, Task, TaskId};
use solo_schedule::criteria::{Edf, Rm, Sjf};
use solo_schedule::{Criterion, JobView, Rank, TaskParameters};
use solo_threads::{
    Changes, Compared, Host, Options, Otherwise, Priorities, Ran, Ranking, Under, plane_domains, repeat, run,
};

/// All classes are one here.
fn key_of(rank: Rank) -> u64 {
    rank.key().cast_unsigned()
}

/// A run whose threads get keys by a criterion, and how often their orders were changed.
fn ran<C: Criterion>(
    experiment: &Experiment,
    host: &Host,
    room: Option<usize>,
) -> (Ran, Changes, Priorities) {
    let domains = plane_domains(experiment, host, Priorities::RAISES).unwrap();
    let plane = match room {
        Some(changes) => Priorities::with_room(&domains, host, changes).unwrap(),
        None => Priorities::new(experiment, &domains, host).unwrap(),
    };
    let tasks: Vec<TaskParameters> = experiment.tasks.iter().map(TaskParameters::from).collect();
    let key = |task: TaskId, deadline: Option<Instant>| {
        let (parameters, executed) = (&tasks[task.index()], solo_model::Duration::ZERO);
        let release = Instant::ZERO;
        key_of(C::rank(&JobView { task, parameters, release, deadline, executed, turn: 0, yielded: false }))
    };
    let under = Under::Ranked(Ranking { plane: &plane, key: &key });
    let ran = run(experiment, host, Options { under, ..Options::default() }, &|| false).expect("it runs");
    let changes = plane.changes();
    (ran, changes, plane)
}

/// As the criterion decides again.
fn again<C: Criterion>(experiment: &Experiment, host: &Host) -> (Compared, Changes) {
    let (ran, changes, plane) = ran::<C>(experiment, host, None);
    (repeat::<C>(&plane.into_logs(), experiment, &ran, key_of), changes)
}

/// Tasks with a lock between them, for so many jobs.
fn with_lock(scope: Scope, name: Name, core: Option<CoreId>, protocol: LockProtocol) -> Experiment {
    let section = |length| [compute(ms(1)), Step::Acquire(BUS), compute(ms(length)), Step::Release(BUS)];
    let task = |name: &str, [period, deadline, length]: [u64; 3]| Task {
        work: Work { steps: section(length).to_vec() },
        wcet: Some(ms(length + 1)),
        ..periodic(name, core, [period, deadline, length])
    };
    let free = Task { wcet: Some(ms(4)), ..periodic("free", core, [25, 25, 4]) };
    let tasks = vec![task("short", [20, 18, 2]), task("long", [50, 40, 6]), task("rare", [90, 80, 3]), free];
    let mut experiment = Experiment::new("locks", chip(2), Policy::new(scope, name), tasks, End::At(ms(600)));
    experiment.locks = vec![lock("bus", protocol)];
    experiment
}

fn plain(scope: Scope, name: Name, core: Option<CoreId>) -> Experiment {
    let wcet = |task: Task| Task { wcet: task.relative_deadline(), ..task };
    let mut tasks: Vec<Task> = pair(core).into_iter().map(wcet).collect();
    if core.is_none() {
        tasks.extend(pair(None).map(wcet));
    }
    Experiment::new("plain", chip(2), Policy::new(scope, name), tasks, End::Jobs(10))
}

/// Partitioned and global, by deadlines and by lengths, without locks and with those that raise: every change is what the criterion demands.
#[test]
fn the_criterion_decides_every_change_of_a_run_alike() {
    let Some((host, _alone)) = host() else { return };
    let scopes = [(Scope::Partitioned, Some(CoreId(0))), (Scope::Global, None)];
    for (scope, core) in scopes {
        if core.is_none() && host.cpus.len() < 2 {
            println!("skipped: global orders: one CPU");
            continue;
        }
        for (name, again) in [(Name::Edf, again::<Edf> as fn(&_, &_) -> _), (Name::Sjf, again::<Sjf>)] {
            let locks = [LockProtocol::Plain, LockProtocol::Inheritance, LockProtocol::Ceiling];
            let locks = locks.map(|protocol| (with_lock(scope.clone(), name, core, protocol), protocol));
            let all = [(plain(scope.clone(), name, core), LockProtocol::Plain)].into_iter().chain(locks);
            for (experiment, protocol) in all {
                let (found, changes) = again(&experiment, &host);
                println!("{scope:?} {name:?} {protocol:?} {}: {found:?}", experiment.name);
                assert_eq!((found.otherwise, found.first, found.not_kept), (0, None, 0), "{found:?}");
                assert!(found.changes > 20, "{found:?}");
                assert_eq!(found.changes + found.after_end, changes.count, "nothing is left out");
                // A section is two changes more.
                let least = if protocol == LockProtocol::Ceiling { 120 } else { 20 };
                assert!(found.changes > least, "{protocol:?}: {found:?}");
            }
        }
    }
}

/// Tasks that are released once and never again, on two CPUs, with sections between them.
#[test]
fn tasks_without_another_job_have_a_place_too() {
    let Some((host, _alone)) = host() else { return };
    if host.cpus.len() < 2 {
        return println!("skipped: sections on two CPUs: one CPU");
    }
    for protocol in [LockProtocol::Inheritance, LockProtocol::Ceiling] {
        let (found, _) = again::<Edf>(&sections(Name::Edf, protocol, true), &host);
        assert_eq!((found.otherwise, found.first, found.not_kept), (0, None, 0), "{protocol:?}: {found:?}");
        assert!(found.changes >= 8, "{protocol:?}: {found:?}");
    }
}

/// Threads that go by periods where the scenario says deadlines, and a record that says another deadline than the thread had.
#[test]
fn another_order_and_other_records_are_found() {
    let Some((host, _alone)) = host() else { return };
    let experiment = plain(Scope::Partitioned, Name::Edf, Some(CoreId(0)));
    let (by_periods, _, plane) = ran::<Rm>(&experiment, &host, None);
    let found = repeat::<Edf>(&plane.into_logs(), &experiment, &by_periods, key_of);
    assert!(matches!(found.first, Some((_, Otherwise::Key))) && found.otherwise > 20, "{found:?}");
    let (mut ran, _, plane) = ran::<Edf>(&experiment, &host, None);
    let logs = plane.into_logs();
    assert_eq!(repeat::<Edf>(&logs, &experiment, &ran, key_of).otherwise, 0);
    let fifth = ran.records.iter_mut().find_map(|record| match record {
        Record::Release(release) if release.task == TaskId(0) && release.job.0 == 5 => Some(release),
        _ => None,
    });
    let release = fifth.expect("ten jobs of each are waited for");
    release.deadline = release.deadline.map(|deadline| deadline + ms(1));
    let found = repeat::<Edf>(&logs, &experiment, &ran, key_of);
    assert!(found.otherwise >= 1 && matches!(found.first, Some((_, Otherwise::Key))), "{found:?}");
}

/// A run with room for ten changes: what there was no room for is counted, and what there was is compared.
#[test]
fn what_there_was_no_room_for_is_told() {
    let Some((host, _alone)) = host() else { return };
    let experiment = plain(Scope::Partitioned, Name::Edf, Some(CoreId(0)));
    let (ran, changes, plane) = ran::<Edf>(&experiment, &host, Some(10));
    let found = repeat::<Edf>(&plane.into_logs(), &experiment, &ran, key_of);
    let expected = Compared { changes: 10, not_kept: changes.count - 10, ..Compared::default() };
    assert_eq!(found, expected);
    assert!(found.not_kept > 10, "{changes:?}");
}
