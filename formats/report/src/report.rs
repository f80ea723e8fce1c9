//! What a run amounts to: the summary that tables, pages, comparisons and verdicts are made from.
//!
//! In files, units come last in names; all times are nanoseconds.

use crate::counted::Counted;
pub use crate::devices::DeviceReport;
use crate::distribution::Distribution;
pub use crate::energy::{CoreEnergy, DomainEnergy, EnergyReport, KindEnergy, TaskEnergy};
pub use crate::isolation::{ConservationReport, CoreRegulation, IsolationReport, OwnedMemory};
pub use crate::kinds::{KindsReport, TaskKinds};
pub use crate::listening::{HeldReport, ListeningReport};
use crate::outcome::{Early, EndedTask, RunEnd, Shortfalls};
use crate::series::Series;
use crate::timeparts::TimeSplit;
use serde::{Deserialize, Serialize};
use solo_model::{
    Bandwidth, Bytes, CoreId, Duration, Instant, JobIndex, LockId, Overhead, TaskClass, TaskId,
};

/// The format of `report.json`.
pub(crate) const REPORT_SCHEMA: u32 = 3;

/// The summary of a run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Report {
    /// The format.
    pub schema: u32,
    /// The scenario's name.
    pub scenario: String,
    /// The variant's name; empty for the scenario as it stands.
    pub variant: String,
    /// The scheduling policy, for example `P-EDF`.
    pub policy: String,
    /// The platform's name.
    pub platform: String,
    /// The source of all randomness.
    pub seed: u64,
    /// Independent runs that follow each other here, each with a seed of its own from `seed` up.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub replications: u64,
    /// When the run ended.
    #[serde(rename = "end_ns")]
    pub end: Instant,
    /// Why it ended before its time, where it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub early: Option<Early>,
    /// The most that the platform's DRAM can move.
    #[serde(rename = "dram_peak_bytes_per_s")]
    pub dram_peak: Bandwidth,
    /// The size of a cache line: what a DRAM read or write moves.
    #[serde(rename = "line_bytes")]
    pub line: Bytes,
    /// The tasks, in the order of the scenario.
    pub tasks: Vec<TaskReport>,
    /// The cores that anything was recorded of, from the lowest.
    pub cores: Vec<CoreReport>,
    /// Time in kernel paths, in the order of the thesis's Table 5; only those that occurred.
    pub overheads: Vec<OverheadReport>,
    /// The schedule around the worst job.
    pub worst: Option<WorstWindow>,
    /// What cores ran, in the order of its ends, to be drawn: the beginning of the run, or what was asked for. Records
    /// hold all of it.
    #[serde(skip)]
    pub schedule: Vec<Segment>,
    /// Until when `schedule` is complete.
    #[serde(skip)]
    pub schedule_to: Instant,
    /// What isolation did, where anything was isolated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<IsolationReport>,
    /// What devices moved by themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DeviceReport>,
    /// What the scheduler listened for, where it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listening: Option<ListeningReport>,
    /// What it cost, where the platform says what events cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<EnergyReport>,
    /// On which kinds of cores tasks ran, where the platform has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kinds: Option<KindsReport>,
    /// Mechanisms that did nothing, or not what they were meant to, with cause and remedy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Tasks that ended before their time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ended: Vec<EndedTask>,
    /// What to hold against the numbers.
    pub doubts: Doubts,
}

