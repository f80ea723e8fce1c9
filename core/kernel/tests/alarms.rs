//! Releases: all that are due, at their nominal times, by the timer of the right core.

mod common;

use common::{CORE, at, config, machine, ms, policy, task};
use solo_hal::{InterruptController, Probe, Recorder, Timer};
use solo_kernel::{Kernel, KernelConfig, State, Switch};
use solo_model::policy::{Policy, Scope, Timing};
use solo_model::task::Release;
use solo_model::{CoreId, Criterion, Instant, Overhead, Record, Task, TaskId, ThreadId};
use solo_schedule::criteria::{Edf, Rm, RoundRobin};

/// Remembers what the kernel asks of it.
#[derive(Default)]
struct Notebook {
    timers: [Option<Instant>; 4],
    arms: u32,
    requests: Vec<(CoreId, CoreId)>,
    records: Vec<Record>,
}

impl solo_hal::Pmu for Notebook {}
impl solo_hal::CacheControl for Notebook {}

impl Timer for Notebook {
    fn arm(&mut self, core: CoreId, at: Instant) {
        self.timers[core.index()] = Some(at);
        self.arms += 1;
    }
    fn disarm(&mut self, core: CoreId) {
        self.timers[core.index()] = None;
    }
}
impl InterruptController for Notebook {
    fn send_reschedule(&mut self, from: CoreId, to: CoreId, _now: Instant) {
        self.requests.push((from, to));
    }
}
impl Probe for Notebook {
    fn probe(&mut self, _core: CoreId, _overhead: Overhead, _edge: solo_hal::Edge) {}
}
impl Recorder for Notebook {
    fn record(&mut self, _core: CoreId, record: Record) {
        self.records.push(record);
    }
}

impl Notebook {
    /// Task, job, nominal release and time of each release.
    fn releases(&self) -> Vec<(u32, u64, Instant, Instant)> {
        let release = |record: &Record| match record {
            Record::Release(r) => Some((r.task.0, r.job.0, r.release, r.at)),
            _ => None,
        };
        self.records.iter().filter_map(release).collect()
    }
}

fn offset(task: Task, offset_ms: u64) -> Task {
    let period = task.release.period().expect("periodic");
    Task { release: Release::Periodic { offset: ms(offset_ms), period }, ..task }
}

fn rm(tasks: &[Task], timing: Timing) -> Kernel<Rm> {
    let policy = Policy { timing, ..policy(Scope::Global, Criterion::Rm) };
    Kernel::new(config(1, policy, tasks, Vec::new()), &machine(1)).expect("admitted")
}

#[test]
fn one_interrupt_releases_all_that_are_due() {
    let tasks: Vec<_> = (0..5).map(|i| offset(task(i, 100, 1), 10)).collect();
    let (mut kernel, mut m) = (rm(&tasks, Timing::OneShot), Notebook::default());
    assert_eq!(kernel.start(&mut m, CORE, at(0)), Switch::Idle);
    assert_eq!(m.timers[0], Some(at(10)));
    assert_eq!(kernel.timer(&mut m, CORE, at(10)), Switch::To(ThreadId(0)));
    assert_eq!(m.releases().len(), 5);
    assert_eq!(m.timers[0], Some(at(110)));
}

#[test]
fn a_late_interrupt_keeps_nominal_releases_and_makes_up_for_missed_ones() {
    let (mut kernel, mut m) = (rm(&[task(0, 10, 1)], Timing::OneShot), Notebook::default());
    assert_eq!(kernel.start(&mut m, CORE, at(0)), Switch::To(ThreadId(0)));
    assert_eq!(kernel.wait_next(&mut m, CORE, at(1)), Switch::Idle);
    assert_eq!(kernel.timer(&mut m, CORE, at(33)), Switch::To(ThreadId(0)));
    let due = |job| (0, job, at(10 * job), at(33));
    assert_eq!(m.releases()[1..], [due(1), due(2), due(3)]);
    assert_eq!(kernel.wait_next(&mut m, CORE, at(34)), Switch::Stay, "job 2 is there already");
    let last = m.records.iter().rev().find_map(|record| match record {
        Record::Job(job) => Some((job.release, job.deadline, job.backlog)),
        _ => None,
    });
    assert_eq!(last, Some((at(10), Some(at(20)), 2)));
    assert_eq!(m.timers[0], Some(at(40)));
}

