//! A report as one HTML page: no script, font or image from elsewhere, light and dark, fit for printing.
//!
//! The order is that of a reader in a hurry: the verdict, the setting, the tasks; then the distributions, the
//! worst window, the counters; then doubts, surroundings and the command that repeats it. Charts are SVG that
//! reads without script; a few lines of script add a cursor. Colors belong to tasks by their position and
//! can be told apart by color-blind readers; a miss is marked by words and shape too.

mod distribution;
mod isolation;
mod lockdown;
mod overtime;
mod parts;
mod scale;
mod schedule;
mod tables;

pub use self::lockdown::{LockdownPage, LockedPoint, lockdown};
use crate::compare::{baseline_of, compare};
use crate::report::{Report, TaskReport};
use crate::run::{Manifest, Tier};
use crate::table;
use crate::verdict::{Verdict, verdict};
use maud::{Markup, PreEscaped, html};
use solo_chart::page;
use solo_model::TaskId;
use std::borrow::Borrow;
use std::collections::BTreeMap;

/// Distributions drawn on a page, all variants together; the rest is in the table.
const ROWS_DRAWN: usize = 72;
/// Tasks whose distributions and bars are drawn at most.
const TASKS_DRAWN: usize = 12;

/// Where a report comes from: what is printed at its foot.
#[derive(Clone, PartialEq, Debug)]
pub struct Provenance {
    /// The machine: `sim`, `linux` or `rtos`.
    pub machine: String,
    /// How closely the policy code that ran is the policy code that was written.
    pub tier: Tier,
    /// Name and value of everything else worth knowing, in order.
    pub facts: Vec<(String, String)>,
    /// The command that repeats it.
    pub reproduce: String,
}

impl From<&Manifest> for Provenance {
    fn from(manifest: &Manifest) -> Self {
        let commit = manifest.commit.as_deref().map(|commit| format!(" ({commit})")).unwrap_or_default();
        let facts = [
            ("scenario", manifest.scenario_path.clone()),
            ("scenario BLAKE3", manifest.scenario_hash.clone()),
            ("records BLAKE3", manifest.record_hash.clone().unwrap_or_default()),
            ("seed", manifest.seed.to_string()),
            ("platform", manifest.platform.clone()),
            ("Solocore", format!("{}{commit}", manifest.version)),
            ("host", manifest.host.clone()),
        ];
        let facts = facts.into_iter().filter(|(_, value)| !value.is_empty());
        Self {
            machine: manifest.machine.clone(),
            tier: manifest.tier,
            facts: facts.map(|(name, value)| (name.to_owned(), value)).collect(),
            reproduce: manifest.command.join(" "),
        }
    }
}

/// A report under the name it has on the page.
pub(crate) struct Panel<'a> {
    name: String,
    report: &'a Report,
}

impl Panel<'_> {
    fn task(&self, name: &str) -> Option<&TaskReport> {
        self.report.tasks.iter().find(|task| task.name == name)
    }
}

/// The color of the task at a position.
fn task_color(position: usize) -> String {
    page::color(position)
}

/// The page of one run, explained against `baseline` where there is one.
pub fn run(report: &Report, baseline: Option<&Report>, provenance: &Provenance) -> String {
    let verdict = verdict(report, baseline);
    let named = |report: &Report, otherwise: &str| match report.variant.as_str() {
        "" => otherwise.to_owned(),
        name => name.to_owned(),
    };
    let mut panels: Vec<Panel<'_>> =
        baseline.into_iter().map(|report| Panel { name: named(report, "baseline"), report }).collect();
    panels.push(Panel { name: named(report, "this run"), report });
    let order: Vec<&str> = report.tasks.iter().map(|task| task.name.as_str()).collect();
    let colors = |task: TaskId| task.index();
    page(
        &title(report),
        html! {
            (headline(report, &verdict))
            (setting(report, provenance, None))
            h2 { "Tasks" }
            (tables::tasks(report, baseline))
            p.note { (table::doubts(report).trim_end()) }
            (distributions(&panels, &order))
            (worst(report, &colors))
            (counters(report, &colors))
            (time_parts(&panels, &order))
            h2 { "Cores" }
            (tables::cores(report))
            @if let Some(isolation) = &report.isolation {
                h2 { "Isolation" }
                (isolation::section(isolation, report, &colors))
            }
            (tables::energy(report))
            @if !report.overheads.is_empty() {
                h2 { "Kernel paths" }
                (tables::overheads(report))
            }
            (foot(provenance))
        },
    )
}

