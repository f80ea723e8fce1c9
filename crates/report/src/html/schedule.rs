//! The schedule around the worst job: a track for each core.

use super::scale::{LEFT, RIGHT, TimeScale, WIDTH};
use super::task_color;
use crate::report::{Report, Segment, WorstWindow};
use crate::text;
use maud::{Markup, html};
use solo_chart::axis::px;
use solo_model::{CoreId, Duration, TaskId};

const TRACK: f64 = 26.0;
const BAR: f64 = 19.0;
const TOP: f64 = 34.0;
/// About this many rectangles are drawn on a page; what is finer is merged into a mixed stretch.
const RECTANGLES: f64 = 2000.0;

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
    let cores: Vec<CoreId> = report.cores.iter().map(|core| core.core).collect();
    let bottom = TOP + TRACK * cores.len() as f64;
    let finest = ((RIGHT - LEFT) * (cores.len() * share) as f64 / RECTANGLES).max(0.4);
    let name = |task: TaskId| report.tasks.get(task.index()).map_or("?", |task| task.name.as_str());
    let late = window.deadline.is_some_and(|deadline| window.finish > deadline);
    html! {
        figure data-from=(scale.from) data-to=(scale.to) data-left=(px(LEFT)) data-right=(px(RIGHT)) {
            svg viewBox={"0 0 " (WIDTH) " " (px(bottom + 24.0))} role="img" aria-label=(caption(report, window)) {
                @for tick in scale.ticks() {
                    line.grid x1=(px(tick.x)) x2=(px(tick.x)) y1=(px(TOP)) y2=(px(bottom)) {}
                    text.soft.middle x=(px(tick.x)) y=(px(bottom + 16.0)) { (tick.label) }
                }
                @for (row, &core) in cores.iter().enumerate() {
                    @let y = TOP + TRACK * row as f64 + (TRACK - BAR) / 2.0;
                    text x="0" y=(px(y + 14.0)) { (core) }
                    rect.track x=(px(LEFT)) y=(px(y)) width=(px(RIGHT - LEFT)) height=(px(BAR)) {}
                    @for drawn in drawn(&window.segments, core, &scale, zero, finest) {
                        @let width = drawn.end - drawn.x;
                        rect x=(px(drawn.x)) y=(px(y)) width=(px(width.max(finest))) height=(px(BAR))
                            fill=(drawn.task.map_or("url(#mixed)".into(), |task| task_color(colors(task)))) {
                            title { (drawn.task.map_or("several, too short to tell apart", name)) " on " (core) }
                        }
                        @if let Some(task) = drawn.task.filter(|task| width > 8.0 + 7.0 * name(*task).len() as f64) {
                            text.on x=(px(drawn.x + 5.0)) y=(px(y + 14.0)) { (name(task)) }
                        }
                    }
                    @for own in own_stretches(window, core) {
                        @let (x, end) = (scale.x(own.from.get() as f64 - zero), scale.x(own.to.get() as f64 - zero));
                        rect.worst x=(px(x)) y=(px(y)) width=(px((end - x).max(1.0))) height=(px(BAR)) {}
                    }
                }
                (mark(&scale, 0.0, bottom, "release", "release", false))
                @if let Some(deadline) = window.deadline {
                    @let at = deadline.get() as f64 - zero;
                    (mark(&scale, at, bottom, "deadline", "deadline", late))
                }
                (finish(&scale, window.finish.get() as f64 - zero, late))
                line.cursor y1=(px(TOP)) y2=(px(bottom)) {}
                text.time.soft y=(px(TOP + 11.0)) {}
            }
            figcaption {
                (caption(report, window)) " Time counts from its release; the job is outlined."
                @if window.from > window.release {
                    " More happened since its release than is kept; this is the last "
                    (text::time(window.to.since(window.from))) "."
                }
            }
        }
    }
}

/// A line across all tracks, where it lies within the window.
fn mark(scale: &TimeScale, at: f64, bottom: f64, class: &str, label: &str, left: bool) -> Markup {
    let x = scale.x(at);
    // At the right end there is no room after it.
    let left = left || x > RIGHT - 60.0;
    html! {
        @if at >= scale.from && at <= scale.to {
        line class=(class) x1=(px(x)) x2=(px(x)) y1="16" y2=(px(bottom)) {}
        text.soft.end[left] x=(px(if left { x - 4.0 } else { x + 4.0 })) y="14" { (label) }
        }
    }
}

fn finish(scale: &TimeScale, at: f64, late: bool) -> Markup {
    let x = scale.x(at);
    let left = x > RIGHT - 110.0;
    let response = text::time(Duration::new(at as u64));
    html! {
        path.late[late] d={"M" (px(x)) " " (px(TOP - 1.0)) "l-5 -9h10z"} fill="var(--ink)" {}
        text.warn[late].end[left] x=(px(if left { x - 8.0 } else { x + 8.0 })) y=(px(TOP - 4.0)) { "finish " (response) }
    }
}

/// The stretches in which the window's task ran for the job: between its start and its finish.
fn own_stretches(window: &WorstWindow, core: CoreId) -> impl Iterator<Item = &Segment> {
    window.segments.iter().filter(move |segment| {
        segment.core == core
            && segment.task == window.task
            && segment.from < window.finish
            && segment.to > window.start
    })
}

/// Stretches of a core at least `finest` wide; shorter ones are merged with their neighbours.
fn drawn(segments: &[Segment], core: CoreId, scale: &TimeScale, zero: f64, finest: f64) -> Vec<Drawn> {
    let mut drawn: Vec<Drawn> = Vec::new();
    for segment in segments.iter().filter(|segment| segment.core == core) {
        let x = scale.x(segment.from.get() as f64 - zero);
        let end = scale.x(segment.to.get() as f64 - zero);
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
        text::time(window.release.since(solo_model::Instant::ZERO)),
        text::time(response),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_label_leaves_the_chart_on_the_right() {
        let scale = TimeScale::new(0.0, 100.0);
        let before = |at| mark(&scale, at, 50.0, "deadline", "deadline", false).into_string().contains("end");
        assert!(before(100.0) && before(97.0) && !before(50.0));
    }
}
