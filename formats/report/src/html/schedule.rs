//! The schedule around the worst job: a row for each core, and what is kept of the rest of the run to look at any
//! stretch of it.
//!
//! Without script the page shows the window; a few lines of script zoom into it and out of it.

use super::scale::TimeScale;
use super::task_color;
use crate::report::{Report, Segment, WorstWindow};
use crate::text;
use maud::{Markup, PreEscaped, html};
use solo_chart::axis::px;
use solo_model::{CoreId, Instant, TaskId};
use std::fmt::Write;

/// The plot in units of its own: it is stretched to the width there is.
const WIDE: f64 = 1000.0;
const TRACK: f64 = 26.0;
const BAR: f64 = 19.0;
/// About this many rectangles are drawn on a page; what is finer is merged into a mixed stretch.
const RECTANGLES: f64 = 2000.0;
/// Stretches that a page keeps for its script.
const KEPT: usize = 8_000;

/// A stretch as drawn: one task, or several too short to tell apart.
struct Drawn {
    x: f64,
    end: f64,
    task: Option<TaskId>,
}

/// The window as a figure with its caption; `share` figures of a page share its size.
pub(super) fn chart(
    report: &Report,
    window: &WorstWindow,
    colors: &dyn Fn(TaskId) -> usize,
    share: usize,
) -> Markup {
    let zero = window.release.get() as f64;
    let scale = TimeScale::new(window.from.get() as f64 - zero, window.to.get() as f64 - zero);
    let cores: Vec<CoreId> = cores(report, window);
    let late = window.deadline.is_some_and(|deadline| window.finish > deadline);
    let at = |instant: Instant| instant.get() as f64 - zero;
    let response = text::time(window.finish.since(window.release));
    html! {
        figure.time.gantt data-from=(scale.from) data-to=(scale.to) data-zero=(window.release.get()) {
            div.strip { (mark(&scale, 0.0, "release", "soft")) }
            @if let Some(deadline) = window.deadline {
                div.strip { (mark(&scale, at(deadline), &format!("deadline {}", text::time(deadline.since(window.release))), "warn")) }
            }
            div.strip { (mark(&scale, at(window.finish), &format!("finish {response}"), if late { "warn" } else { "" })) }
            @for &core in &cores { (track(report, window, core, colors, &scale, share * cores.len())) }
            div.strip { div.ticks {
                (scale.labels())
            } }
            figcaption {
                (caption(report, window)) " Time counts from its release; the job is outlined."
                @if window.from > window.release {
                    " More happened since its release than is kept; this is the last "
                    (text::time(window.to.since(window.from))) "."
                }
            }
            script type="application/json" { (PreEscaped(kept(report, window, &cores, colors, KEPT / share.max(1)))) }
        }
    }
}

/// The cores that ran anything in the window; all that ran anything at all where none did.
fn cores(report: &Report, window: &WorstWindow) -> Vec<CoreId> {
    let ran = |core: &CoreId| window.segments.iter().any(|segment| segment.core == *core);
    let all = || report.cores.iter().map(|core| core.core);
    let busy = |core: &CoreId| report.schedule.iter().any(|segment| segment.core == *core) || ran(core);
    let found: Vec<CoreId> = all().filter(busy).collect();
    if found.is_empty() { all().collect() } else { found }
}

