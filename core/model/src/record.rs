//! What a machine reports back: the same records from every machine.
//!
//! A run is a stream of records in the order of their times. Everything a report shows is computed from it.

use crate::event::Counts;
use crate::fixed::Fixed;
use crate::id::{CoreId, DeviceId, JobIndex, LockId, TaskId};
use crate::overhead::Overhead;
use crate::power::EnergyRecord;
use crate::sample::Sample;
use crate::units::{Bytes, Duration, Events, Instant};

/// One entry of a run's stream.
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Record {
    /// A job became ready.
    Release(ReleaseRecord),
    /// A core changed to another task, or to idle.
    Switch(SwitchRecord),
    /// A job finished.
    Job(JobRecord),
    /// A core asked another to reschedule.
    Ipi(IpiRecord),
    /// A task took, waited for, or gave back a lock.
    Lock(LockRecord),
    /// What was counted in an interval, of a core or a thread.
    Sample(Sample),
    /// Time that a core spent in a kernel path.
    Overhead(OverheadRecord),
    /// Records that could not be kept.
    Dropped(DroppedRecord),
    /// A job that was still unfinished when the run ended.
    Unfinished(UnfinishedRecord),
    /// A core may run again after it had used up its bandwidth budget.
    Throttle(ThrottleRecord),
    /// A core's part of a regulation period.
    Regulation(RegulationRecord),
    /// A job has slept.
    Sleep(SleepRecord),
    /// What became of the sums of bandwidth reservations, at the end of a run.
    Conservation(ConservationRecord),
    /// A job was released and will never run.
    Skipped(SkippedRecord),
    /// How long a core waited for memory in its part of a regulation period.
    Wait(WaitRecord),
    /// A task may run again after it had used up a bandwidth budget of its own.
    Held(HeldRecord),
    /// The reservation of a core is another from here on.
    Budget(BudgetRecord),
    /// A slot of a device is over.
    Transfer(TransferRecord),
    /// A device has interrupted, to release a sporadic task.
    Interrupt(InterruptRecord),
    /// Energy was used, on a platform with a meter.
    Energy(EnergyRecord),
    /// What a monitor says of a task, at the end of a sampling period.
    Metric(MetricRecord),
}

impl Record {
    /// What was counted; `None` for records that tell of other things.
    pub const fn counts(&self) -> Option<&Counts> {
        match self {
            Self::Job(r) => Some(&r.counts),
            Self::Sample(r) => Some(&r.counts),
            _ => None,
        }
    }

    /// When it happened: for jobs and samples, when they ended.
    pub const fn at(&self) -> Instant {
        match self {
            Self::Release(r) => r.at,
            Self::Switch(r) => r.at,
            Self::Job(r) => r.finish,
            Self::Ipi(r) => r.at,
            Self::Lock(r) => r.at,
            Self::Sample(r) => r.at,
            Self::Overhead(r) => r.at,
            Self::Dropped(r) => r.at,
            Self::Unfinished(r) => r.at,
            Self::Throttle(r) => r.at,
            Self::Regulation(r) => r.at,
            Self::Sleep(r) => r.at,
            Self::Conservation(r) => r.at,
            Self::Skipped(r) => r.at,
            Self::Wait(r) => r.at,
            Self::Held(r) => r.at,
            Self::Budget(r) => r.at,
            Self::Transfer(r) => r.at,
            Self::Interrupt(r) => r.at,
            Self::Energy(r) => r.at,
            Self::Metric(r) => r.at,
        }
    }
}

/// A job became ready.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ReleaseRecord {
    /// When the kernel released it: at or after its nominal release.
    pub at: Instant,
    /// The core whose timer released it.
    pub core: CoreId,
    /// The task.
    pub task: TaskId,
    /// The job.
    pub job: JobIndex,
    /// The nominal release `r_ij`, from which deadlines and response times count.
    pub release: Instant,
    /// The absolute deadline, where the task has one.
    pub deadline: Option<Instant>,
}

/// Why a core changed to another task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum SwitchReason {
    /// The machine started.
    Start,
    /// A more urgent thread became ready.
    Preempted,
    /// The time slice was over.
    Quantum,
    /// The job finished.
    Finished,
    /// The thread waits for a lock.
    Blocked,
    /// The thread gave the core away.
    Yielded,
    /// The core had been idle.
    Idle,
    /// The thread ended.
    Exited,
    /// The bandwidth budget of the core or the task is used up.
    Throttled,
    /// The thread sleeps.
    Asleep,
    /// A window of a partition begins or ends.
    Window,
}

/// A core changed to another task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SwitchRecord {
    /// When the kernel decided.
    pub at: Instant,
    /// The core.
    pub core: CoreId,
    /// The task that ran, `None` for idle.
    pub from: Option<TaskId>,
    /// The task that runs next, `None` for idle.
    pub to: Option<TaskId>,
    /// Why.
    pub reason: SwitchReason,
}