/// One task.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TaskReport {
    /// The name in the scenario.
    pub name: String,
    /// Hard, soft or best effort.
    pub class: TaskClass,
    /// The core it is assigned to, where it is.
    pub core: Option<CoreId>,
    /// The time between releases of a periodic task.
    #[serde(rename = "period_ns")]
    pub period: Option<Duration>,
    /// The relative deadline.
    #[serde(rename = "deadline_ns")]
    pub deadline: Option<Duration>,
    /// What is proved of it, where something is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<Bound>,
    /// Jobs released.
    pub released: u64,
    /// Jobs finished.
    pub jobs: u64,
    /// Jobs still unfinished when the run ended.
    pub unfinished: u64,
    /// Jobs that never ran, for too many were waiting.
    #[serde(default)]
    pub skipped: u64,
    /// Jobs of which it is known whether they met their deadline.
    pub judged: u64,
    /// Jobs that missed their deadline: finished late, or unfinished past it.
    pub misses: u64,
    /// Of the misses, those unfinished past their deadline: their tardiness is a lower bound.
    pub misses_unfinished: u64,
    /// Response times `f_ij - r_ij` of the finished jobs.
    pub response: Distribution,
    /// The response times over time.
    pub response_over_time: Series,
    /// The sum of the tardiness of all judged jobs.
    #[serde(rename = "tardiness_sum_ns")]
    pub tardiness_sum: Duration,
    /// The largest tardiness.
    #[serde(rename = "tardiness_max_ns")]
    pub tardiness_max: Duration,
    /// The sum of completion minus deadline over the finished jobs: the thesis's tardiness (8.3.3), which is
    /// negative for an early job.
    pub lateness_sum_ns: i128,
    /// The largest completion minus deadline of the finished jobs.
    pub lateness_max_ns: Option<i64>,
    /// How often another thread took its core away.
    pub preemptions: u64,
    /// How often it went on on another core.
    pub migrations: u64,
    /// The longest queue of releases behind a running job.
    pub backlog_max: u32,
    /// The time that finished jobs occupied a core.
    #[serde(rename = "executed_ns")]
    pub executed: Duration,
    /// The longest time that a job occupied a core, finished or not.
    #[serde(default, rename = "executed_max_ns")]
    pub executed_max: Duration,
    /// The most misses of the last-level cache that a finished job had, where they are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub llc_misses_max: Option<u64>,
    /// How long after its release a job was still unfinished when the run ended, at most.
    #[serde(default, rename = "pending_max_ns")]
    pub pending_max: Duration,
    /// The time that the task occupied any core, unfinished jobs included.
    #[serde(rename = "on_core_ns")]
    pub on_core: Duration,
    /// How long it was stopped because a bandwidth budget of its own was used up, or kept off its core by a scheduler that listens.
    #[serde(default, rename = "held_ns")]
    pub held: Duration,
    /// How often.
    #[serde(default)]
    pub held_times: u64,
    /// Where the time of all finished jobs went.
    pub time: TimeSplit,
    /// Where the time of those went that finished late.
    pub time_late: TimeSplit,
    /// What the hardware counted for all finished jobs.
    pub counts: Counted,
    /// What it counted for those that finished late.
    pub counts_late: Counted,
    /// The time that it waited for each lock, by lock.
    pub lock_waits: Vec<LockWait>,
    /// Where it closed a circle of waiting tasks, none of which goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadlock: Option<Deadlock>,
    /// It waits for a lock that never comes free: in a circle, or behind one.
    #[serde(default, skip_serializing_if = "is_false")]
    pub stuck: bool,
    /// The job that came off worst.
    pub worst: Option<WorstJob>,
}

/// How long a task waited for a lock.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LockWait {
    /// The lock.
    pub lock: LockId,
    /// The lock's name.
    pub name: String,
    /// All its waits together.
    #[serde(rename = "waited_ns")]
    pub waited: Duration,
}

/// Tasks wait in a circle, each for a lock that the next one holds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Deadlock {
    /// When the circle was closed.
    #[serde(rename = "at_ns")]
    pub at: Instant,
    /// The lock that closed it.
    pub lock: LockId,
    /// The lock's name.
    pub name: String,
}

/// A proved bound on a task's response times, to hold observations against.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Bound {
    /// No job responds later than this after its release...
    #[serde(rename = "response_ns")]
    pub response: Duration,
    /// ... as long as no job occupies its core for longer than this, kernel paths included.
    #[serde(rename = "occupied_ns")]
    pub occupied: Duration,
    /// ... and misses the last-level cache no more often than this, where budgets make it matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub misses: Option<u64>,
}

impl Report {
    /// Where a run's randomness comes from: `seed 1`, or `10 replications with seeds 1 to 10`.
    pub(crate) fn seeds(&self) -> String {
        let (seed, replications) = (self.seed, self.replications);
        match replications {
            0 | 1 => format!("seed {seed}"),
            _ => format!(
                "{replications} replications with seeds {seed} to {}",
                seed.wrapping_add(replications - 1)
            ),
        }
    }

