//! `solo measure lockdown`: the progressive lockdown curve (SCE 2.3 and 4) of a task.

use crate::cli::MeasureLockdown;
use crate::commands::run::load;
use crate::exit::{Exit, Failure};
use crate::folders;
use crate::pages;
use crate::progress::{Bar, Bars};
use crate::simulate::{once, traces};
use crate::{interrupt, output};
use rayon::prelude::*;
use serde::Serialize;
use solo_isolate::lockdown::{self, CurvePoint, LockRequest, LockableCache, LockdownCurve, RankedPage};
use solo_model::isolation::{Lockdown, LockedPage};
use solo_model::platform::Contents;
use solo_model::work::Buffer;
use solo_model::{
    BufferId, Color, Duration, Event, Experiment, Instant, PerMille, Platform, Record, TaskClass, TaskId,
};
use solo_report::Manifest;
use solo_report::html::{LockdownPage, LockedPoint, Provenance};
use solo_scenario::units::TIME;
use solo_sim::Observer;
use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::Path;

/// How many steps a curve has that names none.
const STEPS: u64 = 10;

/// Runs the scenario once for each number of locked pages and shows the curve.
pub(crate) fn run(options: &MeasureLockdown) -> Result<Exit, Failure> {
    let within = options.within.as_deref().map(time).transpose()?;
    let scenario = load(&options.scenario, options.show.quiet)?;
    let mut experiment = scenario.base.clone();
    options.instead.apply(&mut experiment);
    let task = task_of(&experiment, options.task.as_deref())?;
    // Said before anything is run or written.
    if !solo_sim::caps(&experiment).cache_lock {
        return Err(Failure::Lacks {
            machine: "the simulated machine",
            scenario: scenario.name,
            lacks: format!(
                "the last level of {} only holds what the nearer levels have evicted, so that nothing can be locked in it; name a platform whose last level is inclusive or non-inclusive",
                experiment.platform.name
            ),
        });
    }
    let curve = Curve { fill: options.fill, ..Curve::of(&experiment, task)? };
    let numbers = curve.numbers(&options.pages)?;
    let dir = folders::prepare(&options.keep, &format!("{} lockdown", scenario.name), &[])?;
    let bars = Bars::new(options.show.quiet);
    let points = numbers
        .par_iter()
        .map(|&pages| curve.point(pages, &bars.add(&format!("{pages} pages"))))
        .collect::<Result<Vec<_>, Failure>>()?;
    let jobs = points.iter().map(|(_, jobs)| *jobs).min().unwrap_or(0);
    let points = LockdownCurve::new(&points.iter().map(|(point, _)| *point).collect::<Vec<_>>());
    let page = curve.page(&points, jobs, options.knee, within);
    let shown = Shown::of(&page, &points, &experiment);
    write(&dir, &page, &shown, &experiment, &options.scenario, &scenario.source)?;
    if options.show.json {
        output::json(&shown)?;
    } else {
        output::text(&text(&page, &points))?;
        if !options.show.quiet {
            eprintln!("curve in {}", dir.join("report.html").display());
        }
    }
    let held = page.within.is_none_or(|(_, pages)| pages.is_some());
    Ok(if held { Exit::Held } else { Exit::NotHeld })
}

fn time(text: &str) -> Result<Duration, Failure> {
    TIME.parse(text).map(Duration::new).map_err(|_| {
        Failure::Usage(format!("--within {text}: expected a time, for example {}", TIME.example))
    })
}

/// The task of that name, or the first hard one.
fn task_of(experiment: &Experiment, name: Option<&str>) -> Result<TaskId, Failure> {
    let wanted = |task: &&solo_model::Task| match name {
        Some(name) => task.name == name,
        None => task.class == TaskClass::Hard,
    };
    let found = experiment.tasks.iter().position(|task| wanted(&task));
    found.map(|at| TaskId(at as u32)).ok_or_else(|| Failure::Unknown {
        what: "task",
        found: name.unwrap_or("(a hard one)").to_owned(),
        known: experiment.tasks.iter().map(|task| task.name.clone()).collect(),
    })
}

/// A task, its profile and the cache its pages go to.
struct Curve<'e> {
    experiment: &'e Experiment,
    task: TaskId,
    profile: Vec<RankedPage>,
    cache: LockableCache,
    colors: Vec<Color>,
    /// The rest of the cache is locked too.
    fill: bool,
}

