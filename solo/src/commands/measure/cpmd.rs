//! `solo measure cpmd`: what a job loses to cold caches when it goes on after a preemption or on another core (thesis 5.8).

use super::platform_of;
use crate::cli::MeasureCpmd;
use crate::control::control;
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::progress::Bars;
use serde::Serialize;
use solo_lab::campaign::cpmd::{CpmdRequest, CpmdRow, Disturbance, Losses, cpmd};
use solo_model::overhead::Path;
use solo_model::text::{Printable, counted};
use solo_model::{Bytes, Duration, Overhead, OverheadTable, Platform};
use solo_report::table;
use solo_scenario::units::SIZE;
use solo_store::Output;

/// From the thesis's smallest working set to a last level.
const WORKING_SETS: [u64; 6] = [4, 16, 64, 256, 1024, 4096];
/// The largest that is read: a run takes a second for each 16 MiB or so.
const LARGEST: Bytes = Bytes::from_mib(64);

/// Runs the jobs on the simulated platform; 1 where a loss is above its bound.
pub(crate) fn run(options: &MeasureCpmd) -> Result<Exit, Failure> {
    if let Some(path) = options.write.as_deref().filter(|path| !options.force && Output::replaces(path)) {
        return Err(Failure::Usage(format!(
            "{} is there already; choose another name, or replace it with --force",
            Printable(path.display())
        )));
    }
    let platform = platform_of(&options.platform, options.prefetcher.as_deref())?;
    let said = options.working_sets.iter().map(|text| working_set(text, &platform));
    let mut working_sets = said.collect::<Result<Vec<_>, _>>()?;
    if working_sets.is_empty() {
        working_sets = WORKING_SETS.map(Bytes::from_kib).to_vec();
    }
    working_sets.sort_unstable();
    working_sets.dedup();
    let request = CpmdRequest {
        platform: platform.clone(),
        working_sets,
        iterations: options.iterations,
        seed: options.seed,
    };
    let bars = Bars::new(options.quiet);
    let rows = cpmd(&request, &control(&bars))?;
    if let Some(path) = options.write.as_deref().filter(|_| rows.iter().all(CpmdRow::holds)) {
        Output::write(path, file(&rows, &platform, options).as_bytes())?;
    }
    if options.json {
        output::json(Document::Cpmd, &Shown::of(&rows, &platform, options))?;
    } else {
        output::text(&text(&rows, &platform, options))?;
    }
    Ok(if rows.iter().all(CpmdRow::holds) { Exit::Held } else { Exit::NotHeld })
}

fn working_set(text: &str, platform: &Platform) -> Result<Bytes, Failure> {
    let wrong = |why: String| Failure::Usage(format!("--working-sets {}: {why}", Printable(text)));
    let bytes = Bytes::new(SIZE.parse(text).map_err(|error| wrong(error.to_string()))?);
    let line = platform.line();
    if bytes < line || bytes > LARGEST {
        return Err(wrong(format!("expected a size from a line ({line}) to {LARGEST}")));
    }
    Ok(bytes)
}

/// An overhead file in which losing affinity costs the most that was lost, by working set.
fn file(rows: &[CpmdRow], platform: &Platform, options: &MeasureCpmd) -> String {
    let mut table = OverheadTable { source: format!("cpmd of {}", platform.name), ..OverheadTable::free() };
    let mut sources: [String; Overhead::COUNT] = Default::default();
    let row = Overhead::ALL.iter().position(|&overhead| overhead.path() == Path::Affinity);
    if let Some(row) = row {
        table.affinity = rows.iter().map(|row| (row.working_set, row.worst())).collect();
        sources[row] = format!(
            "solo measure cpmd {}: the most that each working set lost, seeds {} to {}",
            platform.name,
            options.seed,
            last_seed(options)
        );
    }
    solo_scenario::write_overheads(&table, &sources, Some(&platform.name))
}

const fn last_seed(options: &MeasureCpmd) -> u64 {
    options.seed.wrapping_add(options.iterations - 1)
}

/// The table as JSON.
#[derive(Serialize)]
struct Shown {
    platform: String,
    prefetcher: bool,
    seed: u64,
    iterations: u64,
    rows: Vec<ShownRow>,
}

#[derive(Serialize)]
struct ShownRow {
    working_set_bytes: Bytes,
    /// Every line from memory, each as slowly as a single access may be.
    bound_ns: Duration,
    /// Reading it once where caches hold nothing of it and nobody prefetches.
    cold_ns: Duration,
    losses: Vec<ShownLosses>,
    holds: bool,
}

