//! Where the time of jobs went: a stacked bar for the average job of each task and variant.

use super::scale::{LEFT, RIGHT, WIDTH};
use super::{Panel, tables};
use crate::text;
use crate::timeparts::{TimePart, TimeSplit};
use maud::{Markup, html};
use solo_chart::axis::px;
use solo_model::Duration;

const ROW: f64 = 24.0;
const BAR: f64 = 17.0;

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
    let bottom = ROW * rows.len() as f64 + 6.0;
    let label = format!("Where the time of an average job of {name} went; the table below has the numbers");
    Some(html! {
        svg viewBox={"0 0 " (WIDTH) " " (px(bottom))} role="img" aria-label=(label) {
            @for (index, row) in rows.iter().enumerate() {
                (bar(row, longest, 4.0 + ROW * index as f64))
            }
        }
        details { summary { "numbers" } (table(&rows)) }
    })
}

/// A part of a bar.
struct Stretch {
    part: TimePart,
    time: Duration,
    x: f64,
    width: f64,
}

fn stretches(row: &Row<'_>, longest: Duration) -> Vec<Stretch> {
    // Room after the longest bar for its length in words.
    let wide = RIGHT - LEFT - 62.0;
    let mut end = LEFT;
    TimePart::ALL
        .into_iter()
        .map(|part| {
            let time = row.time.mean(part);
            let (x, width) = (end, time.get() as f64 / longest.get() as f64 * wide);
            end += width;
            Stretch { part, time, x, width }
        })
        .filter(|stretch| stretch.width > 0.05)
        .collect()
}

fn bar(row: &Row<'_>, longest: Duration, y: f64) -> Markup {
    let stretches = stretches(row, longest);
    let end = stretches.last().map_or(LEFT, |last| last.x + last.width);
    let response = text::time(row.time.mean_response());
    html! {
        text x="0" y=(px(y + 13.0)) { (row.label) }
        @for Stretch { part, time, x, width } in stretches {
            rect x=(px(x)) y=(px(y)) width=(px(width)) height=(px(BAR)) fill=(color(part)) {
                title { (part.label()) ": " (text::time(time)) " of " (response) }
            }
            @if width > 10.0 + 6.6 * part.label().len() as f64 {
                text class=(ink(part)) x=(px(x + 5.0)) y=(px(y + 13.0)) { (part.label()) }
            }
        }
        text.soft x=(px(end + 6.0)) y=(px(y + 13.0)) { (response) }
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
        TimePart::Ready => "var(--p-ready)",
        TimePart::Blocked => "var(--p-blocked)",
        TimePart::Asleep => "var(--p-asleep)",
    }
}

/// Dark bars carry light text, light bars dark text; a bar that is bright on dark paper too, always dark text.
fn ink(part: TimePart) -> &'static str {
    match part {
        TimePart::Dram | TimePart::DramQueueOwn | TimePart::DramQueueOthers | TimePart::Coherence => "on",
        TimePart::Kernel | TimePart::Blocked => "on",
        TimePart::Ready => "dark",
        _ => "",
    }
}
