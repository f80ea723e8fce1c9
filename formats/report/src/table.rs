//! Reports and comparisons in a terminal.
//!
//! Color is never the only signal: a miss reads `281 (28.1 %)`, a held row `0`.

use crate::classes;
use crate::columns::{self, Shown};
use crate::compare::{Cell as ComparedCell, ComparedTask, Comparison};
use crate::devices::DeviceReport;
use crate::energy::{EnergyReport, joules};
pub use crate::grid::Style;
use crate::grid::{Entry, Grid};
use crate::isolation::{CoreRegulation, IsolationReport};
use crate::report::{CoreReport, Report, TaskReport};
pub(crate) use crate::text::misses_text;
use crate::text::{self, TimeUnit, counted, factor};
use crate::verdict::Verdict;
use crate::{heard, held};
use solo_model::{Duration, TaskClass};

/// A duration with three significant digits, in the unit that suits it.
pub fn time(duration: Duration) -> String {
    text::time(duration)
}

/// A sentence as a line, or as several where the terminal is narrower.
pub fn sentence(sentence: &str, style: Style) -> String {
    style.sentence(sentence) + "\n"
}

/// How many tasks a table lists before it says how many more there are.
const TASKS_SHOWN: usize = 60;

/// Of fewer jobs the 99th percentile is the maximum.
const FEW_JOBS: u64 = 100;

/// The whole report: verdict, tasks, cores, kernel paths, doubts.
pub fn report(report: &Report, verdict: &Verdict, baseline: Option<&Report>, style: Style) -> String {
    let overheads = overheads(report, style);
    let classes = self::classes(report, style);
    let sections =
        [self::verdict(verdict, style), tasks(report, baseline, style), classes, cores(report, style)];
    let mut text = sections.into_iter().filter(|section| !section.is_empty()).collect::<Vec<_>>().join("\n");
    if !overheads.is_empty() {
        text += "\n";
        text += &overheads;
    }
    if let Some(isolation) = &report.isolation {
        text += "\n";
        text += &self::isolation(isolation, style);
    }
    if !report.devices.is_empty() {
        let rows: Vec<Vec<String>> = report.devices.iter().map(DeviceReport::row).collect();
        text += "\n";
        text += &plain(&crate::devices::HEADER, 2, &rows, style);
        for line in report.devices.iter().filter_map(DeviceReport::interrupts) {
            text += &format!("{line}\n");
        }
    }
    if let Some(listening) = &report.listening {
        let rows = heard::rows(listening, report, class);
        text += "\n";
        if !rows.is_empty() {
            text += &plain(&heard::HEADER, 2, &rows, style);
        }
        let cores = heard::cores(listening);
        if !rows.is_empty() && !cores.is_empty() {
            text += "\n";
        }
        if !cores.is_empty() {
            text += &plain(&heard::CORES, 1, &cores, style);
        }
        for (header, rows) in [
            (&held::HEADER[..], held::rows(listening, report)),
            (&held::CURVES, held::curves(listening, report)),
        ] {
            if !rows.is_empty() {
                text += "\n";
                text += &plain(header, 1, &rows, style);
            }
        }
        text += &format!("{}\n", style.sentence(&heard::sentence(listening, report)));
    }
    if let Some(energy) = &report.energy {
        let name = |task: solo_model::TaskId| report.tasks[task.index()].name.clone();
        text += "\n";
        text += &plain(&EnergyReport::HEADER, 1, &energy.rows(name), style);
        text += &format!("{}\n", style.sentence(&energy.sentence()));
    }
    for warning in &report.warnings {
        text += &format!("{}\n", style.sentence(&format!("warning: {warning}")));
    }
    text + "\n" + &style.sentence(&doubts(report))
}

