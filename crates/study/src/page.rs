//! The figures: the ratio of schedulable sets against the cap, or weighted schedulability against the working
//! set, as SVG that needs nothing else, and a page of them.

use crate::results::{CurveSummary, DistributionSummary, Results, Summary};
use maud::{DOCTYPE, Markup, PreEscaped, html};

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 44.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 40.0;

/// Colours that colour-blind readers can tell apart; dashes tell the rest.
const COLORS: [&str; 8] =
    ["#0065a3", "#b86e00", "#00795a", "#a8477f", "#6b4fb0", "#2f8bc0", "#7d7300", "#5b6570"];
const DASHES: [&str; 3] = ["", "6 3", "2 3"];

/// One line of a figure: its name and points in `0..=1`.
struct Line<'a> {
    name: &'a str,
    points: Vec<(f64, f64)>,
}

/// What runs along the lower edge.
struct Axis {
    title: &'static str,
    ticks: Vec<(f64, String)>,
}

/// The figure of one distribution; `alone` adds what a file of its own needs.
pub(crate) fn figure(distribution: &DistributionSummary, alone: bool) -> String {
    let sized = distribution.curves.iter().any(|curve| curve.working_set.is_some());
    let (axis, lines) = if sized { by_working_set(distribution) } else { by_cap(distribution) };
    let rows = lines.len().div_ceil(3) as f64;
    let height = HEIGHT + rows * 16.0 + 8.0;
    let x = |share: f64| LEFT + share * (WIDTH - LEFT - RIGHT);
    let y = |share: f64| TOP + (1.0 - share) * (HEIGHT - TOP - BOTTOM);
    let drawn = html! {
        svg xmlns=[alone.then_some("http://www.w3.org/2000/svg")]
            viewBox={"0 0 " (WIDTH) " " (height)} role="img" aria-label={"Schedulability: " (distribution.name)}
            font-family="system-ui, sans-serif" font-size="11" {
            @if alone { rect width="100%" height="100%" fill="#ffffff" {} }
            @for tenth in (0..=10).step_by(2) {
                @let at = y(f64::from(tenth) / 10.0);
                line x1=(LEFT) x2=(WIDTH - RIGHT) y1=(px(at)) y2=(px(at)) stroke="#8884" {}
                text x=(LEFT - 6.0) y=(px(at + 4.0)) text-anchor="end" fill="currentColor" { (format!("{:.1}", f64::from(tenth) / 10.0)) }
            }
            @for (share, label) in &axis.ticks {
                line x1=(px(x(*share))) x2=(px(x(*share))) y1=(px(y(0.0))) y2=(px(y(0.0) + 4.0)) stroke="currentColor" {}
                text x=(px(x(*share))) y=(px(y(0.0) + 16.0)) text-anchor="middle" fill="currentColor" { (label) }
            }
            text x=(px(x(0.5))) y=(HEIGHT - 8.0) text-anchor="middle" fill="currentColor" { (axis.title) }
            @for (index, line) in lines.iter().enumerate() {
                polyline fill="none" stroke=(COLORS[index % 8]) stroke-width="1.6" stroke-dasharray=[dash(index)]
                    points=(line.points.iter().map(|&(a, b)| format!("{},{}", px(x(a)), px(y(b)))).collect::<Vec<_>>().join(" ")) {
                    title { (line.name) }
                }
                @let (column, row) = ((index % 3) as f64, (index / 3) as f64);
                @let (left, at) = (LEFT + column * (WIDTH - LEFT - RIGHT) / 3.0, HEIGHT + row * 16.0 + 4.0);
                line x1=(px(left)) x2=(px(left + 22.0)) y1=(px(at - 4.0)) y2=(px(at - 4.0)) stroke=(COLORS[index % 8])
                    stroke-width="1.6" stroke-dasharray=[dash(index)] {}
                text x=(px(left + 27.0)) y=(px(at)) fill="currentColor" { (line.name) }
            }
        }
    };
    drawn.into_string()
}

fn dash(index: usize) -> Option<&'static str> {
    Some(DASHES[index / 8 % DASHES.len()]).filter(|dash| !dash.is_empty())
}

fn by_cap(distribution: &DistributionSummary) -> (Axis, Vec<Line<'_>>) {
    let caps = || distribution.curves.iter().flat_map(|curve| curve.points.iter().map(|point| point.0));
    let (least, most) = (caps().min().unwrap_or(0), caps().max().unwrap_or(1));
    let span = (most - least).max(1) as f64;
    let share = |cap: u64| (cap - least) as f64 / span;
    let line = |curve: &'_ CurveSummary| -> Vec<(f64, f64)> {
        let points = curve.points.iter();
        points.map(|&(cap, good, sets)| (share(cap), good as f64 / sets.max(1) as f64)).collect()
    };
    let step = [500, 1000, 2000, 5000, 10_000, 20_000].into_iter().find(|step| span / *step as f64 <= 12.0);
    let step = step.unwrap_or(100_000);
    let ticks = (least.div_ceil(step)..=most / step)
        .map(|tick| (share(tick * step), format!("{}", (tick * step) as f64 / 1000.0)))
        .collect();
    let lines =
        distribution.curves.iter().map(|curve| Line { name: &curve.name, points: line(curve) }).collect();
    (Axis { title: "utilisation cap", ticks }, lines)
}