/// A job finished (thesis 2.3: `r_ij`, `f_ij`, `d_ij`).
#[derive(Clone, PartialEq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct JobRecord {
    /// The task.
    pub task: TaskId,
    /// The job.
    pub job: JobIndex,
    /// The core on which it finished.
    pub core: CoreId,
    /// The nominal release `r_ij`.
    pub release: Instant,
    /// When it first ran.
    pub start: Instant,
    /// When it finished, `f_ij`.
    pub finish: Instant,
    /// The absolute deadline `d_ij`, where the task has one.
    pub deadline: Option<Instant>,
    /// The time it occupied a core.
    pub executed: Duration,
    /// How often another thread took its core away.
    pub preemptions: u32,
    /// How often it went on on another core than it had left.
    pub migrations: u32,
    /// Releases that came while it was still running, and were queued (thesis 6.4).
    pub backlog: u32,
    /// What the hardware counted for it; nothing on machines that don't count for jobs.
    pub counts: Counts,
    /// Where its time went, on machines that can tell.
    pub stalls: Option<Stalls>,
}

impl JobRecord {
    /// The response time `R_ij = f_ij - r_ij`.
    pub fn response(&self) -> Duration {
        self.finish.since(self.release)
    }
    /// True where it finished after its deadline.
    pub fn missed(&self) -> bool {
        self.deadline.is_some_and(|deadline| self.finish > deadline)
    }
    /// How long after its deadline it finished; zero where it was in time or has no deadline.
    pub fn tardiness(&self) -> Duration {
        self.deadline.map_or(Duration::ZERO, |deadline| self.finish.since(deadline))
    }
    /// Completion minus deadline in nanoseconds (thesis 8.3.3): negative where the job was early, positive
    /// where it was tardy; `None` without a deadline.
    pub fn lateness_ns(&self) -> Option<i64> {
        self.deadline.map(|deadline| self.finish.get() as i64 - deadline.get() as i64)
    }
}

/// Where the time of a job went, while it occupied a core.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stalls {
    /// Computing, and cache hits of the first level.
    pub compute: Duration,
    /// Waiting for the private caches beyond the first level.
    pub private_cache: Duration,
    /// Waiting for the shared last-level cache.
    pub shared_cache: Duration,
    /// Waiting for other cores' caches to hand over or give up a line.
    pub coherence: Duration,
    /// Waiting for DRAM as it would answer an otherwise idle machine.
    pub dram: Duration,
    /// Waiting for DRAM because the core's own earlier requests occupied it.
    pub dram_queue_own: Duration,
    /// Waiting for DRAM because other cores' requests occupied its banks, rows or bus: interference.
    pub dram_queue_others: Duration,
    /// Kernel paths that ran on the job's core while it was running.
    pub kernel: Duration,
}

/// A core asked another to reschedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct IpiRecord {
    /// When it was sent.
    pub at: Instant,
    /// The sender.
    pub from: CoreId,
    /// The receiver.
    pub to: CoreId,
}

/// What happened to a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum LockAction {
    /// Taken at once.
    Acquired,
    /// Not free: the task waits.
    Waits,
    /// Given back.
    Released,
    /// Taken by a task that had waited.
    Granted,
    /// The task that now waits closes a circle: each waits for a lock that the next one holds, and none goes on.
    Deadlock,
}

/// A task took, waited for, or gave back a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LockRecord {
    /// When.
    pub at: Instant,
    /// The task.
    pub task: TaskId,
    /// The lock.
    pub lock: LockId,
    /// What happened.
    pub action: LockAction,
}

/// Time that a core spent in a kernel path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct OverheadRecord {
    /// When the path began.
    pub at: Instant,
    /// The core.
    pub core: CoreId,
    /// Which path.
    pub overhead: Overhead,
    /// How long it took.
    pub cost: Duration,
}

/// Records that could not be kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DroppedRecord {
    /// When they were dropped.
    pub at: Instant,
    /// How many.
    pub count: u64,
}

/// A job that was still unfinished when the run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct UnfinishedRecord {
    /// The end of the run.
    pub at: Instant,
    /// The task.
    pub task: TaskId,
    /// The job.
    pub job: JobIndex,
    /// Its nominal release.
    pub release: Instant,
    /// Its absolute deadline, where it has one; a miss where that lies before the end of the run.
    pub deadline: Option<Instant>,
    /// The time it has occupied a core so far.
    pub executed: Duration,
}

/// A job that was released and will never run: more releases of its task were waiting than the kernel keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SkippedRecord {
    /// When the kernel gave it up.
    pub at: Instant,
    /// The task.
    pub task: TaskId,
    /// The job.
    pub job: JobIndex,
    /// Its nominal release.
    pub release: Instant,
    /// Its absolute deadline, where it has one; it is missed.
    pub deadline: Option<Instant>,
}

