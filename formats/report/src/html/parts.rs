//! Where the time of jobs went: a stacked bar for the average job of each task and variant.

use super::{Panel, tables};
use crate::text;
use crate::timeparts::{TimePart, TimeSplit};
use maud::{Markup, html};
use solo_chart::axis::px;
use solo_model::Duration;

/// A part that takes a smaller share of the widest bar has no room for its name.
const NAMED: f64 = 0.012;

/// An average job.
struct Row<'a> {
    label: String,
    time: &'a TimeSplit,
}

/// The bars of the task `name` in all panels, and the same as a table.
pub(super) fn chart(panels: &[Panel<'_>], name: &str) -> Option<Markup> {
    let mut rows = Vec::new();
    for panel in panels {
        let Some(task) = panel.task(name).filter(|task| task.time.jobs > 0) else { continue };
        rows.push(Row { label: panel.name.clone(), time: &task.time });
        if task.time_late.jobs > 0 && task.time_late.jobs < task.time.jobs {
            rows.push(Row { label: format!("{}, late jobs", panel.name), time: &task.time_late });
        }
    }
    let longest = rows.iter().map(|row| row.time.mean_response()).max()?.max(Duration::new(1));
    let label = format!("Where the time of an average job of {name} went; the table below has the numbers");
    Some(html! {
        div.parts role="img" aria-label=(label) { @for row in &rows { (bar(row, longest)) } }
        details.numbers { summary { "numbers" } (table(&rows)) }
    })
}

fn bar(row: &Row<'_>, longest: Duration) -> Markup {
    let response = text::time(row.time.mean_response());
    let parts = TimePart::ALL.into_iter().map(|part| (part, row.time.mean(part)));
    html! {
        span.label { (row.label) }
        span.bar {
            @for (part, time) in parts {
                @let share = time.get() as f64 / longest.get() as f64;
                @if share > 0.0005 {
                    span class=(ink(part)) style={"width:" (px(100.0 * share)) "%;background:" (color(part))}
                        title={(part.label()) ": " (text::time(time)) " of " (response)} {
                        @if share > NAMED * part.label().len() as f64 { (part.label()) }
                    }
                }
            }
        }
        span.soft.value { (response) }
    }
}

/// What the colors stand for: narrow parts have no room for their names.
pub(super) fn key() -> Markup {
    html! {
        p.key {
            @for part in TimePart::ALL {
                span { span.chip style={"background:" (color(part))} {} (part.label()) }
                " "
            }
        }
    }
}

fn table(rows: &[Row<'_>]) -> Markup {
    let parts: Vec<TimePart> = TimePart::ALL
        .into_iter()
        .filter(|part| rows.iter().any(|row| !row.time.mean(*part).is_zero()))
        .collect();
    let mut header = vec!["average job"];
    header.extend(parts.iter().map(|part| part.label()));
    header.push("response");
    let body = rows.iter().map(|row| {
        let mut cells = vec![row.label.clone()];
        cells.extend(parts.iter().map(|part| text::time(row.time.mean(*part))));
        cells.push(text::time(row.time.mean_response()));
        cells
    });
    tables::plain(&header, body)
}

fn color(part: TimePart) -> &'static str {
    match part {
        TimePart::Compute => "var(--p-compute)",
        TimePart::PrivateCache => "var(--p-private)",
        TimePart::SharedCache => "var(--p-shared)",
        TimePart::Dram => "var(--p-dram)",
        TimePart::DramQueueOwn => "var(--p-own)",
        TimePart::DramQueueOthers => "var(--p-others)",
        TimePart::Coherence => "var(--p-coherence)",
        TimePart::Kernel => "var(--p-kernel)",
        TimePart::Running => "var(--p-running)",
        TimePart::Backlog => "var(--p-backlog)",
        TimePart::Throttled => "var(--p-throttled)",
        TimePart::Ready => "var(--p-ready)",
        TimePart::Blocked => "var(--p-blocked)",
        TimePart::Held => "var(--p-held)",
        TimePart::Asleep => "var(--p-asleep)",
    }
}

/// Dark bars carry light text, light bars dark text; a bar that is bright on dark paper too, always dark text.
fn ink(part: TimePart) -> &'static str {
    match part {
        TimePart::Dram | TimePart::DramQueueOwn | TimePart::DramQueueOthers | TimePart::Coherence => "on",
        TimePart::Kernel | TimePart::Blocked => "on",
        TimePart::Ready | TimePart::Backlog => "dark",
        TimePart::Throttled => "on",
        TimePart::Compute
        | TimePart::PrivateCache
        | TimePart::SharedCache
        | TimePart::Running
        | TimePart::Held
        | TimePart::Asleep => "",
    }
}
