//! One core's share of a summary.

use super::dram_bytes;
use crate::counted::Counted;
use crate::report::{CoreReport, RunningTask};
use crate::series::Series;
use solo_model::Sample;
use solo_model::{Bandwidth, Bytes, CoreId, Duration, EventId, Instant, TaskId};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Bins of a core's counters over time.
const BINS: usize = 512;

/// What is known of a core so far.
pub(super) struct CoreSummary {
    pub(super) report: CoreReport,
    /// The task on it, and since when.
    running: Option<TaskId>,
    since: Instant,
    occupants: BTreeMap<TaskId, Duration>,
}

impl CoreSummary {
    pub(super) fn new(core: CoreId, sample_every: Duration, counted: Counted) -> Self {
        let report = CoreReport {
            core,
            busy: Duration::ZERO,
            occupants: Vec::new(),
            switches: 0,
            ipis_sent: 0,
            ipis_received: 0,
            kernel: Duration::ZERO,
            samples: 0,
            sampled: Duration::ZERO,
            counts: counted,
            bandwidth: Series::new(sample_every, BINS),
            llc_misses: Series::new(sample_every, BINS),
        };
        Self { report, running: None, since: Instant::ZERO, occupants: BTreeMap::new() }
    }

    /// Changes to `to`; what ran before, and since when.
    pub(super) fn switch(&mut self, at: Instant, to: Option<TaskId>) -> (Option<TaskId>, Instant) {
        self.report.switches += 1;
        self.change(at, to)
    }

    /// Ends what runs at the end of the run.
    pub(super) fn switch_off(&mut self, at: Instant) -> (Option<TaskId>, Instant) {
        self.change(at, None)
    }

    fn change(&mut self, at: Instant, to: Option<TaskId>) -> (Option<TaskId>, Instant) {
        let before = (self.running, self.since);
        if let Some(task) = self.running {
            let span = at.since(self.since);
            self.report.busy = self.report.busy.saturating_add(span);
            let total = self.occupants.entry(task).or_default();
            *total = total.saturating_add(span);
        }
        self.running = to;
        self.since = at;
        before
    }

    /// The task on it, and since when.
    pub(super) const fn running(&self) -> (Option<TaskId>, Instant) {
        (self.running, self.since)
    }

    pub(super) fn occupants(&self) -> impl Iterator<Item = (TaskId, Duration)> + '_ {
        self.occupants.iter().map(|(&task, &time)| (task, time))
    }

    pub(super) fn sample(&mut self, sample: &Sample, line: Bytes) {
        let report = &mut self.report;
        report.samples += 1;
        report.sampled = report.sampled.saturating_add(sample.span);
        report.counts.merge(&sample.counts);
        if sample.span.is_zero() {
            return;
        }
        let middle = Instant::new(sample.at.get().saturating_sub(sample.span.get() / 2));
        let weight = sample.span.get();
        if let Some(moved) = dram_bytes(&sample.counts, line) {
            report.bandwidth.add(middle, Bandwidth::average(moved, sample.span).get(), weight);
        }
        if let Some(misses) = sample.counts.get(EventId::LLC_MISSES) {
            let rate = u128::from(misses) * 1_000_000_000 / u128::from(weight);
            report.llc_misses.add(middle, u64::try_from(rate).unwrap_or(u64::MAX), weight);
        }
    }

    /// `None` for a core of which nothing was recorded.
    pub(super) fn into_report(mut self) -> Option<CoreReport> {
        let report = &self.report;
        let seen = report.switches > 0 || report.ipis_received > 0 || !report.kernel.is_zero();
        if !seen && report.counts.iter().all(|(_, count)| count == 0) {
            return None;
        }
        self.report.occupants =
            self.occupants.into_iter().map(|(task, ran)| RunningTask { task, ran }).collect();
        self.report.occupants.sort_by_key(|occupant| (Reverse(occupant.ran), occupant.task));
        Some(self.report)
    }
}
