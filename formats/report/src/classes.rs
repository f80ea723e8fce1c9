//! What each class of tasks got: who wins by a policy, and who pays.

use crate::report::{Report, TaskReport};
use crate::text;
use serde::Serialize;
use solo_model::TaskClass;
use std::borrow::Borrow;

/// The most urgent first.
const CLASSES: [TaskClass; 3] = [TaskClass::Hard, TaskClass::Soft, TaskClass::BestEffort];

/// The tasks of a class in a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct ClassShare {
    /// The class.
    pub class: TaskClass,
    /// What they came to.
    #[serde(flatten)]
    pub got: Got,
}

/// What the tasks of a class came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Got {
    /// How many they are.
    pub tasks: u64,
    /// Jobs that they finished.
    pub jobs: u64,
    /// Jobs of which it is known whether they met their deadline.
    pub judged: u64,
    /// Of these, those that missed it.
    pub misses: u64,
    /// The time in which they occupied cores, in thousandths of one core.
    pub on_core_per_mille: u64,
    /// The time in which a policy that listens, or a budget of their own, kept them off, in thousandths of the run, summed over
    /// tasks.
    pub held_per_mille: u64,
    /// The response times of finished jobs over the time that these occupied cores, in thousandths: how many times longer they
    /// took than alone on a core. `None` where no job was finished.
    pub stretch_per_mille: Option<u64>,
}

/// The classes that a run has, the most urgent first.
pub fn classes(report: &Report) -> Vec<ClassShare> {
    let share = |class| Some(ClassShare { class, got: Got::of(report, class)? });
    CLASSES.into_iter().filter_map(share).collect()
}

impl Got {
    /// What the tasks of a class came to; `None` where there are none.
    fn of(report: &Report, class: TaskClass) -> Option<Self> {
        let own = || report.tasks.iter().filter(|task| task.class == class);
        let sum = |what: fn(&TaskReport) -> u64| own().map(what).fold(0, u64::saturating_add);
        let of_run = |time: u64| ratio(u128::from(time), u128::from(report.end.get())).unwrap_or(0);
        let response = |task: &TaskReport| {
            let mean = task.response.mean().unwrap_or_default();
            u128::from(mean.get()) * u128::from(task.response.count())
        };
        let responses = own().map(response).fold(0, u128::saturating_add);
        let tasks = own().count() as u64;
        (tasks > 0).then(|| Self {
            tasks,
            jobs: sum(|task| task.jobs),
            judged: sum(|task| task.judged),
            misses: sum(|task| task.misses),
            on_core_per_mille: of_run(sum(|task| task.on_core.get())),
            held_per_mille: of_run(sum(|task| task.held.get())),
            stretch_per_mille: ratio(responses, u128::from(sum(|task| task.executed.get()))),
        })
    }
}

/// A class in all variants.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ComparedClass {
    /// The class.
    pub class: TaskClass,
    /// One a column; `None` in variants without such a task.
    pub cells: Vec<Option<ClassCell>>,
}

/// A class in one variant.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct ClassCell {
    /// What its tasks came to.
    #[serde(flatten)]
    pub got: Got,
    /// The jobs that they finished over those in the baseline, in thousandths.
    pub jobs_per_mille: Option<u64>,
    /// The mean of their tasks' slowdowns, median response time over the baseline's, in thousandths; of tasks that finished
    /// jobs in both.
    pub slowdown_per_mille: Option<u64>,
}

/// A class as files have it.
#[derive(Serialize)]
pub(crate) struct StoredClass<'c> {
    class: TaskClass,
    variants: Vec<StoredCell<'c>>,
}

#[derive(Serialize)]
struct StoredCell<'c> {
    variant: &'c str,
    #[serde(flatten)]
    cell: &'c ClassCell,
}

/// The classes of variants with these names, as files have them.
pub(crate) fn stored<'c>(columns: &'c [String], classes: &'c [ComparedClass]) -> Vec<StoredClass<'c>> {
    let mut stored = Vec::new();
    for class in classes {
        let cells = columns.iter().zip(&class.cells);
        let named = cells.filter_map(|(variant, cell)| Some(StoredCell { variant, cell: cell.as_ref()? }));
        stored.push(StoredClass { class: class.class, variants: named.collect() });
    }
    stored
}