/// Who owns which memory, and one row a regulated core.
pub fn isolation(isolation: &IsolationReport, style: Style) -> String {
    let mut text = String::new();
    if !isolation.owners.is_empty() {
        let rows: Vec<Vec<String>> = isolation.owner_rows().collect();
        text += &plain(&IsolationReport::OWNER_HEADER, 5, &rows, style);
    }
    if !isolation.cores.is_empty() {
        let rows: Vec<Vec<String>> = isolation.cores.iter().map(|core| core.row()).collect();
        text += &plain(&CoreRegulation::HEADER, 1, &rows, style);
        for change in isolation.cores.iter().filter_map(CoreRegulation::changed) {
            text += &format!("{}\n", style.sentence(&change));
        }
        for doubt in isolation.cores.iter().flat_map(CoreRegulation::doubts) {
            text += &format!("{}\n", style.sentence(&doubt));
        }
    }
    if let Some(conservation) = &isolation.conservation {
        text += &format!("{}\n", style.sentence(&conservation.sentence()));
    }
    text
}

/// The verdict's lines, the first of them bold and in red or green.
pub fn verdict(verdict: &Verdict, style: Style) -> String {
    let mut text = String::new();
    for (i, line) in verdict.lines.iter().enumerate() {
        let line = style.sentence(line);
        match (i, style.color) {
            (0, true) => {
                let color = if verdict.held { "32" } else { "31" };
                text += &format!("\x1b[1;{color}m{line}\x1b[0m\n");
            }
            _ => text += &format!("{line}\n"),
        }
    }
    text
}

/// One row a task: response times, misses, tardiness; with a baseline also the slowdown. Percentiles that too few jobs
/// would decide are left out.
pub fn tasks(report: &Report, baseline: Option<&Report>, style: Style) -> String {
    let header = ["task", "class", "jobs", "min", "p50", "p90", "p99", "p99.9", "max", "bound", "pessimism"];
    let more_header = ["deadline", "misses", "tardiness", "preempted", "migrated", "slowdown p99"];
    let mut grid = Grid::new(header.into_iter().chain(more_header), 1, 2);
    let void = bounds_are_void(report);
    for task in report.tasks.iter().take(TASKS_SHOWN) {
        let mut row = task_row(task, void);
        let base = baseline.and_then(|baseline| baseline.tasks.iter().find(|base| base.name == task.name));
        row.push(slowdown(task.response.p99(), base.and_then(|base| base.response.p99())).into());
        grid.row(row);
    }
    grid.without_dashes().text(style) + &more(report.tasks.len(), "task")
}

/// One row a class: what each got; empty where there is but one, or no scheduler listens.
pub fn classes(report: &Report, style: Style) -> String {
    let rows = classes::rows(report, class);
    if rows.is_empty() { String::new() } else { plain(&classes::HEADER, 1, &rows, style) }
}

/// True where a task has a proved bound to show.
pub(crate) fn has_bounds(report: &Report) -> bool {
    report.tasks.iter().any(|task| task.bound.is_some())
}

fn task_row(task: &TaskReport, void: bool) -> Vec<Entry> {
    let unit = TimeUnit::for_longest(task.deadline.or(task.response.p50()).unwrap_or(Duration::ZERO));
    let time = |duration: Option<Duration>| Entry::from(duration.map_or("-".into(), |d| unit.text(d)));
    vec![
        task.name.as_str().into(),
        class(task.class).into(),
        task.jobs.to_string().into(),
        time(task.response.min()),
        time(task.response.p50()),
        time(task.response.p90()),
        time(task.response.p99()),
        time(task.response.p999()),
        time(task.response.max()),
        Entry { text: bound_text(task, unit, void), bad: task.breaks_bound() },
        pessimism(task).into(),
        time(task.deadline),
        misses(task.misses, task.judged, task.deadline.is_some()),
        tardiness(task.tardiness_max, task.misses_unfinished > 0, task.misses > 0).into(),
        task.preemptions.to_string().into(),
        task.migrations.to_string().into(),
    ]
}

/// True where a job executed for longer than bounds suppose: then none of them says anything.
pub(crate) fn bounds_are_void(report: &Report) -> bool {
    report.tasks.iter().any(TaskReport::overruns)
}