/// The page of several variants of a scenario side by side.
pub fn comparison<N: AsRef<str>, R: Borrow<Report>>(reports: &[(N, R)], provenance: &Provenance) -> String {
    let base = reports.get(baseline_of(reports)).map(|(_, report)| report.borrow());
    let panels: Vec<Panel<'_>> = reports
        .iter()
        .map(|(name, report)| Panel { name: name.as_ref().to_owned(), report: report.borrow() })
        .collect();
    let compared = compare(reports);
    let order: Vec<&str> = compared.tasks.iter().map(|task| task.name.as_str()).collect();
    let position: BTreeMap<&str, usize> = order.iter().enumerate().map(|(i, name)| (*name, i)).collect();
    let verdicts: Vec<Verdict> = panels
        .iter()
        .map(|panel| verdict(panel.report, base.filter(|base| !std::ptr::eq(*base, panel.report))))
        .collect();
    let Some(first) = panels.first() else {
        return page("nothing to compare", html! { h1 { "Nothing to compare" } });
    };
    let names: Vec<&str> = panels.iter().map(|panel| panel.name.as_str()).collect();
    page(
        &first.report.scenario,
        html! {
            (comparison_headline(&panels, &verdicts))
            (setting(first.report, provenance, Some(&names)))
            h2 { "Side by side" }
            (tables::comparison(&compared))
            p.note { "Slowdowns are relative to " (names[compared.baseline]) "." }
            @for panel in &panels { p.note { (panel.name) ": " (table::doubts(panel.report).trim_end()) } }
            (distributions(&panels, &order))
            (time_parts(&panels, &order))
            @for panel in &panels {
                @let colors = |task: TaskId| {
                    let name = panel.report.tasks.get(task.index()).map(|task| task.name.as_str());
                    name.and_then(|name| position.get(name).copied()).unwrap_or(7)
                };
                h2 { "In " (panel.name) }
                @if let Some(window) = &panel.report.worst {
                    h3 { "The worst job" }
                    (schedule::chart(panel.report, window, &colors, panels.len()))
                }
                @if let Some(chart) = overtime::chart(panel.report, &colors, panels.len()) {
                    h3 { "Over time" }
                    (chart)
                }
                h3 { "Cores" }
                (tables::cores(panel.report))
                @if let Some(isolation) = &panel.report.isolation {
                    h3 { "Isolation" }
                    (isolation::section(isolation, panel.report, &colors))
                }
                (tables::energy(panel.report))
            }
            (foot(provenance))
        },
    )
}

fn title(report: &Report) -> String {
    match report.variant.as_str() {
        "" => report.scenario.clone(),
        variant => format!("{}, {variant}", report.scenario),
    }
}

fn headline(report: &Report, verdict: &Verdict) -> Markup {
    html! {
        header {
            p.name { (title(report)) }
            @for (index, line) in verdict.lines.iter().enumerate() {
                @if index == 0 {
                    h1.missed[!verdict.held].held[verdict.held && verdict.judged > 0] { (unbroken(line)) }
                } @else {
                    p.why { (unbroken(line)) }
                }
            }
        }
    }
}

