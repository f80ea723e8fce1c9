//! Counters and response times over the whole run, on one time axis.

use super::scale::TimeScale;
use super::task_color;
use crate::isolation::CoreRegulation;
use crate::report::{CoreReport, Report, TaskKinds};
use crate::series::{Bin, Series};
use crate::text;
use maud::{Markup, html};
use solo_chart::axis::px;
use solo_model::{Bandwidth, Duration, Energy, Instant, TaskId};
use std::cmp::Reverse;

/// The height of a plot, and of one that is read more closely: response times against a deadline.
pub(super) const PLOT: f64 = 38.0;
const TALL: f64 = 76.0;
/// The width of a plot in units of its own: it is stretched to the width there is.
const WIDE: f64 = 1000.0;
/// Cores drawn; those that move the most.
const CORES: usize = 16;
/// Tasks drawn; those that miss the most.
const TASKS: usize = 4;
/// Tasks whose kinds of cores are drawn.
const THREADS: usize = 12;
/// Points of all lines of a page, and of one line.
const POINTS: usize = 9_000;
const POINTS_MAX: usize = 300;

/// One quantity over time.
pub(super) struct Strip<'a> {
    pub(super) label: String,
    pub(super) detail: String,
    pub(super) series: &'a Series,
    pub(super) color: String,
    pub(super) top: u64,
    pub(super) height: f64,
    /// A level across the strip, and its label.
    pub(super) level: Option<u64>,
    /// Times to shade, ascending.
    pub(super) shaded: &'a [(Instant, Instant)],
    /// Another quantity beside it, dashed.
    pub(super) beside: Option<&'a Series>,
}

pub(super) struct Group<'a> {
    pub(super) title: String,
    pub(super) strips: Vec<Strip<'a>>,
}

/// Response times, DRAM bandwidth and last-level misses; `None` where nothing was sampled and no job ran.
/// `share` charts of a page share its size.
pub(super) fn chart(report: &Report, colors: &dyn Fn(TaskId) -> usize, share: usize) -> Option<Markup> {
    let groups = [
        responses(report, colors),
        bandwidths(report, colors),
        regulated(report, colors),
        misses(report, colors),
        powers(report),
        used(report, colors),
        kinds(report, colors),
        metrics(report, colors),
    ];
    let groups: Vec<Group<'_>> = groups.into_iter().filter(|group| !group.strips.is_empty()).collect();
    (!groups.is_empty()).then(|| drawn(&groups, report.end, share))
}

/// Groups of plots on one time axis up to `end`. `share` figures of a page share its size.
pub(super) fn drawn(groups: &[Group<'_>], end: Instant, share: usize) -> Markup {
    let lines = share * groups.iter().map(|group| group.strips.len()).sum::<usize>();
    let points = (POINTS / lines.max(1)).clamp(20, POINTS_MAX);
    let scale = TimeScale::new(0.0, end.get() as f64);
    html! {
        figure.time data-from="0" data-to=(end.get()) {
            @for group in groups {
                p.group { strong { (group.title) } }
                @for strip in &group.strips { (draw(strip, &scale, points)) }
            }
            div.ticks {
                (scale.labels())
            }
            figcaption {
                "Line: mean of each interval; band: its smallest and largest value. All plots begin at zero; \
                 those of a group share one scale, whose top stands in its title; what lies above is cut off."
            }
        }
    }
}

fn responses<'a>(report: &'a Report, colors: &dyn Fn(TaskId) -> usize) -> Group<'a> {
    let mut tasks: Vec<(usize, &crate::report::TaskReport)> = report
        .tasks
        .iter()
        .enumerate()
        .filter(|(_, task)| task.deadline.is_some() && task.jobs > 0)
        .collect();
    tasks.sort_by_key(|(index, task)| (Reverse(task.miss_per_mille()), task.class, *index));
    let strips = tasks.into_iter().take(TASKS).map(|(index, task)| {
        let top = task.response.max().max(task.deadline).unwrap_or_default();
        Strip {
            label: task.name.clone(),
            detail: format!("deadline {}", text::time(task.deadline.unwrap_or_default())),
            series: &task.response_over_time,
            color: task_color(colors(TaskId(index as u32))),
            top: top.get(),
            height: TALL,
            level: task.deadline.map(Duration::get),
            shaded: &[],
            beside: None,
        }
    });
    Group { title: "Response time, each to its maximum".into(), strips: strips.collect() }
}

