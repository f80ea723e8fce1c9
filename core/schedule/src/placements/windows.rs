//! Counters and meter are read each time that a core has retired so many instructions.

use crate::placement::{Actions, Hook, Placement, Situation};
use solo_model::{Instant, Listening, Platform};

/// Moves nobody. The first counter of each core interrupts again and again, each time after the same number of events: a window. What was
/// counted in it, and what the meter has gone on by, is read in that interrupt (PMCTrack 4.2.2: every 400 million instructions).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Windows;

impl Windows {
    /// The policy; the monitor says what is read.
    pub fn new(_: &Listening, _: &Platform) -> Self {
        Self
    }
}

impl Placement for Windows {
    fn name(&self) -> &'static str {
        "windows"
    }

    fn on(&mut self, _: Instant, _: Hook, _: &dyn Situation) -> Actions {
        Actions::NONE
    }
}