/// A bound, and whether it was exceeded or is void.
pub(crate) fn bound_text(task: &TaskReport, unit: TimeUnit, void: bool) -> String {
    match task.bound {
        Some(bound) => unit.text(bound.response) + bound_mark(task.breaks_bound(), void),
        None => "-".into(),
    }
}

/// How many times the longest response time the bound is.
fn pessimism(task: &TaskReport) -> String {
    let (Some(bound), Some(longest)) = (task.bound, task.response.max()) else { return "-".into() };
    let hundredths = u128::from(bound.response.get()) * 100 / u128::from(longest.get().max(1));
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

const fn bound_mark(exceeded: bool, void: bool) -> &'static str {
    match (exceeded, void) {
        (true, _) => ", exceeded",
        (false, true) => ", void",
        (false, false) => "",
    }
}

/// One row a core: what ran on it and what it did to the memory. Cores on which nothing ran are named below.
pub fn cores(report: &Report, style: Style) -> String {
    let columns = || columns::CORES.iter().filter(|column| column.shown != Shown::Page);
    let mut grid = Grid::new(columns().map(|column| column.name), 1, 2);
    let idle = |core: &&CoreReport| core.busy.is_zero() && core.occupants.is_empty();
    for core in report.cores.iter().filter(|core| !idle(core)) {
        grid.row(columns().map(|column| (column.text)(report, core).into()).collect());
    }
    let resting: Vec<String> = report.cores.iter().filter(idle).map(|core| core.core.to_string()).collect();
    let note = match resting.as_slice() {
        [] => String::new(),
        [.., last] if resting.len() > 3 => {
            format!("nothing ran on {} cores: {} to {last}\n", resting.len(), resting[0])
        }
        some => format!("nothing ran on {}\n", text::enumeration(some)),
    };
    grid.without_dashes().text(style) + &note
}

/// One row a kernel path; empty where none was recorded.
pub fn overheads(report: &Report, style: Style) -> String {
    if report.overheads.is_empty() {
        return String::new();
    }
    let header = ["kernel path", "count", "mean", "max", "total", "of core time"];
    let mut grid = Grid::new(header, 1, 1);
    let core_time = report.end.get().saturating_mul(report.cores.len() as u64);
    for path in &report.overheads {
        grid.row(vec![
            path.overhead.name().into(),
            path.count.to_string().into(),
            text::time(path.total / path.count.max(1)).into(),
            text::time(path.max).into(),
            text::time(path.total).into(),
            text::percent(path.total.get(), core_time).into(),
        ]);
    }
    grid.text(style)
}

/// What to hold against the numbers, in one line.
pub fn doubts(report: &Report) -> String {
    format!("doubts: {}\n", doubted(report).join(", "))
}

/// The same of several runs by their names: a line for what holds for all of them, then one for each that has others.
pub fn doubts_together(runs: &[(&str, &Report)]) -> Vec<String> {
    let all: Vec<Vec<String>> = runs.iter().map(|(_, report)| doubted(report)).collect();
    let (first, others) =
        all.split_first().map_or((&[][..], &[][..]), |(first, others)| (&first[..], others));
    let shared: Vec<String> =
        first.iter().filter(|doubt| others.iter().all(|other| other.contains(doubt))).cloned().collect();
    let mut lines = Vec::new();
    if !shared.is_empty() {
        lines.push(format!("doubts: {}", shared.join(", ")));
    }
    for ((name, _), own) in runs.iter().zip(&all) {
        let own: Vec<&str> = own.iter().filter(|doubt| !shared.contains(doubt)).map(String::as_str).collect();
        if !own.is_empty() {
            lines.push(format!("{name}: doubts: {}", own.join(", ")));
        }
    }
    lines
}

