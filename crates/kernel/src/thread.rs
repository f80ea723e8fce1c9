//! Threads and their jobs.
//!
//! ```text
//!                  release                  choose
//!   Created ------------------> Ready <----------------> Running(core)
//!                                ^  ^     preempted,        |  |  |
//!                                |  |     slice over,       |  |  |
//!                                |  |     yield             |  |  |
//!                release (v)     |  |   granted             |  |  |
//!   Waiting ---------------------+  +------------ Blocked <-+  |  |
//!      ^                                          (acquire)    |  |
//!      +-------------------------------------------------------+  |
//!            wait_next (p), no release queued                     |
//!                                                                 v
//!            exit, or wait_next of a task that runs once:       Exited
//! ```
//!
//! A job that calls `sleep` goes from Running to Asleep, and to Ready when its time is over.
//! `wait_next` with a release queued stays in Running or goes to Ready with the next job. A thread is Running
//! until its own core has switched: a core that must give it up is asked to, and until it answers no other
//! core can take the thread.

use solo_model::policy::Timing;
use solo_model::record::{SkippedRecord, UnfinishedRecord};
use solo_model::task::Release;
use solo_model::{CoreId, Counts, Duration, Instant, JobIndex, JobRecord, LockId, Record, TaskId};
use solo_schedule::{JobView, TaskParameters};

/// The state of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Its first job has not been released.
    Created,
    /// It has a job and no core.
    Ready,
    /// It has a job and this core.
    Running(CoreId),
    /// It waits for a lock.
    Blocked(LockId),
    /// It has used up its own bandwidth budget and waits for the next regulation period.
    Throttled,
    /// It sleeps in the middle of a job.
    Asleep,
    /// It waits for its next release.
    Waiting,
    /// It has ended.
    Exited,
}

/// A job that has been released and has not finished.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Job {
    pub(crate) index: JobIndex,
    pub(crate) release: Instant,
    pub(crate) deadline: Option<Instant>,
    pub(crate) start: Option<Instant>,
    pub(crate) executed: Duration,
    pub(crate) preemptions: u32,
    pub(crate) migrations: u32,
    pub(crate) backlog: u32,
    pub(crate) yielded: bool,
    /// It lost its core to another thread and has not run since.
    pub(crate) displaced: bool,
}

/// A thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Thread {
    pub(crate) task: TaskId,
    pub(crate) parameters: TaskParameters,
    /// The position of its domain.
    pub(crate) domain: usize,
    /// The core whose timer releases it.
    pub(crate) alarm_core: CoreId,
    pub(crate) state: State,
    /// The job it works on; the others that have been released wait in the count below.
    pub(crate) job: Option<Job>,
    /// The nominal release of job 0.
    pub(crate) first_release: Instant,
    /// How many jobs have been released.
    pub(crate) released: u64,
    /// The index of the job after this one. `released - next_job` is the private semaphore of the periodic
    /// thread: v at each release, p in `wait_next` (thesis 4.2.1).
    pub(crate) next_job: u64,
    /// Its number in line.
    pub(crate) turn: u64,
    /// What is left of its time slice.
    pub(crate) slice_left: Duration,
    /// Where it ran last.
    pub(crate) last_core: Option<CoreId>,
    /// When it last went to sleep, or was stopped for want of a budget of its own: its state says which.
    pub(crate) away_since: Instant,
    pub(crate) finished: u64,
    pub(crate) missed: u64,
    pub(crate) skipped: u64,
    pub(crate) worst_tardiness: Duration,
}

impl Thread {
    pub(crate) fn new(task: TaskId, parameters: TaskParameters, domain: usize, alarm_core: CoreId) -> Self {
        Self {
            task,
            parameters,
            domain,
            alarm_core,
            state: State::Created,
            job: None,
            first_release: Instant::ZERO,
            released: 0,
            next_job: 0,
            turn: 0,
            slice_left: Duration::ZERO,
            last_core: None,
            away_since: Instant::ZERO,
            finished: 0,
            missed: 0,
            skipped: 0,
            worst_tardiness: Duration::ZERO,
        }
    }

    /// It has run for `ran`: a job has executed, and where the timer is programmed for each event, a part of the slice is gone.
    #[inline]
    pub(crate) fn charge(&mut self, ran: Duration, timing: Timing) {
        if let Some(job) = &mut self.job {
            job.executed += ran;
        }
        if timing == Timing::OneShot {
            self.slice_left = self.slice_left.saturating_sub(ran);
        }
    }

