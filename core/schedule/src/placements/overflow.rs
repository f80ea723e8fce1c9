//! The same as the dynamic phase of color-aware scheduling, at the very event that is one too many.

use super::alert::Alert;
use crate::placement::{Action, Actions, Hook, Placement, Situation, Whose};
use solo_model::sample::Why;
use solo_model::{Duration, Instant, Listening, Platform};

/// When a counter says that a core has counted one more than the threshold in the period: the task on it, where it is of one of the
/// classes, gives the core away until the end of the period (thesis 8.4: by interrupt instead of by sampling).
///
/// The counter interrupts once in a period: whoever comes onto the core after that is left alone until the next. At the end of
/// a period nothing happens, for whoever counted too much has been interrupted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Overflow {
    alert: Alert,
    period: Duration,
    /// The end of the period, as it was told last.
    next: Instant,
}

impl Overflow {
    /// The policy over metric 0, what each core has counted in the period.
    pub fn new(listening: &Listening, _: &Platform) -> Self {
        Self { alert: Alert::new(listening), period: listening.period, next: Instant::ZERO }
    }

    /// The end of the period in which `now` lies.
    fn end(&self, now: Instant) -> Instant {
        if now < self.next { self.next } else { now + self.period }
    }
}

impl Placement for Overflow {
    fn name(&self) -> &'static str {
        "overflow"
    }

    fn on(&mut self, now: Instant, hook: Hook, situation: &dyn Situation) -> Actions {
        match hook {
            Hook::Enable => self.next = now + self.period,
            Hook::Tick { next, .. } => self.next = next,
            Hook::Sample { of: Whose::Core(core), why: Why::Overflow, .. } => {
                if let Some(task) = self.alert.culprit(core, situation) {
                    return Actions::one(Action::Hold { task, until: self.end(now) });
                }
            }
            Hook::Sample { of: Whose::Core(core), why: Why::Tick, .. } => {
                let _ = self.alert.look(core, situation);
            }
            _ => {}
        }
        Actions::NONE
    }
}
