//! What a caller passes into long work: who hears how far it is, and who may stop it.

use solo_model::{Instant, PerMille, Policy};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Hears how far long work has come. Runs that go on side by side report from several threads, each under its name.
///
/// Every method does nothing unless it is written: `()` is the listener that hears nothing.
pub trait Progress: Sync {
    /// The run of that name has simulated the time until `now`, `share` of the whole.
    fn reached(&self, run: &str, now: Instant, share: PerMille) {
        let _ = (run, now, share);
    }

    /// The run of that name is over.
    fn ended(&self, run: &str) {
        let _ = run;
    }

    /// Something begins whose length nobody knows.
    fn step(&self, step: Step<'_>) {
        let _ = step;
    }
}

impl Progress for () {}

/// What begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step<'s> {
    /// The bare-metal image is built and booted.
    Boot {
        /// The image is built first, for none lies ready.
        builds: bool,
    },
    /// A user's program is built and run as a process.
    Program,
    /// Threads of this Linux run an experiment.
    Threads {
        /// How many.
        count: usize,
    },
    /// Path lengths on bare metal are measured under this policy.
    PathLengths(&'s Policy),
    /// The kernel's or Linux's paths of this name are measured on this machine.
    Paths(&'s str),
}

/// A request to stop, which may come from any thread or signal handler. Clones are the same request.
#[derive(Clone, Default, Debug)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// A request that nobody has made yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks all work that was given this request, or a clone of it, to stop soon.
    pub fn request(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// True once somebody has asked.
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// A flag that something else sets, a signal handler for example.
impl From<Arc<AtomicBool>> for Cancel {
    fn from(flag: Arc<AtomicBool>) -> Self {
        Self(flag)
    }
}

/// Progress out, cancellation in.
#[derive(Clone)]
pub struct Control<'c> {
    /// Who hears.
    pub progress: &'c dyn Progress,
    /// Who may stop it.
    pub cancel: Cancel,
}

impl Control<'static> {
    /// Nobody hears, nobody stops it.
    pub fn silent() -> Self {
        Self { progress: &(), cancel: Cancel::new() }
    }
}
