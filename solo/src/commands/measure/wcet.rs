//! `solo measure wcet`: a task's execution time against the number of active cores, measured and bounded (SCE 3.2).

use super::task_of;
use crate::cli::MeasureWcet;
use crate::commands::run::chosen;
use crate::control::control;
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::progress::Bars;
use serde::Serialize;
use solo_lab::Recordings;
use solo_lab::campaign::wcet::{FoundWcet, Hog, WcetCampaign, WcetRequest, WcetRow};
use solo_model::text::{Printable, counted};
use solo_model::{Duration, Experiment, Picoseconds};
use solo_report::table;

/// Measures and bounds; 1 where an observation is above its bound.
pub(crate) fn run(options: &MeasureWcet) -> Result<Exit, Failure> {
    let variant = options.variant.as_deref();
    let (scenario, experiment) = chosen(&options.scenario, variant, &options.instead, options.show.quiet)?;
    let task = task_of(&experiment, options.task.as_deref())?;
    let cores = match options.cores.as_deref() {
        Some(said) => range(said)?,
        None => (1..=physical(&experiment)).collect(),
    };
    let request = WcetRequest { task, cores, jobs: options.samples, overtake: options.overtake };
    let campaign = WcetCampaign::new(&experiment, &Recordings::of_scenario(&scenario), request)?;
    let bars = Bars::new(options.show.quiet);
    let found = campaign.run(&control(&bars))?;
    if options.show.json {
        output::json(Document::Wcet, &Shown::of(&found, &experiment, options))?;
    } else {
        output::text(&text(&found, &experiment, options.overtake))?;
    }
    let holds = found.rows.iter().all(WcetRow::holds);
    Ok(if holds { Exit::Held } else { Exit::NotHeld })
}

/// Cores that share none with a sibling.
fn physical(experiment: &Experiment) -> usize {
    let mut physical: Vec<u16> = experiment.platform.cores.iter().map(|core| core.physical).collect();
    physical.sort_unstable();
    physical.dedup();
    physical.len()
}

/// `1..8` or `4` as numbers of cores.
fn range(said: &str) -> Result<Vec<usize>, Failure> {
    let wrong = || {
        let said = Printable(said);
        Failure::Usage(format!(
            "--cores {}: expected a number of cores, or two, for example 1..8",
            Printable(said)
        ))
    };
    // No machine has more.
    let number = |text: &str| text.parse::<u16>().ok().filter(|&number| number > 0).ok_or_else(wrong);
    let (first, last) = match said.split_once("..") {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(said)?, number(said)?),
    };
    if first > last { Err(wrong()) } else { Ok((first..=last).map(usize::from).collect()) }
}

/// The table as JSON.
#[derive(Serialize)]
struct Shown {
    scenario: String,
    variant: String,
    task: String,
    platform: String,
    seed: u64,
    jobs: u64,
    /// The longest time of a job alone.
    alone_ns: Duration,
    /// The most last-level misses of a job; each may move two lines.
    misses: u64,
    l_max_ps: Picoseconds,
    /// The bound supposes that at most so many row hits overtake a miss; null where the controller serves requests as they come.
    supposed_overtaking: Option<u64>,
    rows: Vec<ShownRow>,
}

#[derive(Serialize)]
struct ShownRow {
    cores: usize,
    /// Misses of each core in a regulation period.
    budget: u64,
    /// The longest job beside hogs that read; null where such hogs can't be.
    reads_ns: Option<Duration>,
    writes_ns: Option<Duration>,
    same_bank_ns: Option<Duration>,
    /// The longest job where nothing isolates.
    legacy_ns: Duration,
    bound_ns: Duration,
    /// The bound in thousandths of the longest job.
    pessimism_per_mille: u64,
    holds: bool,
}

impl Shown {
    fn of(found: &FoundWcet, experiment: &Experiment, options: &MeasureWcet) -> Self {
        let row = |row: &WcetRow| ShownRow {
            cores: row.cores,
            budget: row.budget,
            reads_ns: observed(row, Hog::Reads),
            writes_ns: observed(row, Hog::Writes),
            same_bank_ns: observed(row, Hog::SameBank),
            legacy_ns: row.legacy,
            bound_ns: row.bound,
            pessimism_per_mille: pessimism(row),
            holds: row.holds(),
        };
        Self {
            scenario: experiment.name.clone(),
            variant: experiment.variant.clone(),
            task: found.task.clone(),
            platform: experiment.platform.name.clone(),
            seed: experiment.seed,
            jobs: options.samples,
            alone_ns: found.alone,
            misses: found.misses,
            l_max_ps: found.longest,
            supposed_overtaking: found.prefers_hits.then_some(options.overtake),
            rows: found.rows.iter().map(row).collect(),
        }
    }
}

fn observed(row: &WcetRow, hog: Hog) -> Option<Duration> {
    let at = Hog::ALL.iter().position(|&other| other == hog)?;
    row.observed.get(at).copied().flatten()
}

/// The bound in thousandths of the longest job.
fn pessimism(row: &WcetRow) -> u64 {
    let worst = u128::from(row.worst().get().max(1));
    u64::try_from(u128::from(row.bound.get()) * 1000 / worst).unwrap_or(u64::MAX)
}

fn text(found: &FoundWcet, experiment: &Experiment, overtake: u64) -> String {
    let mut header = vec!["cores"];
    header.extend(Hog::ALL.map(Hog::name));
    header.extend(["bound", "pessimism", "legacy"]);
    let row = |row: &WcetRow| {
        let mut cells = vec![row.cores.to_string()];
        cells.extend(row.observed.iter().map(|time| time.map_or("-".to_owned(), |time| time.to_string())));
        let times = pessimism(row);
        cells.push(row.bound.to_string());
        cells.push(format!("{}.{:02}", times / 1000, times % 1000 / 10));
        cells.push(row.legacy.to_string());
        cells
    };
    let rows: Vec<Vec<String>> = found.rows.iter().map(row).collect();
    let style = output::style();
    let mut text = format!(
        "{}: longest job of {} on {}, beside hogs on the other active cores\n\n",
        experiment.name, found.task, experiment.platform.name
    );
    text += &table::plain(&header, 0, &rows, style);
    text.push('\n');
    let mut say = |sentence: &str| text += &table::sentence(sentence, style);
    say(&format!(
        "Alone {} and {} a job; L_max {}, and each miss may move two lines. Pessimism: the bound as a multiple of the longest job. Legacy: the longest beside the same hogs where nothing isolates.",
        found.alone,
        counted(found.misses, "miss"),
        found.longest
    ));
    if found.prefers_hits {
        say(&format!(
            "The bound supposes that at most {overtake} row hits of other cores overtake a miss (--overtake): this controller prefers them."
        ));
    }
    for row in found.rows.iter().filter(|row| !row.holds()) {
        say(&format!("ABOVE ITS BOUND with {}: the model does not hold here.", counted(row.cores, "core")));
    }
    text
}