fn bandwidths<'a>(report: &'a Report, colors: &dyn Fn(TaskId) -> usize) -> Group<'a> {
    let rate = |core: &CoreReport| core.bandwidth_max().map_or(0, Bandwidth::get);
    let top = report.cores.iter().map(rate).max().unwrap_or(0);
    let strips = busiest(report).into_iter().map(|core| {
        let mean = core.bandwidth_mean().unwrap_or_default();
        let detail = format!("mean {}", text::rate(mean));
        strip(core, &core.bandwidth, detail, top, colors)
    });
    let title = format!("DRAM bandwidth, to {}", text::rate(Bandwidth::new(top)));
    Group { title, strips: strips.collect() }
}

/// What each meter told: the cores of each kind, and memory.
fn powers(report: &Report) -> Group<'_> {
    let domains = report.energy.as_ref().map_or(&[][..], |energy| &energy.domains);
    let top = domains.iter().filter_map(|domain| domain.power.max()).max().unwrap_or(0);
    let strips = domains.iter().enumerate().map(|(number, domain)| Strip {
        label: domain.name.clone(),
        detail: format!("mean {} mW", domain.power.mean().unwrap_or(0)),
        series: &domain.power,
        color: task_color(number),
        top,
        height: PLOT,
        level: None,
        shaded: &[],
        beside: None,
    });
    Group { title: format!("Power, to {top} mW"), strips: strips.collect() }
}

fn name_of(report: &Report, task: TaskId) -> String {
    report.tasks.get(task.index()).map_or_else(String::new, |task| task.name.clone())
}

/// What each job used, of the tasks that used most.
fn used<'a>(report: &'a Report, colors: &dyn Fn(TaskId) -> usize) -> Group<'a> {
    let tasks = report.energy.as_ref().map_or(&[][..], |energy| &energy.tasks);
    let mut told: Vec<_> = tasks.iter().filter_map(|task| Some((task, task.over_time.as_ref()?))).collect();
    told.sort_by_key(|(task, _)| (Reverse(task.energy), task.task));
    told.truncate(THREADS);
    told.sort_by_key(|(task, _)| task.task);
    let top = told.iter().filter_map(|(_, series)| series.max()).max().unwrap_or(0);
    let energy =
        |microjoules: u64| crate::energy::joules(Energy::new(microjoules.saturating_mul(1_000_000_000)));
    let strips = told.iter().map(|(task, series)| Strip {
        label: name_of(report, task.task),
        detail: format!(
            "mean {}, {} in all",
            energy(series.mean().unwrap_or(0)),
            crate::energy::joules(task.energy)
        ),
        series,
        color: task_color(colors(task.task)),
        top,
        height: PLOT,
        level: None,
        shaded: &[],
        beside: None,
    });
    Group {
        title: format!("Energy of each job, of its stretches on cores of one kind, to {}", energy(top)),
        strips: strips.collect(),
    }
}

/// Of the time that each task ran, what it was on the fastest kind of core; those that were on others, too.
fn kinds<'a>(report: &'a Report, colors: &dyn Fn(TaskId) -> usize) -> Group<'a> {
    let Some(kinds) = &report.kinds else { return Group { title: String::new(), strips: Vec::new() } };
    let several = |task: &&TaskKinds| task.ran.iter().filter(|ran| !ran.is_zero()).count() > 1;
    let fastest = kinds.kinds.get(kinds.fastest).map_or("the fastest kind", String::as_str);
    let strips = kinds.tasks.iter().filter(several).take(THREADS).map(|task| Strip {
        label: name_of(report, task.task),
        detail: format!("{} % of all", task.share(kinds.fastest).unwrap_or(0)),
        series: &task.on_fastest,
        color: task_color(colors(task.task)),
        top: 100,
        height: PLOT,
        level: None,
        shaded: &[],
        beside: None,
    });
    Group {
        title: format!("Time on {fastest}, of the time that each ran, to 100 %"),
        strips: strips.collect(),
    }
}

