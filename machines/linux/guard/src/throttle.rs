//! How the decisions of an enforcer are carried out.

use solo_isolate::enforce::{Action, Actions};

/// A back end: stops whoever has used up a budget, and lets them go on.
pub(crate) trait Throttle {
    /// Why it can't.
    type Error;

    /// From now on nobody of whom it holds the budget runs.
    ///
    /// # Errors
    /// Where the system refuses; they may run on.
    fn stop(&mut self) -> Result<(), Self::Error>;

    /// From now on they may run.
    ///
    /// # Errors
    /// Where the system refuses; they may still be stopped.
    fn go(&mut self) -> Result<(), Self::Error>;
}

/// Carries out those of the actions that stop somebody or let them go on; all others (counters to arm, periods to report, others to
/// call) are handed to `other`. No budget here is a task's within a core or group.
///
/// # Errors
/// The first refusal; the actions after it were not carried out.
pub(crate) fn carry_out<T: Throttle>(
    actions: Actions,
    throttle: &mut T,
    mut other: impl FnMut(Action),
) -> Result<(), T::Error> {
    for action in actions {
        match action {
            Action::Stop => throttle.stop()?,
            Action::Go => throttle.go()?,
            action => other(action),
        }
    }
    Ok(())
}
