//! How a run ended, and what may end it early.

use serde::{Deserialize, Serialize};
use solo_model::{Duration, Instant, JobIndex, Record, TaskId};
use std::collections::BTreeSet;

/// Why a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndReason {
    /// Each periodic task finished its jobs.
    JobsDone,
    /// The duration was over.
    TimeOver,
    /// A task could not finish its jobs: the run was cut off.
    CutOff,
    /// What was to stop it has happened: [`Outcome::stop_on`].
    Stopped,
}

/// What stops a run as soon as it happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StopOn {
    /// A deadline passes, and the job is not done.
    Miss,
    /// A core is throttled, for its budget is used up. It is told when the core goes on.
    Throttle,
    /// A job of a task is not done so long after its release.
    Response {
        /// The task.
        task: TaskId,
        /// The longest time that does not stop the run.
        #[serde(rename = "above_ns")]
        above: Duration,
    },
}

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// When, on the machine's time line.
    #[serde(rename = "end_ns")]
    pub end: Instant,
    /// Why.
    pub reason: EndReason,
    /// What was to stop it, where anything was; whether it happened, `reason` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_on: Option<StopOn>,
    /// What the machine did not do.
    #[serde(default)]
    pub shortfalls: Shortfalls,
}

impl Outcome {
    /// Why the run ended before its time; `None` where it did not.
    pub fn early(&self) -> Option<Early> {
        match self.reason {
            EndReason::JobsDone | EndReason::TimeOver => None,
            EndReason::CutOff => Some(Early::CutOff),
            EndReason::Stopped => self.stop_on.map(Early::Stopped),
        }
    }
}

/// Why a run ended before its time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Early {
    /// A task could not finish its jobs.
    CutOff,
    /// This happened, and was to stop it.
    Stopped(StopOn),
}

/// What the machine did not do of that which isolation relies on. All zero in a sound run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Shortfalls {
    /// Lines that were to be locked in a cache while the run went on and were not: their set had no room.
    pub unlocked_lines: u64,
    /// Requests to performance counters that the machine refused: budgets and monitors knew less than they should.
    pub refused_counters: u64,
}

/// Looks through records, in the order of their times, for what is to stop a run.
#[derive(Clone, Debug)]
pub struct StopWatch {
    on: StopOn,
    /// Jobs under way, by the time until which they must be done.
    due: BTreeSet<(Instant, TaskId, JobIndex)>,
}

impl StopWatch {
    /// Has seen nothing yet.
    pub const fn new(on: StopOn) -> Self {
        Self { on, due: BTreeSet::new() }
    }

    /// True where it has happened by the time of this record.
    pub fn is_over(&mut self, record: &Record) -> bool {
        if self.due.first().is_some_and(|(due, ..)| *due < record.at()) {
            return true;
        }
        match record {
            Record::Release(released) => {
                if let Some(due) = self.due(released.task, released.release, released.deadline) {
                    self.due.insert((due, released.task, released.job));
                }
            }
            Record::Job(done) => {
                if let Some(due) = self.due(done.task, done.release, done.deadline) {
                    self.due.remove(&(due, done.task, done.job));
                }
            }
            Record::Skipped(skipped) => return self.on == StopOn::Miss && skipped.deadline.is_some(),
            Record::Throttle(_) => return self.on == StopOn::Throttle,
            _ => {}
        }
        false
    }

    /// Until when a job must be done.
    fn due(&self, task: TaskId, release: Instant, deadline: Option<Instant>) -> Option<Instant> {
        match self.on {
            StopOn::Miss => deadline,
            StopOn::Throttle => None,
            StopOn::Response { task: asked, above } => (asked == task).then(|| release + above),
        }
    }
}