#[test]
fn an_early_interrupt_changes_nothing() {
    let (mut kernel, mut m) = (rm(&[offset(task(0, 10, 1), 5)], Timing::OneShot), Notebook::default());
    assert_eq!(kernel.start(&mut m, CORE, at(0)), Switch::Idle);
    for early in [at(1), at(2), at(4)] {
        assert_eq!(kernel.timer(&mut m, CORE, early), Switch::Stay);
        assert_eq!(m.timers[0], Some(at(5)), "armed again");
    }
    assert!(m.releases().is_empty());
}

#[test]
fn a_timer_that_is_right_is_not_programmed_again() {
    let (mut kernel, mut m) = (rm(&[task(0, 10, 1), task(1, 20, 1)], Timing::OneShot), Notebook::default());
    assert_eq!(kernel.start(&mut m, CORE, at(0)), Switch::To(ThreadId(0)));
    let _ = kernel.wait_next(&mut m, CORE, at(1));
    let _ = kernel.wait_next(&mut m, CORE, at(2));
    let _ = kernel.ipi(&mut m, CORE, at(3));
    assert_eq!(m.arms, 1);
}

#[test]
fn ticks_release_at_ticks_only_and_none_is_lost() {
    let (mut kernel, mut m) = (rm(&[offset(task(0, 15, 1), 1)], Timing::Tick(ms(10))), Notebook::default());
    assert_eq!(kernel.start(&mut m, CORE, at(0)), Switch::Idle);
    assert_eq!(m.timers[0], Some(at(10)));
    assert_eq!(kernel.timer(&mut m, CORE, at(9)), Switch::Stay, "before the tick");
    assert_eq!(kernel.timer(&mut m, CORE, at(10)), Switch::To(ThreadId(0)));
    assert_eq!(kernel.wait_next(&mut m, CORE, at(20)), Switch::Idle, "at a tick, before its interrupt");
    assert_eq!(m.timers[0], Some(at(20)), "which is still to come");
    assert_eq!(kernel.timer(&mut m, CORE, at(23)), Switch::To(ThreadId(0)), "late; the release of 16 is due");
    assert_eq!(m.timers[0], Some(at(30)));
    assert_eq!(kernel.timer(&mut m, CORE, at(39)), Switch::Stay, "the tick of 30: 31 is not due");
    assert_eq!(m.releases(), [(0, 0, at(1), at(10)), (0, 1, at(16), at(23))]);
}

#[test]
fn the_time_of_the_first_start_is_the_origin() {
    let (mut kernel, mut m) = (rm(&[task(0, 10, 1)], Timing::OneShot), Notebook::default());
    assert_eq!(kernel.start(&mut m, CORE, at(1007)), Switch::To(ThreadId(0)));
    assert_eq!(m.timers[0], Some(at(1017)));
    assert_eq!(m.releases(), [(0, 0, at(1007), at(1007))]);
}

#[test]
fn alarms_are_spread_over_the_cores_of_a_domain() {
    let tasks: Vec<_> = (0..5).map(|i| task(i, 10, 1)).collect();
    let policy = policy(Scope::Global, Criterion::Edf);
    let kernel = Kernel::<Edf>::new(config(2, policy, &tasks, Vec::new()), &machine(2)).expect("admitted");
    let cores: Vec<_> = (0..5).filter_map(|i| kernel.alarm_core(ThreadId(i))).map(|core| core.0).collect();
    assert_eq!(cores, [0, 1, 0, 1, 0]);
}

#[test]
fn a_core_that_has_not_started_is_not_asked() {
    let tasks: Vec<_> = (0..2).map(|i| task(i, 10, 1)).collect();
    let policy = policy(Scope::Global, Criterion::Edf);
    let mut kernel =
        Kernel::<Edf>::new(config(2, policy, &tasks, Vec::new()), &machine(2)).expect("admitted");
    let mut m = Notebook::default();
    assert_eq!(kernel.start(&mut m, CORE, at(0)), Switch::To(ThreadId(0)));
    assert_eq!(m.requests, []);
    assert_eq!(kernel.start(&mut m, CoreId(1), at(0)), Switch::To(ThreadId(1)));
}

