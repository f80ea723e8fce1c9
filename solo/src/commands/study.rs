//! `solo study`: sweeps over drawn task sets, in shards if wanted.

mod dask;
mod fit;

use crate::cli::{Study, StudyCommand, StudyRun};
use crate::exit::{Exit, Failure};
use crate::{interrupt, output};
use indicatif::{ProgressBar, ProgressStyle};
use solo_model::text::{Printable, counted};
use solo_report::table;
use solo_study::{DistributionSummary, Ended, Overrides, Results, Shard, StudyPlan, Summary};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// So many curves fit beside each other.
const COLUMNS: usize = 12;

/// Runs a study, or puts shards together.
pub(crate) fn run(options: &Study) -> Result<Exit, Failure> {
    match &options.command {
        Some(StudyCommand::Merge(merge)) => {
            let plan = plan(&merge.run)?;
            let out = folder(&merge.run, &plan);
            let mut dirs = merge.shards.clone();
            if dirs.is_empty() {
                dirs.push(out.clone());
            }
            finish(&merge.run, &plan, &out, &dirs, None)
        }
        Some(StudyCommand::Fit(options)) => fit::run(options),
        None => match &options.dask {
            Some(address) => apart(&options.run, address),
            None => sweep(&options.run, options.shard.unwrap_or(Shard::WHOLE), options.threads),
        },
    }
}

/// Has a cluster judge, and puts its results together here, where a journal of another program is refused.
fn apart(run: &StudyRun, address: &str) -> Result<Exit, Failure> {
    let plan = plan(run)?;
    let out = folder(run, &plan);
    let exit = dask::judge(run, file(run)?, &out, address)?;
    if exit != Exit::Held {
        return Ok(exit);
    }
    finish(run, &plan, &out, std::slice::from_ref(&out), None)
}

fn plan(run: &StudyRun) -> Result<StudyPlan, Failure> {
    let overrides = Overrides { sets: run.sets, every: run.caps_every, seed: run.seed };
    Ok(solo_study::load(file(run)?, overrides)?)
}

fn file(run: &StudyRun) -> Result<&Path, Failure> {
    run.file.as_deref().ok_or_else(|| Failure::Usage("which study? solo study FILE".into()))
}

/// The folder asked for, or one named after the study and what tells this run of it from others.
fn folder(run: &StudyRun, plan: &StudyPlan) -> PathBuf {
    let stem =
        run.file.as_deref().and_then(Path::file_stem).unwrap_or_default().to_string_lossy().into_owned();
    run.out.clone().unwrap_or_else(|| Path::new("runs").join(format!("study-{stem}-{}", &plan.hash()[..8])))
}

fn sweep(run: &StudyRun, shard: Shard, threads: usize) -> Result<Exit, Failure> {
    let plan = plan(run)?;
    let out = folder(run, &plan);
    let bar = Bar::new(run.show.quiet);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let ended = match pool {
        Ok(pool) => pool.install(|| solo_study::run(&plan, &out, shard, &bar)),
        // Without threads of its own the common ones do.
        Err(_) => solo_study::run(&plan, &out, shard, &bar),
    };
    bar.bar.finish_and_clear();
    let ended = ended?;
    if shard != Shard::WHOLE {
        if !run.show.quiet {
            let total = ended.before + ended.now;
            eprintln!(
                "shard {shard}: {} in {}; solo study merge puts the shards together",
                counted(total, "set"),
                Printable(out.display())
            );
        }
        return Ok(Exit::Held);
    }
    finish(run, &plan, &out, std::slice::from_ref(&out), Some(ended))
}