impl<'e> Curve<'e> {
    fn of(experiment: &'e Experiment, task: TaskId) -> Result<Self, Failure> {
        let work = &experiment.tasks[task.index()].work;
        let recorded: Vec<_> = traces(experiment)?.iter().map(|image| image.accesses_by_page()).collect();
        let page = experiment.platform.page;
        let profile = lockdown::ranks(task, work, &experiment.buffers, page, &recorded);
        if profile.is_empty() {
            let name = &experiment.tasks[task.index()].name;
            return Err(Failure::Usage(format!(
                "the task `{name}` touches no memory: there is nothing to lock"
            )));
        }
        let memory = experiment.isolation.memory.as_ref();
        let owner = memory.and_then(|memory| memory.owners.iter().find(|owner| owner.task == task));
        let groups = memory.map_or(0, |memory| memory.groups);
        let colors = owner.map_or(Vec::new(), |owner| owner.colors.clone());
        Ok(Self {
            experiment,
            task,
            profile,
            cache: lockable(&experiment.platform, groups),
            colors,
            fill: false,
        })
    }

    /// The numbers of pages that are asked for, or steps from none to all that can be locked.
    fn numbers(&self, asked: &[u64]) -> Result<Vec<u64>, Failure> {
        let colors =
            if self.colors.is_empty() { u64::from(self.cache.colors) } else { self.colors.len() as u64 };
        let most = (self.profile.len() as u64).min(self.cache.per_color() * colors);
        if asked.is_empty() {
            return Ok((0..=STEPS).map(|step| most * step / STEPS).collect());
        }
        if let Some(far) = asked.iter().find(|&&pages| pages > most) {
            let profiled = self.profile.len();
            return Err(Failure::Usage(format!(
                "{far} pages can't be locked: the task's profile has {profiled}, and its colors hold {most} at most beside one free way"
            )));
        }
        Ok(asked.to_vec())
    }

    /// Runs the experiment with so many pages locked; the point, and how many jobs it is made of.
    fn point(&self, pages: u64, bar: &Bar) -> Result<(CurvePoint, u64), Failure> {
        let request = LockRequest { task: self.task, pages, colors: self.colors.clone(), window: None };
        let mut locked = lockdown::plan(true, self.cache, &self.profile, &[request])
            .map_err(|error| Failure::Usage(error.to_string()))?;
        let mut experiment = self.experiment.clone();
        if self.fill {
            self.fill_rest(&mut locked, &mut experiment.buffers);
        }
        let lockdown = experiment.isolation.lockdown.take().unwrap_or_default();
        if !locked.is_empty() {
            experiment.isolation.lockdown = Some(Lockdown { pages: locked, ..lockdown });
        }
        let mut jobs = Jobs { task: self.task, seen: Vec::new(), bar };
        let outcome = once(&experiment, &traces(&experiment)?, &mut jobs)?;
        bar.finish();
        if outcome.stop == solo_sim::Stop::Interrupted {
            return Err(Failure::Interrupted);
        }
        let times = || jobs.seen.iter().map(|(time, _)| *time);
        let (Some(worst), Some(best)) = (times().max(), times().min()) else {
            return Err(Failure::Usage(format!(
                "`{}` finished no job with {pages} pages locked",
                self.experiment.tasks[self.task.index()].name
            )));
        };
        let residual_misses = jobs.seen.iter().map(|(_, misses)| *misses).max().unwrap_or(0);
        Ok((CurvePoint { pages, worst, best, residual_misses }, jobs.seen.len() as u64))
    }

    /// Locks pages of a buffer that nobody touches wherever a page still fits.
    fn fill_rest(&self, locked: &mut Vec<LockedPage>, buffers: &mut Vec<Buffer>) {
        let buffer = BufferId(buffers.len() as u32);
        let mut page = 0;
        for color in (0..self.cache.colors).map(Color) {
            let taken = locked.iter().filter(|locked| locked.color == color).count() as u64;
            for _ in taken..self.cache.per_color() {
                locked.push(LockedPage { task: self.task, buffer, page, color });
                page += 1;
            }
        }
        let size = self.experiment.platform.page * page;
        buffers.push(Buffer { name: "nobody's".into(), size });
    }

