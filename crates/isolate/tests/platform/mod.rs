//! A shipped platform, a machine's abilities and a small task.

use solo_model::task::{Release, Task, TaskClass};
use solo_model::work::Work;
use solo_model::{Bytes, Caps, CoreId, CoreSet, Duration, Platform};

/// platforms/xeon-w3530.toml.
pub(crate) fn xeon() -> Platform {
    let text = std::fs::read_to_string("../../platforms/xeon-w3530.toml").expect("the file is there");
    solo_scenario::parse_platform(&text, "xeon-w3530.toml").expect("it is sound")
}

/// A machine that can do everything, locking if `lock`.
pub(crate) fn caps(lock: bool) -> Caps {
    Caps {
        cores: CoreSet::first(4),
        timer_resolution: Duration::new(1),
        one_shot_timer: true,
        reschedule_ipi: true,
        preemption: true,
        threads_max: 100,
        counters: 4,
        counter_overflow: true,
        page: Bytes::from_kib(4),
        colors: 128,
        cache_lock: lock,
    }
}

/// A hard task on a core.
pub(crate) fn task(name: &str, core: u16) -> Task {
    let period = Duration::from_millis(20);
    Task {
        name: name.into(),
        class: TaskClass::Hard,
        release: Release::Periodic { offset: Duration::ZERO, period },
        deadline: None,
        wcet: None,
        priority: None,
        core: Some(CoreId(core)),
        work: Work::default(),
    }
}
