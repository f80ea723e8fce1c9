//! A scheduler that listens, as reports keep it.

use serde::{Deserialize, Serialize};
use solo_model::listening::{CoreHeard, Reaction};
use solo_model::{Duration, Listening};

/// A scheduler that looked at counters (`[scheduler.monitor]`). Whom it kept off its core stands with the tasks.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ListeningReport {
    /// What it did above the threshold.
    pub action: Reaction,
    /// How often it looked at each core.
    #[serde(rename = "period_ns")]
    pub period: Duration,
    /// What it heard of each core and did there; empty where the machine does not tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cores: Vec<CoreHeard>,
}

impl ListeningReport {
    pub(crate) fn new(listening: &Listening) -> Self {
        Self { action: listening.reaction, period: listening.period, cores: Vec::new() }
    }
}