    fn page(
        &self,
        curve: &LockdownCurve,
        jobs: u64,
        knee_per_cent: u64,
        within: Option<Duration>,
    ) -> LockdownPage {
        let point = |point: &CurvePoint| LockedPoint {
            pages: point.pages,
            worst: point.worst,
            best: point.best,
            residual_misses: point.residual_misses,
            uncovered: lockdown::uncovered(&self.profile, point.pages),
        };
        LockdownPage {
            scenario: self.experiment.name.clone(),
            task: self.experiment.tasks[self.task.index()].name.clone(),
            jobs,
            points: curve.points().iter().map(point).collect(),
            knee: curve.knee(knee_per_cent * 10).map(|point| (point.pages, knee_per_cent)),
            within: within.map(|time| (time, curve.pages_for(time).map(|point| point.pages))),
        }
    }
}

/// The last level, into whose ways pages are locked.
fn lockable(platform: &Platform, groups: u16) -> LockableCache {
    let data = platform.caches.iter().filter(|cache| cache.contents != Contents::Instructions);
    let last = data.max_by_key(|cache| cache.level);
    let colors = last.map_or(1, |cache| cache.colors(platform.page));
    let colors = if groups == 0 { colors } else { groups.min(colors) };
    LockableCache { colors, ways: last.map_or(1, |cache| cache.ways) }
}

/// Response time and last-level misses of a task's jobs.
struct Jobs<'b> {
    task: TaskId,
    seen: Vec<(Duration, u64)>,
    bar: &'b Bar,
}

impl Observer for Jobs<'_> {
    fn record(&mut self, record: Record) -> ControlFlow<()> {
        if let Record::Job(job) = record
            && job.task == self.task
        {
            self.seen.push((job.response(), job.counts[Event::LlcMiss]));
        }
        if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn progress(&mut self, now: Instant, done: PerMille) -> ControlFlow<()> {
        self.bar.show(now, done);
        ControlFlow::Continue(())
    }
}

/// The curve as JSON.
#[derive(Serialize)]
struct Shown {
    scenario: String,
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
}

#[derive(Serialize)]
struct ShownPoint {
    locked_pages: u64,
    worst_ns: Duration,
    best_ns: Duration,
    residual_misses: u64,
    accesses_left: u64,
}

impl Shown {
    fn of(page: &LockdownPage, curve: &LockdownCurve, experiment: &Experiment) -> Self {
        let point = |point: &LockedPoint| ShownPoint {
            locked_pages: point.pages,
            worst_ns: point.worst,
            best_ns: point.best,
            residual_misses: point.residual_misses,
            accesses_left: point.uncovered,
        };
        Self {
            scenario: page.scenario.clone(),
            task: page.task.clone(),
            platform: experiment.platform.name.clone(),
            seed: experiment.seed,
            jobs_per_point: page.jobs,
            points: page.points.iter().map(point).collect(),
            knee_pages: page.knee.map(|(pages, _)| pages),
            within_ns: page.within.map(|(time, _)| time),
            pages_within: page.within.and_then(|(_, pages)| pages),
            rises_after_pages: curve.rises().map(|(fewer, _)| fewer.pages).collect(),
        }
    }
}

fn text(page: &LockdownPage, curve: &LockdownCurve) -> String {
    let mut rows = vec![LockdownPage::HEADER.map(str::to_owned).to_vec()];
    rows.extend(page.rows());
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..LockdownPage::HEADER.len()).map(width).collect();
    let mut text = format!("{}: locked pages of {}\n\n", page.scenario, page.task);
    for row in &rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}"));
        let _ = writeln!(text, "{}", cells.collect::<Vec<_>>().join("  "));
    }
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
    dir: &Path,
    page: &LockdownPage,
    shown: &Shown,
    experiment: &Experiment,
    path: &Path,
    source: &str,
) -> Result<(), Failure> {
    let failed = |source| Failure::File { action: "create", path: dir.to_path_buf(), source };
    std::fs::create_dir_all(dir).map_err(failed)?;
    let manifest = Manifest {
        command: std::env::args().collect(),
        host: crate::simulate::host(),
        ..Manifest::new(experiment, &path.to_string_lossy(), source)
    };
    let html = solo_report::html::lockdown(page, &Provenance::from(&manifest));
    pages::write(&dir.join("report.html"), &html)?;
    pages::write(&dir.join(pages::CURVE), &serde_json::to_string_pretty(shown)?)
}
