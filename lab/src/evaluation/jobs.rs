//! What is seen of a set's jobs.

use crate::Cancel;
use solo_model::experiment::Experiment;
use solo_model::{Duration, EventId, Instant, PerMille, Record, TaskId};
use solo_sim::{Observer, SimError, Stop};
use std::ops::ControlFlow;

/// What jobs there were.
#[derive(Default)]
pub(super) struct Jobs {
    /// In the order in which they were finished.
    pub(super) finished: Vec<Finished>,
    /// Of each job that finished late or should have been finished before the end.
    pub(super) late: Vec<TaskId>,
    /// Jobs that should have been finished before the end.
    pub(super) overdue: u64,
    /// When it was over.
    pub(super) end: Duration,
    cancel: Cancel,
}

/// A finished job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Finished {
    pub(super) task: TaskId,
    /// The time that it occupied a core.
    pub(super) executed: Duration,
    /// Lines that it read or wrote while another core had modified them.
    pub(super) hitm: u64,
}

impl Jobs {
    /// Runs an experiment on the simulated machine; `None` once somebody has asked to stop.
    pub(super) fn of(experiment: &Experiment, cancel: &Cancel) -> Result<Option<Self>, SimError> {
        let mut jobs = Self { cancel: cancel.clone(), ..Self::default() };
        let end = solo_sim::run(experiment, &[], &mut jobs)?;
        jobs.end = end.end.since(Instant::ZERO);
        Ok((end.stop != Stop::Interrupted).then_some(jobs))
    }

    /// The longest job among these.
    pub(super) fn longest(jobs: &[Finished]) -> Duration {
        jobs.iter().map(|job| job.executed).max().unwrap_or(Duration::ZERO)
    }
}

impl Observer for Jobs {
    fn record(&mut self, record: Record) -> ControlFlow<()> {
        match record {
            Record::Job(job) => {
                let hitm = job.counts.get(EventId::SNOOP_HITM).unwrap_or(0);
                self.late.extend(job.missed().then_some(job.task));
                self.finished.push(Finished { task: job.task, executed: job.executed, hitm });
            }
            Record::Unfinished(job) if job.deadline.is_some_and(|deadline| deadline <= job.at) => {
                self.late.push(job.task);
                self.overdue += 1;
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn progress(&mut self, _now: Instant, _done: PerMille) -> ControlFlow<()> {
        if self.cancel.requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
