//! What the manager of services hears (systemd's `Type=notify` and `WatchdogSec=`); nobody, where none started this process.

use sd_notify::NotifyState;
use std::time::{Duration, Instant};

/// A service that is at work. It says that it stops when it is dropped.
pub(crate) struct Service {
    /// How often it says that it is alive; the manager ends it when it hears nothing for twice as long.
    every: Option<Duration>,
    said: Instant,
    /// Nothing is said to people.
    quiet: bool,
}

impl Service {
    /// What the service is for holds from now on.
    pub(crate) fn ready(quiet: bool) -> Self {
        tell(&NotifyState::Ready, quiet);
        Self { every: sd_notify::watchdog_enabled().map(|limit| limit / 2), said: Instant::now(), quiet }
    }

    /// To be called again and again by what must not stand still.
    pub(crate) fn alive(&mut self) {
        if self.every.is_some_and(|every| self.said.elapsed() >= every) {
            tell(&NotifyState::Watchdog, self.quiet);
            self.said = Instant::now();
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        tell(&NotifyState::Stopping, self.quiet);
    }
}

/// A manager that does not listen is no reason to stop.
fn tell(what: &NotifyState<'_>, quiet: bool) {
    if let Err(error) = sd_notify::notify(std::slice::from_ref(what))
        && !quiet
    {
        eprintln!(
            "note: the manager of services does not hear this process: {}",
            solo_store::system_reason(&error)
        );
    }
}
