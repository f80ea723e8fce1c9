//! `solo measure`: what a chip does, from programs run on it, and what the kernel costs.

mod bandwidth;
mod calibrate;
mod counters;
mod lockdown;
mod map;
mod overheads;
mod pairs;
mod wcet;

use crate::cli::{Measure, MeasureCommand};
use crate::exit::{Exit, Failure};
use solo_model::{Experiment, TaskClass, TaskId};

/// Measures what the command says.
pub(crate) fn run(options: &Measure) -> Result<Exit, Failure> {
    match &options.command {
        MeasureCommand::Bandwidth(options) => bandwidth::run(options),
        MeasureCommand::Calibrate(options) => calibrate::run(options),
        MeasureCommand::Counters(options) => counters::run(options),
        MeasureCommand::Map(options) => map::run(options),
        MeasureCommand::Lockdown(options) => lockdown::run(options),
        MeasureCommand::Wcet(options) => wcet::run(options),
        MeasureCommand::Overheads(options) => overheads::run(options),
    }
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
