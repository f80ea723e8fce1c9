//! The progressive lockdown curve as a page (SCE Figs. 3, 7, 11): worst and best response against locked pages.

use super::scale::{LEFT, RIGHT, WIDTH};
use super::{Provenance, foot, page, tables};
use crate::text::{self, TimeUnit};
use maud::{Markup, html};
use solo_chart::axis::{px, round_step};
use solo_model::Duration;

const TOP: f64 = 18.0;
const BOTTOM: f64 = 300.0;
const HEIGHT: f64 = 346.0;

/// A point of the curve.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LockedPoint {
    /// Pages that were locked, the most accessed first.
    pub pages: u64,
    /// The longest response.
    pub worst: Duration,
    /// The shortest.
    pub best: Duration,
    /// The most last-level misses of a job.
    pub residual_misses: u64,
    /// Accesses of a job to pages that were not locked, by its profile.
    pub uncovered: u64,
    /// The same beside other cores, where that was measured.
    pub bounded: Option<BoundedPoint>,
}

/// A point beside hogs on other cores, each core with the same budget (SCE Fig. 12).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BoundedPoint {
    /// The longest response beside them.
    pub worst: Duration,
    /// The shortest.
    pub best: Duration,
    /// `C_sce`: what bounds it.
    pub bound: Duration,
}

impl BoundedPoint {
    /// False where an observation is above its bound.
    pub fn holds(&self) -> bool {
        self.worst <= self.bound
    }
}

/// A lockdown curve and what was read from it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LockdownPage {
    /// The scenario's name.
    pub scenario: String,
    /// The task whose pages were locked.
    pub task: String,
    /// Jobs of each point.
    pub jobs: u64,
    /// The points, fewest pages first.
    pub points: Vec<LockedPoint>,
    /// From where on more pages are hardly worth their cache, and how much of the gain is left there at most.
    pub knee: Option<(u64, u64)>,
    /// A time that was asked for, and the fewest pages with which every response stayed within it.
    pub within: Option<(Duration, Option<u64>)>,
    /// Nothing locked, and the whole level the task's.
    pub whole: Option<LockedPoint>,
    /// Bounds suppose that no row hits of others overtake a miss, and the memory controller prefers them.
    pub hits_first: bool,
}

impl LockdownPage {
    /// The header of [`rows`](Self::rows).
    pub fn header(&self) -> Vec<&'static str> {
        let mut header = vec!["locked pages", "worst", "best", "gain", "misses left", "accesses left"];
        if self.is_bounded() {
            header.extend(["beside hogs", "at best", "bound"]);
        }
        header
    }

    /// True where points were measured beside other cores, too.
    fn is_bounded(&self) -> bool {
        self.points.iter().any(|point| point.bounded.is_some())
    }

    /// A row for each point.
    pub fn rows(&self) -> Vec<Vec<String>> {
        let unit = self.unit();
        let first = self.points.first().map_or(Duration::ZERO, |point| point.worst);
        let least = self.points.iter().map(|point| point.worst).min().unwrap_or_default();
        let whole = first.saturating_sub(least);
        let row = |point: &LockedPoint| {
            let mut cells = vec![
                point.pages.to_string(),
                unit.text(point.worst),
                unit.text(point.best),
                gain(first.saturating_sub(point.worst), whole),
                text::count(point.residual_misses),
                text::count(point.uncovered),
            ];
            if let Some(beside) = point.bounded {
                cells.extend([beside.worst, beside.best, beside.bound].map(|time| unit.text(time)));
            }
            cells
        };
        self.points.iter().map(row).collect()
    }

    /// What the curve says, in sentences.
    pub fn findings(&self) -> Vec<String> {
        let mut found = Vec::new();
        if let (Some(first), Some(last)) = (self.points.first(), self.points.last()) {
            found.push(format!(
                "{} with {}, {} with {}: worst of {} each.",
                text::time(first.worst),
                text::counted(first.pages, "locked page"),
                text::time(last.worst),
                last.pages,
                text::counted(self.jobs, "job"),
            ));
        }
        if let Some((pages, per_cent)) = self.knee {
            found.push(format!("The knee of the curve: all but {per_cent} % of what locking all pages would bring comes with {}.", text::counted(pages, "locked page")));
        }
        match self.within {
            Some((time, Some(pages))) => {
                found.push(format!(
                    "Every response stays within {} from {} on.",
                    text::time(time),
                    text::counted(pages, "page")
                ));
            }
            Some((time, None)) => {
                found.push(format!("No number of pages keeps every response within {}.", text::time(time)));
            }
            None => {}
        }
        if let (Some(whole), Some(first)) = (self.whole, self.points.first()) {
            let times = first.worst.get().saturating_mul(100) / whole.worst.get().max(1);
            found.push(format!(
                "With the whole level for itself and nothing locked: {}, {}; {}.{:02} times as fast as with {}.",
                text::time(whole.worst),
                text::counted(whole.residual_misses, "miss"),
                times / 100,
                times % 100,
                text::counted(first.pages, "locked page"),
            ));
        }
        for point in self.points.iter().filter(|point| point.bounded.is_some_and(|beside| !beside.holds())) {
            let pages = text::counted(point.pages, "locked page");
            found.push(format!("ABOVE ITS BOUND with {pages}: the model does not hold here."));
        }
        if self.hits_first && self.is_bounded() {
            found.push(
                "Bounds suppose that no row hits of other cores overtake a miss; this controller prefers them.".to_owned(),
            );
        }
        found
    }

    /// The longest time that is shown.
    fn longest(&self) -> Duration {
        let of = |point: &LockedPoint| {
            point.bounded.map_or(point.worst, |beside| point.worst.max(beside.worst).max(beside.bound))
        };
        self.points.iter().map(of).max().unwrap_or_default()
    }

    fn unit(&self) -> TimeUnit {
        TimeUnit::for_longest(self.longest())
    }
}

