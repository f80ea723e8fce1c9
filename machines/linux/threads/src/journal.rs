//! What a thread writes down while it runs.

use solo_model::record::{
    LockAction, LockRecord, ReleaseRecord, SleepRecord, SwitchReason, UnfinishedRecord,
};
use solo_model::{CoreId, Duration, Instant, JobRecord, LockId, Record, TaskId};

/// A time for which a thread did not ask for a CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Away {
    pub(crate) from: Instant,
    pub(crate) to: Instant,
    pub(crate) why: SwitchReason,
}

/// What happened to one task, in the order of time.
#[derive(Debug)]
pub(crate) struct Journal {
    task: TaskId,
    /// The instant of the monotonic clock at which the run began.
    began: u64,
    pub(crate) records: Vec<Record>,
    pub(crate) jobs: Vec<JobRecord>,
    /// In the order of time; they do not overlap.
    pub(crate) away: Vec<Away>,
}

impl Journal {
    /// Nothing yet; with room for a while, so that a thread seldom asks for memory while it runs.
    pub(crate) fn new(task: TaskId, began: u64) -> Self {
        let room = 1 << 12;
        let (records, jobs) = (Vec::with_capacity(room), Vec::with_capacity(room));
        Self { task, began, records, jobs, away: Vec::with_capacity(room) }
    }

    /// The time of the run.
    pub(crate) fn now(&self) -> Instant {
        Instant::new(solo_perf::now().saturating_sub(self.began))
    }

    pub(crate) fn lock(&mut self, lock: LockId, action: LockAction) {
        let record = LockRecord { at: self.now(), task: self.task, lock, action };
        self.records.push(Record::Lock(record));
    }

    /// It was away until now.
    pub(crate) fn away(&mut self, from: Instant, why: SwitchReason) {
        self.away.push(Away { from, to: self.now(), why });
    }

    /// It slept until now.
    pub(crate) fn slept(&mut self, since: Instant) {
        self.away(since, SwitchReason::Asleep);
        let record = SleepRecord { at: self.now(), since, task: self.task };
        self.records.push(Record::Sleep(record));
    }

    pub(crate) fn released(
        &mut self,
        job: solo_model::JobIndex,
        core: CoreId,
        release: Instant,
        deadline: Option<Instant>,
        at: Instant,
    ) {
        self.records.push(Record::Release(ReleaseRecord {
            at,
            core,
            task: self.task,
            job,
            release,
            deadline,
        }));
    }

    pub(crate) fn unfinished(
        &mut self,
        job: solo_model::JobIndex,
        release: Instant,
        deadline: Option<Instant>,
        executed: Duration,
        at: Instant,
    ) {
        let record = UnfinishedRecord { at, task: self.task, job, release, deadline, executed };
        self.records.push(Record::Unfinished(record));
    }
}
