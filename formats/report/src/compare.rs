//! Variants of a scenario side by side.

use crate::classes::{self, ComparedClass};
use crate::energy::{EnergyReport, TaskEnergy};
use crate::report::{Report, TaskReport};
use serde::{Serialize, Serializer};
use solo_model::{Duration, Energy, TaskClass};
use std::borrow::Borrow;

/// Reports side by side, task by task.
///
/// As JSON, cells and baseline are known by the names of variants, not by their positions.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// The variants' names.
    pub columns: Vec<String>,
    /// The position of the variant that slowdowns are relative to.
    pub baseline: usize,
    /// The tasks of all variants, in the order of their first appearance.
    pub tasks: Vec<ComparedTask>,
    /// The classes of all variants, the most urgent first.
    pub classes: Vec<ComparedClass>,
    /// A scheduler listens in one of them: tables tell the classes.
    pub listens: bool,
    /// What the meters of each variant's platform told in all; `None` where it has none.
    pub metered: Vec<Option<Energy>>,
}

/// One task in all variants.
#[derive(Clone, PartialEq, Debug)]
pub struct ComparedTask {
    /// The name.
    pub name: String,
    /// Hard, soft or best effort, as in the first variant that has the task.
    pub class: TaskClass,
    /// One cell a column; `None` in variants without the task.
    pub cells: Vec<Option<Cell>>,
}

/// The form in files.
#[derive(Serialize)]
struct StoredComparison<'c> {
    baseline: Option<&'c str>,
    tasks: Vec<StoredTask<'c>>,
    classes: Vec<classes::StoredClass<'c>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    metered: Vec<StoredMeter<'c>>,
}

#[derive(Serialize)]
struct StoredMeter<'c> {
    variant: &'c str,
    energy_fj: Energy,
}

#[derive(Serialize)]
struct StoredTask<'c> {
    name: &'c str,
    class: TaskClass,
    variants: Vec<StoredCell<'c>>,
}

#[derive(Serialize)]
struct StoredCell<'c> {
    variant: &'c str,
    #[serde(flatten)]
    cell: &'c Cell,
}

impl Serialize for Comparison {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        StoredComparison {
            baseline: self.columns.get(self.baseline).map(String::as_str),
            tasks: self.tasks.iter().map(|task| StoredTask::of(task, &self.columns)).collect(),
            classes: classes::stored(&self.columns, &self.classes),
            metered: self.meters().map(|(variant, energy_fj)| StoredMeter { variant, energy_fj }).collect(),
        }
        .serialize(serializer)
    }
}

impl<'c> StoredTask<'c> {
    fn of(task: &'c ComparedTask, columns: &'c [String]) -> Self {
        let cells = columns.iter().zip(&task.cells);
        let named = cells.filter_map(|(variant, cell)| Some(StoredCell { variant, cell: cell.as_ref()? }));
        Self { name: &task.name, class: task.class, variants: named.collect() }
    }
}

impl Comparison {
    /// The variants with meters, and what these told in all.
    pub(crate) fn meters(&self) -> impl Iterator<Item = (&str, Energy)> {
        let all = self.columns.iter().zip(&self.metered);
        all.filter_map(|(variant, metered)| Some((variant.as_str(), (*metered)?)))
    }
}

/// One task in one variant.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Cell {
    /// Finished jobs.
    pub jobs: u64,
    /// The median response time.
    pub p50_ns: Option<Duration>,
    /// The 90th percentile of response times; none of fewer than ten jobs.
    pub p90_ns: Option<Duration>,
    /// The 99th percentile of response times.
    pub p99_ns: Option<Duration>,
    /// The 99.9th percentile of response times; none of fewer than a thousand jobs.
    pub p999_ns: Option<Duration>,
    /// The largest response time.
    pub max_ns: Option<Duration>,
    /// The proved bound on response times, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound_ns: Option<Duration>,
    /// True where a job took longer than was proved.
    pub bound_exceeded: bool,
    /// True where a bound is there and a job of any task executed for longer than bounds suppose.
    pub bound_void: bool,
    /// The relative deadline.
    pub deadline_ns: Option<Duration>,
    /// Jobs of which it is known whether they met their deadline.
    pub judged: u64,
    /// Jobs that missed their deadline.
    pub misses: u64,
    /// The largest tardiness; of unfinished jobs a lower bound.
    pub tardiness_max_ns: Duration,
    /// True where the largest tardiness may be that of an unfinished job.
    pub tardiness_open: bool,
    /// The share of the run in which the task occupied a core, in thousandths of one core.
    pub on_core_per_mille: u64,
    /// What a job used on average, where the platform says what events cost.
    #[serde(rename = "energy_per_job_fj", skip_serializing_if = "Option::is_none")]
    pub energy_per_job: Option<Energy>,
    /// The median response time over the baseline's, in thousandths.
    pub slowdown_p50_per_mille: Option<u64>,
    /// The 99th percentile over the baseline's, in thousandths.
    pub slowdown_p99_per_mille: Option<u64>,
}

