//! Response times as histograms, one above the other on a shared axis, with the deadline across all
//! (the form of MemGuard's Figs. 3 to 12).

use super::scale::{LEFT, RIGHT, TimeScale, WIDTH};
use super::{Panel, task_color};
use crate::report::TaskReport;
use crate::text::{self, TimeUnit};
use maud::{Markup, html};
use solo_chart::axis::px;
use solo_model::Duration;

const BINS: usize = 120;
const ROW: f64 = 92.0;
const PLOT: f64 = 62.0;
/// A bin with a single job among millions must still be seen.
const VISIBLE: f64 = 1.5;

/// The distributions of the task `name` in all panels that have jobs of it.
pub(super) fn chart(panels: &[Panel<'_>], name: &str, color: usize) -> Option<Markup> {
    let rows: Vec<(&Panel<'_>, &TaskReport)> = panels
        .iter()
        .filter_map(|panel| Some((panel, panel.task(name).filter(|task| task.response.count() > 0)?)))
        .collect();
    let deadline = rows.iter().filter_map(|(_, task)| task.deadline).max();
    let least = rows.iter().filter_map(|(_, task)| task.response.min()).min()?;
    let most =
        rows.iter().filter_map(|(_, task)| task.response.max()).max()?.max(deadline.unwrap_or_default());
    let margin = (most.get() - least.get()) as f64 * 0.03 + 1.0;
    let scale = TimeScale::new((least.get() as f64 - margin).max(0.0), most.get() as f64 + margin);
    let height = ROW * rows.len() as f64 + 34.0;
    let bottom = height - 24.0;
    Some(html! {
        svg viewBox={"0 0 " (WIDTH) " " (px(height))} role="img" aria-label=(description(name, &rows)) {
            @for tick in scale.ticks() {
                line.grid x1=(px(tick.x)) x2=(px(tick.x)) y1="8" y2=(px(bottom)) {}
                text.soft.middle x=(px(tick.x)) y=(px(bottom + 15.0)) { (tick.label) }
            }
            @for (index, (panel, task)) in rows.iter().enumerate() {
                (row(panel, task, &scale, 8.0 + ROW * index as f64, color))
            }
            @if let Some(deadline) = deadline {
                @let x = px(scale.x(deadline.get() as f64));
                line.deadline x1=(x) x2=(x) y1="8" y2=(px(bottom)) {}
                @let left = scale.x(deadline.get() as f64) > LEFT + 140.0;
                @let label_x = scale.x(deadline.get() as f64) + if left { -5.0 } else { 5.0 };
                text.warn.end[left] x=(px(label_x)) y="18" {
                    "deadline " (text::time(deadline))
                }
            }
        }
    })
}

fn row(panel: &Panel<'_>, task: &TaskReport, scale: &TimeScale, top: f64, color: usize) -> Markup {
    let (from, to) = (Duration::new(scale.from as u64), Duration::new(scale.to as u64));
    let bins = task.response.binned(from, to, BINS);
    let tallest = bins.iter().copied().max().unwrap_or(1).max(1);
    let base = top + ROW - 14.0;
    let deadline_x = task.deadline.map_or(f64::INFINITY, |deadline| scale.x(deadline.get() as f64));
    let unit = TimeUnit::for_longest(task.deadline.or(task.response.p50()).unwrap_or_default());
    let stat = |duration: Option<Duration>| duration.map_or("-".into(), |duration| unit.text(duration));
    html! {
        text.strong x="0" y=(px(base - 46.0)) { (panel.name) }
        text.soft x="0" y=(px(base - 31.0)) { "p50 " (stat(task.response.p50())) }
        text.soft x="0" y=(px(base - 16.0)) { "p99 " (stat(task.response.p99())) }
        text.soft x="0" y=(px(base - 1.0)) { "max " (stat(task.response.max())) }
        path d=(bars(&bins, base, &|middle| middle <= deadline_x)) fill=(task_color(color)) {}
        path.late d=(bars(&bins, base, &|middle| middle > deadline_x)) {}
        line.axis x1=(px(LEFT)) x2=(px(RIGHT)) y1=(px(base)) y2=(px(base)) {}
        text.soft.end x=(px(LEFT - 6.0)) y=(px(base - PLOT + 8.0)) { (text::count(tallest)) }
        @if task.misses > 0 {
            text.warn.end x=(px(RIGHT)) y=(px(base - PLOT + 8.0)) {
                (task.misses) " missed, " (text::percent(task.misses, task.judged))
            }
        }
    }
}

/// The bars of those bins whose middle is `wanted`, as one path: pages stay small.
fn bars(bins: &[u64], base: f64, wanted: &dyn Fn(f64) -> bool) -> String {
    let tallest = bins.iter().copied().max().unwrap_or(1).max(1) as f64;
    let width = (RIGHT - LEFT) / bins.len() as f64;
    let mut path = String::new();
    for (index, &count) in bins.iter().enumerate().filter(|(_, count)| **count > 0) {
        let x = LEFT + width * index as f64;
        if wanted(x + width / 2.0) {
            let height = px((count as f64 / tallest * PLOT).max(VISIBLE));
            path += &format!("M{} {}v-{height}h{}v{height}z", px(x), px(base), px(width - 0.8));
        }
    }
    path
}

fn description(name: &str, rows: &[(&Panel<'_>, &TaskReport)]) -> String {
    let part = |(panel, task): &(&Panel<'_>, &TaskReport)| {
        let p99 = task.response.p99().map_or("unknown".into(), text::time);
        format!("{}: p99 {p99}, {} of {} deadlines missed", panel.name, task.misses, task.judged)
    };
    format!("Response times of {name}. {}.", rows.iter().map(part).collect::<Vec<_>>().join("; "))
}
