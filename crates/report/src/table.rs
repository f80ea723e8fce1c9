//! Reports and comparisons in a terminal.
//!
//! Color is never the only signal: a miss reads `281 (28.1 %)`, a held row `0`.

use crate::compare::{Cell as ComparedCell, Comparison};
use crate::energy::EnergyReport;
use crate::isolation::{CoreRegulation, IsolationReport};
use crate::report::{CoreReport, Report, TaskReport};
use crate::text::{self, TimeUnit, counted};
use crate::verdict::Verdict;
use comfy_table::{Attribute, Cell, CellAlignment, Color, ContentArrangement, LineStyle, Table, TableStyle};
use solo_model::{Duration, EventId, TaskClass};

/// How to write to a terminal or a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Style {
    /// Escape sequences for color and weight.
    pub color: bool,
}

impl Style {
    /// No escape sequences.
    pub const PLAIN: Self = Self { color: false };

    /// Color on a terminal unless `NO_COLOR` is set to anything but nothing (no-color.org).
    pub fn detect(is_terminal: bool, no_color: Option<&std::ffi::OsStr>) -> Self {
        Self { color: is_terminal && no_color.is_none_or(std::ffi::OsStr::is_empty) }
    }
}

/// How many tasks a table lists before it says how many more there are.
const TASKS_SHOWN: usize = 60;

/// The whole report: verdict, tasks, cores, kernel paths, doubts.
pub fn report(report: &Report, verdict: &Verdict, baseline: Option<&Report>, style: Style) -> String {
    let overheads = overheads(report, style);
    let mut text =
        [self::verdict(verdict, style), tasks(report, baseline, style), cores(report, style)].join("\n");
    if !overheads.is_empty() {
        text += "\n";
        text += &overheads;
    }
    if let Some(isolation) = &report.isolation {
        text += "\n";
        text += &self::isolation(isolation, style);
    }
    if let Some(energy) = &report.energy {
        let name = |task: solo_model::TaskId| report.tasks[task.index()].name.clone();
        text += "\n";
        text += &plain(&EnergyReport::HEADER, 1, &energy.rows(name), style);
        text += &format!("{}\n", energy.sentence());
    }
    for warning in &report.warnings {
        text += &format!("warning: {warning}\n");
    }
    text + "\n" + &doubts(report)
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
        for doubt in isolation.cores.iter().flat_map(CoreRegulation::doubts) {
            text += &format!("{doubt}\n");
        }
    }
    if let Some(conservation) = &isolation.conservation {
        text += &format!("{}\n", conservation.sentence());
    }
    text
}