fn track(
    report: &Report,
    window: &WorstWindow,
    core: CoreId,
    colors: &dyn Fn(TaskId) -> usize,
    scale: &TimeScale,
    share: usize,
) -> Markup {
    let zero = window.release.get() as f64;
    let finest = (WIDE * share as f64 / RECTANGLES).max(0.4);
    let name = |task: TaskId| report.tasks.get(task.index()).map_or("?", |task| task.name.as_str());
    let x = |instant: Instant| WIDE * scale.share(instant.get() as f64 - zero);
    let drawn = drawn(&window.segments, core, &x, finest);
    let top = px((TRACK - BAR) / 2.0);
    html! {
        div.strip.track data-core=(core.0) {
            span.label { (core) }
            span.lane {
                svg viewBox={"0 0 " (WIDE) " " (TRACK)} preserveAspectRatio="none" role="img" aria-label={"What ran on " (core)} {
                    rect.ground x="0" y=(top) width=(WIDE) height=(BAR) {}
                    g.runs {
                        @for drawn in &drawn {
                            rect x=(px(drawn.x)) y=(top) width=(px((drawn.end - drawn.x).max(finest))) height=(BAR)
                                fill=(drawn.task.map_or("url(#mixed)".into(), |task| task_color(colors(task)))) {
                                title { (drawn.task.map_or("several, too short to tell apart", name)) " on " (core) }
                            }
                        }
                    }
                    g.marks {
                        @for (from, to) in own_stretches(window, core) {
                            rect.worst x=(px(x(from))) y=(top) width=(px((x(to) - x(from)).max(1.0))) height=(BAR) {}
                        }
                        (line(&x, window.release, "release"))
                        @if let Some(deadline) = window.deadline { (line(&x, deadline, "deadline")) }
                    }
                }
                span.names {
                    @for drawn in drawn.iter().filter(|drawn| drawn.end - drawn.x > 30.0) {
                        @if let Some(task) = drawn.task {
                            span style={"left:" (px(drawn.x / 10.0)) "%;width:" (px((drawn.end - drawn.x) / 10.0)) "%"} { (name(task)) }
                        }
                    }
                }
            }
        }
    }
}

fn line(x: &dyn Fn(Instant) -> f64, at: Instant, class: &str) -> Markup {
    let x = px(x(at));
    html! { line class=(class) x1=(x) x2=(x) y1="0" y2=(TRACK) {} }
}

/// A word at its time, on a line of its own: it can stand in nobody's way.
fn mark(scale: &TimeScale, at: f64, words: &str, class: &str) -> Markup {
    let share = scale.share(at);
    let place = if share > 0.5 { "before" } else { "after" };
    html! {
        div.ticks.at data-at=(at) {
            @if at >= scale.from && at <= scale.to {
                span class={(place) " " (class)} style={"left:" (px(100.0 * share)) "%"} { (words) }
            }
        }
    }
}

/// The stretches in which the window's task ran for the job: between its start and its finish. What its task ran
/// before that was for the jobs before it.
fn own_stretches(window: &WorstWindow, core: CoreId) -> impl Iterator<Item = (Instant, Instant)> {
    let own =
        window.segments.iter().filter(move |segment| segment.core == core && segment.task == window.task);
    own.map(|segment| (segment.from.max(window.start), segment.to.min(window.finish)))
        .filter(|(from, to)| from < to)
}

/// Stretches of a core at least `finest` wide; shorter ones are merged with their neighbors.
fn drawn(segments: &[Segment], core: CoreId, place: &dyn Fn(Instant) -> f64, finest: f64) -> Vec<Drawn> {
    let mut drawn: Vec<Drawn> = Vec::new();
    for segment in segments.iter().filter(|segment| segment.core == core) {
        let (x, end) = (place(segment.from), place(segment.to));
        match drawn.last_mut() {
            Some(last) if x - last.end < finest && (last.task == Some(segment.task)) => last.end = end,
            Some(last) if end - last.x < finest || (x - last.end < finest && end - x < finest) => {
                if last.end - last.x < finest || last.task.is_none() {
                    last.task = last.task.filter(|task| *task == segment.task);
                }
                last.end = end;
            }
            _ => drawn.push(Drawn { x, end, task: Some(segment.task) }),
        }
    }
    drawn
}

