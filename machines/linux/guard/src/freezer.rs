//! Tasks stopped by the kernel's freezer: each in a cgroup of its own.

use crate::actuator::Actuator;
use crate::error::GuardError;
use crate::guard::Guard;
use crate::setting::{Group, Knob, Setting};
use crate::throttle::{Throttle, Whom};
use solo_model::TaskId;

/// Stops a task by freezing its cgroup. Whole cores it cannot stop: a group's threads run anywhere.
#[derive(Debug)]
pub struct Freezer<'a, A: Actuator> {
    guard: &'a mut Guard<A>,
    /// The group of each task, by slot.
    groups: Vec<Group>,
}

/// Why the freezer does not stop somebody.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FreezerError {
    /// The setting was not changed.
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// A whole core, or a task without a group.
    #[error("the freezer stops tasks with a cgroup of their own, and no cores")]
    NoGroup(Whom),
}

impl<'a, A: Actuator> Freezer<'a, A> {
    /// A freezer of these groups, one a task, by slot.
    pub fn new(guard: &'a mut Guard<A>, groups: Vec<Group>) -> Self {
        Self { guard, groups }
    }

    fn freeze(&mut self, whom: Whom, value: &str) -> Result<(), FreezerError> {
        let group = match whom {
            Whom::Task(TaskId(slot)) => self.groups.get(slot as usize),
            Whom::Core(_) => None,
        };
        let group = group.ok_or(FreezerError::NoGroup(whom))?.clone();
        Ok(self.guard.change(&Setting::Cgroup { group, knob: Knob::Freeze }, value)?)
    }
}

impl<A: Actuator> Throttle for Freezer<'_, A> {
    type Error = FreezerError;

    fn stop(&mut self, whom: Whom) -> Result<(), FreezerError> {
        self.freeze(whom, "1")
    }

    fn go(&mut self, whom: Whom) -> Result<(), FreezerError> {
        self.freeze(whom, "0")
    }
}
