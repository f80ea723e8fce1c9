//! A scheduler that listens, as reports keep it.

use serde::{Deserialize, Serialize};
use solo_model::listening::{CoreHeard, Reaction};
use solo_model::{Bytes, Duration, Listening, MissRateCurve, TaskId};

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
    /// The size of the last-level cache, where it was observed what tasks hold of it.
    #[serde(default, rename = "capacity_bytes", skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Bytes>,
    /// What each task's process held of the last-level cache; empty where that was not observed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<HeldReport>,
    /// What each task missed by what its process held; empty where that was not observed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curves: Vec<MissRateCurve>,
}

/// What a task's process held of the last-level cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HeldReport {
    /// The task.
    pub task: TaskId,
    /// How often it was looked at.
    pub samples: u64,
    /// The mean.
    #[serde(rename = "mean_bytes")]
    pub mean: Bytes,
    /// The most.
    #[serde(rename = "most_bytes")]
    pub most: Bytes,
}

impl ListeningReport {
    pub(crate) fn new(listening: &Listening) -> Self {
        Self {
            action: listening.reaction,
            period: listening.period,
            cores: Vec::new(),
            capacity: listening.observed.reads_occupancy().then_some(listening.observed.capacity),
            held: Vec::new(),
            curves: Vec::new(),
        }
    }
}