    /// The same report with what was found to be ineffective.
    #[must_use]
    pub fn with_warnings(self, warnings: Vec<String>) -> Self {
        Self { warnings, ..self }
    }

    /// The report with how the run ended.
    #[must_use]
    pub fn with_outcome(mut self, outcome: &RunEnd) -> Self {
        self.doubts.shortfalls = outcome.shortfalls;
        self.ended.clone_from(&outcome.ended);
        self.early = outcome.early();
        if let Some(listening) = &mut self.listening {
            listening.cores.clone_from(&outcome.heard);
            listening.curves.clone_from(&outcome.curves);
        }
        self
    }

    /// False where cores together used more bandwidth than was reserved.
    pub fn conserved(&self) -> bool {
        let conservation = self.isolation.as_ref().and_then(|isolation| isolation.conservation);
        conservation.is_none_or(|conservation| conservation.violations == 0)
    }

    /// False where a core that a hard task owns did not get what it has reserved.
    pub fn guarantees_kept(&self) -> bool {
        let cores = self.isolation.iter().flat_map(|isolation| &isolation.cores);
        cores.into_iter().all(|core| !core.hard || core.unmet == 0)
    }

    /// The same report with what is proved of each task, by position.
    #[must_use]
    pub fn with_bounds(mut self, bounds: &[Option<Bound>]) -> Self {
        for (task, bound) in self.tasks.iter_mut().zip(bounds) {
            task.bound = *bound;
        }
        self
    }
}

impl TaskReport {
    /// The longest response that was seen, that of unfinished jobs so far included.
    pub(crate) fn longest_response(&self) -> Option<Duration> {
        let pending = Some(self.pending_max).filter(|pending| !pending.is_zero());
        self.response.max().max(pending)
    }
    /// True where a job took longer than was proved.
    pub(crate) fn breaks_bound(&self) -> bool {
        self.bound.is_some_and(|bound| self.longest_response() > Some(bound.response))
    }
    /// True where a job occupied its core for longer than what its bound supposes, or missed the last-level cache more often.
    pub fn overruns(&self) -> bool {
        self.bound.is_some_and(|bound| self.executed_max > bound.occupied) || self.missed_caches().is_some()
    }
    /// The most misses of a job and what its bound supposes, where that is less.
    pub(crate) fn missed_caches(&self) -> Option<(u64, u64)> {
        let (seen, supposed) = (self.llc_misses_max?, self.bound?.misses?);
        (seen > supposed).then_some((seen, supposed))
    }
    /// Misses per thousand judged jobs, rounded to the nearest; `None` without judged jobs.
    pub(crate) fn miss_per_mille(&self) -> Option<u64> {
        (self.judged > 0).then(|| (self.misses * 1000 + self.judged / 2) / self.judged)
    }
    /// The average completion minus deadline of a finished job in nanoseconds (thesis 8.3.3).
    pub fn lateness_mean_ns(&self) -> Option<i64> {
        let finished = self.response.count();
        (self.lateness_max_ns.is_some() && finished > 0)
            .then(|| (self.lateness_sum_ns / i128::from(finished)) as i64)
    }
}

/// A job that came off worse than all others of its task: the largest response time.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WorstJob {
    /// The job.
    pub job: JobIndex,
    /// Its nominal release.
    #[serde(rename = "release_ns")]
    pub release: Instant,
    /// When it finished.
    #[serde(rename = "finish_ns")]
    pub finish: Instant,
    /// Its absolute deadline.
    #[serde(rename = "deadline_ns")]
    pub deadline: Option<Instant>,
    /// The core on which it finished.
    pub core: CoreId,
    /// Where its time went.
    pub time: TimeSplit,
}

impl WorstJob {
    /// Its response time.
    pub fn response(&self) -> Duration {
        self.finish.since(self.release)
    }
}

