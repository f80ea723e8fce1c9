//! `solo io`: when avionics partitions and their I/O begin, so that no two of them ever want the same core, the I/O core or
//! a device at the same time (single-core equivalence, section 2.4).

mod scenario;

use crate::cli::Io;
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::output;
use serde::Serialize;
use solo_ima::{Impossible, Leg, Offsets, Resource, Step, exact, hos};
use solo_model::Duration;
use solo_model::text::{Printable, counted};
use solo_report::table;
use solo_scenario::units::TIME;
use solo_scenario::{IoTable, Platforms, load_io_table, step_name};
use std::path::Path;

/// How often two pieces are compared, at most, when all offsets are tried: about ten seconds.
const EXACT_WORK: u64 = 200_000_000;

/// How the answer was found.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum By {
    /// Single partitions, pairs or sums show it.
    Arithmetic,
    /// Hierarchically ordered scheduling.
    Hos,
    /// All offsets were tried.
    Exhaustion,
    /// Neither was enough.
    Nothing,
}

/// The answer.
#[derive(Serialize)]
struct Answer {
    name: String,
    /// True where there are offsets, false where there are none, absent where nobody knows.
    feasible: Option<bool>,
    found_by: By,
    seed: u64,
    restarts: u64,
    /// Each partition's steps, where there are offsets.
    partitions: Vec<Row>,
    /// What rules offsets out, or where the search was stuck most often.
    reasons: Vec<String>,
}

/// One partition of a table.
#[derive(Serialize)]
struct Row {
    partition: String,
    core: u16,
    period_ns: u64,
    steps: Vec<Slot>,
}

/// One step: its first instance.
#[derive(Serialize)]
struct Slot {
    step: &'static str,
    begin_ns: u64,
    length_ns: u64,
}

/// Looks for offsets and shows them.
pub(crate) fn run(options: &Io) -> Result<Exit, Failure> {
    let table = load_io_table(&options.partitions).map_err(|report| Failure::Scenario(Box::new(report)))?;
    let (answer, offsets) = answer(&table, options);
    if let (Some(platform), Some(true)) = (&options.scenario, answer.feasible) {
        let platform = Platforms::builtin().load(platform, Path::new("."));
        let platform = platform.map_err(|report| Failure::Scenario(Box::new(report)))?;
        output::text(&scenario::text(&table, &offsets, &platform)?)?;
    } else if options.json {
        output::json(Document::Offsets, &answer)?;
    } else {
        output::text(&text(&table, &answer))?;
    }
    Ok(match answer.feasible {
        Some(true) => Exit::Held,
        Some(false) => Exit::NotHeld,
        None => Exit::Cannot,
    })
}

/// What was found, and the offsets.
fn answer(table: &IoTable, options: &Io) -> (Answer, Vec<Offsets>) {
    let problem = &table.problem;
    let answer = |feasible, found_by, restarts, offsets: &[Offsets], reasons| {
        let answer = Answer {
            name: table.name.clone(),
            feasible,
            found_by,
            seed: options.seed,
            restarts,
            partitions: rows(table, offsets),
            reasons,
        };
        (answer, offsets.to_vec())
    };
    let impossible = problem.impossible();
    if !impossible.is_empty() {
        let reasons = impossible.iter().map(|reason| in_words(Names::of(table), reason)).collect();
        return answer(Some(false), By::Arithmetic, 0, &[], reasons);
    }
    let effort = hos::Effort { restarts: options.restarts, ..hos::Effort::default() };
    let (stuck, restarts) = match hos::solve(problem, options.seed, effort) {
        hos::HosAnswer::Solved { offsets, restarts, .. } => {
            return answer(Some(true), By::Hos, restarts, &offsets, vec![]);
        }
        hos::HosAnswer::GivenUp { stuck, restarts } => (stuck, restarts),
    };
    let reasons: Vec<String> = stuck
        .iter()
        .take(3)
        .map(|(leg, times)| {
            format!("{} had no free place {}", leg_name(Names::of(table), *leg), counted(*times, "time"))
        })
        .collect();
    match exact::solve(problem, EXACT_WORK) {
        exact::ExactAnswer::Solved(offsets) => answer(Some(true), By::Exhaustion, restarts, &offsets, vec![]),
        exact::ExactAnswer::Proved => answer(Some(false), By::Exhaustion, restarts, &[], reasons),
        exact::ExactAnswer::Unknown => answer(None, By::Nothing, restarts, &[], reasons),
    }
}

fn rows(table: &IoTable, offsets: &[Offsets]) -> Vec<Row> {
    let all = table.partitions.iter().zip(table.problem.partitions()).zip(offsets);
    let row = |((name, partition), offsets): ((&String, &solo_ima::Partition), &Offsets)| {
        let steps = Step::ALL.into_iter().filter(|&step| !partition.duration(step).is_zero());
        let slot = |step| Slot {
            step: step_name(step),
            begin_ns: offsets.begin(step).get(),
            length_ns: partition.duration(step).get(),
        };
        Row {
            partition: name.clone(),
            core: partition.core.0,
            period_ns: partition.period.get(),
            steps: steps.map(slot).collect(),
        }
    };
    all.map(row).collect()
}

