//! What a policy that listens hears between the ends of its periods: overflows of a counter, and requests of other cores.

mod common;

use common::{CORE, at, config, machine, ms, policy, task};
use solo_hal::{CacheControl, CounterId, Edge, InterruptController, Pmu, PmuError, Probe, Recorder, Timer};
use solo_kernel::{Interrupts, Kernel, KernelConfig, ListeningConfig, Switch};
use solo_model::policy::Scope;
use solo_model::sample::Why;
use solo_model::{
    Caps, CoreId, Criterion, EventId, Events, Instant, MetricId, Overhead, Record, Task, TaskId, ThreadId,
};
use solo_observe::monitor::{Count, Heard};
use solo_schedule::criteria::Rm;
use solo_schedule::{Action, Actions, Hook, Placed, Placement, Situation, Whose};
use std::sync::{Arc, Mutex};

const METRIC: MetricId = MetricId(0);

/// A machine of two cores with a counter each that a test turns by hand.
#[derive(Default)]
struct Meter {
    counted: [u64; 2],
    armed: Vec<(u16, u64)>,
    requests: Vec<(u16, u16)>,
}

impl Pmu for Meter {
    fn configure(&mut self, _: CoreId, _: CounterId, _: EventId) -> Result<(), PmuError> {
        Ok(())
    }
    fn read(&self, core: CoreId, _: CounterId) -> Result<u64, PmuError> {
        Ok(self.counted[core.index()])
    }
    fn write(&mut self, core: CoreId, _: CounterId, value: u64) -> Result<(), PmuError> {
        self.counted[core.index()] = value;
        Ok(())
    }
    fn interrupt_after(&mut self, core: CoreId, _: CounterId, events: u64) -> Result<(), PmuError> {
        self.armed.push((core.0, events));
        Ok(())
    }
}
impl CacheControl for Meter {}
impl Timer for Meter {
    fn arm(&mut self, _: CoreId, _: Instant) {}
    fn disarm(&mut self, _: CoreId) {}
}
impl InterruptController for Meter {
    fn send_reschedule(&mut self, from: CoreId, to: CoreId, _: Instant) {
        self.requests.push((from.0, to.0));
    }
}
impl Probe for Meter {
    fn probe(&mut self, _: CoreId, _: Overhead, _: Edge) {}
}
impl Recorder for Meter {
    fn record(&mut self, _: CoreId, _: Record) {}
}

/// Does one thing when a core's sample comes of an overflow.
#[derive(Clone, PartialEq, Debug)]
struct AtOverflow(Option<Action>);

impl Placement for AtOverflow {
    fn name(&self) -> &'static str {
        "at overflow"
    }

    fn on(&mut self, _: Instant, hook: Hook, _: &dyn Situation) -> Actions {
        let overflow = matches!(hook, Hook::Sample { of: Whose::Core(_), why: Why::Overflow, .. });
        self.0.take_if(|_| overflow).map_or(Actions::NONE, Actions::one)
    }
}

/// Writes down what is known of a task when it is told that the task is sampled at its end.
#[derive(Clone, Debug)]
struct LastWords(Arc<Mutex<Vec<Option<i128>>>>);

impl PartialEq for LastWords {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Placement for LastWords {
    fn name(&self) -> &'static str {
        "last words"
    }

    fn on(&mut self, _: Instant, hook: Hook, situation: &dyn Situation) -> Actions {
        if let Hook::Sample { of, why: Why::Exit, .. } = hook {
            let known = situation.metric(of, METRIC).map(|count| count.whole());
            self.0.lock().expect("nobody panics with it").push(known);
        }
        Actions::NONE
    }
}

/// T0 on core 0 and T1 on core 1, each 6 ms of every 8; periods of 4 ms, and an interrupt at the fifth event.
fn kernel(action: Option<Action>) -> (Kernel<Rm>, Meter) {
    kernel_with(Placed::new(AtOverflow(action)))
}

fn kernel_with(placement: Placed) -> (Kernel<Rm>, Meter) {
    let on = |index: usize| Task { core: Some(CoreId(index as u16)), ..task(index, 8, 6) };
    let tasks = [on(0), on(1)];
    let listening = ListeningConfig {
        monitors: vec![Heard::new(Count::new(METRIC, EventId::SNOOP_HITM))],
        metrics: 1,
        interrupts: Some(Interrupts::Once(Events::new(5))),
        ..ListeningConfig::new(placement, ms(4))
    };
    let plain = config(2, policy(Scope::Partitioned, Criterion::Rm), &tasks, Vec::new());
    let caps = Caps { counters: 1, counter_overflow: true, ..machine(2) };
    let mut kernel =
        Kernel::new(KernelConfig { listening: Some(listening), ..plain }, &caps).expect("admitted");
    let mut m = Meter::default();
    for core in 0..2 {
        assert_eq!(kernel.start(&mut m, CoreId(core), at(0)), Switch::To(ThreadId(u32::from(core))));
    }
    (kernel, m)
}