/// Puts reports side by side; slowdowns are relative to the variant named `solo`, or else to the first.
pub fn compare<N: AsRef<str>, R: Borrow<Report>>(reports: &[(N, R)]) -> Comparison {
    let baseline = baseline_of(reports);
    let mut order: Vec<&TaskReport> = Vec::new();
    let mut known = std::collections::BTreeSet::new();
    for (_, report) in reports {
        let fresh = report.borrow().tasks.iter().filter(|task| known.insert(task.name.as_str()));
        order.extend(fresh);
    }
    let index = |report: &Report| -> std::collections::BTreeMap<String, usize> {
        report.tasks.iter().enumerate().map(|(i, task)| (task.name.clone(), i)).collect()
    };
    let indices: Vec<_> = reports.iter().map(|(_, report)| index(report.borrow())).collect();
    let position = |column: usize, name: &str| indices.get(column)?.get(name).copied();
    let in_column = |column: usize, name: &str| reports[column].1.borrow().tasks.get(position(column, name)?);
    let tasks = order
        .into_iter()
        .map(|first| ComparedTask {
            name: first.name.clone(),
            class: first.class,
            cells: (0..reports.len())
                .map(|column| {
                    let base = in_column(baseline, &first.name);
                    position(column, &first.name)
                        .and_then(|position| Cell::new(reports[column].1.borrow(), position, base))
                })
                .collect(),
        })
        .collect();
    Comparison {
        columns: reports.iter().map(|(name, _)| name.as_ref().to_owned()).collect(),
        baseline,
        tasks,
        classes: classes::compared(reports, baseline),
        metered: reports.iter().map(|(_, report)| metered(report.borrow())).collect(),
        listens: reports.iter().any(|(_, report)| report.borrow().listening.is_some()),
    }
}

/// What the meters told in all; `None` without one.
fn metered(report: &Report) -> Option<Energy> {
    report.energy.as_ref().filter(|energy| !energy.domains.is_empty()).map(EnergyReport::total)
}

/// The position of the variant named `solo`, or else of the first.
pub fn baseline_of<N: AsRef<str>, R>(reports: &[(N, R)]) -> usize {
    reports.iter().position(|(name, _)| name.as_ref() == "solo").unwrap_or(0)
}

impl Cell {
    /// Of the task at this position of the report; `None` where there is none.
    fn new(report: &Report, position: usize, base: Option<&TaskReport>) -> Option<Self> {
        let task = report.tasks.get(position)?;
        let energy = report.energy.as_ref().and_then(|energy| energy.tasks.get(position));
        let ratio = |now: Option<Duration>, before: Option<Duration>| {
            let (now, before) = (now?.get(), before?.get());
            (before > 0)
                .then(|| ((u128::from(now) * 1000 + u128::from(before) / 2) / u128::from(before)) as u64)
        };
        let (p50, p99) = (task.response.p50(), task.response.p99());
        let busy = u128::from(task.on_core.get()) * 1000;
        Some(Self {
            jobs: task.jobs,
            p50_ns: p50,
            p90_ns: task.response.p90(),
            p99_ns: p99,
            p999_ns: task.response.p999(),
            max_ns: task.response.max(),
            bound_ns: task.bound.map(|bound| bound.response),
            bound_exceeded: task.breaks_bound(),
            bound_void: task.bound.is_some() && report.tasks.iter().any(TaskReport::overruns),
            deadline_ns: task.deadline,
            judged: task.judged,
            misses: task.misses,
            tardiness_max_ns: task.tardiness_max,
            tardiness_open: task.misses_unfinished > 0,
            on_core_per_mille: busy.checked_div(u128::from(report.end.get())).unwrap_or(0) as u64,
            energy_per_job: energy.and_then(TaskEnergy::per_job),
            slowdown_p50_per_mille: ratio(p50, base.and_then(|base| base.response.p50())),
            slowdown_p99_per_mille: ratio(p99, base.and_then(|base| base.response.p99())),
        })
    }
}
