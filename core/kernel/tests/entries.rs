//! What the entry points return, driven by hand without any machine.

use solo_hal::Quiet;
use solo_kernel::{Kernel, KernelConfig, State, Switch, TaskParameters};
use solo_model::policy::{Policy, Scope};
use solo_model::task::Release;
use solo_model::{Caps, CoreId, Duration, Instant, TaskClass, TaskId, ThreadId};
use solo_schedule::criteria::Edf;

const CORE: CoreId = CoreId(0);

fn caps() -> Caps {
    Caps { threads_max: 100, ..Caps::plain(4) }
}

fn periodic(period_ms: u64) -> TaskParameters {
    let period = Duration::from_millis(period_ms);
    TaskParameters {
        member: None,
        class: TaskClass::Hard,
        release: Release::Periodic { offset: Duration::ZERO, period },
        deadline: Some(period),
        wcet: None,
        priority: None,
        core: None,
        migrate: None,
    }
}

fn at(ms: u64) -> Instant {
    Instant::new(ms * 1_000_000)
}

#[test]
fn two_threads_take_turns_under_edf() {
    let policy = Policy::new(Scope::Global, solo_model::Criterion::Edf);
    let config = KernelConfig {
        cores: 1,
        policy,
        speeds: Vec::new(),
        tasks: vec![periodic(20), periodic(10)],
        locks: Vec::new(),
        backlog_limit: KernelConfig::BACKLOG_LIMIT,
        regulation: None,
        counting: Vec::new(),
        listening: None,
        caching: None,
        partitions: None,
    };
    let mut kernel = Kernel::<Edf>::new(config, &caps()).expect("admitted");
    let m = &mut Quiet;
    assert_eq!(kernel.start(m, CORE, at(0)), Switch::To(ThreadId(1)));
    assert_eq!(kernel.wait_next(m, CORE, at(3)), Switch::To(ThreadId(0)));
    assert_eq!(kernel.timer(m, CORE, at(4)), Switch::Stay, "an early interrupt");
    assert_eq!(kernel.timer(m, CORE, at(10)), Switch::Stay, "both are due at 20: the lower index goes on");
    assert_eq!(kernel.wait_next(m, CORE, at(11)), Switch::To(ThreadId(1)));
    assert_eq!(kernel.wait_next(m, CORE, at(12)), Switch::Idle);
    assert_eq!(kernel.running(CORE), None);
    assert_eq!(kernel.state(ThreadId(0)), Some(State::Waiting));
    assert_eq!(kernel.finished(TaskId(1)), 2);
}