/// Whether all cores together stayed within the sum of their reservations, period by period, beyond misses under
/// way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ConservationRecord {
    /// The end of the run.
    pub at: Instant,
    /// Periods that were looked at.
    pub periods: u64,
    /// Of these, periods in which nobody was regulated because all cores were exhausted.
    pub exempt: u64,
    /// Of these, periods in which more was used than reserved.
    pub violations: u64,
    /// The largest excess of these.
    pub worst_excess: Events,
    /// What cores used beyond the sum because they had given too much away.
    pub overdraft: Events,
}

/// A job has slept: it is ready again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SleepRecord {
    /// When it woke up.
    pub at: Instant,
    /// When it went to sleep.
    pub since: Instant,
    /// The task.
    pub task: TaskId,
}

/// A core may run again after it had used up its bandwidth budget.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ThrottleRecord {
    /// When it was released.
    pub at: Instant,
    /// When it was stopped.
    pub since: Instant,
    /// The core.
    pub core: CoreId,
}

/// What the monitor of a policy that listens says of a task that is on a core when a sampling period ends there, where the policy's
/// monitor is [recorded](crate::Listening::recorded).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MetricRecord {
    /// The end of the period.
    pub at: Instant,
    /// The core.
    pub core: CoreId,
    /// The task.
    pub task: TaskId,
    /// What is known of it now; nothing before the monitor said anything.
    pub value: Option<Fixed>,
    /// The job that it is in; nothing between jobs.
    pub job: Option<JobIndex>,
    /// The time that this job has occupied a core so far.
    pub executed: Duration,
    /// The instructions that it has retired so far, on machines that can tell.
    pub retired: Option<Events>,
}

/// How long a core waited for memory in its part of a regulation period: it had asked and did not have the data yet. Comes after the
/// period's [`RegulationRecord`], from machines that can tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct WaitRecord {
    /// When the part ended.
    pub at: Instant,
    /// The core.
    pub core: CoreId,
    /// How long it waited.
    pub waited: Duration,
    /// Of that, because other cores' requests occupied memory.
    pub behind_others: Duration,
}

/// A task may run again after it had used up a bandwidth budget of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct HeldRecord {
    /// When it was ready again.
    pub at: Instant,
    /// When it was stopped.
    pub since: Instant,
    /// The task.
    pub task: TaskId,
}

/// The reservation of a core was changed during the run: it holds from this period on. Reads, or the one event that is counted,
/// first; lines written back second, zero where they are not counted by themselves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BudgetRecord {
    /// When the core began its part of the first period with it.
    pub at: Instant,
    /// The core.
    pub core: CoreId,
    /// The number of that period.
    pub period: u64,
    /// Events that it had reserved in the period before.
    pub before: [Events; 2],
    /// Events that it has reserved in this one.
    pub reserved: [Events; 2],
}

/// A core's part of a regulation period (MemGuard): reads, or the one event that is counted, first; lines
/// written back second, zero where they are not counted by themselves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RegulationRecord {
    /// When it ended.
    pub at: Instant,
    /// When it began.
    pub since: Instant,
    /// The core.
    pub core: CoreId,
    /// The number of the period, from 1.
    pub period: u64,
    /// Events that the core caused.
    pub used: [Events; 2],
    /// Events that it had reserved.
    pub reserved: [Events; 2],
    /// Events that it was expected to cause.
    pub predicted: [Events; 2],
    /// Events that it gave away at the start.
    pub donated: [Events; 2],
    /// Events that it took back or took from others.
    pub reclaimed: [Events; 2],
    /// How long it was throttled.
    pub throttled: Duration,
    /// It ran beyond its budget because all cores were exhausted.
    pub shared: bool,
    /// It used more than it was allowed to and no overflow was seen.
    pub lost_overflow: bool,
}

/// What became of a slot of a device: the record is made when its transfer is done, or at its end where that comes first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TransferRecord {
    /// When the transfer was done, or stopped.
    pub at: Instant,
    /// When the slot began.
    pub since: Instant,
    /// The device.
    pub device: DeviceId,
    /// What it moved.
    pub moved: Bytes,
    /// What it did not move before its slot ended; lost.
    pub left: Bytes,
    /// Lines that memory read for it.
    pub reads: u64,
    /// Lines that were written to memory for it, those included that caches had changed.
    pub writes: u64,
    /// A device of the same core whose slot had not ended when this one began.
    pub overlaps: Option<DeviceId>,
}

/// What became of an interrupt that releases a sporadic task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Admitted {
    /// A job was released.
    Released,
    /// It came sooner than the least distance allows: the job is released when that has passed.
    Held,
    /// One was held back already, and the two release one job.
    Merged,
}

/// A device has interrupted, to release a sporadic task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct InterruptRecord {
    /// When the kernel took it.
    pub at: Instant,
    /// When the device raised it.
    pub raised: Instant,
    /// The core that took it.
    pub core: CoreId,
    /// The device.
    pub device: DeviceId,
    /// The task.
    pub task: TaskId,
    /// What became of it.
    pub admitted: Admitted,
}
