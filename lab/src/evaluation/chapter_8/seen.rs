//! What is seen of a set's run: jobs by class, tardiness, lines taken by each core.

use super::{DoneCore, DoneJobs};
use crate::Cancel;
use solo_model::{Duration, EventId, Instant, PerMille, Record, Task, TaskClass};
use solo_sim::Observer;
use std::ops::ControlFlow;

/// What was seen so far.
pub(super) struct Seen<'t> {
    tasks: &'t [Task],
    /// Hard, soft, best effort.
    pub(super) jobs: [DoneJobs; 3],
    /// By task: the longest response less the deadline, in nanoseconds.
    worst: Vec<Option<i64>>,
    /// By task: the longest time that a finished job occupied a core.
    pub(super) longest: Vec<Duration>,
    pub(super) cores: Vec<DoneCore>,
    cancel: Cancel,
}

impl<'t> Seen<'t> {
    pub(super) fn new(tasks: &'t [Task], cores: usize, cancel: &Cancel) -> Self {
        Self {
            tasks,
            jobs: [DoneJobs::default(); 3],
            worst: vec![None; tasks.len()],
            longest: vec![Duration::ZERO; tasks.len()],
            cores: vec![DoneCore::default(); cores],
            cancel: cancel.clone(),
        }
    }

    /// The thesis's tardiness of the set (8.3.3): the sum over its tasks of the longest response less the deadline.
    pub(super) fn tardiness_ns(&self) -> i64 {
        self.worst.iter().flatten().fold(0_i64, |sum, &worst| sum.saturating_add(worst))
    }

    /// Its class's number and its position.
    fn of(&self, task: solo_model::TaskId) -> (usize, usize) {
        let class = match self.tasks.get(task.index()).map(|task| task.class) {
            Some(TaskClass::Hard) => 0,
            Some(TaskClass::Soft) => 1,
            _ => 2,
        };
        (class, task.index())
    }

    fn late_by(&mut self, task: usize, lateness: Option<i64>) {
        if let Some(worst) = self.worst.get_mut(task) {
            *worst = (*worst).max(lateness);
        }
    }
}

impl Observer for Seen<'_> {
    fn record(&mut self, record: Record) -> ControlFlow<()> {
        match record {
            Record::Job(job) => {
                let (class, task) = self.of(job.task);
                let seen = &mut self.jobs[class];
                seen.jobs += 1;
                seen.late += u64::from(job.missed());
                seen.executed_ns = seen.executed_ns.saturating_add(job.executed);
                if let Some(longest) = self.longest.get_mut(task) {
                    *longest = (*longest).max(job.executed);
                }
                self.late_by(task, job.lateness_ns());
            }
            Record::Unfinished(job) => {
                let (class, task) = self.of(job.task);
                let seen = &mut self.jobs[class];
                seen.executed_ns = seen.executed_ns.saturating_add(job.executed);
                if let Some(deadline) = job.deadline.filter(|&deadline| deadline <= job.at) {
                    seen.jobs += 1;
                    seen.late += 1;
                    self.late_by(task, i64::try_from(job.at.since(deadline).get()).ok());
                }
            }
            Record::Sample(sample) => {
                let hitm = sample.counts.get(EventId::SNOOP_HITM).unwrap_or(0);
                let core = sample.core().and_then(|core| self.cores.get_mut(core.index()));
                if let Some(core) = core {
                    core.hitm += hitm;
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn progress(&mut self, _now: Instant, _done: PerMille) -> ControlFlow<()> {
        if self.cancel.requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
