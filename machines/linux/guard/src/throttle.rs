//! How the decisions of an enforcer are carried out.

use solo_isolate::enforce::{Action, Actions, Enforcer};
use solo_model::{CoreId, TaskId};

/// Who is stopped or goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Whom {
    /// Everybody on a core.
    Core(CoreId),
    /// A task, wherever it runs.
    Task(TaskId),
}

/// A back end: stops whoever has used up a budget, and lets them go on.
pub trait Throttle {
    /// Why it can't.
    type Error;

    /// From now on this one does not run.
    ///
    /// # Errors
    /// Where the system refuses; it may run on.
    fn stop(&mut self, whom: Whom) -> Result<(), Self::Error>;

    /// From now on this one may run.
    ///
    /// # Errors
    /// Where the system refuses; it may still be stopped.
    fn go(&mut self, whom: Whom) -> Result<(), Self::Error>;
}

/// Carries out those of `core`'s actions that stop somebody or let them go on; all others (counters to arm, periods to report, cores
/// to call) are handed to `other`.
///
/// # Errors
/// The first refusal; the actions after it were not carried out.
pub fn carry_out<T: Throttle>(
    enforcer: &mut Enforcer,
    core: CoreId,
    actions: Actions,
    throttle: &mut T,
    mut other: impl FnMut(Action),
) -> Result<(), T::Error> {
    for action in actions {
        match action {
            Action::Stop => throttle.stop(Whom::Core(core))?,
            Action::Go => throttle.go(Whom::Core(core))?,
            Action::StopTask(task) => throttle.stop(Whom::Task(task))?,
            Action::GoTasks => {
                let mut slot = 0;
                while let Some(task) = enforcer.freed(slot) {
                    throttle.go(Whom::Task(task))?;
                    slot = task.index() + 1;
                }
            }
            Action::Arm(..)
            | Action::Report(_)
            | Action::Rebudgeted(_)
            | Action::Resumed { .. }
            | Action::Call(_) => other(action),
        }
    }
    Ok(())
}