/// What the script draws other windows from: the stretches of each core as numbers (how long after the last one, how
/// long, which task), and the spans of time of which everything is known.
fn kept(
    report: &Report,
    window: &WorstWindow,
    cores: &[CoreId],
    colors: &dyn Fn(TaskId) -> usize,
    most: usize,
) -> String {
    // Half for the window, as near to its end as there is room, half for the beginning of the run.
    let mut ends: Vec<Instant> = window.segments.iter().map(|segment| segment.to).collect();
    ends.sort_unstable();
    let since = ends.len().checked_sub(most / 2 + 1).map_or(window.from, |last| ends[last]);
    let until = report.schedule.get(most / 2).map_or(report.schedule_to, |segment| segment.from);
    let clip = |segment: &Segment, from: Instant, to: Instant| {
        let clipped = Segment { from: segment.from.max(from), to: segment.to.min(to), ..*segment };
        (clipped.from < clipped.to).then_some(clipped)
    };
    let near = window.segments.iter().filter_map(|segment| clip(segment, since, window.to));
    let first = report.schedule.iter().filter_map(|segment| clip(segment, Instant::ZERO, until));
    let segments: Vec<Segment> = near.chain(first).collect();
    let mut spans = vec![(since, window.to)];
    spans.extend(report.schedule.iter().map(|segment| segment.from).min().map(|from| (from, until)));
    let mut text = String::from("{\"tasks\":[");
    for (index, task) in report.tasks.iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        // A name must not end the script that it stands in.
        let name = serde_json::Value::from(task.name.as_str()).to_string().replace('<', "\\u003c");
        let _ = write!(text, "{comma}[{name},{}]", colors(TaskId(index as u32)) % 8);
    }
    text += "],\"spans\":[";
    for (index, (from, to)) in spans.iter().enumerate() {
        let _ = write!(text, "{}[{},{}]", if index > 0 { "," } else { "" }, from.get(), to.get());
    }
    text += "],\"cores\":{";
    for (index, core) in cores.iter().enumerate() {
        let mut own: Vec<&Segment> = segments.iter().filter(|segment| segment.core == *core).collect();
        own.sort_unstable();
        let _ = write!(text, "{}\"{}\":[", if index > 0 { "," } else { "" }, core.0);
        let mut last = 0;
        let mut comma = "";
        for segment in own {
            let from = segment.from.get().max(last);
            if segment.to.get() > from {
                let _ = write!(text, "{comma}{},{},{}", from - last, segment.to.get() - from, segment.task.0);
                (last, comma) = (segment.to.get(), ",");
            }
        }
        text += "]";
    }
    text + "}}"
}

fn caption(report: &Report, window: &WorstWindow) -> String {
    let name = report.tasks.get(window.task.index()).map_or("?", |task| task.name.as_str());
    let response = window.finish.since(window.release);
    let judged = match window.deadline {
        Some(deadline) if window.finish > deadline => {
            format!(", {} after its deadline", text::time(window.finish.since(deadline)))
        }
        Some(deadline) => format!(", {} before its deadline", text::time(deadline.since(window.finish))),
        None => String::new(),
    };
    format!(
        "Job {} of {name}, released at {}, took {}{judged}.",
        window.job.0,
        text::time(window.release.since(Instant::ZERO)),
        text::time(response),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use solo_model::Duration;

    #[test]
    fn words_stand_on_the_side_with_room() {
        let scale = TimeScale::new(0.0, 100.0);
        let before = |at| mark(&scale, at, "deadline", "warn").into_string().contains("before");
        assert!(before(100.0) && before(97.0) && !before(20.0));
        assert!(!mark(&scale, 120.0, "deadline", "warn").into_string().contains("deadline"));
    }

    /// A late job whose predecessors ran without a gap before it: only its own stretch is outlined.
    #[test]
    fn the_outline_is_the_jobs_and_not_its_backlogs() {
        let at = |us: u64| Instant::ZERO + Duration::from_micros(us);
        let segment = Segment { core: CoreId(0), from: at(0), to: at(200), task: TaskId(0) };
        let window = WorstWindow {
            task: TaskId(0),
            job: solo_model::JobIndex(33),
            release: at(90),
            start: at(178),
            finish: at(190),
            deadline: Some(at(100)),
            from: at(0),
            to: at(200),
            segments: vec![segment],
        };
        assert_eq!(own_stretches(&window, CoreId(0)).collect::<Vec<_>>(), [(at(178), at(190))]);
        assert_eq!(own_stretches(&window, CoreId(1)).count(), 0);
    }
}
