//! A report as one HTML page: no script, font or image from elsewhere, light and dark, fit for printing.
//!
//! The order is that of a reader in a hurry: the verdict, the setting, the tasks; then the distributions, the
//! worst window, the counters; then doubts, surroundings and the command that repeats it. Charts are SVG that
//! reads without script; a few lines of script add a cursor. Colors belong to tasks by their position and
//! can be told apart by color-blind readers; a miss is marked by words and shape too.

mod distribution;
mod gains;
mod isolation;
mod lockdown;
mod overtime;
mod parts;
mod scale;
mod schedule;
mod tables;

pub use self::lockdown::{BoundedPoint, LockdownPage, LockedPoint, lockdown};
use crate::compare::{baseline_of, compare};
use crate::gains::Gains;
use crate::report::{Report, TaskReport};
use crate::run::{Manifest, RefusedVariant, Tier};
use crate::table;
use crate::text;
use crate::verdict::{Verdict, verdict};
use maud::{Markup, PreEscaped, html};
use solo_chart::page;
use solo_model::{Duration, TaskId};
use std::borrow::Borrow;
use std::collections::BTreeMap;

/// Distributions drawn on a page, all variants together; the rest is in the table.
const ROWS_DRAWN: usize = 72;
/// Tasks whose distributions and bars are drawn at most.
const TASKS_DRAWN: usize = 12;

/// Numbers that take more bytes than this as JSON are not put into the page: the run's folder has them.
const DATA_MOST: usize = 400_000;

/// Where a report comes from: what is printed at its foot.
#[derive(Clone, PartialEq, Debug)]
pub struct Provenance {
    /// The machine: `sim`, `linux`, `rtos` or `rtos-arm64`.
    pub machine: String,
    /// How closely the policy code that ran is the policy code that was written.
    pub tier: Tier,
    /// Name and value of everything else worth knowing, in order.
    pub facts: Vec<(String, String)>,
    /// The command that repeats it.
    pub reproduce: String,
    /// The folder with the records, where there is one: for the commands beside the figures.
    pub folder: Option<String>,
    /// The scenario's text; empty where it is not known.
    pub scenario: String,
    /// Variants that could not run.
    pub refused: Vec<RefusedVariant>,
}

impl Provenance {
    /// With the folder that holds the run, or the runs of a comparison.
    #[must_use]
    pub fn in_folder(mut self, folder: impl Into<String>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// With variants that could not run.
    #[must_use]
    pub fn with_refused(mut self, refused: &[RefusedVariant]) -> Self {
        self.refused = refused.to_vec();
        self
    }

    /// With the text of the scenario.
    #[must_use]
    pub fn with_scenario(mut self, text: impl Into<String>) -> Self {
        self.scenario = text.into();
        self
    }
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
            ("repeated", manifest.repeated.map_or_else(String::new, |repeated| repeated.to_string())),
            ("carried out", manifest.carried_out.map_or_else(String::new, |carried| carried.to_string())),
        ];
        let facts = facts.into_iter().filter(|(_, value)| !value.is_empty());
        Self {
            machine: manifest.machine.clone(),
            tier: manifest.tier,
            facts: facts.map(|(name, value)| (name.to_owned(), value)).collect(),
            reproduce: manifest.command.join(" "),
            folder: None,
            scenario: String::new(),
            refused: Vec::new(),
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
            (setting(&panels[panels.len() - 1..], provenance))
            h2 { "Tasks" }
            (tables::tasks(report, baseline))
            (tables::classes(report))
            p.note { (table::doubts(report).trim_end()) }
            (distributions(&panels, &order))
            (obtain(provenance, "csv"))
            @if let Some(window) = &report.worst {
                h2 { "The worst job" }
                (schedule::chart(report, window, &colors, 1))
                (obtain(provenance, "perfetto"))
            }
            @if let Some(chart) = overtime::chart(report, &colors, 1) {
                h2 { "Over time" }
                (chart)
                (obtain(provenance, "csv"))
            }
            (time_parts(&panels, &order))
            (obtain(provenance, "json"))
            h2 { "Cores" }
            (tables::cores(report))
            @if let Some(isolation) = &report.isolation {
                h2 { "Isolation" }
                (isolation::section(isolation, report, &colors))
            }
            (tables::devices(report))
            (tables::listening(report))
            (tables::energy(report))
            @if !report.overheads.is_empty() {
                h2 { "Kernel paths" }
                (tables::overheads(report))
            }
            (foot(provenance, serde_json::to_string(report).ok()))
        },
    )
}