/// The verdict's lines, the first of them bold and in red or green.
pub fn verdict(verdict: &Verdict, style: Style) -> String {
    let mut text = String::new();
    for (i, line) in verdict.lines.iter().enumerate() {
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

/// One row a task: response times, misses, tardiness; with a baseline also the slowdown.
pub fn tasks(report: &Report, baseline: Option<&Report>, style: Style) -> String {
    let mut header = vec!["task", "class", "jobs", "min", "p50", "p99", "max", "deadline", "misses"];
    header.extend(["tardiness", "preempted", "migrated"]);
    let bounded = has_bounds(report);
    if bounded {
        header.insert(7, "bound");
    }
    if baseline.is_some() {
        header.push("slowdown p99");
    }
    let mut table = new_table(&header, 2, style);
    for task in report.tasks.iter().take(TASKS_SHOWN) {
        let mut row = task_row(task, bounded, style);
        if let Some(baseline) = baseline {
            let base = baseline.tasks.iter().find(|base| base.name == task.name);
            let factor = slowdown(task.response.p99(), base.and_then(|base| base.response.p99()));
            row.push(number(factor));
        }
        table.add_row(row);
    }
    finish(&table) + &more(report.tasks.len(), "task")
}

/// True where a task has a proved bound to show.
pub(crate) fn has_bounds(report: &Report) -> bool {
    report.tasks.iter().any(|task| task.bound.is_some())
}

fn task_row(task: &TaskReport, bounded: bool, style: Style) -> Vec<Cell> {
    let unit = TimeUnit::for_longest(task.deadline.or(task.response.p50()).unwrap_or(Duration::ZERO));
    let time = |duration: Option<Duration>| number(duration.map_or("-".into(), |d| unit.text(d)));
    let mut row = vec![
        Cell::new(&task.name),
        Cell::new(class(task.class)),
        number(task.jobs.to_string()),
        time(task.response.min()),
        time(task.response.p50()),
        time(task.response.p99()),
        time(task.response.max()),
        time(task.deadline),
        misses(task.misses, task.judged, task.deadline.is_some(), style),
        number(tardiness(task.tardiness_max, task.misses_unfinished > 0, task.misses > 0)),
        number(task.preemptions.to_string()),
        number(task.migrations.to_string()),
    ];
    if bounded {
        let bound = number(task.bound.map_or("-".into(), |bound| unit.text(bound.response)));
        row.insert(7, if task.breaks_bound() && style.color { bound.fg(Color::Red) } else { bound });
    }
    row
}

/// One row a core: what ran on it and what it did to the memory.
pub fn cores(report: &Report, style: Style) -> String {
    let header = [
        "core",
        "ran",
        "busy",
        "switches",
        "IPIs",
        "instr/cycle",
        "LLC misses",
        "HITM",
        "DRAM mean",
        "DRAM peak",
    ];
    let mut table = new_table(&header, 2, style);
    for core in &report.cores {
        table.add_row(core_row(report, core));
    }
    finish(&table)
}

fn core_row(report: &Report, core: &CoreReport) -> Vec<Cell> {
    let sampled = |text: String| number(if core.samples > 0 { text } else { "-".into() });
    let rate = |rate: Option<solo_model::Bandwidth>| number(rate.map_or("-".into(), text::rate));
    let events = |event| sampled(text::count_or_dash(core.counts.get(event)));
    vec![
        Cell::new(core.core),
        Cell::new(occupants(report, core)),
        number(text::percent(core.busy.get(), report.end.get())),
        number(core.switches.to_string()),
        number(core.ipis_received.to_string()),
        sampled(text::per_cycle(&core.counts)),
        events(EventId::LLC_MISSES),
        events(EventId::SNOOP_HITM),
        rate(core.bandwidth_mean()),
        rate(core.bandwidth_max()),
    ]
}

fn occupants(report: &Report, core: &CoreReport) -> String {
    let names = core.occupants.iter().filter_map(|(task, _)| report.tasks.get(task.index()));
    let mut names: Vec<&str> = names.map(|task| task.name.as_str()).collect();
    let rest = names.len().saturating_sub(3);
    names.truncate(3);
    let listed = names.join(", ");
    match (listed.is_empty(), rest) {
        (true, _) => "-".into(),
        (_, 0) => listed,
        (_, rest) => format!("{listed} +{rest}"),
    }
}

/// One row a kernel path; empty where none was recorded.
pub fn overheads(report: &Report, style: Style) -> String {
    if report.overheads.is_empty() {
        return String::new();
    }
    let mut table = new_table(&["kernel path", "count", "mean", "max", "total", "of core time"], 1, style);
    let core_time = report.end.get().saturating_mul(report.cores.len() as u64);
    for path in &report.overheads {
        table.add_row(vec![
            Cell::new(path.overhead.name()),
            number(path.count.to_string()),
            number(text::time(path.total / path.count.max(1))),
            number(text::time(path.max)),
            number(text::time(path.total)),
            number(text::percent(path.total.get(), core_time)),
        ]);
    }
    finish(&table)
}

/// What to hold against the numbers, in one line.
pub fn doubts(report: &Report) -> String {
    let doubts = &report.doubts;
    let mut parts = vec![
        counted(doubts.records, "record"),
        counted(doubts.samples, "sample"),
        format!("{} dropped", doubts.dropped),
        counted(doubts.unfinished, "job") + " unfinished",
    ];
    if report.replications > 1 {
        parts.push(text::seeds(report));
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
    format!("doubts: {}\n", parts.join(", "))
}

/// Variants as columns; for each task a block of rows.
pub fn comparison(comparison: &Comparison, style: Style) -> String {
    let mut header = vec!["task", ""];
    header.extend(comparison.columns.iter().map(String::as_str));
    let mut table = new_table(&header, 2, style);
    for task in comparison.tasks.iter().take(TASKS_SHOWN) {
        let typical = task.cells.iter().flatten().filter_map(|cell| cell.deadline_ns.or(cell.p50_ns)).max();
        let unit = TimeUnit::for_longest(typical.unwrap_or(Duration::ZERO));
        for (position, &(label, value)) in rows(comparison).enumerate() {
            let name = if position == 0 { task.name.as_str() } else { "" };
            let mut row = vec![Cell::new(name), Cell::new(label)];
            row.extend(task.cells.iter().map(|cell| match cell {
                Some(cell) if label == "misses" => {
                    misses(cell.misses, cell.judged, cell.deadline_ns.is_some(), style)
                }
                Some(cell) => number(value(cell, unit)),
                None => number("-".into()),
            }));
            table.add_row(row);
        }
    }
    let baseline = comparison.columns.get(comparison.baseline).map(String::as_str).unwrap_or("-");
    let note = format!("slowdowns are relative to {baseline}\n");
    finish(&table) + &more(comparison.tasks.len(), "task") + &note
}

type RowValue = fn(&ComparedCell, TimeUnit) -> String;

/// The rows of a task's block in a comparison.
pub(crate) const ROWS: [(&str, RowValue); 10] = [
    ("jobs", |cell, _| cell.jobs.to_string()),
    ("p50", |cell, unit| optional(cell.p50_ns, unit)),
    ("p99", |cell, unit| optional(cell.p99_ns, unit)),
    ("max", |cell, unit| optional(cell.max_ns, unit)),
    ("bound", |cell, unit| optional(cell.bound_ns, unit)),
    ("misses", |cell, _| misses_text(cell.misses, cell.judged, cell.deadline_ns.is_some())),
    ("tardiness max", |cell, _| tardiness(cell.tardiness_max_ns, cell.tardiness_open, cell.misses > 0)),
    ("on a core", |cell, _| text::percent(cell.on_core_per_mille, 1000)),
    ("slowdown p50", |cell, _| factor(cell.slowdown_p50_per_mille)),
    ("slowdown p99", |cell, _| factor(cell.slowdown_p99_per_mille)),
];

/// The rows worth showing: without any proved bound there is no row of them.
pub(crate) fn rows(comparison: &Comparison) -> impl Iterator<Item = &'static (&'static str, RowValue)> {
    let cells = comparison.tasks.iter().flat_map(|task| task.cells.iter().flatten());
    let bounded = cells.into_iter().any(|cell| cell.bound_ns.is_some());
    ROWS.iter().filter(move |(label, _)| bounded || *label != "bound")
}

/// A table of a header and rows; the first `texts` columns hold text, the others numbers.
pub fn plain(header: &[&str], texts: usize, rows: &[Vec<String>], style: Style) -> String {
    let mut table = new_table(header, texts, style);
    for row in rows {
        let cells = row.iter().enumerate();
        table.add_row(cells.map(|(i, text)| if i < texts { Cell::new(text) } else { number(text.clone()) }));
    }
    finish(&table)
}

fn optional(duration: Option<Duration>, unit: TimeUnit) -> String {
    duration.map_or("-".into(), |duration| unit.text(duration))
}

fn factor(per_mille: Option<u64>) -> String {
    per_mille.map_or("-".into(), |value| {
        let hundredths = (value + 5) / 10;
        format!("{}.{:02}", hundredths / 100, hundredths % 100)
    })
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

pub(crate) fn misses_text(misses: u64, judged: u64, has_deadline: bool) -> String {
    match (has_deadline && judged > 0, misses) {
        (false, _) => "-".into(),
        (true, 0) => "0".into(),
        (true, misses) => format!("{misses} ({})", text::percent(misses, judged)),
    }
}

fn misses(misses: u64, judged: u64, has_deadline: bool, style: Style) -> Cell {
    let cell = number(misses_text(misses, judged, has_deadline));
    if style.color && misses > 0 { cell.fg(Color::Red).add_attribute(Attribute::Bold) } else { cell }
}

pub(crate) const fn class(class: TaskClass) -> &'static str {
    match class {
        TaskClass::Hard => "hard",
        TaskClass::Soft => "soft",
        TaskClass::BestEffort => "best effort",
    }
}

fn number(text: String) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

/// A table without frame: a rule under the header, two spaces between columns. The first `texts` columns
/// hold text, the others numbers.
fn new_table(header: &[&str], texts: usize, style: Style) -> Table {
    let mut table = Table::new();
    let rule = LineStyle::none().fill('─');
    table.load_style(TableStyle::new().header_separator(rule));
    table.set_content_arrangement(ContentArrangement::Disabled);
    if style.color {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    let cells = header.iter().enumerate().map(|(i, name)| {
        let cell = Cell::new(name);
        let cell = if i < texts { cell } else { cell.set_alignment(CellAlignment::Right) };
        if style.color { cell.add_attribute(Attribute::Bold) } else { cell }
    });
    table.set_header(cells);
    table
}

fn finish(table: &Table) -> String {
    let mut text = String::new();
    for line in table.lines() {
        text += line.trim_end();
        text += "\n";
    }
    text
}

fn more(count: usize, noun: &str) -> String {
    match count.saturating_sub(TASKS_SHOWN) {
        0 => String::new(),
        rest => format!("and {} more\n", counted(rest as u64, noun)),
    }
}
