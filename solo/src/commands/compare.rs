//! `solo compare`: the variants of a scenario side by side.

use super::run::{load, refusals, variant};
use crate::cli::{Compare, Keep, Show};
use crate::control::{control, origin};
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::folders;
use crate::output;
use crate::pages;
use crate::progress::Bars;
use solo_lab::{Compared, Recordings, compare_into, gains, name_of};
use solo_model::Experiment;
use solo_model::text::Printable;
use solo_report::gains::Gains;
use solo_report::{Comparison, Part, RefusedVariant, Verdict, table};
use solo_scenario::{Choice, Scenario};
use solo_store::{Kind, TargetFolder};
use std::path::Path;

/// Runs the variants at the same time and shows them in one table and one page.
///
/// Exit code 0 means that every variant held.
pub(crate) fn run(options: &Compare) -> Result<Exit, Failure> {
    let scenario = load(&options.scenario, &options.instead.overrides(choice(options)), options.show.quiet)?;
    let all = refusals(&scenario);
    if options.variants.is_empty() {
        let base = scenario.variants.is_empty() && all.is_empty();
        let experiments = if base { vec![scenario.base.clone()] } else { scenario.variants.clone() };
        return side_by_side(&scenario, &experiments, all, &options.keep, &options.show);
    }
    let (mut experiments, mut refused) = (Vec::new(), Vec::new());
    for name in options.variants.iter().flat_map(|text| named(text, &scenario)) {
        match all.iter().find(|refused| refused.variant == name) {
            Some(one) => refused.push(one.clone()),
            None => experiments.push(variant(&scenario, name)?.clone()),
        }
    }
    side_by_side(&scenario, &experiments, refused, &options.keep, &options.show)
}

/// Runs experiments of a scenario at the same time and shows them in one table and one page; beside them what can't run.
pub(super) fn side_by_side(
    scenario: &Scenario,
    experiments: &[Experiment],
    refused: Vec<RefusedVariant>,
    keep: &Keep,
    show: &Show,
) -> Result<Exit, Failure> {
    // None can run: then the file is wrong, and says where.
    if let ([], Some(first)) = (experiments, scenario.refused.first()) {
        return Err(Failure::Scenario(Box::new(first.report.clone())));
    }
    if !show.quiet {
        scenario.refused.iter().for_each(|refused| eprint!("{}", output::diagnostics(&refused.report)));
    }
    let parts = Part::of(experiments.iter().map(name_of));
    let whole = folders::prepare(keep, &scenario.name, Kind::Comparison)?;
    let bars = Bars::new(show.quiet);
    let recordings = Recordings::of_scenario(scenario);
    let place = |at: usize| Ok(whole.below(parts.get(at).map_or("", |part| &part.folder), Kind::Run)?);
    let (compared, manifests) =
        compare_into(experiments, &recordings, &origin(scenario), place, &control(&bars))?;
    let mut gained = Vec::new();
    for experiment in experiments.iter().filter(|experiment| !compared.refuses(name_of(experiment))) {
        gained.extend(gains(experiment, &recordings, &control(&bars))?);
    }
    let compared = compared.with_refused(refused);
    let parts: Vec<Part> = parts.into_iter().filter(|part| !compared.refuses(&part.variant)).collect();
    let place = TargetFolder::from(whole.clone());
    let page =
        pages::write_comparison(&place, (whole.path(), &manifests[0]), &compared, &gained, &scenario.source)?;
    let text = as_json(&compared, whole.path(), &parts, &gained)?;
    pages::write(&place, pages::COMPARISON, &text)?;
    if show.json {
        output::text(&text)?;
    } else {
        output::text(&(as_text(&compared) + &super::gains::text(&gained)))?;
        if !show.quiet {
            eprintln!(
                "records in {}, report in {}",
                Printable(whole.path().display()),
                Printable(page.display())
            );
        }
    }
    Ok(exit(&compared))
}

/// A variant that could not run weighs more than a deadline that was missed.
pub(super) fn exit(compared: &Compared) -> Exit {
    match (compared.refused.is_empty(), compared.held()) {
        (false, _) => Exit::BadInput,
        (true, true) => Exit::Held,
        (true, false) => Exit::NotHeld,
    }
}

/// The comparison for programs.
pub(super) fn as_json(
    compared: &Compared,
    dir: &Path,
    runs: &[Part],
    gains: &[Gains],
) -> Result<String, Failure> {
    let runs = runs.iter().zip(&compared.runs).map(|(part, run)| ShownRun { part, verdict: &run.verdict });
    let (refused, comparison) = (&compared.refused, &compared.comparison);
    Document::Comparison.text(&Shown { dir, runs: runs.collect(), refused, comparison, gains })
}

/// The comparison for people.
pub(super) fn as_text(compared: &Compared) -> String {
    let mut text = String::new();
    for run in &compared.runs {
        let verdict = indent(&table::verdict(&run.verdict, output::style()));
        text.push_str(&format!("{}\n{verdict}\n", run.name));
    }
    for RefusedVariant { variant, reason } in &compared.refused {
        let refused = indent(&table::sentence(&format!("refused: {reason}"), output::style()));
        text.push_str(&format!("{variant}\n{refused}\n"));
    }
    for run in &compared.runs {
        for warning in &run.report.warnings {
            text.push_str(&format!("{}: warning: {warning}\n", run.name));
        }
    }
    text.push_str(&table::comparison(&compared.comparison, output::style()));
    let runs: Vec<_> = compared.runs.iter().map(|run| (run.name.as_str(), &run.report)).collect();
    for doubts in table::doubts_together(&runs) {
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
    /// The folder with a run for each variant.
    dir: &'a Path,
    /// The variants that ran.
    runs: Vec<ShownRun<'a>>,
    /// Those that could not.
    refused: &'a [RefusedVariant],
    /// The figures side by side.
    comparison: &'a Comparison,
    /// What applications gain on big and small cores, where there are both.
    #[serde(skip_serializing_if = "<[Gains]>::is_empty")]
    gains: &'a [Gains],
}

/// A variant that ran.
#[derive(serde::Serialize)]
struct ShownRun<'a> {
    /// Its name, and that of its folder.
    #[serde(flatten)]
    part: &'a Part,
    /// Who missed what, and why.
    verdict: &'a Verdict,
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}
