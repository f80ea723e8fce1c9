//! `solo measure lockdown`: the progressive lockdown curve (SCE 2.3 and 4) of a task.

use super::task_of;
use crate::cli::MeasureLockdown;
use crate::commands::run::chosen;
use crate::control::control;
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::folders;
use crate::output;
use crate::pages;
use crate::progress::Bars;
use serde::Serialize;
use solo_isolate::lockdown::LockdownCurve;
use solo_lab::Recordings;
use solo_lab::campaign::lockdown::{CurveCampaign, CurveRequest};
use solo_model::text::Printable;
use solo_model::{Duration, Experiment};
use solo_report::Manifest;
use solo_report::html::{BoundedPoint, LockdownPage, LockedPoint, Provenance};
use solo_report::table;
use solo_scenario::units::TIME;
use solo_store::{Folder, Kind, TargetFolder};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Runs the scenario once for each number of locked pages and shows the curve.
pub(crate) fn run(options: &MeasureLockdown) -> Result<Exit, Failure> {
    let within = options.within.as_deref().map(time).transpose()?;
    let variant = options.variant.as_deref();
    let (scenario, experiment) = chosen(&options.scenario, variant, &options.instead, options.show.quiet)?;
    let task = task_of(&experiment, options.task.as_deref())?;
    let request = CurveRequest {
        pages: options.pages.clone(),
        fill: options.fill,
        cores: options.cores.map(usize::from),
    };
    let campaign = CurveCampaign::new(&experiment, &Recordings::of_scenario(&scenario), task, &request)?;
    let folder = folders::prepare(&options.keep, &format!("{} lockdown", scenario.name), Kind::Measurement)?;
    let bars = Bars::new(options.show.quiet);
    let found = campaign.run(&control(&bars))?;
    let page = found.page(options.knee, within);
    let shown = Shown::of(&page, &found.curve, &experiment);
    let written = write(folder, &page, &shown, &experiment, &options.scenario, &scenario.source)?;
    if options.show.json {
        output::json(Document::Lockdown, &shown)?;
    } else {
        output::text(&text(&page, &found.curve))?;
        if !options.show.quiet {
            eprintln!("curve in {}", Printable(written.display()));
        }
    }
    let bounded = page.points.iter().all(|point| point.bounded.is_none_or(|beside| beside.holds()));
    let held = bounded && page.within.is_none_or(|(_, pages)| pages.is_some());
    Ok(if held { Exit::Held } else { Exit::NotHeld })
}

fn time(text: &str) -> Result<Duration, Failure> {
    TIME.parse(text).map(Duration::new).map_err(|_| {
        Failure::Usage(format!("--within {}: expected a time, for example {}", Printable(text), TIME.example))
    })
}

/// The curve as JSON.
#[derive(Serialize)]
struct Shown {
    scenario: String,
    variant: String,
    task: String,
    platform: String,
    seed: u64,
    jobs_per_point: u64,
    points: Vec<ShownPoint>,
    knee_pages: Option<u64>,
    within_ns: Option<Duration>,
    pages_within: Option<u64>,
    /// Where more locked pages were slower: the earlier number of each pair.
    rises_after_pages: Vec<u64>,
    /// Nothing locked, and the whole level the task's; null where the level is not filled.
    whole_level: Option<ShownPoint>,
}

#[derive(Serialize)]
struct ShownPoint {
    locked_pages: u64,
    worst_ns: Duration,
    best_ns: Duration,
    residual_misses: u64,
    accesses_left: u64,
    /// Beside hogs on other cores, each core with the same budget; null where that is not asked for.
    beside: Option<ShownBeside>,
}

#[derive(Serialize)]
struct ShownBeside {
    worst_ns: Duration,
    best_ns: Duration,
    bound_ns: Duration,
}

impl Shown {
    fn of(page: &LockdownPage, curve: &LockdownCurve, experiment: &Experiment) -> Self {
        let point = |point: &LockedPoint| ShownPoint {
            locked_pages: point.pages,
            worst_ns: point.worst,
            best_ns: point.best,
            residual_misses: point.residual_misses,
            accesses_left: point.uncovered,
            beside: point.bounded.map(|BoundedPoint { worst, best, bound }| ShownBeside {
                worst_ns: worst,
                best_ns: best,
                bound_ns: bound,
            }),
        };
        Self {
            scenario: page.scenario.clone(),
            variant: experiment.variant.clone(),
            task: page.task.clone(),
            platform: experiment.platform.name.clone(),
            seed: experiment.seed,
            jobs_per_point: page.jobs,
            points: page.points.iter().map(point).collect(),
            knee_pages: page.knee.map(|(pages, _)| pages),
            within_ns: page.within.map(|(time, _)| time),
            pages_within: page.within.and_then(|(_, pages)| pages),
            rises_after_pages: curve.rises().map(|(fewer, _)| fewer.pages).collect(),
            whole_level: page.whole.as_ref().map(point),
        }
    }
}

fn text(page: &LockdownPage, curve: &LockdownCurve) -> String {
    let mut text = format!("{}: locked pages of {}\n\n", page.scenario, page.task);
    text += &table::plain(&page.header(), 0, &page.rows(), output::style());
    text.push('\n');
    for line in page.findings() {
        let _ = writeln!(text, "{line}");
    }
    for (fewer, more) in curve.rises() {
        let _ = writeln!(
            text,
            "It rises from {} to {} pages: ranks do not promise that.",
            fewer.pages, more.pages
        );
    }
    text
}

fn write(
    folder: Folder,
    page: &LockdownPage,
    shown: &Shown,
    experiment: &Experiment,
    path: &Path,
    source: &str,
) -> Result<PathBuf, Failure> {
    let place = TargetFolder::from(folder);
    let manifest = Manifest {
        command: crate::control::command(),
        host: solo_lab::host(),
        ..Manifest::new(experiment, &path.to_string_lossy(), source)
    };
    let html = solo_report::html::lockdown(page, &Provenance::from(&manifest));
    let written = pages::write(&place, "report.html", &html)?;
    pages::write(&place, pages::CURVE, &Document::Lockdown.text(shown)?)?;
    Ok(written)
}