/// What the policy's monitor said of each task.
fn metrics<'a>(report: &'a Report, colors: &dyn Fn(TaskId) -> usize) -> Group<'a> {
    let told: Vec<(&TaskKinds, &Series)> = report
        .kinds
        .iter()
        .flat_map(|kinds| &kinds.tasks)
        .filter_map(|task| Some((task, task.metric.as_ref()?)))
        .collect();
    let top = told.iter().filter_map(|(_, series)| series.max()).max().unwrap_or(0);
    let decimal = |thousandths: u64| format!("{:.2}", thousandths as f64 / 1000.0);
    let strips = told.iter().take(THREADS).map(|(task, series)| Strip {
        label: name_of(report, task.task),
        detail: format!("mean {}", decimal(series.mean().unwrap_or(0))),
        series,
        color: task_color(colors(task.task)),
        top,
        height: PLOT,
        level: None,
        shaded: &[],
        beside: None,
    });
    let name = report.kinds.as_ref().and_then(|kinds| kinds.metric.as_deref()).unwrap_or("metric");
    Group {
        title: format!("{name}, as the scheduler's monitor says, to {}", decimal(top)),
        strips: strips.collect(),
    }
}

/// What was counted against budgets; dashed lines are the budgets, shaded times those of throttled cores.
fn regulated<'a>(report: &'a Report, colors: &dyn Fn(TaskId) -> usize) -> Group<'a> {
    let cores = report.isolation.as_ref().map_or(&[][..], |isolation| &isolation.cores);
    // Periods that end early because all are exhausted are so short that their rates say little: means decide.
    let mean = |core: &CoreRegulation| core.rate.bins.iter().filter_map(Bin::mean).max().unwrap_or(0);
    let top = cores.iter().map(|core| mean(core).max(core.budget.get())).max().unwrap_or(0);
    let strips =
        cores.iter().filter(|core| core.rate.max().is_some_and(|max| max > 0)).take(CORES).map(|core| {
            let occupants = report.cores.iter().find(|other| other.core == core.core);
            let color = occupants.and_then(|core| core.occupants.first()).map_or(7, |main| colors(main.task));
            Strip {
                label: core.core.to_string(),
                detail: format!("budget {}", text::asked_rate(core.budget)),
                series: &core.rate,
                color: task_color(color),
                top,
                height: PLOT,
                level: Some(core.budget.get()),
                shaded: &core.spans,
                beside: None,
            }
        });
    let title =
        format!("Counted against budgets, to {}; throttled times shaded", text::rate(Bandwidth::new(top)));
    Group { title, strips: strips.collect() }
}

fn misses<'a>(report: &'a Report, colors: &dyn Fn(TaskId) -> usize) -> Group<'a> {
    let top = report.cores.iter().filter_map(|core| core.llc_misses.max()).max().unwrap_or(0);
    let strips = busiest(report).into_iter().map(|core| {
        let detail = format!("mean {}/s", text::count(core.llc_misses.mean().unwrap_or(0)));
        strip(core, &core.llc_misses, detail, top, colors)
    });
    let title = format!("Last-level cache misses, to {}/s", text::count(top));
    Group { title, strips: strips.collect() }
}

/// The cores that were sampled and moved anything, by number; where there are many, the busiest of them.
fn busiest(report: &Report) -> Vec<&CoreReport> {
    let moved = |core: &&CoreReport| core.bandwidth.max().is_some_and(|max| max > 0);
    let mut cores: Vec<&CoreReport> = report.cores.iter().filter(moved).collect();
    cores.sort_by_key(|core| (Reverse(core.bandwidth.mean()), core.core));
    cores.truncate(CORES);
    cores.sort_by_key(|core| core.core);
    cores
}

