//! `solo compare`: the variants of a scenario side by side.

use super::run::{load, variant};
use crate::cli::Compare;
use crate::control::{control, origin};
use crate::exit::{Exit, Failure};
use crate::folders;
use crate::output;
use crate::pages;
use crate::progress::Bars;
use solo_lab::{Recordings, compare_into, name_of};
use solo_model::Experiment;
use solo_report::{Comparison, Verdict, table};
use solo_scenario::Scenario;
use std::path::Path;

/// Runs the variants at the same time and shows them in one table and one page.
///
/// Exit code 0 means that every variant held.
pub(crate) fn run(options: &Compare) -> Result<Exit, Failure> {
    let scenario = load(&options.scenario, options.show.quiet)?;
    let mut experiments: Vec<Experiment> = if !options.variants.is_empty() {
        let names = options.variants.iter().flat_map(|text| named(text, &scenario));
        names.map(|name| variant(&scenario, name).cloned()).collect::<Result<_, _>>()?
    } else if scenario.variants.is_empty() {
        vec![scenario.base.clone()]
    } else {
        scenario.variants.clone()
    };
    experiments.iter_mut().for_each(|experiment| options.instead.apply(experiment));
    let names: Vec<&str> = experiments.iter().map(name_of).collect();
    let dir = folders::prepare(&options.keep, &scenario.name, &names)?;
    let bars = Bars::new(options.show.quiet);
    let recordings = Recordings::load(&experiments)?;
    let place = |name: &str| dir.join(name);
    let (compared, manifests) =
        compare_into(&experiments, &recordings, &origin(&scenario), place, &control(&bars))?;
    let reports = compared.reports();
    let verdicts: Vec<(&str, &Verdict)> =
        compared.runs.iter().map(|run| (run.name.as_str(), &run.verdict)).collect();
    let page = pages::write_comparison(&dir, &reports, &manifests[0])?;
    let summary = dir.join(pages::COMPARISON);
    let shown = Shown { comparison: &compared.comparison, verdicts: &verdicts, dir: &dir };
    let text = serde_json::to_string_pretty(&shown)?;
    pages::write(&summary, &text)?;
    if options.show.json {
        output::text(&format!("{text}\n"))?;
    } else {
        let mut text = String::new();
        for (name, verdict) in &verdicts {
            text.push_str(&format!("{name}\n{}\n", indent(&table::verdict(verdict, output::style()))));
        }
        for (name, report) in &reports {
            for warning in &report.warnings {
                text.push_str(&format!("{name}: warning: {warning}\n"));
            }
        }
        text.push_str(&table::comparison(&compared.comparison, output::style()));
        output::text(&text)?;
        if !options.show.quiet {
            eprintln!("records in {}, report in {}", dir.display(), page.display());
        }
    }
    Ok(if compared.held() { Exit::Held } else { Exit::NotHeld })
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
    /// Who missed what, and why, by variant.
    verdicts: &'a [(&'a str, &'a Verdict)],
    /// The figures side by side.
    comparison: &'a Comparison,
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}