#[derive(Serialize)]
struct ShownLosses {
    by: &'static str,
    /// The first level of cache that both cores share; null where they share none, and without a migration.
    shared_level: Option<u8>,
    samples: u64,
    mean_ns: Duration,
    deviation_ns: Duration,
    worst_ns: Duration,
}

impl Shown {
    fn of(rows: &[CpmdRow], platform: &Platform, options: &MeasureCpmd) -> Self {
        let losses = |losses: &Losses| {
            let (by, shared_level) = match losses.by {
                Disturbance::Computed => ("computed", None),
                Disturbance::Preempted => ("preempted", None),
                Disturbance::Flushed => ("flushed", None),
                Disturbance::MigratedBehind(level) => ("migrated", Some(level)),
                Disturbance::Migrated => ("migrated", None),
            };
            ShownLosses {
                by,
                shared_level,
                samples: losses.samples,
                mean_ns: losses.mean,
                deviation_ns: losses.deviation,
                worst_ns: losses.worst,
            }
        };
        let row = |row: &CpmdRow| ShownRow {
            working_set_bytes: row.working_set,
            bound_ns: row.bound,
            cold_ns: row.cold,
            losses: row.losses.iter().map(losses).collect(),
            holds: row.holds(),
        };
        Self {
            platform: platform.name.clone(),
            prefetcher: prefetches(platform),
            seed: options.seed,
            iterations: options.iterations,
            rows: rows.iter().map(row).collect(),
        }
    }
}

fn prefetches(platform: &Platform) -> bool {
    platform.prefetcher.as_ref().is_some_and(|prefetcher| prefetcher.on)
}

fn title(by: Disturbance) -> String {
    match by {
        Disturbance::Computed => "computed".to_owned(),
        Disturbance::Preempted => "preempted".to_owned(),
        Disturbance::Flushed => "flushed".to_owned(),
        Disturbance::MigratedBehind(level) => format!("moved, L{level} shared"),
        Disturbance::Migrated => "moved, none shared".to_owned(),
    }
}

fn text(rows: &[CpmdRow], platform: &Platform, options: &MeasureCpmd) -> String {
    let mut kinds: Vec<Disturbance> =
        rows.iter().flat_map(|row| row.losses.iter().map(|losses| losses.by)).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let titles: Vec<String> = kinds.iter().map(|&by| title(by)).collect();
    let mut header = vec!["working set"];
    header.extend(titles.iter().map(String::as_str));
    header.extend(["cold read", "bound"]);
    let row = |row: &CpmdRow| {
        let mut cells = vec![row.working_set.to_string()];
        cells.extend(kinds.iter().map(|&by| {
            let losses = row.losses.iter().find(|losses| losses.by == by);
            losses.map_or("-".to_owned(), |losses| table::time(losses.worst))
        }));
        cells.extend([table::time(row.cold), table::time(row.bound)]);
        cells
    };
    let cells: Vec<Vec<String>> = rows.iter().map(row).collect();
    let style = output::style();
    let prefetcher = if prefetches(platform) { "on" } else { "off" };
    let mut text = format!(
        "{}, prefetcher {prefetcher}: the most that a job lost whose core was taken away between two reads of its working set\n\n",
        platform.name
    );
    text += &table::plain(&header, 0, &cells, style);
    text.push('\n');
    let mut say = |sentence: &str| text += &table::sentence(sentence, style);
    say(&format!(
        "{} of each, frames drawn by seeds {} to {}; of a move, one for each core of the same kind. Computed: another task computed there. Preempted: it read as much. Flushed: it emptied the caches. \
         Moved: the job went on on another core, beside busy ones. Cold read: reading it once from memory without a prefetcher. Bound: its lines, each as slowly as a single access may be. Means and deviations: --json.",
        counted(options.iterations, "measurement"),
        options.seed,
        last_seed(options),
    ));
    for row in rows.iter().filter(|row| !row.holds()) {
        say(&match row.losses.is_empty() {
            true => format!("NOTHING WAS MEASURED at {}: the job did not come to its end.", row.working_set),
            false => format!("ABOVE ITS BOUND at {}: the model does not hold here.", row.working_set),
        });
    }
    if let Some(path) = options.write.as_ref().filter(|_| rows.iter().all(CpmdRow::holds)) {
        say(&format!(
            "The most that each working set lost is `cache-affinity` in {}; `solo check` counts it at each preemption, by the memory that a task touches.",
            Printable(path.display())
        ));
    }
    text
}
