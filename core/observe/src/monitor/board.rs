//! What is known of each thread.

use super::Derived;
use alloc::vec::Vec;
use solo_model::{Fixed, Instant, MetricId};

/// The metrics of every thread, as policies ask for them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Board {
    /// A row for each thread: a value, and when it was made.
    values: Vec<Option<(Fixed, Instant)>>,
    metrics: usize,
}

impl Board {
    /// Nothing known yet of `threads`, whose metrics have ids below `metrics`.
    pub fn new(threads: usize, metrics: u16) -> Self {
        let metrics = usize::from(metrics);
        Self { values: alloc::vec![None; threads * metrics], metrics }
    }

    /// Writes down what a monitor made at `now` of a sample of `thread`; metrics without a value keep their last one. Unknown
    /// threads and metrics are left out.
    pub fn note(&mut self, thread: usize, derived: &Derived, now: Instant) {
        for (metric, value) in derived.iter() {
            if let Some(place) = self.place(thread, metric) {
                self.values[place] = Some((value, now));
            }
        }
    }

    /// The same of the points of a curve: metrics that follow one another from `first` on.
    pub fn note_points(&mut self, thread: usize, first: MetricId, points: &[Fixed], now: Instant) {
        for (metric, point) in (first.0..).zip(points) {
            if let Some(place) = self.place(thread, MetricId(metric)) {
                self.values[place] = Some((*point, now));
            }
        }
    }

    /// What is known of a metric of `thread` (PMCTrack's `current_metric`).
    pub fn metric(&self, thread: usize, metric: MetricId) -> Option<Fixed> {
        self.last(thread, metric).map(|(value, _)| value)
    }

    /// The same, and when it was made.
    pub fn last(&self, thread: usize, metric: MetricId) -> Option<(Fixed, Instant)> {
        self.place(thread, metric).and_then(|place| self.values[place])
    }

    /// The thread has ended, or its phase: what was known of it holds no more.
    pub fn forget(&mut self, thread: usize) {
        let row = thread.saturating_mul(self.metrics);
        self.values.iter_mut().skip(row).take(self.metrics).for_each(|value| *value = None);
    }

    fn place(&self, thread: usize, metric: MetricId) -> Option<usize> {
        let column = Some(usize::from(metric.0)).filter(|column| *column < self.metrics)?;
        let place = thread.checked_mul(self.metrics)?.checked_add(column)?;
        (place < self.values.len()).then_some(place)
    }
}