fn strip<'a>(
    core: &CoreReport,
    series: &'a Series,
    detail: String,
    top: u64,
    colors: &dyn Fn(TaskId) -> usize,
) -> Strip<'a> {
    let color = core.occupants.first().map_or(7, |main| colors(main.task));
    Strip {
        label: core.core.to_string(),
        detail,
        series,
        color: task_color(color),
        top,
        height: PLOT,
        level: None,
        shaded: &[],
        beside: None,
    }
}

fn draw(strip: &Strip<'_>, scale: &TimeScale, points: usize) -> Markup {
    let base = strip.height;
    let height = |value: u64| base - value.min(strip.top) as f64 / strip.top.max(1) as f64 * (base - 2.0);
    let (band, line) = paths(strip.series, scale, &height, points);
    html! {
        p.row { strong { (strip.label) } " " span.soft { (strip.detail) } }
        svg.plot viewBox={"0 0 " (WIDE) " " (px(base))} style={"height:" (px(base)) "px"} preserveAspectRatio="none"
            role="img" aria-label={(strip.label) " over time, " (strip.detail)} {
            @for tick in scale.ticks() {
                @let x = px(WIDE * tick.share);
                line.grid x1=(x) x2=(x) y1="0" y2=(px(base)) {}
            }
            @for (from, to) in merged(strip.shaded, scale) {
                rect.throttled x=(px(from)) y="0" width=(px(to - from)) height=(px(base)) {}
            }
            path d=(band) fill=(strip.color) opacity="0.28" {}
            path.line d=(line) stroke=(strip.color) {}
            @if let Some(beside) = strip.beside {
                path.line d=(paths(beside, scale, &height, points).1) stroke="currentColor" stroke-dasharray="6 4" {}
            }
            line.axis x1="0" x2=(WIDE) y1=(px(base)) y2=(px(base)) {}
            @if let Some(level) = strip.level {
                line.deadline x1="0" x2=(WIDE) y1=(px(height(level))) y2=(px(height(level))) {}
            }
        }
    }
}

/// Spans as stretches of the axis; those that touch in the drawing are one.
fn merged(spans: &[(Instant, Instant)], scale: &TimeScale) -> Vec<(f64, f64)> {
    let mut drawn: Vec<(f64, f64)> = Vec::new();
    for (from, to) in spans {
        let (from, to) = (WIDE * scale.share(from.get() as f64), WIDE * scale.share(to.get() as f64));
        match drawn.last_mut() {
            Some(last) if from <= last.1 + 0.5 => last.1 = last.1.max(to),
            _ => drawn.push((from, to)),
        }
    }
    drawn
}

/// The band between smallest and largest values, and the line of means.
fn paths(series: &Series, scale: &TimeScale, height: &dyn Fn(u64) -> f64, points: usize) -> (String, String) {
    let group = series.bins.len().div_ceil(points).max(1);
    let width = series.width.get() as f64 * group as f64;
    let (mut up, mut down, mut line) = (Vec::new(), Vec::new(), String::new());
    for (index, bins) in series.bins.chunks(group).enumerate() {
        let filled = bins.iter().filter(|bin| bin.weight > 0);
        let Some(min) = filled.clone().map(|bin| bin.min).min() else { continue };
        let max = filled.clone().map(|bin| bin.max).max().unwrap_or(min);
        let sum = filled.clone().fold(0_u128, |sum, bin| sum.saturating_add(bin.sum));
        let weight: u64 = filled.map(|bin| bin.weight).fold(0, u64::saturating_add);
        let mean = (sum / u128::from(weight.max(1))) as u64;
        let at = |ns: f64| WIDE * scale.share(ns);
        let (x, end) = (at(index as f64 * width), at((index + 1) as f64 * width));
        let middle = px((x + end) / 2.0);
        up.push(format!("{middle} {}", px(height(max))));
        down.push(format!("{middle} {}", px(height(min))));
        line += &format!("{}{middle} {}", if line.is_empty() { "M" } else { "L" }, px(height(mean)));
    }
    down.reverse();
    up.extend(down);
    let band = if up.is_empty() { String::new() } else { format!("M{}z", up.join("L")) };
    (band, line)
}
