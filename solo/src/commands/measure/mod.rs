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
