//! `solo sweep`: a scenario at many points, a row each.

use crate::cli::Sweep as Options;
use crate::control::control;
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::progress::Bars;
use serde::Serialize;
use solo_lab::sweep::{MOST_POINTS, Part, Points, Sweep, SweptPoint, SweptTask};
use solo_model::Duration;
use solo_model::text::{Printable, counted};
use solo_report::export::{Column, Format, Kind, Sheet, Value};
use solo_report::table;
use solo_scenario::{Choice, FileKind, OtherKind, Overrides};
use solo_store::{TargetFolder, read};
use std::path::{Path, PathBuf};

/// The largest scenario file.
const LARGEST_FILE: u64 = 16 << 20;
/// So many rows are printed; files have all.
const ROWS: usize = 60;
/// Of fewer jobs the 99th percentile is the maximum.
const FEW_JOBS: u64 = 100;

/// A sweep as JSON.
#[derive(Serialize)]
struct Shown<'s> {
    scenario: &'s Path,
    points: &'s [SweptPoint],
}

/// Runs the points that are not there yet, and shows all of them.
pub(crate) fn run(options: &Options) -> Result<Exit, Failure> {
    let instead = Overrides { seed: options.instead.seed, jobs: options.instead.jobs, of: Choice::Variants };
    // Said before anything is written: each point of another kind of file would be refused alike.
    if let Some(other) = OtherKind::at(&options.scenario, &[FileKind::Scenario]) {
        return Err(Failure::Other(other));
    }
    let source = read::text(&options.scenario, LARGEST_FILE)?;
    let sweep = Sweep { source, path: options.scenario.clone(), axes: options.axes.clone(), instead };
    let too_many = || Failure::Usage(format!("more than {MOST_POINTS} points; take fewer values"));
    let points = sweep.points().ok_or_else(too_many)?;
    let out = folder(options, &sweep);
    let part = options.shard.map_or(Part::WHOLE, |shard| Part { index: shard.index, of: shard.of });
    let bars = Bars::new(options.show.quiet);
    let work = || sweep.run(&out, part, &options.from, &control(&bars));
    let swept = match rayon::ThreadPoolBuilder::new().num_threads(options.threads).build() {
        Ok(pool) => pool.install(work),
        // Without threads of its own the common ones do.
        Err(_) => work(),
    }
    .map_err(|error| kept(error.into(), &out))?;
    if part != Part::WHOLE {
        if !options.show.quiet {
            eprintln!(
                "{} of {} in {}; without --shard, or with --from, they are put together",
                swept.len(),
                counted(points, "point"),
                Printable(out.display())
            );
        }
        return Ok(exit(&swept));
    }
    let place = TargetFolder::at(&out)?;
    let text = Document::Sweep.text(&Shown { scenario: &options.scenario, points: &swept })?;
    place.write("sweep.json", text.as_bytes())?;
    let sheets = sheets(&place, &sweep, &swept)?;
    if options.show.json {
        output::text(&text)?;
    } else {
        output::text(&as_text(&sweep, &swept))?;
        if !options.show.quiet {
            let files: Vec<String> =
                sheets.iter().map(|file| Printable(file.display()).to_string()).collect();
            eprintln!("rows in {}", files.join(", "));
        }
    }
    Ok(exit(&swept))
}

/// Says that an interrupted sweep goes on.
fn kept(failure: Failure, out: &Path) -> Failure {
    if failure.exit() == Exit::Interrupted {
        eprintln!("what was done is in {}; the same command goes on from there", Printable(out.display()));
    }
    failure
}

fn folder(options: &Options, sweep: &Sweep) -> PathBuf {
    let stem = options.scenario.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = || Path::new("runs").join(format!("sweep-{stem}-{}", &sweep.hash()[..8]));
    options.out.clone().unwrap_or_else(name)
}

/// What can't be had weighs more than what does not hold.
fn exit(swept: &[SweptPoint]) -> Exit {
    match (
        swept.iter().any(|point| point.refused.is_some()),
        swept.iter().any(|point| point.held == Some(false)),
    ) {
        (true, _) => Exit::BadInput,
        (false, true) => Exit::NotHeld,
        (false, false) => Exit::Held,
    }
}

/// The numbers of a task at a point, in the order of the columns behind its name.
fn numbers(task: &SweptTask) -> [Option<u64>; 8] {
    let time = |time: Option<Duration>| time.map(Duration::get);
    [
        Some(task.jobs),
        Some(task.judged),
        Some(task.misses),
        time(task.p50_ns),
        time(task.p90_ns),
        time(task.p99_ns),
        time(task.max_ns),
        time(task.bound_ns),
    ]
}

