//! What a run's records say of jobs and of sections with locks.

use crate::coordinate::Ran;
use solo_model::record::LockAction;
use solo_model::task::Release;
use solo_model::{Experiment, Instant, LockId, Record, TaskId};
use std::collections::BTreeMap;

/// What is known of a job.
#[derive(Clone, Copy, Default, Debug)]
struct Job {
    /// Release and absolute deadline.
    released: Option<(Instant, Option<Instant>)>,
    /// When it began and when it was done, where it was.
    done: Option<(Instant, Instant)>,
}

/// When a task asked for a lock, and when it gave it back.
#[derive(Default, Debug)]
struct Sections {
    asked: Vec<Instant>,
    given: Vec<Instant>,
}

/// What records say.
#[derive(Debug)]
pub(super) struct Facts<'e> {
    experiment: &'e Experiment,
    jobs: BTreeMap<(TaskId, u64), Job>,
    sections: BTreeMap<(TaskId, LockId), Sections>,
    /// How many jobs of a task were done: its last one's number and one.
    done: BTreeMap<TaskId, u64>,
}

impl<'e> Facts<'e> {
    pub(super) fn new(experiment: &'e Experiment, ran: &Ran) -> Self {
        let (jobs, sections, done) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut facts = Self { experiment, jobs, sections, done };
        ran.records.iter().for_each(|record| facts.add(record));
        facts
    }

    fn add(&mut self, record: &Record) {
        match record {
            Record::Release(of) => {
                let job = self.jobs.entry((of.task, of.job.0)).or_default();
                job.released = Some((of.release, of.deadline));
            }
            Record::Job(of) => {
                let job = self.jobs.entry((of.task, of.job.0)).or_default();
                job.done = Some((of.start, of.finish));
                let done = self.done.entry(of.task).or_default();
                *done = (*done).max(of.job.0 + 1);
            }
            Record::Lock(of) => {
                let own = self.sections.entry((of.task, of.lock)).or_default();
                match of.action {
                    LockAction::Acquired | LockAction::Waits => own.asked.push(of.at),
                    LockAction::Released => own.given.push(of.at),
                    LockAction::Granted | LockAction::Deadlock => {}
                }
            }
            _ => {}
        }
    }

    fn of(&self, task: TaskId, job: u64) -> Job {
        self.jobs.get(&(task, job)).copied().unwrap_or_default()
    }

    /// Release and absolute deadline of a job. One that has no record, because the run ended before it came, has those that the scenario
    /// gives it: a task that is released once has no second one for ever.
    pub(super) fn job(&self, task: TaskId, job: u64) -> Option<(Instant, Option<Instant>)> {
        if let Some(known) = self.of(task, job).released {
            return Some(known);
        }
        let own = self.experiment.tasks.get(task.index())?;
        let offset = own.release.offset().get();
        let release = match own.release {
            Release::Periodic { period, .. } => offset.saturating_add(period.get().saturating_mul(job)),
            _ if job == 0 => offset,
            Release::Continuous { .. } => self.finish(task, job - 1)?.get(),
            Release::Once { .. } | Release::Sporadic { .. } => Instant::MAX.get(),
        };
        let deadline = own.relative_deadline();
        let deadline = deadline.map(|length| Instant::new(release.saturating_add(length.get())));
        Some((Instant::new(release), deadline))
    }

    pub(super) fn start(&self, task: TaskId, job: u64) -> Option<Instant> {
        self.of(task, job).done.map(|(start, _)| start)
    }

    pub(super) fn finish(&self, task: TaskId, job: u64) -> Option<Instant> {
        self.of(task, job).done.map(|(_, finish)| finish)
    }

    /// How many jobs of a task were done.
    pub(super) fn done(&self, task: TaskId) -> u64 {
        self.done.get(&task).copied().unwrap_or(0)
    }

    /// When a task asked for a lock for the n-th time, the first one of which is 0.
    pub(super) fn asked(&self, section: (TaskId, LockId), n: usize) -> Option<Instant> {
        self.sections.get(&section)?.asked.get(n).copied()
    }

    /// When it gave it back for the n-th time.
    pub(super) fn given(&self, section: (TaskId, LockId), n: usize) -> Option<Instant> {
        self.sections.get(&section)?.given.get(n).copied()
    }

    /// How often a task asked for each lock and gave it back.
    pub(super) fn sections(&self) -> impl Iterator<Item = ((TaskId, LockId), usize, usize)> + '_ {
        self.sections.iter().map(|(section, own)| (*section, own.asked.len(), own.given.len()))
    }
}