/// Reschedule requests are not repeated while one is under way, and a lost one is made good by the next entry.
#[test]
fn a_lost_request_is_made_good_by_the_next_entry_of_the_core() {
    let tasks = [offset(task(0, 50, 1), 5), offset(task(1, 60, 1), 5), task(2, 70, 9), task(3, 20, 9)];
    let policy = policy(Scope::Global, Criterion::Rm);
    let mut kernel = Kernel::<Rm>::new(config(2, policy, &tasks, Vec::new()), &machine(2)).expect("admitted");
    let mut m = Notebook::default();
    assert_eq!(kernel.start(&mut m, CORE, at(0)), Switch::To(ThreadId(3)));
    assert_eq!(kernel.start(&mut m, CoreId(1), at(0)), Switch::To(ThreadId(2)));
    assert_eq!(kernel.timer(&mut m, CORE, at(5)), Switch::Stay, "thread 0 is to preempt thread 2");
    assert_eq!(m.requests, [(CORE, CoreId(1))]);
    assert_eq!(kernel.ipi(&mut m, CORE, at(6)), Switch::Stay);
    assert_eq!(m.requests.len(), 1, "not asked again");
    assert_eq!(kernel.timer(&mut m, CoreId(1), at(6)), Switch::To(ThreadId(0)), "its own timer comes first");
    assert_eq!(kernel.ipi(&mut m, CoreId(1), at(7)), Switch::Stay, "the request arrives after all");
}

#[test]
fn the_oldest_waiting_job_is_skipped_when_too_many_wait() {
    let tasks = [task(0, 10, 1)];
    let limited = KernelConfig {
        backlog_limit: 2,
        ..config(1, policy(Scope::Global, Criterion::Rm), &tasks, Vec::new())
    };
    let mut kernel = Kernel::<Rm>::new(limited, &machine(1)).expect("admitted");
    let mut m = Notebook::default();
    assert_eq!(kernel.start(&mut m, CORE, at(0)), Switch::To(ThreadId(0)));
    assert_eq!(kernel.timer(&mut m, CORE, at(40)), Switch::Stay);
    let account = kernel.account_of(TaskId(0)).expect("a task");
    assert_eq!((account.released, account.skipped), (5, 2), "jobs 1 and 2 give way to 3 and 4");
    assert_eq!(kernel.wait_next(&mut m, CORE, at(41)), Switch::Stay);
    assert_eq!(kernel.job(ThreadId(0)).map(|job| job.0), Some(3));
    assert_eq!(kernel.wait_next(&mut m, CORE, at(42)), Switch::Stay);
    assert_eq!(kernel.wait_next(&mut m, CORE, at(43)), Switch::Idle);
    let finished: Vec<_> = m
        .records
        .iter()
        .filter_map(|r| if let Record::Job(j) = r { Some(j.release) } else { None })
        .collect();
    assert_eq!(finished, [at(0), at(30), at(40)]);
}

#[test]
fn unfinished_jobs_are_told_at_the_end() {
    let (mut kernel, mut m) = (rm(&[task(0, 10, 1)], Timing::OneShot), Notebook::default());
    let _ = kernel.start(&mut m, CORE, at(0));
    let _ = kernel.timer(&mut m, CORE, at(10));
    m.records.clear();
    kernel.record_unfinished(&mut m, at(14));
    let unfinished: Vec<_> = m
        .records
        .iter()
        .filter_map(|r| if let Record::Unfinished(u) = r { Some(*u) } else { None })
        .collect();
    let told: Vec<_> = unfinished.iter().map(|u| (u.job.0, u.release, u.deadline, u.executed)).collect();
    assert_eq!(told, [(0, at(0), Some(at(10)), ms(14)), (1, at(10), Some(at(20)), ms(0))]);
}

#[test]
fn exit_takes_the_alarm_back() {
    let (mut kernel, mut m) = (rm(&[task(0, 10, 1)], Timing::OneShot), Notebook::default());
    let _ = kernel.start(&mut m, CORE, at(0));
    assert_eq!(kernel.exit(&mut m, CORE, at(2)), Switch::Idle);
    assert_eq!(m.timers[0], None);
    assert_eq!(kernel.state(ThreadId(0)), Some(State::Exited));
    assert_eq!(kernel.timer(&mut m, CORE, at(10)), Switch::Stay);
    assert_eq!(m.releases().len(), 1);
    assert_eq!(kernel.finished(TaskId(0)), 1, "the job ended with its thread");
}

