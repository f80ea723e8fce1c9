//! What a program's threads do and note, as the port keeps it.

use alloc::boxed::Box;
use alloc::vec::Vec;
use solo_model::{Instant, ThreadId};

/// What a thread of a program does, once; it ends where this returns.
pub type Body = Box<dyn FnOnce() + Send>;

/// The bodies by thread; taken when a thread begins.
pub(super) type Bodies = Vec<Option<Body>>;

/// What is done otherwise where the image is a program.
#[derive(Clone, Copy)]
pub(super) struct Hooks {
    /// Where threads begin.
    pub(super) entry: extern "C" fn() -> !,
    /// Tells the host at the end what was noted.
    pub(super) tell: fn(),
}

/// What threads noted, and how much found no place.
pub(super) struct Notes {
    pub(super) kept: Vec<(Instant, ThreadId, &'static str, u64)>,
    pub(super) dropped: u64,
}

impl Notes {
    pub(super) const fn new() -> Self {
        Self { kept: Vec::new(), dropped: 0 }
    }
}