/// The page of several variants of a scenario side by side.
///
/// `gains` are those of variants with applications on big and small cores.
pub fn comparison<N: AsRef<str>, R: Borrow<Report>>(
    reports: &[(N, R)],
    gains: &[Gains],
    provenance: &Provenance,
) -> String {
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
            (comparison_headline(&panels, &verdicts, &provenance.refused))
            (setting(&panels, provenance))
            (distributions(&panels, &order))
            (obtain(provenance, "csv"))
            h2 { "Side by side" }
            (tables::comparison(&compared))
            (tables::compared_classes(&compared))
            p.note { "Slowdowns are relative to " (names[compared.baseline]) "." }
            @for panel in &panels { p.note { (panel.name) ": " (table::doubts(panel.report).trim_end()) } }
            (gains::sections(gains, &panels))
            (time_parts(&panels, &order))
            (obtain(provenance, "json"))
            @for panel in &panels {
                @let colors = |task: TaskId| {
                    let name = panel.report.tasks.get(task.index()).map(|task| task.name.as_str());
                    name.and_then(|name| position.get(name).copied()).unwrap_or(7)
                };
                h2 { "In " (panel.name) }
                @if let Some(window) = &panel.report.worst {
                    h3 { "The worst job" }
                    (schedule::chart(panel.report, window, &colors, panels.len()))
                    (obtain(provenance, "perfetto"))
                }
                @if let Some(chart) = overtime::chart(panel.report, &colors, panels.len()) {
                    h3 { "Over time" }
                    (chart)
                    (obtain(provenance, "csv"))
                }
                h3 { "Cores" }
                (tables::cores(panel.report))
                @if let Some(isolation) = &panel.report.isolation {
                    h3 { "Isolation" }
                    (isolation::section(isolation, panel.report, &colors))
                }
                (tables::devices(panel.report))
                (tables::listening(panel.report))
                (tables::energy(panel.report))
            }
            (foot(provenance, serde_json::to_string(&compared).ok()))
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

fn comparison_headline(panels: &[Panel<'_>], verdicts: &[Verdict], refused: &[RefusedVariant]) -> Markup {
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
            // Whether it held is what each variant is asked, and its first line answers; the others say why.
            @for (panel, verdict) in panels.iter().zip(verdicts).enumerate().filter(|(index, _)| *index != worst).map(|(_, both)| both) {
                p.why.missed[!verdict.held].held[verdict.held && verdict.judged > 0] {
                    strong { (panel.name) ": " }
                    (unbroken(&verdict.lines.join(" ")))
                }
            }
            @for refused in refused {
                p.why.missed { strong { (refused.variant) ": " } "refused: " (refused.reason) }
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
    const UNITS: [&str; 12] =
        ["%", "ns", "us", "ms", "s", "B/s", "kB/s", "MB/s", "GB/s", "KiB/s", "MiB/s", "GiB/s"];
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

fn setting(panels: &[Panel<'_>], provenance: &Provenance) -> Markup {
    // Variants may differ in what the line says; then it says so.
    let all = |of: &dyn Fn(&Report) -> String| {
        let mut found: Vec<String> = Vec::new();
        for text in panels.iter().map(|panel| of(panel.report)) {
            if !found.contains(&text) {
                found.push(text);
            }
        }
        found.join(", ")
    };
    let ends = || panels.iter().map(|panel| Duration::new(panel.report.end.get()));
    let (shortest, longest) = (ends().min().unwrap_or_default(), ends().max().unwrap_or_default());
    html! {
        p.setting {
            (all(&|report| report.policy.clone())) " on " (all(&|report| report.platform.clone())) ", machine "
            (provenance.machine) " (" (provenance.tier.meaning()) "), "
            @if shortest != longest { (text::time(shortest)) " to " }
            (text::time(longest)) " of its time, " (all(&|report| report.seeds()))
            @if panels.len() > 1 {
                "; variants " (panels.iter().map(|panel| panel.name.as_str()).collect::<Vec<_>>().join(", "))
            }
            "."
        }
    }
}

/// The command that gives the data behind the figure above: of a comparison, that of each variant in its folder.
fn obtain(provenance: &Provenance, format: &str) -> Markup {
    html! {
        @if let Some(folder) = &provenance.folder {
            p.command { "the data behind it: " code { "solo report " (quoted(folder)) " --format " (format) } }
        }
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
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
        p.note { "How many jobs had which response time. All rows share the time axis; each has its own height. Where a task has \
             a deadline, a dashed line marks it: bars to its right, in red, are jobs that finished late. Jobs that never finished have no bar." }
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

/// Where the numbers come from, and the numbers and the scenario themselves.
fn foot(provenance: &Provenance, data: Option<String>) -> Markup {
    html! {
        h2 { "Where this comes from" }
        dl {
            @for (name, value) in &provenance.facts { dt { (name) } dd { (value) } }
        }
        @if !provenance.reproduce.is_empty() {
            p { "Repeat it with " code { (provenance.reproduce) } }
        }
        @if !provenance.scenario.is_empty() {
            details { summary { "the scenario" } pre { (provenance.scenario) } }
        }
        @if let Some(data) = data.filter(|data| data.len() <= DATA_MOST) {
            // A name in the data must not end the script that it stands in.
            script type="application/json" id="data" { (PreEscaped(data.replace('<', "\\u003c"))) }
            p { button hidden data-save="data" data-name="report.json" { "save the numbers of this page as JSON" } }
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
        script { (PreEscaped(include_str!("page.js"))) }
    };
    page::document(title, include_str!("style.css"), body)
}
