//! What the kernel asks of caches and clocks for a policy that reads occupancies: ids at switches, ways and duty cycles at once.

mod common;

use common::{at, config, machine, ms, policy, task};
use solo_hal::{CacheControl, CounterId, Edge, InterruptController, Pmu, PmuError, Probe, Recorder, Timer};
use solo_kernel::{Kernel, KernelConfig, ListeningConfig, Switch};
use solo_model::policy::Scope;
use solo_model::task::Release;
use solo_model::{
    Bytes, Caps, CoreId, Criterion, Duration, DutyCycle, EventId, Fixed, Instant, MetricId, MissRateCurve,
    Overhead, Record, Recycling, Rmid, Task, TaskId, ThreadId,
};
use solo_observe::RmidPool;
use solo_observe::monitor::{Heard, MissRateCurve as Curves, Occupancy};
use solo_schedule::criteria::{Fcfs, Rm};
use solo_schedule::{Action, Actions, Hook, Placed, Placement, Situation, Whose};

/// What the kernel has asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Asked {
    Tag(u16, u16),
    Fill(u16, u64),
    FillNow(u16, u64),
    Slow(u16, u8),
}

use Asked::{Fill, FillNow, Slow, Tag};

/// A machine on which an id holds a kibibyte for its number, and where every counter has counted 5000.
#[derive(Default)]
struct Machine(Vec<Asked>);

impl CacheControl for Machine {
    fn fill_ways(&mut self, core: CoreId, mask: u64) {
        self.0.push(Fill(core.0, mask));
    }
    fn fill_ways_now(&mut self, core: CoreId, mask: u64) {
        self.0.push(FillNow(core.0, mask));
    }
    fn tag_lines(&mut self, core: CoreId, rmid: Rmid) {
        self.0.push(Tag(core.0, rmid.0));
    }
    fn occupancy(&self, _: CoreId, rmid: Rmid) -> Option<Bytes> {
        Some(Bytes::new(1024 * u64::from(rmid.0)))
    }
}
impl Pmu for Machine {
    fn configure(&mut self, _: CoreId, _: CounterId, _: EventId) -> Result<(), PmuError> {
        Ok(())
    }
    fn read(&self, _: CoreId, _: CounterId) -> Result<u64, PmuError> {
        Ok(5000)
    }
    fn write(&mut self, _: CoreId, _: CounterId, _: u64) -> Result<(), PmuError> {
        Ok(())
    }
}
impl Timer for Machine {
    fn arm(&mut self, _: CoreId, _: Instant) {}
    fn disarm(&mut self, _: CoreId) {}
    fn slow(&mut self, core: CoreId, duty: DutyCycle) {
        self.0.push(Slow(core.0, duty.eighths()));
    }
}
impl InterruptController for Machine {
    fn send_reschedule(&mut self, _: CoreId, _: CoreId, _: Instant) {}
}
impl Probe for Machine {
    fn probe(&mut self, _: CoreId, _: Overhead, _: Edge) {}
}
impl Recorder for Machine {
    fn record(&mut self, _: CoreId, _: Record) {}
}

/// Says one thing at each tick of core 0, one after the other.
#[derive(Clone, PartialEq, Debug)]
struct Script(Vec<Action>);

impl Placement for Script {
    fn name(&self) -> &'static str {
        "script"
    }
    fn on(&mut self, _: Instant, hook: Hook, _: &dyn Situation) -> Actions {
        let tick = matches!(hook, Hook::Tick { core: CoreId(0), .. });
        if !tick || self.0.is_empty() { Actions::NONE } else { Actions::one(self.0.remove(0)) }
    }
}

const ALL: u64 = 0xff;

fn kernel(tasks: &[Task], cores: usize, script: Vec<Action>, monitor: Heard, rmids: u16) -> Kernel<Rm> {
    kernel_under(Criterion::Rm, tasks, cores, script, monitor, rmids)
}