fn doubted(report: &Report) -> Vec<String> {
    let doubts = &report.doubts;
    let mut parts = vec![
        counted(doubts.records, "record"),
        counted(doubts.samples, "sample"),
        format!("{} dropped", doubts.dropped),
        counted(doubts.unfinished, "job") + " unfinished",
    ];
    if report.replications > 1 {
        parts.push(report.seeds());
    }
    if doubts.vanished > 0 {
        parts.push(counted(doubts.vanished, "job") + " without an end");
    }
    if doubts.out_of_order > 0 {
        parts.push(format!("{} out of order", doubts.out_of_order));
    }
    if doubts.strangers > 0 {
        parts.push(format!("{} of unknown tasks or cores", doubts.strangers));
    }
    if doubts.jobs_without_stalls > 0 {
        parts.push(format!("stalls unknown for {}", counted(doubts.jobs_without_stalls, "job")));
    }
    if doubts.guessed_platform {
        parts.push(format!("platform {} resembles the chip, not validated", report.platform));
    }
    parts.extend(few_jobs(report));
    parts
}

/// Whose 99th percentile is decided by one job.
fn few_jobs(report: &Report) -> Option<String> {
    let few = |task: &&TaskReport| (1..FEW_JOBS).contains(&task.response.count());
    let mut names: Vec<String> = report
        .tasks
        .iter()
        .filter(few)
        .map(|task| format!("{} ({})", task.name, task.response.count()))
        .collect();
    let rest = names.len().saturating_sub(4);
    names.truncate(4);
    if rest > 0 {
        names.push(counted(rest as u64, "more task"));
    }
    let listed = text::enumeration(&names);
    (!names.is_empty()).then(|| format!("p99 is the maximum where jobs are fewer than {FEW_JOBS}: {listed}"))
}

/// Variants as columns; for each task a block of rows, without those that say nothing of any variant.
pub fn comparison(comparison: &Comparison, style: Style) -> String {
    let mut grid =
        Grid::new(["task", ""].into_iter().chain(comparison.columns.iter().map(String::as_str)), 2, 2);
    for task in comparison.tasks.iter().take(TASKS_SHOWN) {
        for (position, (label, cells)) in block(task).into_iter().enumerate() {
            let name = if position == 0 { task.name.as_str() } else { "" };
            let mut row: Vec<Entry> = vec![name.into(), label.into()];
            row.extend(cells);
            grid.row(row);
        }
    }
    let baseline = comparison.columns.get(comparison.baseline).map(String::as_str).unwrap_or("-");
    let mut note = style.sentence(&format!("slowdowns are relative to {baseline}"));
    if let Some(metered) = metered(comparison) {
        note = note + "\n" + &style.sentence(&metered);
    }
    let classes = compared_classes(comparison, style);
    grid.text(style) + &more(comparison.tasks.len(), "task") + &classes + &note + "\n"
}

/// What the meters told in all; nothing where no platform has any.
pub(crate) fn metered(comparison: &Comparison) -> Option<String> {
    let each: Vec<String> =
        comparison.meters().map(|(variant, energy)| format!("{variant} {}", joules(energy))).collect();
    (!each.is_empty()).then(|| format!("energy by the meter, in all: {}", each.join(", ")))
}

/// Variants as columns; for each class a block of rows. Empty where all tasks are of one class, or no scheduler listens.
fn compared_classes(comparison: &Comparison, style: Style) -> String {
    if comparison.classes.len() < 2 || !comparison.listens {
        return String::new();
    }
    let columns = comparison.columns.iter().map(String::as_str);
    let mut grid = Grid::new(["class", ""].into_iter().chain(columns), 2, 2);
    for compared in &comparison.classes {
        for (position, (label, cells)) in classes::block(compared).into_iter().enumerate() {
            let name = if position == 0 { class(compared.class) } else { "" };
            let mut row: Vec<Entry> = vec![name.into(), label.into()];
            row.extend(cells.into_iter().map(Entry::from));
            grid.row(row);
        }
    }
    format!("\n{}{}\n", grid.text(style), style.sentence(classes::NOTE))
}

