//! What a machine has to do, in order.

use crate::regulator::{Decision, Direction, PeriodReport, Rebudgeted};
use solo_model::{CoreSet, Duration, Events, Instant, TaskId};

/// Something to do. All but [`Call`](Self::Call) concerns the core that something happened on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Let the counter of a direction interrupt after so many more events, from this reading; `None` for not at all. Replaces what was
    /// programmed.
    Arm(Direction, Option<Events>),
    /// Tell whoever wants to know what became of the core's part of a period.
    Report(PeriodReport),
    /// Tell whoever wants to know that the core's reservation was changed.
    Rebudgeted(Rebudgeted),
    /// The core, or a task on it, was stopped since then; the time slice of who was stopped is to be shortened by `charge`.
    Resumed {
        /// When it was stopped.
        since: Instant,
        /// By how much.
        charge: Duration,
    },
    /// Run nothing.
    Stop,
    /// Run again.
    Go,
    /// Run anything but this task.
    StopTask(TaskId),
    /// Interrupt these cores, so that they look in.
    Call(CoreSet),
    /// Some tasks that were stopped may go on: [`Enforcer::freed`](super::Enforcer::freed) names them.
    GoTasks,
}

/// At most [`Actions::MOST`] actions, in the order in which they are to be carried out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub struct Actions {
    decision: Decision,
    directions: usize,
    throttle: Option<Action>,
    tasks: bool,
    next: usize,
}

impl Actions {
    /// The most actions that follow from one event.
    pub const MOST: usize = 8;

    pub(super) fn new(decision: Decision, directions: usize, throttle: Option<Action>, tasks: bool) -> Self {
        Self { decision, directions, throttle, tasks, next: 0 }
    }

    fn at(&self, place: usize) -> Option<Action> {
        let arm = |direction| Some(Action::Arm(direction, self.decision.arm[direction]));
        match place {
            0 => arm(Direction::Reads),
            1 => arm(Direction::Writes).filter(|_| self.directions > 1),
            2 => self.decision.report.map(Action::Report),
            3 => self.decision.rebudgeted.map(Action::Rebudgeted),
            4 => {
                let charge = self.decision.charge;
                self.decision.reopened.map(|since| Action::Resumed { since, charge })
            }
            5 => self.throttle,
            6 => Some(self.decision.call).filter(|call| !call.is_empty()).map(Action::Call),
            _ => self.tasks.then_some(Action::GoTasks),
        }
    }
}

impl Iterator for Actions {
    type Item = Action;

    #[inline(never)] // a loop over actions would be written out for each of them, in the kernel of each criterion
    fn next(&mut self) -> Option<Action> {
        while self.next < Self::MOST {
            self.next += 1;
            let action = self.at(self.next - 1);
            if action.is_some() {
                return action;
            }
        }
        None
    }
}
