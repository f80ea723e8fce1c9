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

use crate::arrivals::Arrivals;
use alloc::boxed::Box;
use solo_model::policy::Timing;
use solo_model::record::{SkippedRecord, UnfinishedRecord};
use solo_model::task::Release;
use solo_model::{Bytes, CoreId, Counts, Duration, Instant, JobIndex, JobRecord, LockId, Record, TaskId};
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
    /// A policy that listens holds it until a time.
    Held,
    /// It has a job, and it is not the window of its partition.
    OutsideWindow,
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
    /// It lost its core to another thread and has not run since, or it begins elsewhere than the one before it.
    pub(crate) displaced: bool,
}

/// What has happened to a task since the start.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TaskAccount {
    /// Jobs released.
    pub released: u64,
    /// Jobs finished.
    pub finished: u64,
    /// Jobs finished after their deadlines.
    pub missed: u64,
    /// Jobs that were never run because too many were waiting.
    pub skipped: u64,
    /// The longest time by which a job finished after its deadline.
    pub worst_tardiness: Duration,
}

/// What the kernel keeps of a thread.
pub const THREAD_BYTES: Bytes = Bytes::new(size_of::<Thread>() as u64);

/// A thread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Thread {
    pub(crate) task: TaskId,
    pub(crate) parameters: TaskParameters,
    /// The position of its domain.
    pub(crate) domain: usize,
    /// Where it migrates, the domains of its jobs one after the other, from job 0 in a circle; otherwise none.
    route: Box<[usize]>,
    /// The core whose timer releases it.
    pub(crate) alarm_core: CoreId,
    pub(crate) state: State,
    /// The job it works on; the others that have been released wait in the count below.
    pub(crate) job: Option<Job>,
    /// The nominal release of job 0.
    first_release: Instant,
    /// The index of the job after this one. How many have been released less that is the private semaphore of the periodic
    /// thread: v at each release, p in `wait_next` (thesis 4.2.1).
    next_job: u64,
    /// Its number in line.
    pub(crate) turn: u64,
    /// What is left of its time slice.
    pub(crate) slice_left: Duration,
    /// Where it ran last.
    pub(crate) last_core: Option<CoreId>,
    /// When it last went to sleep, or was stopped for want of a budget of its own, or held by a policy: its state says which.
    pub(crate) away_since: Instant,
    /// Of a sporadic task, what was asked for.
    pub(crate) arrivals: Option<Box<Arrivals>>,
    /// What has happened to it.
    told: TaskAccount,
}

impl Thread {
    pub(crate) fn new(task: TaskId, parameters: TaskParameters, domain: usize, alarm_core: CoreId) -> Self {
        let arrivals = match parameters.release {
            Release::Sporadic { distance } => Some(Box::new(Arrivals::new(distance))),
            Release::Periodic { .. } | Release::Once { .. } | Release::Continuous { .. } => None,
        };
        Self {
            arrivals,
            task,
            parameters,
            domain,
            route: Box::default(),
            alarm_core,
            state: State::Created,
            job: None,
            first_release: Instant::ZERO,
            next_job: 0,
            turn: 0,
            slice_left: Duration::ZERO,
            last_core: None,
            away_since: Instant::ZERO,
            told: TaskAccount::default(),
        }
    }

    /// It migrates: its jobs are in these domains one after the other, in a circle.
    pub(crate) fn migrates(&mut self, route: Box<[usize]>) {
        self.route = route;
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

    /// What has happened to it since the start.
    pub(crate) fn told(&self) -> TaskAccount {
        self.told
    }

    /// Its releases count from `epoch`. Returns the first.
    pub(crate) fn count_from(&mut self, epoch: Instant) -> Instant {
        self.first_release = epoch + self.parameters.release.offset();
        self.first_release
    }

    /// A job is released at its nominal time `due`: its index and its absolute deadline.
    pub(crate) fn release(&mut self, due: Instant) -> (JobIndex, Option<Instant>) {
        let job = JobIndex(self.told.released);
        self.told.released += 1;
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.released(due);
        }
        (job, self.deadline_of(due))
    }

    /// How many jobs are released and not begun.
    pub(crate) fn backlog(&self) -> u64 {
        self.told.released - self.next_job
    }

    /// The nominal release of the oldest job that waits.
    pub(crate) fn waiting_since(&self) -> Instant {
        self.nominal_release(self.next_job)
    }

    /// It ends: nobody will serve the releases that wait.
    pub(crate) fn end(&mut self) {
        self.state = State::Exited;
        self.told.skipped += self.backlog();
        self.next_job = self.told.released;
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.clear();
        }
    }

    /// The nominal release of job `index`; of a sporadic task, of one that is released and not begun.
    fn nominal_release(&self, index: u64) -> Instant {
        match self.parameters.release {
            Release::Periodic { period, .. } => self.first_release + period * index,
            Release::Sporadic { .. } => {
                let waiting = self.arrivals.as_ref().and_then(|all| all.waiting(index - self.next_job));
                waiting.unwrap_or(Instant::MAX)
            }
            Release::Once { .. } | Release::Continuous { .. } => self.first_release,
        }
    }

    /// The nominal release of the next job; of a task of which none is known to come, the end of time.
    pub(crate) fn next_release(&self) -> Instant {
        match self.parameters.release {
            Release::Sporadic { .. } => {
                self.arrivals.as_ref().and_then(|arrivals| arrivals.spacing.due()).unwrap_or(Instant::MAX)
            }
            Release::Once { .. } if self.told.released > 0 => Instant::MAX,
            _ => self.nominal_release(self.told.released),
        }
    }

    /// The absolute deadline of a job released at `release`.
    fn deadline_of(&self, release: Instant) -> Option<Instant> {
        self.parameters.deadline.map(|deadline| release + deadline)
    }

    /// Gives the oldest job that waits up.
    pub(crate) fn skip(&mut self, now: Instant) -> SkippedRecord {
        let (task, job) = (self.task, JobIndex(self.next_job));
        let release = self.nominal_release(self.next_job);
        self.next_job += 1;
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.begun();
        }
        self.told.skipped += 1;
        SkippedRecord { at: now, task, job, release, deadline: self.deadline_of(release) }
    }

    /// Takes up the oldest job that has been released. True where it does so in another domain than before.
    pub(crate) fn begin_job(&mut self, release: Instant) -> bool {
        let before = self.domain;
        if !self.route.is_empty() {
            self.domain = self.route[(self.next_job % self.route.len() as u64) as usize];
        }
        let moved = self.domain != before;
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
            // What its last job left in caches is behind on the other core.
            displaced: moved && self.last_core.is_some(),
        });
        self.next_job += 1;
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.begun();
        }
        moved
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
        self.told.finished += 1;
        self.told.missed += u64::from(record.missed());
        self.told.worst_tardiness = self.told.worst_tardiness.max(record.tardiness());
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
        let queued = (self.next_job..self.told.released).map(move |index| {
            let release = self.nominal_release(index);
            record(JobIndex(index), release, self.deadline_of(release), Duration::ZERO)
        });
        current.chain(queued)
    }
}