/// The rows of a task: what each says, and what it is in each variant.
pub(crate) fn block(task: &ComparedTask) -> Vec<(&'static str, Vec<Entry>)> {
    let typical = task.cells.iter().flatten().filter_map(|cell| cell.deadline_ns.or(cell.p50_ns)).max();
    let unit = TimeUnit::for_longest(typical.unwrap_or(Duration::ZERO));
    let entry = |label: &str, value: RowValue, cell: &Option<ComparedCell>| match cell {
        None => Entry::from("-"),
        Some(cell) => Entry {
            text: value(cell, unit),
            bad: (label == "misses" && cell.misses > 0) || (label == "bound" && cell.bound_exceeded),
        },
    };
    let rows = ROWS.iter().map(|&(label, value)| {
        (label, task.cells.iter().map(|cell| entry(label, value, cell)).collect::<Vec<_>>())
    });
    rows.filter(|(_, cells)| cells.iter().any(|cell| cell.text != "-")).collect()
}

type RowValue = fn(&ComparedCell, TimeUnit) -> String;

/// The rows of a task's block in a comparison.
const ROWS: [(&str, RowValue); 13] = [
    ("jobs", |cell, _| cell.jobs.to_string()),
    ("p50", |cell, unit| optional(cell.p50_ns, unit)),
    ("p90", |cell, unit| optional(cell.p90_ns, unit)),
    ("p99", |cell, unit| optional(cell.p99_ns, unit)),
    ("p99.9", |cell, unit| optional(cell.p999_ns, unit)),
    ("max", |cell, unit| optional(cell.max_ns, unit)),
    ("bound", |cell, unit| optional(cell.bound_ns, unit) + bound_mark(cell.bound_exceeded, cell.bound_void)),
    ("misses", |cell, _| misses_text(cell.misses, cell.judged, cell.deadline_ns.is_some())),
    ("tardiness max", |cell, _| tardiness(cell.tardiness_max_ns, cell.tardiness_open, cell.misses > 0)),
    ("on a core", |cell, _| text::percent(cell.on_core_per_mille, 1000)),
    ("energy a job", |cell, _| cell.energy_per_job.map_or("-".into(), joules)),
    ("slowdown p50", |cell, _| factor(cell.slowdown_p50_per_mille)),
    ("slowdown p99", |cell, _| factor(cell.slowdown_p99_per_mille)),
];

/// A table of a header and rows; the first `texts` columns hold text, the others numbers.
pub fn plain(header: &[&str], texts: usize, rows: &[Vec<String>], style: Style) -> String {
    let mut grid = Grid::new(header.iter().copied(), 1, texts);
    for row in rows {
        grid.row(row.iter().map(|text| text.as_str().into()).collect());
    }
    grid.text(style)
}

fn optional(duration: Option<Duration>, unit: TimeUnit) -> String {
    duration.map_or("-".into(), |duration| unit.text(duration))
}

pub(crate) fn slowdown(now: Option<Duration>, before: Option<Duration>) -> String {
    match (now, before) {
        (Some(now), Some(before)) if !before.is_zero() => {
            format!("{:.2}", now.get() as f64 / before.get() as f64)
        }
        _ => "-".into(),
    }
}

pub(crate) fn tardiness(max: Duration, open: bool, missed: bool) -> String {
    match (missed, open) {
        (false, _) => "-".into(),
        (true, false) => text::time(max),
        (true, true) => format!(">= {}", text::time(max)),
    }
}

fn misses(misses: u64, judged: u64, has_deadline: bool) -> Entry {
    Entry { text: misses_text(misses, judged, has_deadline), bad: misses > 0 }
}

pub(crate) const fn class(class: TaskClass) -> &'static str {
    match class {
        TaskClass::Hard => "hard",
        TaskClass::Soft => "soft",
        TaskClass::BestEffort => "best effort",
    }
}

fn more(count: usize, noun: &str) -> String {
    match count.saturating_sub(TASKS_SHOWN) {
        0 => String::new(),
        rest => format!("and {} more\n", counted(rest as u64, noun)),
    }
}
