//! One task's share of a summary.

use super::{Detail, lateness_ns};
use crate::counted::Counted;
use crate::distribution::Distribution;
use crate::report::{Deadlock, LockWait, TaskReport, WorstJob};
use crate::series::Series;
use crate::timeparts::{TimeSplit, Waits};
use solo_model::record::{LockAction, LockRecord, SkippedRecord, UnfinishedRecord};
use solo_model::{Duration, EventId, Instant, JobRecord, LockId, Task};
use std::collections::BTreeMap;

/// What is known of a task so far.
pub(super) struct TaskSummary {
    pub(super) report: TaskReport,
    pub(super) released: u64,
    /// The lock it waits for, and since when.
    waiting: Option<(LockId, Instant)>,
    /// What its current job has waited for.
    waits: Waits,
    /// Jobs that are released and not finished.
    pending: u64,
    /// Since when the first of them could run: its release, or the end of the job before it.
    since: Instant,
    lock_waits: BTreeMap<LockId, Duration>,
}

impl TaskSummary {
    pub(super) fn new(task: &Task, detail: Detail, counted: Counted) -> Self {
        let width = task.release.period().unwrap_or(Duration::from_millis(1));
        let report = TaskReport {
            name: task.name.clone(),
            class: task.class,
            core: task.core,
            period: task.release.period(),
            deadline: task.relative_deadline(),
            bound: None,
            released: 0,
            jobs: 0,
            unfinished: 0,
            skipped: 0,
            judged: 0,
            misses: 0,
            misses_unfinished: 0,
            response: Distribution::new(detail.digits),
            response_over_time: Series::new(width, detail.bins),
            tardiness_sum: Duration::ZERO,
            tardiness_max: Duration::ZERO,
            lateness_sum_ns: 0,
            lateness_max_ns: None,
            preemptions: 0,
            migrations: 0,
            backlog_max: 0,
            executed: Duration::ZERO,
            executed_max: Duration::ZERO,
            llc_misses_max: None,
            pending_max: Duration::ZERO,
            on_core: Duration::ZERO,
            held: Duration::ZERO,
            held_times: 0,
            time: TimeSplit::default(),
            time_late: TimeSplit::default(),
            counts: counted.clone(),
            counts_late: counted,
            lock_waits: Vec::new(),
            deadlock: None,
            stuck: false,
            worst: None,
        };
        Self {
            report,
            released: 0,
            waiting: None,
            waits: Waits::default(),
            pending: 0,
            since: Instant::ZERO,
            lock_waits: BTreeMap::new(),
        }
    }

    pub(super) fn release(&mut self, nominal: Instant) {
        if self.pending == 0 {
            self.since = self.since.max(nominal);
        }
        self.pending += 1;
        self.released += 1;
    }

    /// Its core was stopped from `from` to `to`.
    pub(super) fn throttled(&mut self, from: Instant, to: Instant) {
        if self.pending > 0 {
            let span = to.since(from.max(self.since).min(to));
            self.waits.throttled = self.waits.throttled.saturating_add(span);
        }
    }

    pub(super) fn lock(&mut self, lock: &LockRecord) {
        match lock.action {
            LockAction::Waits => self.waiting = Some((lock.lock, lock.at)),
            LockAction::Granted => {
                if let Some((waited, since)) = self.waiting.take() {
                    let span = lock.at.since(since);
                    self.waits.blocked = self.waits.blocked.saturating_add(span);
                    let total = self.lock_waits.entry(waited).or_default();
                    *total = total.saturating_add(span);
                }
            }
            LockAction::Deadlock => {
                self.report.deadlock.get_or_insert(Deadlock {
                    at: lock.at,
                    lock: lock.lock,
                    name: String::new(),
                });
            }
            LockAction::Acquired | LockAction::Released => {}
        }
    }

    pub(super) fn slept(&mut self, length: Duration) {
        self.waits.asleep = self.waits.asleep.saturating_add(length);
    }