#[test]
fn jobs_that_wait_when_their_thread_ends_count_as_skipped() {
    let (mut kernel, mut m) = (rm(&[task(0, 10, 1)], Timing::OneShot), Notebook::default());
    let _ = kernel.start(&mut m, CORE, at(0));
    let _ = kernel.timer(&mut m, CORE, at(20));
    assert_eq!(kernel.exit(&mut m, CORE, at(25)), Switch::Idle);
    let account = kernel.account_of(TaskId(0)).expect("a task");
    assert_eq!((account.released, account.finished, account.skipped), (3, 1, 2));
    assert_eq!((account.missed, account.worst_tardiness), (1, ms(15)));
    m.records.clear();
    kernel.record_unfinished(&mut m, at(30));
    assert!(m.records.is_empty());
}

#[test]
fn yielding_passes_the_core_to_an_equal_only() {
    let tasks = [task(0, 10, 1), task(1, 10, 1), task(2, 20, 1)];
    let (mut kernel, mut m) = (rm(&tasks, Timing::OneShot), Notebook::default());
    assert_eq!(kernel.start(&mut m, CORE, at(0)), Switch::To(ThreadId(0)));
    assert_eq!(kernel.yield_now(&mut m, CORE, at(1)), Switch::To(ThreadId(1)));
    assert_eq!(kernel.wait_next(&mut m, CORE, at(2)), Switch::To(ThreadId(0)));
    assert_eq!(kernel.yield_now(&mut m, CORE, at(3)), Switch::Stay, "thread 2 is less urgent");
}

#[test]
fn a_slice_that_ends_with_a_request_is_not_forgotten() {
    let mut tasks = [task(0, 100, 9), task(1, 100, 9)];
    for task in &mut tasks {
        task.wcet = None;
    }
    let rr = Policy { quantum: Some(ms(2)), ..policy(Scope::Global, Criterion::RoundRobin) };
    let mut kernel =
        Kernel::<RoundRobin>::new(config(1, rr, &tasks, Vec::new()), &machine(1)).expect("admitted");
    let mut m = Notebook::default();
    assert_eq!(kernel.start(&mut m, CORE, at(0)), Switch::To(ThreadId(0)));
    assert_eq!(kernel.ipi(&mut m, CORE, at(2)), Switch::Stay);
    assert_eq!(m.timers[0], Some(at(2)), "the slice is over: its interrupt comes at once");
    assert_eq!(kernel.timer(&mut m, CORE, at(2)), Switch::To(ThreadId(1)));
}

#[test]
fn a_core_that_does_not_exist_is_idle() {
    let (mut kernel, mut m) = (rm(&[task(0, 10, 1)], Timing::OneShot), Notebook::default());
    let nowhere = CoreId(9);
    assert_eq!(kernel.start(&mut m, nowhere, at(0)), Switch::Idle);
    assert_eq!(kernel.timer(&mut m, nowhere, at(0)), Switch::Idle);
    assert_eq!(kernel.wait_next(&mut m, nowhere, at(0)), Switch::Idle);
    assert_eq!(kernel.running(nowhere), None);
    assert!(m.records.is_empty());
}

/// One job runs on while more than the limit of releases come: the oldest of those that wait are given up, each by a
/// record with its own deadline.
#[test]
fn a_release_too_many_gives_the_oldest_up_and_says_so() {
    let configured =
        config(1, policy(Scope::Partitioned, Criterion::Rm), &[core_of(task(0, 10, 1))], Vec::new());
    let configured = KernelConfig { backlog_limit: 2, ..configured };
    let (mut kernel, mut m) =
        (Kernel::<Rm>::new(configured, &machine(1)).expect("admitted"), Notebook::default());
    assert_eq!(kernel.start(&mut m, CORE, at(0)), Switch::To(ThreadId(0)));
    assert_eq!(kernel.timer(&mut m, CORE, at(45)), Switch::Stay);
    let skipped = m.records.iter().filter_map(|record| match record {
        Record::Skipped(job) => Some((job.job.0, job.release, job.deadline, job.at)),
        _ => None,
    });
    let expected = [(1, at(10), Some(at(20)), at(45)), (2, at(20), Some(at(30)), at(45))];
    assert_eq!(skipped.collect::<Vec<_>>(), expected);
}

fn core_of(task: Task) -> Task {
    Task { core: Some(CORE), ..task }
}
