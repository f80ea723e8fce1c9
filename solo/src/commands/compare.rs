//! `solo compare`: the variants of a scenario side by side.

use super::run::{load, variant};
use crate::cli::Compare;
use crate::exit::{Exit, Failure};
use crate::folders;
use crate::output;
use crate::pages;
use crate::progress::Bars;
use crate::simulate::{Origin, into_directory};
use rayon::prelude::*;
use solo_model::Experiment;
use solo_report::compare::baseline_of;
use solo_report::{Comparison, FinishedRun, Report, Verdict, table, verdict};
use solo_scenario::Scenario;
use std::path::{Path, PathBuf};

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
    let origin = Origin { path: &scenario.path, source: &scenario.source };
    let one = |experiment: &Experiment| {
        let name = name_of(experiment);
        let run = dir.join(name);
        let finished = into_directory(experiment, &origin, &run, &bars.add(name))?;
        Ok((name.to_owned(), run, finished))
    };
    // Replications of all variants wait in one queue: a core that has none of its variant's left takes another's.
    let runs: Vec<(String, PathBuf, FinishedRun)> =
        experiments.par_iter().map(one).collect::<Result<_, Failure>>()?;
    let reports: Vec<(&str, &Report)> =
        runs.iter().map(|(name, _, run)| (name.as_str(), &run.summary)).collect();
    let comparison = solo_report::compare(&reports);
    let baseline = reports[baseline_of(&reports)].1;
    let verdicts: Vec<(&str, Verdict)> = reports
        .iter()
        .map(|&(name, report)| (name, verdict(report, (!std::ptr::eq(report, baseline)).then_some(baseline))))
        .collect();
    let page = pages::write_comparison(&dir, &reports, &runs[0].2.manifest)?;
    let summary = dir.join(pages::COMPARISON);
    let shown = Shown { comparison: &comparison, verdicts: &verdicts, dir: &dir };
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
        text.push_str(&table::comparison(&comparison, output::style()));
        output::text(&text)?;
        if !options.show.quiet {
            eprintln!("records in {}, report in {}", dir.display(), page.display());
        }
    }
    let held = verdicts.iter().all(|(_, verdict)| verdict.held);
    let conserved = reports.iter().all(|(_, report)| report.conserved());
    Ok(if held && conserved { Exit::Held } else { Exit::NotHeld })
}

/// What a variant is called; a scenario without any is its own.
fn name_of(experiment: &Experiment) -> &str {
    if experiment.variant.is_empty() { "scenario" } else { &experiment.variant }
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
    verdicts: &'a [(&'a str, Verdict)],
    /// The figures side by side.
    comparison: &'a Comparison,
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}