    /// It was stopped for want of a budget of its own.
    pub(super) fn held(&mut self, span: Duration) {
        self.waits.held = self.waits.held.saturating_add(span);
        self.report.held = self.report.held.saturating_add(span);
        self.report.held_times += 1;
    }

    pub(super) fn finish(&mut self, job: &JobRecord) {
        let mut waits = std::mem::take(&mut self.waits);
        // Jobs of a task run one after the other: until the one before had finished, this one could not begin.
        waits.backlog = self.since.min(job.finish).since(job.release);
        self.since = self.since.max(job.finish);
        self.pending = self.pending.saturating_sub(1);
        let report = &mut self.report;
        let response = job.response();
        report.jobs += 1;
        report.response.add(response);
        report.response_over_time.add(job.finish, response.get(), 1);
        report.preemptions += u64::from(job.preemptions);
        report.migrations += u64::from(job.migrations);
        report.backlog_max = report.backlog_max.max(job.backlog);
        report.executed = report.executed.saturating_add(job.executed);
        report.executed_max = report.executed_max.max(job.executed);
        report.llc_misses_max = report.llc_misses_max.max(job.counts.get(EventId::LLC_MISSES));
        report.time.add(job, waits);
        report.counts.merge(&job.counts);
        if let Some(lateness) = lateness_ns(job) {
            report.judged += 1;
            report.lateness_sum_ns += i128::from(lateness);
            report.lateness_max_ns = report.lateness_max_ns.max(Some(lateness));
        }
        if job.missed() {
            report.misses += 1;
            report.time_late.add(job, waits);
            report.counts_late.merge(&job.counts);
            tardy(report, job.tardiness());
        }
        if report.worst.as_ref().is_none_or(|worst| response > worst.response()) {
            let mut time = TimeSplit::default();
            time.add(job, waits);
            let JobRecord { job, release, finish, deadline, core, .. } = *job;
            report.worst = Some(WorstJob { job, release, finish, deadline, core, time });
        }
    }

    pub(super) fn unfinished(&mut self, job: &UnfinishedRecord) {
        let report = &mut self.report;
        report.unfinished += 1;
        report.executed_max = report.executed_max.max(job.executed);
        report.pending_max = report.pending_max.max(job.at.since(job.release));
        let Some(late) = job.deadline.filter(|&deadline| deadline < job.at) else { return };
        report.judged += 1;
        report.misses += 1;
        report.misses_unfinished += 1;
        tardy(report, job.at.since(late));
    }

    /// A job that never runs misses its deadline, however far off that is.
    pub(super) fn skipped(&mut self, job: &SkippedRecord) {
        self.pending = self.pending.saturating_sub(1);
        let report = &mut self.report;
        report.skipped += 1;
        report.pending_max = report.pending_max.max(job.at.since(job.release));
        if let Some(deadline) = job.deadline {
            report.judged += 1;
            report.misses += 1;
            report.misses_unfinished += 1;
            tardy(report, job.at.since(deadline));
        }
    }

    pub(super) fn into_report(self, on_core: Duration, lock_names: &[String]) -> TaskReport {
        let name = |lock: LockId| lock_names.get(lock.index()).cloned().unwrap_or_else(|| lock.to_string());
        let named = |(lock, time): (LockId, Duration)| LockWait { lock, name: name(lock), waited: time };
        let mut lock_waits: Vec<_> = self.lock_waits.into_iter().map(named).collect();
        lock_waits.sort_by_key(|wait| (std::cmp::Reverse(wait.waited), wait.lock));
        let deadlock = self.report.deadlock.clone().map(|found| Deadlock { name: name(found.lock), ..found });
        TaskReport { released: self.released, on_core, lock_waits, deadlock, ..self.report }
    }
}

fn tardy(report: &mut TaskReport, tardiness: Duration) {
    report.tardiness_sum = report.tardiness_sum.saturating_add(tardiness);
    report.tardiness_max = report.tardiness_max.max(tardiness);
}
