//! Listening without consequences.

use crate::placement::{Actions, Hook, Placement, Situation};
use solo_model::{Instant, Listening, Platform};

/// Does nothing about what it hears: what listening itself costs, and how often a threshold would have been passed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report;

impl Report {
    /// The policy; what is listened to does not matter to it.
    pub const fn new(_: &Listening, _: &Platform) -> Self {
        Self
    }
}

impl Placement for Report {
    fn name(&self) -> &'static str {
        "report"
    }

    fn on(&mut self, _: Instant, _: Hook, _: &dyn Situation) -> Actions {
        Actions::NONE
    }
}
