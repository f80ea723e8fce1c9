//! The tables of a page: the same figures as in the terminal.

use super::task_color;
use crate::classes;
use crate::columns::{self, Shown};
use crate::compare::Comparison;
use crate::devices::DeviceReport;
use crate::energy::EnergyReport;
use crate::report::{Report, TaskReport};
use crate::table;
use crate::text::{self, TimeUnit};
use crate::{heard, held};
use maud::{Markup, html};
use solo_model::{Duration, TaskId};

/// A table whose first column is text and whose others are numbers.
pub(super) fn plain(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Markup {
    html! {
        div.scroll {
            table {
                thead { tr { @for name in header { th scope="col" { (name) } } } }
                tbody {
                    @for row in rows {
                        tr {
                            @for (index, cell) in row.iter().enumerate() {
                                @if index == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Tasks with response times, misses and tardiness.
pub(super) fn tasks(report: &Report, baseline: Option<&Report>) -> Markup {
    html! {
        div.scroll {
            table {
                thead {
                    tr {
                        th scope="col" { "task" }
                        th.text scope="col" { "class" }
                        @for name in ["jobs", "min", "p50", "p90", "p99", "p99.9", "max"] { th scope="col" { (name) } }
                        @if table::has_bounds(report) { th scope="col" { "bound" } }
                        @for name in ["deadline", "misses", "tardiness", "preempted", "migrated"] {
                            th scope="col" { (name) }
                        }
                        @if baseline.is_some() { th scope="col" { "slowdown p99" } }
                    }
                }
                tbody { @for (index, task) in report.tasks.iter().enumerate().take(200) { (task_row(index, task, report, baseline)) } }
            }
        }
        @if report.tasks.len() > 200 { p.note { "and " (report.tasks.len() - 200) " more tasks" } }
    }
}

fn task_row(index: usize, task: &TaskReport, report: &Report, baseline: Option<&Report>) -> Markup {
    let unit = TimeUnit::for_longest(task.deadline.or(task.response.p50()).unwrap_or_default());
    let time = |duration: Option<Duration>| duration.map_or("-".into(), |duration| unit.text(duration));
    let base = |baseline: &Report| baseline.tasks.iter().find(|base| base.name == task.name)?.response.p99();
    html! {
        tr {
            th.text scope="row" { span.chip style={"background:" (task_color(index))} {} (task.name) }
            td.text { (table::class(task.class)) }
            td { (task.jobs) }
            td { (time(task.response.min())) }
            td { (time(task.response.p50())) }
            td { (time(task.response.p90())) }
            td { (time(task.response.p99())) }
            td { (time(task.response.p999())) }
            td { (time(task.response.max())) }
            @if table::has_bounds(report) {
                td.miss[task.breaks_bound()] { (table::bound_text(task, unit, table::bounds_are_void(report))) }
            }
            td { (time(task.deadline)) }
            td.miss[task.misses > 0] { (table::misses_text(task.misses, task.judged, task.deadline.is_some())) }
            td { (table::tardiness(task.tardiness_max, task.misses_unfinished > 0, task.misses > 0)) }
            td { (task.preemptions) }
            td { (task.migrations) }
            @if let Some(baseline) = baseline { td { (table::slowdown(task.response.p99(), base(baseline))) } }
        }
    }
}

/// What each class of tasks got; nothing where there is but one.
pub(super) fn classes(report: &Report) -> Markup {
    let rows = classes::rows(report, table::class);
    html! {
        @if !rows.is_empty() {
            h3 { "By class" }
            (plain(&classes::HEADER, rows.into_iter()))
            p.note { (classes::NOTE) "." }
        }
    }
}

/// The same of variants, a block of rows for each class.
pub(super) fn compared_classes(comparison: &Comparison) -> Markup {
    let columns = comparison.columns.iter().map(String::as_str);
    let header: Vec<&str> = ["class", ""].into_iter().chain(columns).collect();
    let rows = comparison.classes.iter().flat_map(|compared| {
        classes::block(compared).into_iter().enumerate().map(|(position, (label, cells))| {
            let name = if position == 0 { table::class(compared.class) } else { "" };
            [name, label].into_iter().map(str::to_owned).chain(cells).collect()
        })
    });
    html! {
        @if comparison.classes.len() > 1 && comparison.listens {
            h3 { "By class" }
            (plain(&header, rows))
            p.note { (classes::NOTE) "." }
        }
    }
}

/// Cores with what ran on them and what they counted.
pub(super) fn cores(report: &Report) -> Markup {
    let columns = || columns::CORES.iter().filter(|column| column.shown != Shown::Terminal);
    let header: Vec<&str> = columns().map(|column| column.name).collect();
    let rows = report.cores.iter().map(|core| columns().map(|column| (column.text)(report, core)).collect());
    plain(&header, rows)
}

/// What devices moved by themselves.
pub(super) fn devices(report: &Report) -> Markup {
    html! {
        @if !report.devices.is_empty() {
            h3 { "Devices" }
            (plain(&crate::devices::HEADER, report.devices.iter().map(DeviceReport::row)))
            @for line in report.devices.iter().filter_map(DeviceReport::interrupts) {
                p { (line) }
            }
        }
    }
}

/// Whom a scheduler that listens kept off a core.
pub(super) fn listening(report: &Report) -> Markup {
    html! {
        @if let Some(listening) = &report.listening {
            h3 { "Counters heard" }
            @let rows = heard::rows(listening, report, table::class);
            @if !rows.is_empty() { (plain(&heard::HEADER, rows.into_iter())) }
            @let cores = heard::cores(listening);
            @if !cores.is_empty() { (plain(&heard::CORES, cores.into_iter())) }
            @let held = held::rows(listening, report);
            @if !held.is_empty() { (plain(&held::HEADER, held.into_iter())) }
            @let curves = held::curves(listening, report);
            @if !curves.is_empty() { (plain(&held::CURVES, curves.into_iter())) }
            p.note { (heard::sentence(listening, report)) }
        }
    }
}

/// What tasks and cores cost, where the platform says what events cost.
pub(super) fn energy(report: &Report) -> Markup {
    let name = |task: TaskId| report.tasks[task.index()].name.clone();
    html! {
        @if let Some(energy) = &report.energy {
            h3 { "Energy" }
            (plain(&EnergyReport::HEADER, energy.rows(name).into_iter()))
            p.note { (energy.sentence()) }
        }
    }
}

/// Kernel paths.
pub(super) fn overheads(report: &Report) -> Markup {
    let core_time = report.end.get().saturating_mul(report.cores.len() as u64);
    let rows = report.overheads.iter().map(|path| {
        vec![
            path.overhead.name().to_owned(),
            path.count.to_string(),
            text::time(path.total / path.count.max(1)),
            text::time(path.max),
            text::time(path.total),
            text::percent(path.total.get(), core_time),
        ]
    });
    plain(&["kernel path", "count", "mean", "max", "total", "of core time"], rows)
}

/// Variants as columns, a block of rows for each task.
pub(super) fn comparison(comparison: &Comparison) -> Markup {
    html! {
        div.scroll {
            table {
                thead {
                    tr {
                        th scope="col" { "task" }
                        th.text scope="col" { }
                        @for name in &comparison.columns { th scope="col" { (name) } }
                    }
                }
                tbody {
                    @for (index, task) in comparison.tasks.iter().enumerate().take(100) {
                        @let block = table::block(task);
                        @for (row, (label, cells)) in block.iter().enumerate() {
                            tr.group[row == 0] {
                                @if row == 0 {
                                    th.text scope="rowgroup" rowspan=(block.len()) style="vertical-align:top" {
                                        span.chip style={"background:" (task_color(index))} {} (task.name)
                                    }
                                }
                                td.text.label { (label) }
                                @for cell in cells { td.miss[cell.bad] { (cell.text) } }
                            }
                        }
                    }
                }
            }
        }
        @if let Some(metered) = table::metered(comparison) { p.note { (metered) } }
        @if comparison.tasks.len() > 100 { p.note { "and " (comparison.tasks.len() - 100) " more tasks" } }
    }
}
