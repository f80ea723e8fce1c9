//! The sequences of thesis chapter 4: which kernel paths an operation takes, on which core, in which order.

mod common;

use common::{CORE, at, config, machine, ms, policy, task};
use solo_hal::{Checked, Edge, InterruptController, Probe, Recorder, Timer};
use solo_kernel::{Kernel, State, Switch};
use solo_model::policy::Scope;
use solo_model::task::Release;
use solo_model::{CoreId, CoreSet, Criterion, Instant, Overhead, Record, Task, ThreadId};
use solo_schedule::criteria::Edf;

/// Writes down the paths that are taken.
#[derive(Default)]
struct Paths(Vec<(u16, Overhead)>);

impl solo_hal::Pmu for Paths {}
impl solo_hal::CacheControl for Paths {}

impl Timer for Paths {
    fn arm(&mut self, _core: CoreId, _at: Instant) {}
    fn disarm(&mut self, _core: CoreId) {}
}
impl InterruptController for Paths {
    fn send_reschedule(&mut self, _from: CoreId, _to: CoreId, _now: Instant) {}
}
impl Probe for Paths {
    fn probe(&mut self, core: CoreId, overhead: Overhead, edge: Edge) {
        if edge == Edge::Enter {
            self.0.push((core.0, overhead));
        }
    }
}
impl Recorder for Paths {
    fn record(&mut self, _core: CoreId, _record: Record) {}
}

/// Calls the kernel under `Checked` and returns the answer with the paths taken.
fn paths(call: impl FnOnce(&mut Checked<'_, Paths>) -> Switch) -> (Switch, Vec<(u16, Overhead)>) {
    let mut paths = Paths::default();
    let mut checked = Checked { machine: &mut paths, cores: CoreSet::first(2), open: None };
    let switch = call(&mut checked);
    assert_eq!(checked.open, None);
    (switch, paths.0)
}

fn later(task: Task, offset_ms: u64) -> Task {
    let period = task.release.period().expect("periodic");
    Task { release: Release::Periodic { offset: ms(offset_ms), period }, ..task }
}

fn g_edf(tasks: &[Task]) -> Kernel<Edf> {
    let config = config(2, policy(Scope::Global, Criterion::Edf), tasks, Vec::new());
    let mut kernel = Kernel::new(config, &machine(2)).expect("admitted");
    for core in [CORE, CoreId(1)] {
        let _ = paths(|m| kernel.start(m, core, at(0)));
    }
    kernel
}

use Overhead::{CacheAffinity, ContextSwitch, Ipi, Release as Releasing, Scheduling, Tick};

/// Figs. 46 and 50(a): `wait_next` is p on the private semaphore, which puts the thread to sleep, chooses
/// another and switches to it.
#[test]
fn sleeping_chooses_and_switches() {
    let mut kernel = g_edf(&[task(0, 10, 1), task(1, 20, 1), task(2, 30, 1)]);
    let (switch, taken) = paths(|m| kernel.wait_next(m, CORE, at(1)));
    assert_eq!(switch, Switch::To(ThreadId(2)));
    assert_eq!(taken, [(0, Scheduling), (0, ContextSwitch)]);
    assert_eq!(kernel.state(ThreadId(0)), Some(State::Waiting));
}

/// Fig. 47 and 50(b): the alarm handler counts, releases (v, with the new priority of a dynamic criterion),
/// and reschedules.
#[test]
fn waking_counts_releases_chooses_and_switches() {
    let mut kernel = g_edf(&[later(task(0, 10, 1), 5)]);
    let (switch, taken) = paths(|m| kernel.timer(m, CORE, at(5)));
    assert_eq!(switch, Switch::To(ThreadId(0)));
    assert_eq!(taken, [(0, Tick), (0, Releasing), (0, Scheduling), (0, ContextSwitch)]);
}

/// Fig. 48: a request goes out where another core runs the least urgent thread; the receiver reschedules.
#[test]
fn rescheduling_asks_the_core_of_the_least_urgent_thread() {
    let mut kernel = g_edf(&[later(task(0, 10, 1), 5), task(1, 20, 9), task(2, 30, 9)]);
    let (switch, taken) = paths(|m| kernel.timer(m, CORE, at(5)));
    assert_eq!(switch, Switch::Stay);
    assert_eq!(taken, [(0, Tick), (0, Releasing), (0, Scheduling), (0, Ipi)]);
    let (switch, taken) = paths(|m| kernel.ipi(m, CoreId(1), at(5)));
    assert_eq!(switch, Switch::To(ThreadId(0)));
    assert_eq!(taken, [(1, Scheduling), (1, ContextSwitch)]);
    let (switch, taken) = paths(|m| kernel.wait_next(m, CORE, at(6)));
    assert_eq!(switch, Switch::To(ThreadId(2)), "preempted on core 1, resumed on core 0");
    assert_eq!(taken, [(0, Scheduling), (0, ContextSwitch), (0, CacheAffinity)]);
}

/// 4.2.1: no request where the calling core is idle, nor where it runs the least urgent thread itself.
#[test]
fn no_request_where_the_calling_core_can_take_the_thread() {
    let mut kernel = g_edf(&[later(task(0, 10, 1), 5), later(task(1, 10, 1), 50), task(2, 30, 9)]);
    assert_eq!(kernel.running(CORE), Some(ThreadId(2)));
    let (switch, taken) = paths(|m| kernel.wait_next(m, CORE, at(2)));
    assert_eq!((switch, taken.len()), (Switch::Idle, 2));
    let (switch, taken) = paths(|m| kernel.timer(m, CORE, at(5)));
    assert_eq!(switch, Switch::To(ThreadId(0)), "both are idle; the caller takes it");
    assert!(!taken.contains(&(0, Ipi)));
}

/// 4.2.2: a context switch only where the chosen thread is not the running one.
#[test]
fn no_switch_to_the_thread_that_runs_already() {
    let mut kernel = g_edf(&[task(0, 10, 1), later(task(1, 40, 1), 5), task(2, 30, 9)]);
    let (switch, taken) = paths(|m| kernel.ipi(m, CORE, at(1)));
    assert_eq!(switch, Switch::Stay);
    assert_eq!(taken, [(0, Scheduling)]);
    let (switch, taken) = paths(|m| kernel.timer(m, CoreId(1), at(5)));
    assert_eq!(switch, Switch::Stay, "due at 45, the last of three");
    assert_eq!(taken, [(1, Tick), (1, Releasing), (1, Scheduling)]);
}