fn kernel_under<C: solo_kernel::Criterion>(
    criterion: Criterion,
    tasks: &[Task],
    cores: usize,
    script: Vec<Action>,
    monitor: Heard,
    rmids: u16,
) -> Kernel<C> {
    let metrics = monitor.0.metrics();
    let listening = ListeningConfig {
        monitors: vec![monitor],
        metrics,
        rmids: Some(RmidPool::new(rmids, Recycling::Fifo, 1, (0..tasks.len()).collect())),
        ways: vec![ALL; cores],
        ..ListeningConfig::new(Placed::new(Script(script)), ms(1))
    };
    let caps = Caps { counters: 2, occupancy: true, ways: 8, ..machine(cores) };
    let plain = config(cores, policy(Scope::Partitioned, criterion), tasks, Vec::new());
    Kernel::new(KernelConfig { listening: Some(listening), ..plain }, &caps).expect("admitted")
}

fn occupancy() -> Heard {
    Heard::new(Occupancy::new(MetricId(0)))
}

const CORE: CoreId = CoreId(0);

/// T0 runs 1 ms every 4, T1 2 ms every 8, both on core 0.
fn two() -> [Task; 2] {
    [task(0, 4, 1), task(1, 8, 2)].map(|task| Task { core: Some(CORE), ..task })
}

#[test]
fn the_id_of_whoever_runs_is_written_at_each_switch() {
    let mut kernel = kernel(&two(), 1, Vec::new(), occupancy(), 4);
    let mut m = Machine::default();
    assert_eq!(kernel.start(&mut m, CORE, at(0)), Switch::To(ThreadId(0)));
    assert_eq!(kernel.metric(Whose::Task(TaskId(0)), MetricId(0)), None, "not looked at yet");
    assert_eq!(kernel.wait_next(&mut m, CORE, at(1)), Switch::To(ThreadId(1)));
    assert_eq!(kernel.wait_next(&mut m, CORE, at(3)), Switch::Idle);
    assert_eq!(kernel.timer(&mut m, CORE, at(4)), Switch::To(ThreadId(0)));
    let tags: Vec<Asked> = m.0.iter().copied().filter(|asked| matches!(asked, Tag(..))).collect();
    assert_eq!(tags, [Tag(0, 1), Tag(0, 2), Tag(0, 0), Tag(0, 1)], "0 is nobody's");
    let held = |task| kernel.metric(Whose::Task(TaskId(task)), MetricId(0));
    assert_eq!([held(0), held(1)], [Some(Fixed::from(1024_u64)), Some(Fixed::from(2048_u64))]);
    assert_eq!([0, 1].map(|task| kernel.rmid(TaskId(task))), [Some(Rmid(1)), Some(Rmid(2))]);
}

/// Of two ids one is nobody's: the second task has none, and nothing is known of what it holds, until the first has ended.
#[test]
fn an_id_is_free_again_when_a_process_has_ended_and_absent_where_there_is_none() {
    let once = |index: usize, offset: u64| Task {
        core: Some(CORE),
        release: Release::Once { offset: Duration::from_millis(offset) },
        ..task(index, 100, 5)
    };
    let tasks = [once(0, 0), once(1, 2), once(2, 20)];
    let mut kernel = kernel_under::<Fcfs>(Criterion::Fcfs, &tasks, 1, Vec::new(), occupancy(), 2);
    let mut m = Machine::default();
    assert_eq!(kernel.start(&mut m, CORE, at(0)), Switch::To(ThreadId(0)));
    let _ = kernel.timer(&mut m, CORE, at(2));
    assert_eq!(kernel.wait_next(&mut m, CORE, at(5)), Switch::To(ThreadId(1)));
    // The one that had the id has ended before the other came onto the core.
    assert_eq!([0, 1].map(|task| kernel.rmid(TaskId(task))), [None, Some(Rmid(1))]);
    assert_eq!(kernel.wait_next(&mut m, CORE, at(9)), Switch::Idle);
    assert_eq!(kernel.rmid(TaskId(1)), None);
}

