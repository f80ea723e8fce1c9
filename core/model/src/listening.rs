//! A scheduler that listens to counters, as a description: `[scheduler.monitor]` of a scenario (thesis 8.2.3, 8.3).

use crate::event::EventId;
use crate::id::CoreId;
use crate::task::TaskClass;
use crate::units::{Duration, Instant};
use alloc::vec::Vec;

/// A metric, by the number that monitors and policies have agreed on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MetricId(pub u16);

/// What a scheduler listens to and what it does about it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Listening {
    /// The event that is counted on each core.
    pub event: EventId,
    /// The interval after which each core's count is looked at and begins anew (QUANTUM in thesis 8.2.3).
    pub period: Duration,
    /// The most that may be counted in an interval without consequences (THRESHOLD1).
    pub threshold: u64,
    /// The classes of tasks that it may concern (`[LOWER_PRIO_BOUND, UPPER_PRIO_BOUND]`).
    pub classes: Vec<TaskClass>,
    /// What happens above the threshold.
    pub reaction: Reaction,
    /// What the counters read instead of what the hardware counts; empty for what it counts.
    pub script: Vec<ScriptedCount>,
}

/// What a scheduler does about a core that counted more than the threshold.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Reaction {
    /// Nothing: the counts are taken.
    Report,
    /// The task on the core gives it away until the end of the next interval, to nobody where nobody else is ready.
    Yield,
}

impl Reaction {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Report, Self::Yield];

    /// The word in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Report => "report",
            Self::Yield => "yield",
        }
    }
}

/// A count that is written down, and not counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ScriptedCount {
    /// The core.
    pub core: CoreId,
    /// The event.
    pub event: EventId,
    /// From when on, since the beginning of the run, so many more have been counted.
    pub at: Instant,
    /// How many.
    pub count: u64,
}
