//! Tasks, ranks and machines for the tests of this crate.
#![allow(dead_code, reason = "each test program uses some of them")]

use solo_model::policy::{Policy, Scope};
use solo_model::task::Release;
use solo_model::{Caps, Criterion, Duration, Instant, TaskClass, TaskId};
use solo_schedule::{JobView, Rank, TaskParameters};

/// A hard task that has everything a criterion can ask for.
pub(crate) fn complete_task() -> TaskParameters {
    TaskParameters {
        member: None,
        class: TaskClass::Hard,
        release: Release::Periodic { offset: Duration::ZERO, period: Duration::from_millis(10) },
        deadline: Some(Duration::from_millis(10)),
        wcet: Some(Duration::from_millis(1)),
        priority: Some(0),
        core: None,
        migrate: None,
    }
}

/// The rank of job of task `task` with `key`.
pub(crate) fn rank(task: u32, key: i64) -> Rank {
    let parameters = complete_task();
    let job = JobView {
        task: TaskId(task),
        parameters: &parameters,
        release: Instant::ZERO,
        deadline: None,
        executed: Duration::ZERO,
        turn: 0,
        yielded: false,
    };
    Rank::by_key(&job, key)
}

pub(crate) fn policy(scope: Scope, criterion: Criterion) -> Policy {
    Policy { quantum: Some(Duration::from_millis(1)), ..Policy::new(scope, criterion) }
}

pub(crate) fn caps(cores: usize) -> Caps {
    Caps {
        timer_resolution: Duration::new(100),
        threads_max: 8,
        counters: 4,
        counter_overflow: true,
        ..Caps::plain(cores)
    }
}