fn gain(gained: Duration, whole: Duration) -> String {
    if gained.is_zero() { "-".into() } else { text::whole_percent(gained, whole) }
}

/// The page of a curve.
pub fn lockdown(curve: &LockdownPage, provenance: &Provenance) -> String {
    let title = format!("{}: locked pages of {}", curve.scenario, curve.task);
    page(
        &title,
        html! {
            header { p.name { (curve.scenario) } h1 { "What locked pages of " (curve.task) " are worth" } }
            @for line in curve.findings() { p.why { (line) } }
            figure {
                (chart(curve))
                figcaption {
                    "Response times of " (curve.task) " with more and more of its most accessed pages locked: the line is \
                     the longest, the band reaches down to the shortest."
                    @if curve.is_bounded() { " Dotted: the longest beside hogs under equal budgets. Dashed: its bound, C_sce." }
                }
            }
            (tables::plain(&curve.header(), curve.rows().into_iter()))
            (foot(provenance, None))
        },
    )
}

/// A place of a path.
fn at(x: &impl Fn(u64) -> f64, y: &impl Fn(Duration) -> f64, pages: u64, time: Duration) -> String {
    format!("{} {}", px(x(pages)), px(y(time)))
}

fn chart(curve: &LockdownPage) -> Markup {
    let most_pages = curve.points.iter().map(|point| point.pages).max().unwrap_or(0).max(1) as f64;
    let longest = curve.longest().get().max(1) as f64;
    let x = |pages: u64| LEFT + pages as f64 / most_pages * (RIGHT - LEFT);
    let y = |time: Duration| BOTTOM - time.get() as f64 / longest * (BOTTOM - TOP);
    let at = |point: &LockedPoint, time: Duration| self::at(&x, &y, point.pages, time);
    let worst: Vec<String> = curve.points.iter().map(|point| at(point, point.worst)).collect();
    let best = curve.points.iter().rev().map(|point| at(point, point.best));
    let band: Vec<String> = worst.iter().cloned().chain(best).collect();
    let beside = |time: fn(&BoundedPoint) -> Duration| -> Vec<String> {
        let at = |point: &LockedPoint| {
            point.bounded.as_ref().map(|bounded| self::at(&x, &y, point.pages, time(bounded)))
        };
        curve.points.iter().filter_map(at).collect()
    };
    let others = [(beside(|it| it.worst), "2 3"), (beside(|it| it.bound), "7 4")];
    let unit = curve.unit();
    let size = unit.nanoseconds as f64;
    let time_step = round_step((longest / 5.0).max(1.0));
    let page_step = round_step((most_pages / 8.0).max(1.0));
    let times = (0..=(longest / time_step) as u64).map(|n| n as f64 * time_step);
    let decimals = (size / time_step).log10().ceil().clamp(0.0, 3.0) as usize;
    let ticks = (0..=(most_pages / page_step) as u64).map(|n| (n as f64 * page_step) as u64);
    html! {
        svg viewBox={"0 0 " (WIDTH) " " (HEIGHT)} role="img" aria-label=(curve.findings().join(" ")) {
            @for time in times {
                @let at = px(y(Duration::new(time as u64)));
                line.grid x1=(px(LEFT)) x2=(px(RIGHT)) y1=(at) y2=(at) {}
                text.soft.end x=(px(LEFT - 6.0)) y=(px(y(Duration::new(time as u64)) + 4.0)) {
                    (format!("{:.decimals$} {}", time / size, unit.name))
                }
            }
            @for pages in ticks {
                text.soft.middle x=(px(x(pages))) y=(px(BOTTOM + 16.0)) { (pages) }
            }
            text.soft.middle x=(px((LEFT + RIGHT) / 2.0)) y=(px(BOTTOM + 36.0)) { "locked pages" }
            line.axis x1=(px(LEFT)) x2=(px(RIGHT)) y1=(px(BOTTOM)) y2=(px(BOTTOM)) {}
            @if let Some((time, _)) = curve.within.filter(|(time, _)| time.get() as f64 <= longest) {
                line.deadline x1=(px(LEFT)) x2=(px(RIGHT)) y1=(px(y(time))) y2=(px(y(time))) {}
                text.warn.end x=(px(RIGHT)) y=(px(y(time) - 5.0)) { "within " (text::time(time)) }
            }
            @if let Some((pages, _)) = curve.knee {
                line.axis x1=(px(x(pages))) x2=(px(x(pages))) y1=(px(TOP)) y2=(px(BOTTOM)) stroke-dasharray="3 3" {}
                @let left = x(pages) > RIGHT - 120.0;
                text.soft.end[left] x=(px(x(pages) + if left { -5.0 } else { 5.0 })) y=(px(TOP + 4.0)) {
                    "knee at " (pages)
                }
            }
            path d={"M" (band.join("L")) "z"} fill="var(--t0)" opacity="0.2" {}
            path d={"M" (worst.join("L"))} fill="none" stroke="var(--t0)" stroke-width="1.8" {}
            @for (line, dashes) in others.iter().filter(|(line, _)| !line.is_empty()) {
                path d={"M" (line.join("L"))} fill="none" stroke="var(--t1)" stroke-width="1.8" stroke-dasharray=(dashes) {}
            }
            @for point in &curve.points {
                circle cx=(px(x(point.pages))) cy=(px(y(point.worst))) r="3" fill="var(--t0)" {
                    title {
                        (point.pages) " pages: worst " (text::time(point.worst)) ", best " (text::time(point.best))
                        ", " (text::count(point.residual_misses)) " misses left"
                    }
                }
            }
        }
    }
}
