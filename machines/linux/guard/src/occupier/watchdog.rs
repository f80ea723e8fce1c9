//! What ends an occupier that would not let go.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use solo_model::Duration;

/// How long an occupier may compute without waiting once, besides four periods.
const GRACE_US: u64 = 1_000_000;

/// The kernel kills this process where a real-time thread of it computes for longer than a second and four periods without waiting
/// once: a working occupier waits in every period. Gone when it is dropped.
#[derive(Debug)]
pub struct Watchdog {
    before: Rlimit,
}

impl Watchdog {
    /// Sets it. Programs that are started later inherit it.
    pub fn set(period: Duration) -> Self {
        let before = getrlimit(Resource::Rttime);
        let limit = period.get().saturating_mul(4) / 1000 + GRACE_US;
        // A lower limit of the user's stays.
        let current = before.maximum.map_or(limit, |own| own.min(limit));
        let before = Rlimit { current: before.current, maximum: before.maximum };
        // At the soft limit there is only a signal that can be caught: the two are the same, and the process is killed. Who may not raise
        // the hard limit again keeps this one.
        let _ = setrlimit(Resource::Rttime, Rlimit { current: Some(current), maximum: Some(current) });
        Self { before }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        let before = Rlimit { current: self.before.current, maximum: self.before.maximum };
        let _ = setrlimit(Resource::Rttime, before);
    }
}
