//! How a run ended, and what may end it early.

use serde::{Deserialize, Serialize};
use solo_model::listening::CoreHeard;
use solo_model::record::UnfinishedRecord;
use solo_model::{CoreId, Duration, Instant, JobIndex, MissRateCurve, Record, TaskId};
use std::collections::{BTreeMap, BTreeSet};

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
    /// What was to stop it has happened: [`RunEnd::stop_on`].
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
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RunEnd {
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
    /// Tasks that ended before their time: none of their later jobs was released.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ended: Vec<EndedTask>,
    /// What a scheduler that listens heard of each core and did there; empty without one, and where the machine does not tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heard: Vec<CoreHeard>,
    /// What each task missed by what its process held of the last-level cache; empty where that was not observed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curves: Vec<MissRateCurve>,
}

impl RunEnd {
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

/// A task that ended before its time: its thread died, or a heap had not what it asked for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct EndedTask {
    /// Which.
    pub task: TaskId,
    /// When, on the machine's time line.
    #[serde(rename = "at_ns")]
    pub at: Instant,
    /// Why, in words.
    pub why: String,
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
    /// All jobs under way: released, and due.
    jobs: BTreeMap<(TaskId, JobIndex), (Instant, Option<Instant>)>,
    /// Who is on each core, and since when.
    on_core: BTreeMap<CoreId, (TaskId, Instant)>,
    /// For how long a task's job has been on a core, before the last time.
    executed: BTreeMap<TaskId, Duration>,
}

impl StopWatch {
    /// Has seen nothing yet.
    pub fn new(on: StopOn) -> Self {
        let (due, jobs) = (BTreeSet::new(), BTreeMap::new());
        Self { on, due, jobs, on_core: BTreeMap::new(), executed: BTreeMap::new() }
    }

    /// True where it has happened by the time of this record.
    pub fn is_over(&mut self, record: &Record) -> bool {
        let late = self.due.first().is_some_and(|(due, ..)| *due < record.at());
        let met = match record {
            Record::Release(released) => {
                self.jobs.insert((released.task, released.job), (released.release, released.deadline));
                let due = self.due(released.task, released.release, released.deadline);
                self.due.extend(due.map(|due| (due, released.task, released.job)));
                false
            }
            Record::Switch(switch) => {
                self.leave(switch.core, switch.at);
                self.on_core.extend(switch.to.map(|task| (switch.core, (task, switch.at))));
                false
            }
            Record::Job(done) => {
                self.forget(done.task, done.job);
                self.leave(done.core, done.finish);
                self.executed.remove(&done.task);
                self.on_core.insert(done.core, (done.task, done.finish));
                false
            }
            Record::Skipped(skipped) => {
                self.forget(skipped.task, skipped.job);
                self.on == StopOn::Miss && skipped.deadline.is_some()
            }
            Record::Throttle(_) => self.on == StopOn::Throttle,
            _ => false,
        };
        late || met
    }

    /// The jobs that are not done at `at`, as they are recorded at the end of a run.
    pub fn unfinished(&mut self, at: Instant) -> impl Iterator<Item = Record> + use<> {
        let cores: Vec<CoreId> = self.on_core.keys().copied().collect();
        cores.into_iter().for_each(|core| self.leave(core, at));
        let mut executed = core::mem::take(&mut self.executed);
        // A task's jobs run one after the other: what it has executed is its first one's.
        core::mem::take(&mut self.jobs).into_iter().map(move |((task, job), (release, deadline))| {
            let executed = executed.remove(&task).unwrap_or_default();
            Record::Unfinished(UnfinishedRecord { at, task, job, release, deadline, executed })
        })
    }

    fn leave(&mut self, core: CoreId, at: Instant) {
        if let Some((task, since)) = self.on_core.remove(&core) {
            let executed = self.executed.entry(task).or_default();
            *executed = executed.saturating_add(at.since(since));
        }
    }

    fn forget(&mut self, task: TaskId, job: JobIndex) {
        if let Some((release, deadline)) = self.jobs.remove(&(task, job))
            && let Some(due) = self.due(task, release, deadline)
        {
            self.due.remove(&(due, task, job));
        }
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
