//! `solo compare`: the variants of a scenario side by side.

use super::run::{load, variant};
use crate::cli::{Compare, Keep, Show};
use crate::control::{control, origin};
use crate::exit::{Exit, Failure};
use crate::folders;
use crate::output;
use crate::pages;
use crate::progress::Bars;
use solo_lab::{Compared, Recordings, compare_into, name_of};
use solo_model::Experiment;
use solo_report::{Comparison, Opened, Part, Verdict, table};
use solo_scenario::{Choice, Scenario};
use solo_store::{Kind, Place};
use std::path::Path;

/// Runs the variants at the same time and shows them in one table and one page.
///
/// Exit code 0 means that every variant held.
pub(crate) fn run(options: &Compare) -> Result<Exit, Failure> {
    let scenario = load(&options.scenario, &options.instead.overrides(choice(options)), options.show.quiet)?;
    let experiments: Vec<Experiment> = if !options.variants.is_empty() {
        let names = options.variants.iter().flat_map(|text| named(text, &scenario));
        names.map(|name| variant(&scenario, name).cloned()).collect::<Result<_, _>>()?
    } else if scenario.variants.is_empty() {
        vec![scenario.base.clone()]
    } else {
        scenario.variants.clone()
    };
    side_by_side(&scenario, &experiments, &options.keep, &options.show)
}

/// Runs experiments of a scenario at the same time and shows them in one table and one page.
pub(super) fn side_by_side(
    scenario: &Scenario,
    experiments: &[Experiment],
    keep: &Keep,
    show: &Show,
) -> Result<Exit, Failure> {
    let parts = Part::of(experiments.iter().map(name_of));
    let whole = folders::prepare(keep, &scenario.name, Kind::Comparison)?;
    let bars = Bars::new(show.quiet);
    let recordings = Recordings::of_scenario(scenario);
    let place = |at: usize| Ok(whole.below(parts.get(at).map_or("", |part| &part.folder), Kind::Run)?);
    let (compared, manifests) =
        compare_into(experiments, &recordings, &origin(scenario), place, &control(&bars))?;
    let place = Place::from(whole.clone());
    let page =
        pages::write_comparison(&place, whole.path(), &compared.reports(), &manifests[0], &scenario.source)?;
    let text = as_json(&compared, whole.path(), &parts)?;
    pages::write(&place, pages::COMPARISON, &text)?;
    if show.json {
        output::text(&format!("{text}\n"))?;
    } else {
        output::text(&as_text(&compared))?;
        if !show.quiet {
            eprintln!("records in {}, report in {}", whole.path().display(), page.display());
        }
    }
    Ok(if compared.held() { Exit::Held } else { Exit::NotHeld })
}

/// The comparison for programs.
pub(super) fn as_json(compared: &Compared, dir: &Path, runs: &[Part]) -> Result<String, Failure> {
    let verdicts: Vec<(&str, &Verdict)> =
        compared.runs.iter().map(|run| (run.name.as_str(), &run.verdict)).collect();
    let comparison = &compared.comparison;
    let shown = Shown { schema: Opened::schema(), dir, runs, verdicts: &verdicts, comparison };
    Ok(serde_json::to_string_pretty(&shown)?)
}

/// The comparison for people.
pub(super) fn as_text(compared: &Compared) -> String {
    let mut text = String::new();
    for run in &compared.runs {
        let verdict = indent(&table::verdict(&run.verdict, output::style()));
        text.push_str(&format!("{}\n{verdict}\n", run.name));
    }
    for run in &compared.runs {
        for warning in &run.report.warnings {
            text.push_str(&format!("{}: warning: {warning}\n", run.name));
        }
    }
    text.push_str(&table::comparison(&compared.comparison, output::style()));
    for run in &compared.runs {
        let doubts = format!("{}: {}", run.name, table::doubts(&run.report).trim_end());
        text.push_str(&table::sentence(&doubts, output::style()));
    }
    text
}

/// The variants that are meant, before anybody knows which there are: words as they stand, and their parts.
fn choice(options: &Compare) -> Choice {
    let words =
        options.variants.iter().flat_map(|word| std::iter::once(word.as_str()).chain(word.split(',')));
    match options.variants.is_empty() {
        true => Choice::Variants,
        false => Choice::Named(words.map(str::to_owned).collect()),
    }
}

/// The variants that a word of the command line names: one whose name it is, commas included, else several.
fn named<'t>(text: &'t str, scenario: &Scenario) -> Vec<&'t str> {
    let whole = scenario.variants.iter().any(|variant| variant.variant == text);
    if whole { vec![text] } else { text.split(',').collect() }
}

/// A comparison as JSON.
#[derive(serde::Serialize)]
struct Shown<'a> {
    /// The version of this format.
    schema: u32,
    /// The folder with a run for each variant.
    dir: &'a Path,
    /// The variants, and the names of their folders in it.
    runs: &'a [Part],
    /// Who missed what, and why, by variant.
    verdicts: &'a [(&'a str, &'a Verdict)],
    /// The figures side by side.
    comparison: &'a Comparison,
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}
