//! `solo run`: one experiment, one report.

use crate::cli::{Instead, On, Run};
use crate::exit::{Exit, Failure};
use crate::folders;
use crate::metal;
use crate::output;
use crate::pages;
use crate::progress::Bars;
use crate::simulate::{Origin, into_directory};
use solo_model::Experiment;
use solo_report::{Manifest, Report, Verdict, table, verdict};
use solo_scenario::{Platforms, Scenario};
use std::path::Path;

/// Runs the scenario, or one of its variants.
pub(crate) fn run(options: &Run) -> Result<Exit, Failure> {
    if options.serial.is_some() && options.on != On::Rtos {
        return Err(Failure::Usage("--serial takes what bare metal said: it needs --on rtos".to_owned()));
    }
    let (scenario, experiment) =
        chosen(&options.scenario, options.variant.as_deref(), &options.instead, options.show.quiet)?;
    let dir = folders::prepare(&options.keep, &experiment.name, &[])?;
    let bars = Bars::new(options.show.quiet);
    let origin = Origin { path: &scenario.path, source: &scenario.source };
    let finished = match options.on {
        On::Sim => into_directory(&experiment, &origin, &dir, &bars.add(&experiment.name))?,
        On::Rtos => {
            let serial = options.serial.as_deref();
            metal::into_directory(&experiment, &origin, &dir, serial, options.show.quiet)?
        }
    };
    let page = pages::write_run(&dir, &finished.summary, &finished.manifest)?;
    let judgement = verdict(&finished.summary, None);
    if options.show.json {
        output::json(&Shown {
            dir: &dir,
            manifest: &finished.manifest,
            verdict: &judgement,
            report: &finished.summary,
        })?;
    } else {
        output::text(&table::report(&finished.summary, &judgement, None, output::style()))?;
        if !options.show.quiet {
            eprintln!("records in {}, report in {}", dir.display(), page.display());
        }
    }
    Ok(if judgement.held && finished.summary.conserved() { Exit::Held } else { Exit::NotHeld })
}

/// A scenario, and the experiment of it that was asked for.
pub(crate) fn chosen(
    path: &Path,
    name: Option<&str>,
    instead: &Instead,
    quiet: bool,
) -> Result<(Scenario, Experiment), Failure> {
    let scenario = load(path, quiet)?;
    let mut experiment = match name {
        None => scenario.base.clone(),
        Some(name) => variant(&scenario, name)?.clone(),
    };
    instead.apply(&mut experiment);
    Ok((scenario, experiment))
}

/// A finished run as JSON.
#[derive(serde::Serialize)]
pub(crate) struct Shown<'a> {
    /// The run's folder.
    pub(crate) dir: &'a Path,
    /// What it takes to know and repeat it.
    pub(crate) manifest: &'a Manifest,
    /// Who missed what, and why.
    pub(crate) verdict: &'a Verdict,
    /// The figures.
    pub(crate) report: &'a Report,
}

/// Reads a scenario and prints its warnings.
pub(crate) fn load(path: &Path, quiet: bool) -> Result<Scenario, Failure> {
    let scenario = solo_scenario::load(path, &Platforms::builtin())
        .map_err(|report| Failure::Scenario(Box::new(report)))?;
    output::warn(&scenario.warnings, quiet);
    Ok(scenario)
}

/// The variant of that name.
pub(crate) fn variant<'s>(scenario: &'s Scenario, name: &str) -> Result<&'s Experiment, Failure> {
    scenario.variants.iter().find(|variant| variant.variant == name).ok_or_else(|| Failure::Unknown {
        what: "variant",
        found: name.to_owned(),
        known: scenario.variants.iter().map(|variant| variant.variant.clone()).collect(),
    })
}