fn finish(
    run: &StudyRun,
    plan: &StudyPlan,
    out: &Path,
    dirs: &[PathBuf],
    ended: Option<Ended>,
) -> Result<Exit, Failure> {
    let results = solo_study::merge(plan, dirs)?;
    let summary = results.summary();
    let written = solo_study::write_all(&results, &summary, out)?;
    if run.show.json {
        output::plain_json(&summary)?;
    } else {
        output::text(&shown(&results, &summary, ended))?;
    }
    if !run.show.quiet {
        let sets = written.parquet.as_deref().map(|file| format!("sets in {}, ", Printable(file.display())));
        eprintln!("{}figures in {}", sets.unwrap_or_default(), Printable(written.page.display()));
    }
    Ok(Exit::Held)
}

/// Weighted schedulability by distribution and curve, the rate, and what is in doubt.
fn shown(results: &Results, summary: &Summary, ended: Option<Ended>) -> String {
    let mut text = format!("{}: weighted schedulability\n\n", summary.study);
    let names: Vec<String> = results
        .plan()
        .curves
        .iter()
        .map(|curve| curve.working_set.map_or(curve.name.clone(), |size| format!("{} {size}", curve.name)))
        .collect();
    for (at, chunk) in names.chunks(COLUMNS).enumerate() {
        let mut header = vec!["distribution", "tasks"];
        header.extend(chunk.iter().map(String::as_str));
        let row = |one: &DistributionSummary| {
            let curves = one.curves.iter().skip(at * COLUMNS).take(chunk.len());
            let mut row = vec![one.name.clone(), format!("{:.1}", one.mean_tasks_per_mille as f64 / 1000.0)];
            row.extend(curves.map(|curve| format!("{:.3}", curve.weighted_per_mille as f64 / 1000.0)));
            row
        };
        let rows: Vec<Vec<String>> = summary.distributions.iter().map(row).collect();
        text += &table::plain(&header, 1, &rows, output::style());
        text += "\n";
    }
    let spent = results.cpu_us();
    let total: u64 = spent.iter().sum();
    let rate = summary.sets as f64 / (total.max(1) as f64 / 1e6);
    text +=
        &format!("{} in {} of CPU time, {rate:.0} a CPU second\n", counted(summary.sets, "set"), time(total));
    if let Some(ended) = ended.filter(|ended| ended.before > 0) {
        text += &format!("of these, {} had been judged before\n", ended.before);
    }
    let slowest = summary.distributions.iter().zip(&spent).max_by_key(|(_, spent)| **spent);
    if let Some((one, &spent)) = slowest.filter(|_| summary.distributions.len() > 1) {
        text += &format!(
            "slowest: {}, {:.0} sets a CPU second\n",
            one.name,
            one.sets as f64 / (spent.max(1) as f64 / 1e6)
        );
    }
    let full = 1000 * summary.sets / results.plan().sets;
    text += &format!(
        "projection: 1000 sets for each of these caps would take {}\n",
        time((full as f64 / rate * 1e6) as u64)
    );
    text += &format!(
        "doubts: {} left open by the work limit, counted as not schedulable\n",
        counted(summary.undecided, "verdict")
    );
    text
}

fn time(microseconds: u64) -> String {
    match microseconds as f64 / 1e6 {
        seconds if seconds < 120.0 => format!("{seconds:.1} s"),
        seconds if seconds < 7200.0 => format!("{:.1} min", seconds / 60.0),
        seconds => format!("{:.1} h", seconds / 3600.0),
    }
}

/// How far the sweep has come.
struct Bar {
    bar: ProgressBar,
}

impl Bar {
    fn new(quiet: bool) -> Self {
        if quiet || !std::io::stderr().is_terminal() {
            return Self { bar: ProgressBar::hidden() };
        }
        let bar = ProgressBar::new(1);
        let style = "{bar:40} {percent:>3}% {human_pos} of {human_len} sets, {per_sec}, eta {eta}";
        if let Ok(style) = ProgressStyle::with_template(style) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(500));
        Self { bar }
    }
}

impl solo_study::Progress for Bar {
    fn done(&self, sets: u64, of: u64) {
        self.bar.set_length(of);
        self.bar.set_position(sets);
    }
    fn stop(&self) -> bool {
        interrupt::requested()
    }
}