/// Curves of one name make one line; one without a working set is a level line.
fn by_working_set(distribution: &DistributionSummary) -> (Axis, Vec<Line<'_>>) {
    let mut sizes: Vec<_> = distribution.curves.iter().filter_map(|curve| curve.working_set).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let share = |at: usize| if sizes.len() < 2 { 0.5 } else { at as f64 / (sizes.len() - 1) as f64 };
    let mut lines: Vec<Line<'_>> = Vec::new();
    for curve in &distribution.curves {
        let value = curve.weighted_per_mille as f64 / 1000.0;
        let points = match curve.working_set {
            Some(size) => vec![(share(sizes.binary_search(&size).unwrap_or(0)), value)],
            None => vec![(0.0, value), (1.0, value)],
        };
        match lines.iter_mut().find(|line| line.name == curve.name) {
            Some(line) => line.points.extend(points),
            None => lines.push(Line { name: &curve.name, points }),
        }
    }
    let ticks = sizes.iter().enumerate().map(|(at, size)| (share(at), size.to_string())).collect();
    (Axis { title: "working set lost at a preemption (weighted schedulability)", ticks }, lines)
}

/// A coordinate with one decimal.
fn px(value: f64) -> String {
    format!("{value:.1}")
}

/// The page of a whole study.
pub(crate) fn page(results: &Results, summary: &Summary) -> String {
    let plan = results.plan();
    let names: Vec<String> = plan
        .curves
        .iter()
        .map(|curve| curve.working_set.map_or(curve.name.clone(), |size| format!("{}, {size}", curve.name)))
        .collect();
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (summary.study) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { (summary.study) }
                @if !plan.about.is_empty() { p { (plan.about) } }
                p.soft {
                    (summary.sets) " task sets, " (plan.sets) " for each of " (plan.caps.len()) " caps and "
                    (plan.distributions.len()) " distributions, " (plan.cores) " cores, seed " (plan.seed) ". Verdicts "
                    "left open by the work limit: " (summary.undecided) " (counted as not schedulable)."
                }
                div.figures {
                    @for distribution in &summary.distributions {
                        figure {
                            figcaption { (distribution.name) ", " (mean(distribution.mean_tasks_per_mille)) " tasks on average" }
                            (PreEscaped(figure(distribution, false)))
                        }
                    }
                }
                h2 { "Weighted schedulability" }
                div.scroll {
                    table {
                        thead { tr { th { "distribution" } @for name in &names { th { (name) } } } }
                        tbody {
                            @for distribution in &summary.distributions {
                                tr {
                                    th { (distribution.name) }
                                    @for curve in &distribution.curves { td { (mean(curve.weighted_per_mille)) } }
                                }
                            }
                        }
                    }
                }
                (curves(results))
                p.soft { "Study " code { (summary.hash) } }
            }
        }
    }
    .into_string()
}

fn curves(results: &Results) -> Markup {
    let plan = results.plan();
    html! {
        h2 { "Curves" }
        dl {
            @for curve in plan.curves.iter().filter(|curve| curve.working_set == first_size(results, &curve.name)) {
                @let inflation = &plan.inflations[curve.inflation];
                dt { (curve.name) }
                dd {
                    "any of " (curve.any_of.join(", "))
                    @if let Some(table) = &inflation.overheads { "; overheads: " (table.source) }
                    @if let Some(tick) = inflation.tick { "; tick every " (tick.to_string()) }
                    @if curve.working_set.is_some() { "; the loss of each working set" }
                }
            }
        }
    }
}

fn first_size(results: &Results, name: &str) -> Option<solo_model::units::Bytes> {
    results.plan().curves.iter().find(|curve| curve.name == name).and_then(|curve| curve.working_set)
}

fn mean(per_mille: u64) -> String {
    format!("{}.{:03}", per_mille / 1000, per_mille % 1000)
}

const STYLE: &str = "html{font:15px/1.5 system-ui,sans-serif;color:#1d2126;background:#fff}body{max-width:1240px;margin:0 auto;\
padding:24px 20px}.soft,figcaption{color:#5b6570}.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(380px,1fr));\
gap:18px}figure{margin:0}svg{width:100%;height:auto}.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.84rem;\
font-variant-numeric:tabular-nums}th,td{text-align:right;padding:2px 12px 2px 0}th:first-child{text-align:left}dl{display:grid;\
grid-template-columns:max-content 1fr;gap:2px 18px;font-size:.87rem}dt{color:#5b6570}dd{margin:0}\
@media(prefers-color-scheme:dark){html{color:#e6e9ed;background:#14171b}.soft,figcaption,dt{color:#9aa5b1}}";