fn comparison_headline(panels: &[Panel<'_>], verdicts: &[Verdict]) -> Markup {
    // The worst variant is what the reader came for.
    let worst =
        verdicts.iter().enumerate().max_by_key(|(i, verdict)| (verdict.misses, std::cmp::Reverse(*i)));
    let worst = worst.map_or(0, |(index, _)| index);
    html! {
        header {
            p.name { (panels[worst].report.scenario) }
            @for (index, line) in verdicts[worst].lines.iter().enumerate() {
                @if index == 0 {
                    h1.missed[!verdicts[worst].held].held[verdicts[worst].held] { "In " (panels[worst].name) ", " (unbroken(&lower(line))) }
                } @else {
                    p.why { (unbroken(line)) }
                }
            }
            @for (index, verdict) in verdicts.iter().enumerate().filter(|(index, _)| *index != worst) {
                p.why {
                    strong { (panels[index].name) ": " }
                    (unbroken(&verdict.lines.iter().take(2).cloned().collect::<Vec<_>>().join(" ")))
                }
            }
        }
    }
}

/// A sentence to go on with: `All` becomes `all`; task names stay as they are.
fn lower(line: &str) -> String {
    ["All ", "The one ", "No "]
        .iter()
        .find_map(|start| line.strip_prefix(start).map(|rest| start.to_lowercase() + rest))
        .unwrap_or_else(|| line.to_owned())
}

/// Keeps numbers and their units on one line.
fn unbroken(line: &str) -> String {
    const UNITS: [&str; 9] = ["%", "ns", "us", "ms", "s", "B/s", "kB/s", "MB/s", "GB/s"];
    let mut text = String::new();
    for word in line.split(' ') {
        let unit = UNITS.contains(&word.trim_end_matches([',', '.', ':', ';', ')']));
        let number = text.ends_with(|last: char| last.is_ascii_digit());
        text += match text.is_empty() {
            true => "",
            false if unit && number => "\u{a0}",
            false => " ",
        };
        text += word;
    }
    text
}

fn setting(report: &Report, provenance: &Provenance, variants: Option<&[&str]>) -> Markup {
    html! {
        p.setting {
            (report.policy) " on " (report.platform) ", machine " (provenance.machine) " ("
            (provenance.tier.meaning()) "), " (crate::text::time(solo_model::Duration::new(report.end.get())))
            " of its time, " (crate::text::seeds(report))
            @if let Some(variants) = variants { "; variants " (variants.join(", ")) }
            "."
        }
    }
}

/// The tasks worth drawing: those with deadlines first, then the others, in the order of the scenario.
fn drawn<'a>(panels: &[Panel<'_>], order: &[&'a str]) -> Vec<(usize, &'a str)> {
    let judged = |name: &str| panels.iter().filter_map(|p| p.task(name)).any(|task| task.deadline.is_some());
    let misses = |name: &str| panels.iter().filter_map(|p| p.task(name)).map(|task| task.misses).max();
    let mut tasks: Vec<(usize, &str)> = order.iter().copied().enumerate().collect();
    let most = (ROWS_DRAWN / panels.len().max(1)).clamp(1, TASKS_DRAWN);
    if tasks.len() > most {
        tasks.sort_by_key(|(index, name)| (std::cmp::Reverse(misses(name)), *index));
    }
    tasks.sort_by_key(|(_, name)| !judged(name));
    tasks.truncate(most);
    tasks
}

fn distributions(panels: &[Panel<'_>], order: &[&str]) -> Markup {
    html! {
        h2 { "Response times" }
        p.note { "Jobs by response time; each row has its own height, the time axis is shared. What lies beyond the deadline is red." }
        @for (index, name) in drawn(panels, order) {
            @if let Some(chart) = distribution::chart(panels, name, index) {
                div.keep { h3 { (name) } figure { (chart) } }
            }
        }
    }
}

fn time_parts(panels: &[Panel<'_>], order: &[&str]) -> Markup {
    html! {
        h2 { "Where the time went" }
        p.note { "The response time of an average job, from release to finish, part by part." }
        (parts::key())
        @for (_, name) in drawn(panels, order) {
            @if let Some(chart) = parts::chart(panels, name) {
                div.keep { h3 { (name) } figure { (chart) } }
            }
        }
    }
}

fn worst(report: &Report, colors: &dyn Fn(TaskId) -> usize) -> Markup {
    html! {
        @if let Some(window) = &report.worst {
            h2 { "The worst job" }
            (schedule::chart(report, window, colors, 1))
        }
    }
}

fn counters(report: &Report, colors: &dyn Fn(TaskId) -> usize) -> Markup {
    html! {
        @if let Some(chart) = overtime::chart(report, colors, 1) {
            h2 { "Over time" }
            (chart)
        }
    }
}

fn foot(provenance: &Provenance) -> Markup {
    html! {
        h2 { "Where this comes from" }
        dl {
            @for (name, value) in &provenance.facts { dt { (name) } dd { (value) } }
        }
        @if !provenance.reproduce.is_empty() {
            p { "Repeat it with " code { (provenance.reproduce) } }
        }
    }
}

fn page(title: &str, body: Markup) -> String {
    let body = html! {
        (body)
        // One pattern for all charts: stretches too short to tell apart.
        svg width="0" height="0" aria-hidden="true" style="position:absolute" {
            defs {
                pattern id="mixed" width="4" height="4" patternUnits="userSpaceOnUse" {
                    rect width="4" height="4" fill="var(--rule)" {}
                    path d="M0 4L4 0" stroke="var(--soft)" {}
                }
            }
        }
        script { (PreEscaped(include_str!("cursor.js"))) }
    };
    page::document(title, include_str!("style.css"), body)
}