const NUMBERS: [&str; 8] = ["jobs", "judged", "misses", "p50_ns", "p90_ns", "p99_ns", "max_ns", "bound_ns"];

/// A row for each task of each point, as CSV and, where it was built in, as Parquet.
fn sheets(place: &TargetFolder, sweep: &Sweep, swept: &[SweptPoint]) -> Result<Vec<PathBuf>, Failure> {
    let column = |name: &str, kind| Column { name: name.to_owned().into(), kind };
    let mut columns = vec![column("point", Kind::Integer)];
    columns.extend(sweep.axes.iter().map(|axis| column(&axis.key, Kind::Text)));
    columns.extend([column("refused", Kind::Text), column("held", Kind::Truth), column("task", Kind::Text)]);
    columns.extend(NUMBERS.map(|name| column(name, Kind::Integer)));
    let mut written = Vec::new();
    for format in [Format::Csv, Format::Parquet].into_iter().filter(|format| format.is_built()) {
        let whole = place.create(&format!("sweep.{}", format.extension()))?;
        let failed = |error| Failure::Export { path: whole.path(), error };
        let mut sheet = Sheet::new("sweep", columns.clone(), format, whole.handle()?).map_err(failed)?;
        for point in swept {
            for row in rows(point) {
                sheet.row(&row).map_err(failed)?;
            }
        }
        sheet.finish().map_err(failed)?;
        written.push(whole.commit()?);
    }
    Ok(written)
}

fn rows(point: &SweptPoint) -> Vec<Vec<Value>> {
    let integer = |value: u64| Value::Integer(i64::try_from(value).unwrap_or(i64::MAX));
    let mut begin = vec![integer(point.point)];
    begin.extend(point.settings.iter().map(|setting| Value::Text(setting.value.clone())));
    begin.push(point.refused.clone().map_or(Value::Missing, Value::Text));
    begin.push(point.held.map_or(Value::Missing, Value::Truth));
    let row = |task: &SweptTask| {
        let mut row = begin.clone();
        row.push(Value::Text(task.name.clone()));
        row.extend(numbers(task).map(|number| number.map_or(Value::Missing, integer)));
        row
    };
    if point.tasks.is_empty() {
        let mut row = begin.clone();
        row.resize(begin.len() + 1 + NUMBERS.len(), Value::Missing);
        return vec![row];
    }
    point.tasks.iter().map(row).collect()
}

/// The table, and what is in doubt.
fn as_text(sweep: &Sweep, swept: &[SweptPoint]) -> String {
    let keys: Vec<&str> = sweep.axes.iter().map(|axis| axis.key.as_str()).collect();
    let mut header = keys.clone();
    header.extend(["task", "jobs", "misses", "p50", "p90", "p99", "max", "bound"]);
    let time = |time: Option<Duration>| time.map_or("-".to_owned(), table::time);
    let mut lines: Vec<Vec<String>> = Vec::new();
    for point in swept {
        let values: Vec<String> = point.settings.iter().map(|setting| setting.value.clone()).collect();
        for task in &point.tasks {
            let mut line = values.clone();
            line.extend([task.name.clone(), task.jobs.to_string(), task.misses.to_string()]);
            line.extend([task.p50_ns, task.p90_ns, task.p99_ns, task.max_ns, task.bound_ns].map(time));
            lines.push(line);
        }
    }
    let left_out = lines.len().saturating_sub(ROWS);
    lines.truncate(ROWS);
    let style = output::style();
    let mut text = table::plain(&header, keys.len() + 1, &lines, style);
    if left_out > 0 {
        text += &format!("and {}\n", counted(left_out, "more row"));
    }
    for point in swept {
        if let Some(reason) = &point.refused {
            let settings = point.settings.iter().map(|one| format!("{} = {}", one.key, one.value));
            let settings = settings.collect::<Vec<_>>().join(", ");
            text += &table::sentence(&format!("{settings}: refused: {reason}"), style);
        }
    }
    let few = |point: &&SweptPoint| point.tasks.iter().any(|task| (1..FEW_JOBS).contains(&task.jobs));
    let doubts = format!(
        "doubts: {}, {} refused, {} where p99 of a task is its maximum because its jobs are fewer than {FEW_JOBS}",
        counted(swept.len(), "point"),
        swept.iter().filter(|point| point.refused.is_some()).count(),
        swept.iter().filter(few).count(),
    );
    text + &table::sentence(&doubts, style)
}
