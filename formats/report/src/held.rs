//! What tasks held of the last-level cache, and what they missed by that.

use crate::listening::{HeldReport, ListeningReport};
use crate::report::Report;
use solo_model::sample::{Sample, Subject};
use solo_model::{Bytes, MissRateCurve, TaskId};

pub(crate) const HEADER: [&str; 5] = ["held of the last level", "mean", "most", "of it", "samples"];
pub(crate) const CURVES: [&str; 7] =
    ["misses in 1,000 instructions", "at 1/8", "at 1/4", "at 1/2", "at 3/4", "at all", "sizes seen"];

/// A range of sizes with fewer samples says nothing.
const LEAST_SAMPLES: u64 = 3;

/// The task of a sample and what its process held, where the sample tells.
pub(crate) fn of(sample: &Sample) -> Option<(TaskId, Bytes)> {
    let Subject::Task(task) = sample.subject else { return None };
    let held = sample.virtuals.first().copied().flatten()?;
    Some((task, Bytes::new(u64::try_from(held).ok()?)))
}

/// Adds samples up, task by task.
#[derive(Clone, Default, Debug)]
pub(crate) struct HeldSummary {
    tasks: Vec<(u64, u128, u64)>,
}

impl HeldSummary {
    /// Takes in a sample. False where it does not tell what a task held.
    pub(crate) fn sample(&mut self, sample: &Sample, tasks: usize) -> bool {
        let Some((task, held)) = of(sample).filter(|(task, _)| task.index() < tasks) else { return false };
        self.tasks.resize(self.tasks.len().max(task.index() + 1), (0, 0, 0));
        let (samples, sum, most) = &mut self.tasks[task.index()];
        *samples += 1;
        *sum += u128::from(held.get());
        *most = (*most).max(held.get());
        true
    }

    pub(crate) fn finish(&self) -> Vec<HeldReport> {
        let report = |(task, &(samples, sum, most)): (usize, &(u64, u128, u64))| HeldReport {
            task: TaskId(task as u32),
            samples,
            mean: Bytes::new((sum / u128::from(samples.max(1))) as u64),
            most: Bytes::new(most),
        };
        self.tasks.iter().enumerate().filter(|(_, sum)| sum.0 > 0).map(report).collect()
    }
}

fn kib(bytes: Bytes) -> String {
    format!("{} KiB", bytes.get() / 1024)
}

/// One row for each task: what it held.
pub(crate) fn rows(listening: &ListeningReport, report: &Report) -> Vec<Vec<String>> {
    let row = |held: &HeldReport| {
        let share =
            u128::from(held.mean.get()) * 1000 / u128::from(listening.capacity.map_or(1, Bytes::get).max(1));
        let name = report.tasks.get(held.task.index()).map_or_else(String::new, |task| task.name.clone());
        let (mean, most) = (kib(held.mean), kib(held.most));
        vec![name, mean, most, format!("{}.{} %", share / 10, share % 10), held.samples.to_string()]
    };
    listening.held.iter().map(row).collect()
}

/// One row for each task with a curve: its misses at some sizes.
pub(crate) fn curves(listening: &ListeningReport, report: &Report) -> Vec<Vec<String>> {
    let row = |curve: &MissRateCurve| {
        let name = report.tasks.get(curve.task.index()).map_or_else(String::new, |task| task.name.clone());
        let last = curve.points.len().saturating_sub(1);
        let at = |eighths: usize| {
            let point = curve.points.get(last * eighths / 8);
            point.map_or_else(|| "-".to_owned(), |point| format!("{:.2}", point.units() as f64 / 1e12))
        };
        let seen = format!("{} of {}", curve.covered(LEAST_SAMPLES), curve.bins.len());
        [name].into_iter().chain([1, 2, 4, 6, 8].map(at)).chain([seen]).collect()
    };
    listening.curves.iter().filter(|curve| !curve.points.is_empty()).map(row).collect()
}