/// One core.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CoreReport {
    /// The core.
    pub core: CoreId,
    /// The time that it ran tasks.
    #[serde(rename = "busy_ns")]
    pub busy: Duration,
    /// Which tasks occupied it for how long, the longest first.
    pub occupants: Vec<RunningTask>,
    /// Changes to another task or to idle.
    pub switches: u64,
    /// Reschedule requests sent.
    pub ipis_sent: u64,
    /// Reschedule requests received.
    pub ipis_received: u64,
    /// Time in kernel paths.
    #[serde(rename = "kernel_ns")]
    pub kernel: Duration,
    /// Counter samples.
    pub samples: u64,
    /// The time that the samples cover.
    #[serde(rename = "sampled_ns")]
    pub sampled: Duration,
    /// What the samples counted.
    pub counts: Counted,
    /// What the core moved from and to DRAM, in bytes per second, over time.
    pub bandwidth: Series,
    /// Its misses of the last-level cache per second, over time.
    pub llc_misses: Series,
}

/// A task on a core.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RunningTask {
    /// The task, by its place in the report.
    pub task: TaskId,
    /// How long it occupied the core.
    #[serde(rename = "ran_ns")]
    pub ran: Duration,
}

impl CoreReport {
    /// The average rate of moving data from and to DRAM; `None` without samples.
    pub(crate) fn bandwidth_mean(&self) -> Option<Bandwidth> {
        self.bandwidth.mean().map(Bandwidth::new)
    }
    /// The rate in the busiest sample.
    pub(crate) fn bandwidth_max(&self) -> Option<Bandwidth> {
        self.bandwidth.max().map(Bandwidth::new)
    }
}

/// A kernel path.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct OverheadReport {
    /// Which.
    pub overhead: Overhead,
    /// How often it was taken.
    pub count: u64,
    /// The time in it, all cores together.
    #[serde(rename = "total_ns")]
    pub total: Duration,
    /// The longest time in it.
    #[serde(rename = "max_ns")]
    pub max: Duration,
}

/// The schedule around the worst job of the run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WorstWindow {
    /// The task of the job.
    pub task: TaskId,
    /// The job.
    pub job: JobIndex,
    /// Its nominal release.
    #[serde(rename = "release_ns")]
    pub release: Instant,
    /// When it first ran.
    #[serde(rename = "start_ns")]
    pub start: Instant,
    /// When it finished.
    #[serde(rename = "finish_ns")]
    pub finish: Instant,
    /// Its absolute deadline.
    #[serde(rename = "deadline_ns")]
    pub deadline: Option<Instant>,
    /// Where the window begins; later than a margin before the release where more happened than is kept.
    #[serde(rename = "from_ns")]
    pub from: Instant,
    /// Where it ends.
    #[serde(rename = "to_ns")]
    pub to: Instant,
    /// What ran, by core and then by time; cores idle in between.
    pub segments: Vec<Segment>,
}

/// A stretch of time in which a core ran one task.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Segment {
    /// The core.
    pub core: CoreId,
    /// From when.
    #[serde(rename = "from_ns")]
    pub from: Instant,
    /// Until when.
    #[serde(rename = "to_ns")]
    pub to: Instant,
    /// The task.
    pub task: TaskId,
}

/// What to hold against the numbers of a report.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Doubts {
    /// Records in the stream.
    pub records: u64,
    /// Counter samples among them.
    pub samples: u64,
    /// Records that could not be kept.
    pub dropped: u64,
    /// Jobs still unfinished when the run ended.
    pub unfinished: u64,
    /// Jobs released of which no end was recorded.
    pub vanished: u64,
    /// Records earlier than the one before them.
    pub out_of_order: u64,
    /// Records of tasks or cores that the experiment does not have.
    pub strangers: u64,
    /// Finished jobs whose machine could not tell where their time went.
    pub jobs_without_stalls: u64,
    /// True where a value of the platform is guessed or remembered: it resembles its chip and was not validated.
    #[serde(default)]
    pub guessed_platform: bool,
    /// What the machine did not do of that which isolation relies on.
    #[serde(default)]
    pub shortfalls: Shortfalls,
}

const fn one() -> u64 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
const fn is_one(number: &u64) -> bool {
    *number == 1
}

/// Fields of what seldom happens are not written where it has not.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands references over")]
const fn is_false(value: &bool) -> bool {
    !*value
}