    /// The nominal release of job `index` of a task that is released by the clock.
    pub(crate) fn nominal_release(&self, index: u64) -> Instant {
        match self.parameters.release {
            Release::Periodic { period, .. } => self.first_release + period * index,
            Release::Once { .. } | Release::Continuous { .. } => self.first_release,
        }
    }

    /// The nominal release of the next job; of a task that has none to come, the end of time.
    pub(crate) fn next_release(&self) -> Instant {
        match self.parameters.release {
            Release::Once { .. } if self.released > 0 => Instant::MAX,
            _ => self.nominal_release(self.released),
        }
    }

    /// The absolute deadline of a job released at `release`.
    pub(crate) fn deadline_of(&self, release: Instant) -> Option<Instant> {
        self.parameters.deadline.map(|deadline| release + deadline)
    }

    /// True where a release waits for the current job to finish.
    pub(crate) fn has_backlog(&self) -> bool {
        self.released > self.next_job
    }

    /// Gives the oldest job that waits up.
    pub(crate) fn skip(&mut self, now: Instant) -> SkippedRecord {
        let (task, job) = (self.task, JobIndex(self.next_job));
        let release = self.nominal_release(self.next_job);
        self.next_job += 1;
        self.skipped += 1;
        SkippedRecord { at: now, task, job, release, deadline: self.deadline_of(release) }
    }

    /// Takes up the oldest job that has been released.
    pub(crate) fn begin_job(&mut self, release: Instant) {
        self.job = Some(Job {
            index: JobIndex(self.next_job),
            release,
            deadline: self.deadline_of(release),
            start: None,
            executed: Duration::ZERO,
            preemptions: 0,
            migrations: 0,
            backlog: 0,
            yielded: false,
            displaced: false,
        });
        self.next_job += 1;
    }

    /// Ends the current job at `now` on `core` and accounts for it.
    pub(crate) fn finish_job(&mut self, core: CoreId, now: Instant) -> Option<JobRecord> {
        let job = self.job.take()?;
        let record = JobRecord {
            task: self.task,
            job: job.index,
            core,
            release: job.release,
            start: job.start.unwrap_or(now),
            finish: now,
            deadline: job.deadline,
            executed: job.executed,
            preemptions: job.preemptions,
            migrations: job.migrations,
            backlog: job.backlog,
            counts: Counts::NONE,
            stalls: None,
        };
        self.finished += 1;
        self.missed += u64::from(record.missed());
        self.worst_tardiness = self.worst_tardiness.max(record.tardiness());
        Some(record)
    }

    /// What a criterion sees of the current job; `None` between jobs.
    pub(crate) fn view(&self) -> Option<JobView<'_>> {
        let job = self.job.as_ref()?;
        Some(JobView {
            task: self.task,
            parameters: &self.parameters,
            release: job.release,
            deadline: job.deadline,
            executed: job.executed,
            turn: self.turn,
            yielded: job.yielded,
        })
    }

    /// What a criterion would see of a job released at `now`.
    pub(crate) fn view_of_job_released_at(&self, now: Instant) -> JobView<'_> {
        JobView {
            task: self.task,
            parameters: &self.parameters,
            release: now,
            deadline: self.deadline_of(now),
            executed: Duration::ZERO,
            turn: 0,
            yielded: false,
        }
    }

    /// The jobs that are released and unfinished at `now`; the current one has run for `running` since it
    /// was last accounted for.
    pub(crate) fn unfinished(&self, now: Instant, running: Duration) -> impl Iterator<Item = Record> + '_ {
        let record = move |job: JobIndex, release, deadline, executed| {
            Record::Unfinished(UnfinishedRecord {
                at: now,
                task: self.task,
                job,
                release,
                deadline,
                executed,
            })
        };
        let current = self.job.iter();
        let current =
            current.map(move |job| record(job.index, job.release, job.deadline, job.executed + running));
        let queued = (self.next_job..self.released).map(move |index| {
            let release = self.nominal_release(index);
            record(JobIndex(index), release, self.deadline_of(release), Duration::ZERO)
        });
        current.chain(queued)
    }
}
