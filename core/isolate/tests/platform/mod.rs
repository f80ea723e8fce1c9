//! A shipped platform and a small task.

use solo_model::task::{Release, Task, TaskClass};
use solo_model::{CoreId, Duration, Platform};

/// platforms/xeon-w3530.toml.
pub(crate) fn xeon() -> Platform {
    let text = std::fs::read_to_string("../../platforms/xeon-w3530.toml").expect("the file is there");
    solo_scenario::parse_platform(&text, "xeon-w3530.toml").expect("it is sound")
}

/// A hard task on a core.
pub(crate) fn task(name: &str, core: u16) -> Task {
    let period = Duration::from_millis(20);
    Task {
        core: Some(CoreId(core)),
        ..Task::new(name, TaskClass::Hard, Release::Periodic { offset: Duration::ZERO, period })
    }
}
