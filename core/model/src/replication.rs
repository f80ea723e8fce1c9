//! Independent replications: the same experiment several times, each on a machine that has just been switched on
//! and with a seed of its own, told as one run.
//!
//! A simulation of many jobs is one long computation, but the jobs of replications can be computed at the same time;
//! and what varies between replications tells how far a figure can be trusted. Each begins with cold caches and with
//! all tasks released together.

use crate::experiment::{End, Experiment};
use crate::id::JobIndex;
use crate::power::Consumer;
use crate::record::Record;
use crate::units::{Duration, Instant};
use alloc::vec;
use alloc::vec::Vec;

impl Experiment {
    /// How many replications the run consists of: 1 without [`Experiment::jobs_per_replication`].
    pub fn replications(&self) -> u64 {
        match (self.end, self.jobs_per_replication) {
            (End::Jobs(jobs), Some(most)) => jobs.div_ceil(most.max(1)).max(1),
            _ => 1,
        }
    }

    /// Replication `number`, from 0, as an experiment of its own: its share of the jobs, and the seed plus `number`.
    /// The last may have fewer jobs than the others.
    #[must_use]
    pub fn replication(&self, number: u64) -> Experiment {
        let end = match (self.end, self.jobs_per_replication) {
            (End::Jobs(jobs), Some(most)) => {
                End::Jobs(jobs.saturating_sub(number.saturating_mul(most)).min(most.max(1)))
            }
            (end, _) => end,
        };
        let seed = self.seed.wrapping_add(number);
        Experiment { end, seed, jobs_per_replication: None, ..self.clone() }
    }
}

/// Puts the records of replications one after the other: the next begins when the one before has ended, and its jobs
/// are counted on.
#[derive(Clone, Debug)]
pub struct Splice {
    /// When the current replication begins.
    begin: Duration,
    /// By task, the number of its first job in the current replication, and in the next.
    jobs: Vec<(u64, u64)>,
    /// Regulation periods before the current replication, and before the next.
    periods: (u64, u64),
}

impl Splice {
    /// Before the first record of an experiment with so many tasks.
    pub fn new(tasks: usize) -> Self {
        Self { begin: Duration::ZERO, jobs: vec![(0, 0); tasks], periods: (0, 0) }
    }

    /// The current replication has ended, at `end` of its own time. Returns that moment in the time of the whole.
    pub fn end(&mut self, end: Instant) -> Instant {
        let whole = self.at(end);
        self.begin = whole.since(Instant::ZERO);
        self.jobs.iter_mut().for_each(|jobs| jobs.0 = jobs.1);
        self.periods.0 = self.periods.1;
        whole
    }

    /// A record of the current replication as a record of the whole.
    #[must_use]
    pub fn place(&mut self, mut record: Record) -> Record {
        match &mut record {
            Record::Release(r) => {
                (r.at, r.release, r.deadline) = (self.at(r.at), self.at(r.release), self.maybe(r.deadline));
                r.job = self.job(r.task.index(), r.job);
            }
            Record::Job(r) => {
                (r.release, r.deadline) = (self.at(r.release), self.maybe(r.deadline));
                (r.start, r.finish) = (self.at(r.start), self.at(r.finish));
                r.job = self.job(r.task.index(), r.job);
            }
            Record::Unfinished(r) => {
                (r.at, r.release, r.deadline) = (self.at(r.at), self.at(r.release), self.maybe(r.deadline));
                r.job = self.job(r.task.index(), r.job);
            }
            Record::Skipped(r) => {
                (r.at, r.release, r.deadline) = (self.at(r.at), self.at(r.release), self.maybe(r.deadline));
                r.job = self.job(r.task.index(), r.job);
            }
            Record::Throttle(r) => (r.at, r.since) = (self.at(r.at), self.at(r.since)),
            Record::Held(r) => (r.at, r.since) = (self.at(r.at), self.at(r.since)),
            Record::Wait(r) => r.at = self.at(r.at),
            Record::Energy(r) => {
                r.at = self.at(r.at);
                if let Consumer::Job { task, job, .. } = &mut r.of {
                    *job = self.job(task.index(), *job);
                }
            }
            Record::Metric(r) => {
                r.at = self.at(r.at);
                r.job = r.job.map(|job| self.job(r.task.index(), job));
            }
            Record::Sleep(r) => (r.at, r.since) = (self.at(r.at), self.at(r.since)),
            Record::Conservation(r) => r.at = self.at(r.at),
            Record::Regulation(r) => {
                (r.at, r.since) = (self.at(r.at), self.at(r.since));
                r.period += self.periods.0;
                self.periods.1 = self.periods.1.max(r.period);
            }
            Record::Budget(r) => {
                r.at = self.at(r.at);
                r.period += self.periods.0;
            }
            Record::Transfer(r) => (r.at, r.since) = (self.at(r.at), self.at(r.since)),
            Record::Interrupt(r) => (r.at, r.raised) = (self.at(r.at), self.at(r.raised)),
            Record::Switch(r) => r.at = self.at(r.at),
            Record::Ipi(r) => r.at = self.at(r.at),
            Record::Lock(r) => r.at = self.at(r.at),
            Record::Sample(r) => r.at = self.at(r.at),
            Record::Overhead(r) => r.at = self.at(r.at),
            Record::Dropped(r) => r.at = self.at(r.at),
        }
        record
    }

    fn at(&self, at: Instant) -> Instant {
        Instant::new(at.get().saturating_add(self.begin.get()))
    }

    fn maybe(&self, at: Option<Instant>) -> Option<Instant> {
        at.map(|at| self.at(at))
    }

    fn job(&mut self, task: usize, job: JobIndex) -> JobIndex {
        let Some((first, next)) = self.jobs.get_mut(task) else { return job };
        let number = *first + job.0;
        *next = (*next).max(number + 1);
        JobIndex(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{CoreId, TaskId};
    use crate::record::{ReleaseRecord, UnfinishedRecord};

    fn release(at: u64, job: u64) -> Record {
        Record::Release(ReleaseRecord {
            at: Instant::new(at),
            core: CoreId(0),
            task: TaskId(1),
            job: JobIndex(job),
            release: Instant::new(at),
            deadline: Some(Instant::new(at + 5)),
        })
    }

    #[test]
    fn the_second_replication_goes_on_where_the_first_ended() {
        let mut splice = Splice::new(2);
        assert_eq!(splice.place(release(3, 0)), release(3, 0));
        let unfinished = UnfinishedRecord {
            at: Instant::new(20),
            task: TaskId(1),
            job: JobIndex(1),
            release: Instant::new(10),
            deadline: None,
            executed: Duration::ZERO,
        };
        assert_eq!(splice.place(Record::Unfinished(unfinished)).at(), Instant::new(20));
        assert_eq!(splice.end(Instant::new(20)), Instant::new(20));
        // Job 1 was begun and lost with its machine: the next is job 2.
        assert_eq!(splice.place(release(3, 0)), release(23, 2));
        assert_eq!(splice.end(Instant::new(7)), Instant::new(27));
        assert_eq!(splice.place(release(0, 1)), release(27, 4));
    }
}
