//! What was seen of cores and tasks, and who sees it.

use crate::error::PlaceError;
use serde::{Deserialize, Serialize};
use solo_model::{Bytes, CoreId, CoreSet, Counts, Duration, Instant, TaskId};

/// What has become of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Life {
    /// It is there.
    Lives,
    /// It goes on with another program than in the observation before.
    Executed,
    /// It has ended. This is said once.
    Ended,
}

/// A task in the time since the last observation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskSeen {
    /// Which.
    pub task: TaskId,
    /// What has become of it.
    pub life: Life,
    /// Where it is now, as far as is known. A task that has changed its own CPUs is where it says.
    pub core: CoreId,
    /// How long it was on CPUs, all of its threads together.
    #[serde(rename = "ran_ns")]
    pub ran: Duration,
    /// What was counted of it; empty where nothing could be read.
    pub counts: Counts,
    /// What lines take in the last-level cache that its process brought in; nothing where that is not read.
    #[serde(default, rename = "held_bytes")]
    pub held: Option<Bytes>,
}

/// A core in the time since the last observation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoreSeen {
    /// Which. A core that is offline is not seen.
    pub core: CoreId,
    /// The task on it: of those that are there, the one that ran longest; none where none ran, or where it is frozen.
    pub running: Option<TaskId>,
    /// Which of the event sets that take turns was counted.
    pub set: u16,
    /// What was counted there.
    pub counts: Counts,
}

/// What was seen.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Observation {
    /// When, since the beginning.
    #[serde(rename = "at_ns")]
    pub at: Instant,
    /// Over which time.
    #[serde(rename = "span_ns")]
    pub span: Duration,
    /// The sampling period is over, and the next one ends then; nothing where only the turn of a set is over.
    #[serde(rename = "next_ns")]
    pub next: Option<Instant>,
    /// The cores, in their order.
    pub cores: Vec<CoreSeen>,
    /// The tasks, in their order; those that have ended are left out once that was said.
    pub tasks: Vec<TaskSeen>,
}

/// What a source has to know of the agent to see.
pub trait Where {
    /// The core that a task has been given; nothing for one that has ended.
    fn home(&self, task: TaskId) -> Option<CoreId>;
    /// Whether a task is held.
    fn is_held(&self, task: TaskId) -> bool;
    /// Which of the sets that take turns is counted on a core.
    fn set(&self, core: CoreId) -> u16;
}

/// Who sees.
pub(crate) trait Source {
    /// What was counted since the last call, whose time ends at `at`; the next one is asked for sets as `tasks` says then.
    ///
    /// # Errors
    /// Where nothing can be seen any more.
    fn look(
        &mut self,
        at: Instant,
        next: Option<Instant>,
        tasks: &dyn Where,
    ) -> Result<Observation, PlaceError>;

    /// Counts from now on what `tasks` says: sets take turns. By default all is counted all the time.
    fn turn(&mut self, _tasks: &dyn Where) {}

    /// The cores that there are now.
    fn online(&self) -> CoreSet;
}
