//! Response times as histograms, one above the other on a shared axis, with the deadline across all
//! (the form of MemGuard's Figs. 3 to 12).
//!
//! Words are text of the page and never part of a drawing: they wrap where there is little room, keep their size on a
//! small screen and cannot cover a bar.

use super::scale::TimeScale;
use super::{Panel, task_color};
use crate::report::TaskReport;
use crate::text::{self, TimeUnit};
use maud::{Markup, html};
use solo_chart::axis::px;
use solo_model::Duration;

const BINS: u64 = 120;
/// The plot in units of its own: it is stretched to the width there is.
const WIDE: f64 = 1000.0;
const TALL: f64 = 62.0;
/// A bin with a single job among millions must still be seen.
const VISIBLE: f64 = 1.5;

/// The distributions of the task `name` in all panels that have jobs of it.
pub(super) fn chart(panels: &[Panel<'_>], name: &str, color: usize) -> Option<Markup> {
    let rows: Vec<(&Panel<'_>, &TaskReport)> = panels
        .iter()
        .filter_map(|panel| Some((panel, panel.task(name).filter(|task| task.response.count() > 0)?)))
        .collect();
    let deadlines: Vec<Duration> = rows.iter().filter_map(|(_, task)| task.deadline).collect();
    let deadline = deadlines.iter().copied().max();
    // The deadline is on the axis wherever the jobs are.
    let least =
        rows.iter().filter_map(|(_, task)| task.response.min()).chain(deadlines.iter().copied()).min()?;
    let most =
        rows.iter().filter_map(|(_, task)| task.response.max()).max()?.max(deadline.unwrap_or_default());
    let bins = Bins::over(least, most, deadline);
    let scale = TimeScale::new(bins.from as f64, bins.to() as f64);
    // Variants may have deadlines of their own: one label stands for all only where they agree.
    let agreed = deadline.filter(|deadline| deadlines.iter().all(|other| other == deadline));
    Some(html! {
        @if let Some(deadline) = agreed {
            div.ticks { (label(scale.share(deadline.get() as f64), &format!("deadline {}", text::time(deadline)))) }
        }
        @for (panel, task) in &rows { (row(name, panel, task, &bins, &scale, color)) }
        div.ticks {
            (scale.labels())
        }
    })
}

/// Words at a place of the axis, on the side where there is room.
fn label(share: f64, words: &str) -> Markup {
    html! {
        span.warn.before[share > 0.5].after[share <= 0.5] style={"left:" (px(100.0 * share)) "%"} { (words) }
    }
}

fn row(
    name: &str,
    panel: &Panel<'_>,
    task: &TaskReport,
    bins: &Bins,
    scale: &TimeScale,
    color: usize,
) -> Markup {
    let counts = bins.of(task);
    let tallest = counts.iter().copied().max().unwrap_or(1).max(1);
    let edge = task.deadline.map_or(counts.len(), |deadline| bins.before(deadline));
    let unit = TimeUnit::for_longest(task.deadline.or(task.response.p50()).unwrap_or_default());
    let stat = |duration: Option<Duration>| duration.map_or("-".into(), |duration| unit.text(duration));
    html! {
        p.row {
            strong { (panel.name) } " "
            span.soft {
                "p50 " (stat(task.response.p50())) ", p99 " (stat(task.response.p99())) ", max "
                (stat(task.response.max())) "; tallest bar " (text::count(tallest)) " of " (text::count(task.response.count())) " jobs"
            }
            " "
            @if task.misses > 0 {
                span.miss { (task.misses) " missed, " (text::percent(task.misses, task.judged)) }
            }
        }
        svg.plot viewBox={"0 0 " (WIDE) " " (TALL)} preserveAspectRatio="none" role="img" aria-label=(description(name, panel, task)) {
            @for tick in scale.ticks() {
                @let x = px(WIDE * tick.share);
                line.grid x1=(x) x2=(x) y1="0" y2=(TALL) {}
            }
            path d=(bars(&counts, tallest, 0..edge)) fill=(task_color(color)) {}
            path.late d=(bars(&counts, tallest, edge..counts.len())) {}
            line.axis x1="0" x2=(WIDE) y1=(TALL) y2=(TALL) {}
            @if let Some(deadline) = task.deadline {
                @let x = px(WIDE * scale.share(deadline.get() as f64));
                line.deadline x1=(x) x2=(x) y1="0" y2=(TALL) {}
            }
        }
    }
}

/// Equal bins, each open on the left and closed on the right, one of which ends at the deadline: what met it and what
/// missed it never share a bar.
struct Bins {
    from: u64,
    width: u64,
    count: usize,
}

impl Bins {
    fn over(least: Duration, most: Duration, deadline: Option<Duration>) -> Self {
        let (least, most) = (least.get(), most.get());
        let margin = (most - least) / 33 + 1;
        let width = ((most - least).saturating_add(2 * margin)).div_ceil(BINS).max(1);
        let wanted = least.saturating_sub(margin);
        // As near to what is wanted as bins of this width lead from the deadline.
        let from = match deadline.map(Duration::get).filter(|deadline| *deadline > wanted) {
            Some(deadline) => {
                deadline.saturating_sub((deadline - wanted).div_ceil(width).saturating_mul(width))
            }
            None => wanted,
        };
        // A deadline nearer to zero than a bin is wide would lose its edge.
        let from = match deadline.map(Duration::get).filter(|deadline| *deadline > from) {
            Some(deadline) if (deadline - from) % width != 0 => deadline % width,
            _ => from,
        };
        let count = (most.saturating_add(margin).saturating_sub(from)).div_ceil(width).max(1);
        Self { from, width, count: count as usize }
    }

    fn to(&self) -> u64 {
        self.from.saturating_add(self.width.saturating_mul(self.count as u64))
    }

    /// How many bins lie before `edge`, which is one of their ends.
    fn before(&self, edge: Duration) -> usize {
        ((edge.get().saturating_sub(self.from)) / self.width).min(self.count as u64) as usize
    }

    /// Jobs a bin. The distribution knows times to a thousandth only: at the deadline the count of misses, which is
    /// exact, decides.
    fn of(&self, task: &TaskReport) -> Vec<u64> {
        let mut counts = vec![0_u64; self.count];
        for (value, jobs) in task.response.buckets() {
            let at = value.get().saturating_sub(self.from).div_ceil(self.width).saturating_sub(1);
            counts[usize::try_from(at).unwrap_or(usize::MAX).min(self.count - 1)] += jobs;
        }
        let Some(deadline) = task.deadline else { return counts };
        let edge = self.before(deadline);
        let late = task.misses.saturating_sub(task.misses_unfinished);
        let drawn_late: u64 = counts[edge..].iter().sum();
        if edge == 0 || edge == counts.len() {
            return counts;
        }
        if drawn_late > late {
            shift(&mut counts, (edge..self.count).collect(), edge - 1, drawn_late - late);
        } else {
            shift(&mut counts, (0..edge).rev().collect(), edge, late - drawn_late);
        }
        counts
    }
}

/// Moves `jobs` into a bin, from the nearest of the others that have any.
fn shift(counts: &mut [u64], from: Vec<usize>, to: usize, mut jobs: u64) {
    for bin in from {
        let moved = counts[bin].min(jobs);
        counts[bin] -= moved;
        counts[to] += moved;
        jobs -= moved;
    }
}

/// The bars of some bins as one path: pages stay small.
fn bars(counts: &[u64], tallest: u64, bins: std::ops::Range<usize>) -> String {
    let width = WIDE / counts.len() as f64;
    let mut path = String::new();
    for index in bins.filter(|index| counts[*index] > 0) {
        let x = width * index as f64;
        let height = px((counts[index] as f64 / tallest as f64 * (TALL - 2.0)).max(VISIBLE));
        path += &format!("M{} {TALL}v-{height}h{}v{height}z", px(x), px(width * 0.9));
    }
    path
}

fn description(name: &str, panel: &Panel<'_>, task: &TaskReport) -> String {
    let p99 = task.response.p99().map_or("unknown".into(), text::time);
    format!(
        "Response times of {name}, {}: p99 {p99}, {} of {} missed.",
        panel.name,
        task.misses,
        text::counted(task.judged, "deadline")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever the times: a bin ends at the deadline, and everything lies within the bins.
        #[test]
        fn a_bin_ends_at_the_deadline(least in 0_u64..50_000_000, span in 0_u64..90_000_000, deadline in 1_u64..100_000_000) {
            let most = (least + span).max(deadline);
            let bins = Bins::over(Duration::new(least), Duration::new(most), Some(Duration::new(deadline)));
            if deadline > bins.from {
                prop_assert_eq!((deadline - bins.from) % bins.width, 0);
            } else {
                prop_assert!(deadline <= least, "{} starts after {}", bins.from, deadline);
            }
            prop_assert!(bins.from <= least.max(deadline) && bins.to() >= most, "{}..{}", bins.from, bins.to());
            prop_assert!(bins.count <= 2 * BINS as usize + 2, "{} bins", bins.count);
        }
    }

    #[test]
    fn words_stand_on_the_side_with_room() {
        let before = |share| label(share, "deadline").into_string().contains("before");
        assert!(before(1.0) && before(0.7) && !before(0.2) && !before(0.0));
    }
}