#[test]
fn an_overflow_is_a_sample_of_exactly_what_was_counted_so_far() {
    let (mut kernel, mut m) = kernel(None);
    assert_eq!(m.armed, [(0, 5), (1, 5)]);
    m.counted = [5, 3];
    assert_eq!(kernel.overflow(&mut m, CORE, at(1), CounterId(0)), Switch::Stay);
    let known = |kernel: &Kernel<Rm>, whose| kernel.metric(whose, METRIC).map(|count| count.whole());
    let (first, second) = (Whose::Core(CoreId(0)), Whose::Core(CoreId(1)));
    assert_eq!(m.counted, [0, 3], "what was read is told, and the other core's is left alone");
    assert_eq!(
        [first, Whose::Task(TaskId(0)), second].map(|whose| known(&kernel, whose)),
        [Some(5), Some(5), None]
    );
    m.counted[0] = 2;
    let _ = kernel.timer(&mut m, CORE, at(4));
    assert_eq!(known(&kernel, first), Some(7), "the period's count is whole");
    assert_eq!(m.armed, [(0, 5), (1, 5), (0, 5)], "and the next one is counted from zero");
    assert_eq!(kernel.placement().map(|account| account.silent_counters), Some(0));
    // A counter that nobody has.
    assert_eq!(kernel.overflow(&mut m, CORE, at(5), CounterId(7)), Switch::Stay);
    assert_eq!(kernel.overflows(CORE), 2);
}

#[test]
fn what_follows_from_an_overflow_follows_at_once() {
    let (mut kernel, mut m) = kernel(Some(Action::Hold { task: TaskId(0), until: at(3) }));
    m.counted[0] = 5;
    assert_eq!(kernel.overflow(&mut m, CORE, at(1), CounterId(0)), Switch::Idle);
    assert_eq!(kernel.timer(&mut m, CORE, at(2)), Switch::Stay);
    assert_eq!(kernel.timer(&mut m, CORE, at(3)), Switch::To(ThreadId(0)));
}

#[test]
fn a_task_on_another_core_is_moved_when_the_request_arrives() {
    let (mut kernel, mut m) = kernel(Some(Action::Move { task: TaskId(1), core: CORE }));
    m.counted[0] = 5;
    assert_eq!(kernel.overflow(&mut m, CORE, at(1), CounterId(0)), Switch::Stay);
    assert_eq!(m.requests, [(0, 1)]);
    assert_eq!(kernel.running(CoreId(1)), Some(ThreadId(1)), "its own core takes it off");
    assert_eq!(kernel.ipi(&mut m, CoreId(1), at(1)), Switch::Idle);
    assert_eq!(kernel.wait_next(&mut m, CORE, at(6)), Switch::To(ThreadId(1)));
    assert_eq!(kernel.placement().map(|account| (account.actions, account.refused)), Some((1, 0)));
}

/// The request comes too late: the task has left its core by itself, which does then what waits for it.
#[test]
fn a_task_that_leaves_before_it_is_asked_to_is_moved_then() {
    let (mut kernel, mut m) = kernel(Some(Action::Move { task: TaskId(1), core: CORE }));
    m.counted[0] = 5;
    assert_eq!(kernel.overflow(&mut m, CORE, at(1), CounterId(0)), Switch::Stay);
    let done = |kernel: &Kernel<Rm>| kernel.placement().map(|account| (account.actions, account.refused));
    assert_eq!(done(&kernel), Some((0, 0)), "it runs on another core");
    assert_eq!(kernel.wait_next(&mut m, CoreId(1), at(1)), Switch::Idle);
    assert_eq!(done(&kernel), Some((1, 0)));
    assert_eq!(kernel.ipi(&mut m, CoreId(1), at(1)), Switch::Stay, "nothing is left to do");
}

#[test]
fn a_task_that_ends_is_sampled_to_its_last_event_and_then_forgotten() {
    let heard = Arc::default();
    let (mut kernel, mut m) = kernel_with(Placed::new(LastWords(Arc::clone(&heard))));
    m.counted = [4, 9];
    assert_eq!(kernel.exit(&mut m, CORE, at(1)), Switch::Idle);
    assert_eq!(*heard.lock().expect("it is told"), [Some(4)]);
    assert_eq!(kernel.metric(Whose::Task(TaskId(0)), METRIC), None, "what was known of it holds no more");
}
