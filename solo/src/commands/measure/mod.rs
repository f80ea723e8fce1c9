//! `solo measure`: what a chip does, from programs run on it, and what the kernel costs.

mod bandwidth;
mod calibrate;
mod counters;
mod cpmd;
mod lockdown;
mod map;
mod overheads;
mod pairs;
mod wcet;

use crate::cli::{Measure, MeasureCommand};
use crate::exit::{Exit, Failure};
use solo_lab::campaign::calibrate::with_prefetcher;
use solo_model::{Experiment, Platform, TaskClass, TaskId};
use solo_scenario::Platforms;
use std::path::Path;

/// Measures what the command says.
pub(crate) fn run(options: &Measure) -> Result<Exit, Failure> {
    match &options.command {
        MeasureCommand::Bandwidth(options) => bandwidth::run(options),
        MeasureCommand::Calibrate(options) => calibrate::run(options),
        MeasureCommand::Counters(options) => counters::run(options),
        MeasureCommand::Map(options) => map::run(options),
        MeasureCommand::Lockdown(options) => lockdown::run(options),
        MeasureCommand::Wcet(options) => wcet::run(options),
        MeasureCommand::Cpmd(options) => cpmd::run(options),
        MeasureCommand::Overheads(options) => overheads::run(options),
    }
}

/// The platform of that name or file, its prefetcher switched where `prefetcher` says `on` or `off`.
fn platform_of(name: &str, prefetcher: Option<&str>) -> Result<Platform, Failure> {
    let platform = Platforms::builtin()
        .load(name, Path::new("."))
        .map_err(|report| Failure::Scenario(Box::new(report)))?;
    let Some(word) = prefetcher else { return Ok(platform) };
    let wrong = |error| Failure::Usage(format!("--prefetcher {word}: {error}"));
    with_prefetcher(platform, word == "on").map_err(wrong)
}

/// The task of that name, or the first hard one.
fn task_of(experiment: &Experiment, name: Option<&str>) -> Result<TaskId, Failure> {
    let wanted = |task: &&solo_model::Task| match name {
        Some(name) => task.name == name,
        None => task.class == TaskClass::Hard,
    };
    let found = experiment.tasks.iter().position(|task| wanted(&task));
    found.map(|at| TaskId(at as u32)).ok_or_else(|| Failure::Unknown {
        what: "task",
        found: name.unwrap_or("(a hard one)").to_owned(),
        known: experiment.tasks.iter().map(|task| task.name.clone()).collect(),
    })
}