#[test]
fn ways_and_duty_cycles_take_effect_at_once_and_stay_with_the_task() {
    let ways = |task, mask| Action::Ways { task: TaskId(task), mask };
    let slow = |core, eighths| {
        let duty = DutyCycle::new(eighths).expect("one to eight");
        Action::Slow { core: CoreId(core), duty }
    };
    // T1 is not on the core at the first tick; way 8 is none of the cache's; core 7 is not there.
    let script = vec![ways(0, 0b11), ways(1, 0b1100), ways(0, 0x100), slow(0, 3), slow(7, 3), ways(9, 1)];
    let mut kernel = kernel(&two().map(|task| Task { wcet: None, ..task }), 1, script, occupancy(), 4);
    let mut m = Machine::default();
    let _ = kernel.start(&mut m, CORE, at(0));
    m.0.clear();
    for tick in 1..=6 {
        assert_eq!(kernel.timer(&mut m, CORE, at(tick)), Switch::Stay, "{tick}");
    }
    assert_eq!(m.0, [FillNow(0, 0b11), Slow(0, 3)]);
    let account = kernel.placement().expect("it listens");
    assert_eq!((account.actions, account.refused), (3, 3));
    m.0.clear();
    // T0 has its second job at once, for that was released meanwhile.
    assert_eq!(kernel.wait_next(&mut m, CORE, at(7)), Switch::Stay);
    assert_eq!(kernel.wait_next(&mut m, CORE, at(7)), Switch::To(ThreadId(1)));
    assert_eq!(kernel.wait_next(&mut m, CORE, at(7)), Switch::Idle);
    let fills: Vec<Asked> = m.0.iter().copied().filter(|asked| matches!(asked, Fill(..))).collect();
    assert_eq!(fills, [Fill(0, 0b1100), Fill(0, ALL)], "an idle core fills all");
}

/// A kernel whose policy gives no ways does not ask for any.
#[test]
fn a_policy_that_gives_no_ways_can_not_begin_to() {
    let tasks = two();
    let listening = ListeningConfig {
        monitors: vec![occupancy()],
        metrics: 1,
        ..ListeningConfig::new(Placed::new(Script(vec![Action::Ways { task: TaskId(0), mask: 1 }])), ms(1))
    };
    let plain = config(1, policy(Scope::Partitioned, Criterion::Rm), &tasks, Vec::new());
    let config = KernelConfig { listening: Some(listening), ..plain };
    let mut kernel = Kernel::<Rm>::new(config, &machine(1)).expect("admitted");
    let mut m = Machine::default();
    let _ = kernel.start(&mut m, CORE, at(0));
    assert_eq!(kernel.timer(&mut m, CORE, at(1)), Switch::Stay);
    assert_eq!(kernel.wait_next(&mut m, CORE, at(1)), Switch::To(ThreadId(1)));
    assert_eq!(m.0, [], "no ids and no ways");
    assert_eq!(kernel.placement().map(|account| account.refused), Some(1));
    assert_eq!(kernel.metric(Whose::Task(TaskId(0)), MetricId(0)), None, "absent is not zero");
}

#[test]
fn a_curve_is_kept_of_each_task_and_its_points_are_metrics() {
    let curves = Heard::new(Curves::new(MetricId(0), Bytes::new(4096)));
    let tasks = two().map(|task| Task { wcet: None, ..task });
    let mut kernel = kernel(&tasks, 1, Vec::new(), curves, 4);
    let mut m = Machine::default();
    let _ = kernel.start(&mut m, CORE, at(0));
    let point = |kernel: &Kernel<Rm>| kernel.metric(Whose::Task(TaskId(0)), MissRateCurve::point(16));
    for tick in 1..=3 {
        let _ = kernel.timer(&mut m, CORE, at(tick));
    }
    assert_eq!(point(&kernel), None, "three samples are two intervals");
    let _ = kernel.timer(&mut m, CORE, at(4));
    // 5000 misses in 5000 instructions, at a quarter of the cache.
    assert_eq!(point(&kernel), Some(Fixed::from(1000_u64)));
    let curve = kernel.curve(TaskId(0)).expect("it has one");
    assert_eq!((curve.covered(3), curve.bins[8].samples), (1, 3));
    assert!(kernel.curve(TaskId(1)).expect("it has one").points.is_empty());
    assert_eq!(kernel.curve(TaskId(2)), None);
}