/// The classes of reports side by side, relative to the one at `baseline`.
pub(crate) fn compared<N, R: Borrow<Report>>(reports: &[(N, R)], baseline: usize) -> Vec<ComparedClass> {
    let base = reports.get(baseline).map(|(_, report)| report.borrow());
    let cell = |report: &Report, class| {
        let got = Got::of(report, class)?;
        let before = base.and_then(|base| Got::of(base, class));
        Some(ClassCell {
            got,
            jobs_per_mille: before.and_then(|before| ratio(got.jobs.into(), before.jobs.into())),
            slowdown_per_mille: base.and_then(|base| slowdown(report, base, class)),
        })
    };
    let of = |class| {
        let cells = reports.iter().map(|(_, report)| cell(report.borrow(), class)).collect();
        ComparedClass { class, cells }
    };
    CLASSES.into_iter().map(of).filter(|class| class.cells.iter().any(Option::is_some)).collect()
}

/// The mean slowdown of a class's tasks, by their medians.
fn slowdown(report: &Report, base: &Report, class: TaskClass) -> Option<u64> {
    let of = |task: &TaskReport| {
        let before = base.tasks.iter().find(|before| before.name == task.name)?.response.p50()?;
        ratio(task.response.p50()?.get().into(), before.get().into())
    };
    let slowdowns: Vec<u64> = report.tasks.iter().filter(|task| task.class == class).filter_map(of).collect();
    slowdowns.iter().fold(0, |sum: u64, one| sum.saturating_add(*one)).checked_div(slowdowns.len() as u64)
}

/// In thousandths, rounded; `None` beside zero.
fn ratio(part: u128, whole: u128) -> Option<u64> {
    let rounded = part.saturating_mul(1000).saturating_add(whole / 2).checked_div(whole)?;
    Some(u64::try_from(rounded).unwrap_or(u64::MAX))
}

pub(crate) const HEADER: [&str; 7] =
    ["class", "tasks", "jobs", "misses", "on cores", "kept off", "response / on a core"];

/// One row for each class of a run; none where there is but one, or no scheduler listens: then tasks say it themselves.
pub(crate) fn rows(report: &Report, name: fn(TaskClass) -> &'static str) -> Vec<Vec<String>> {
    let classes = classes(report);
    if classes.len() < 2 || report.listening.is_none() {
        return Vec::new();
    }
    let row = |share: ClassShare| {
        let mut row = vec![name(share.class).to_owned()];
        row.extend(CELLS[..6].iter().map(|(_, text)| text(&ClassCell::alone(share.got))));
        row
    };
    classes.into_iter().map(row).collect()
}

impl ClassCell {
    /// Beside nothing.
    const fn alone(got: Got) -> Self {
        Self { got, jobs_per_mille: None, slowdown_per_mille: None }
    }
}

type CellText = fn(&ClassCell) -> String;

/// The rows of a class's block in a comparison.
pub(crate) const CELLS: [(&str, CellText); 8] = [
    ("tasks", |cell| cell.got.tasks.to_string()),
    ("jobs", |cell| cell.got.jobs.to_string()),
    ("misses", |cell| text::misses_text(cell.got.misses, cell.got.judged, true)),
    ("on cores", |cell| text::percent(cell.got.on_core_per_mille, 1000)),
    ("kept off", |cell| match cell.got.held_per_mille {
        0 => "-".into(),
        held => text::percent(held, 1000),
    }),
    ("response / on a core", |cell| text::factor(cell.got.stretch_per_mille)),
    ("jobs to baseline", |cell| text::factor(cell.jobs_per_mille)),
    ("slowdown p50", |cell| text::factor(cell.slowdown_per_mille)),
];

/// The rows of a class in a comparison: what each says, and what it is in each variant; without those that say nothing.
pub(crate) fn block(class: &ComparedClass) -> Vec<(&'static str, Vec<String>)> {
    let text = |text: CellText, cell: &Option<ClassCell>| cell.as_ref().map_or("-".into(), text);
    let row = |&(label, of): &(&'static str, CellText)| {
        (label, class.cells.iter().map(|cell| text(of, cell)).collect::<Vec<_>>())
    };
    CELLS.iter().map(row).filter(|(_, cells)| cells.iter().any(|cell| cell != "-")).collect()
}

/// What a table of classes says, in a sentence.
pub(crate) const NOTE: &str = "on cores: time of the class's tasks on cores, of one core; kept off: by a scheduler that listens or a \
     budget of the task's own, of the run, summed over tasks; response / on a core: how many times longer jobs took than they \
     occupied a core";