fn text(table: &IoTable, answer: &Answer) -> String {
    let name = Printable(&answer.name);
    let restarts = answer.restarts;
    let found = match (answer.feasible, answer.found_by) {
        (Some(true), By::Hos) => {
            format!("offsets found, hardest first, seed {}, {restarts} restarts", answer.seed)
        }
        (Some(true), _) => format!("offsets found by trying all, after {restarts} restarts of the search"),
        (Some(false), By::Arithmetic) => "there are no offsets".to_owned(),
        (Some(false), _) => {
            format!("there are no offsets: all were tried, after {restarts} restarts of the search")
        }
        (None, _) => format!("no offsets found in {restarts} restarts, and too many to try all"),
    };
    let mut text = format!("{name}: {found}\n");
    for reason in &answer.reasons {
        text.push_str(&format!("  {reason}\n"));
    }
    if answer.feasible == Some(true) {
        text.push_str(&grid(answer));
        text.push_str("Begins of the first instances; each follows a period later.\n");
        for (resource, ppm) in table.problem.utilization() {
            let (tenths, resource) = (ppm / 1000, resource_name(Names::of(table), resource));
            text.push_str(&format!("{resource}: {}.{} % used\n", tenths / 10, tenths % 10));
        }
    }
    text
}

fn grid(answer: &Answer) -> String {
    let header =
        ["partition", "core", "period", "phys. in", "dev. in", "processing", "dev. out", "phys. out"];
    let cells = |row: &Row| {
        let begin = |step: Step| {
            let slot = row.steps.iter().find(|slot| slot.step == step_name(step));
            slot.map_or("-".to_owned(), |slot| time(Duration::new(slot.begin_ns)))
        };
        let name = Printable(&row.partition).to_string();
        let first = [name, row.core.to_string(), time(Duration::new(row.period_ns))];
        first.into_iter().chain(Step::ALL.map(begin)).collect()
    };
    let rows: Vec<Vec<String>> = answer.partitions.iter().map(cells).collect();
    table::plain(&header, 1, &rows, output::style())
}

/// The names of what a problem counts.
#[derive(Clone, Copy)]
pub(super) struct Names<'t> {
    pub(super) partitions: &'t [String],
    pub(super) devices: &'t [String],
}

impl<'t> Names<'t> {
    fn of(table: &'t IoTable) -> Self {
        Self { partitions: &table.partitions, devices: &table.devices }
    }
}

fn time(duration: Duration) -> String {
    TIME.print(duration.get())
}

fn leg_name(names: Names<'_>, leg: Leg) -> String {
    let name = names.partitions.get(leg.partition).map_or("", String::as_str);
    format!("the {} of `{}`", step_name(leg.step), Printable(name))
}

fn resource_name(names: Names<'_>, resource: Resource) -> String {
    match resource {
        Resource::Core(core) => format!("core {}", core.0),
        Resource::IoCore => "the I/O core".to_owned(),
        Resource::Device(device) => {
            let name = names.devices.get(usize::from(device.0)).map_or("", String::as_str);
            format!("device `{}`", Printable(name))
        }
    }
}

/// Why there are no offsets.
pub(super) fn in_words(names: Names<'_>, reason: &Impossible) -> String {
    match *reason {
        Impossible::TooLong { partition, takes, latency } => {
            let name = names.partitions.get(partition).map_or("", String::as_str);
            let (takes, latency) = (time(takes), time(latency));
            format!(
                "the steps of `{}` take {takes} together, more than its latency of {latency}",
                Printable(name)
            )
        }
        Impossible::Waits { leg, waits, takes, latency } => format!(
            "{} waits {} for the time at which it has to begin: from its first step to its last the partition takes {}, {} more than \
             its latency of {}; let one of its steps begin elsewhere",
            leg_name(names, leg),
            time(waits),
            time(takes),
            time(takes.saturating_sub(latency)),
            time(latency)
        ),
        Impossible::Overload { resource, utilization_ppm } => {
            let tenths = utilization_ppm / 1000;
            let resource = resource_name(names, resource);
            format!("{resource} is wanted for {}.{} % of its time", tenths / 10, tenths % 10)
        }
        Impossible::Pair { resource, first, second, together, modulus } => format!(
            "on {}, {} and {} take {} together, more than {}, the greatest common divisor of their periods: they meet \
             wherever they begin",
            resource_name(names, resource),
            leg_name(names, first),
            leg_name(names, second),
            time(together),
            time(modulus)
        ),
        Impossible::Fixed { resource, first, second, distance, least, most, modulus } => format!(
            "on {}, {} begins {} after {} (modulo {}); they do not meet from {} to {} only",
            resource_name(names, resource),
            leg_name(names, second),
            time(distance),
            leg_name(names, first),
            time(modulus),
            time(least),
            time(most)
        ),
    }
}
