//! `solo trace`: what caches make of a program's memory trace.

use super::{curves, dram};
use crate::cli::{Trace, TraceCache, TraceCoherence, TraceCommand, TraceProfile};
use crate::exit::{Exit, Failure};
use crate::output;
use serde::Serialize;
use std::fmt::Display;

/// Reads a trace and simulates or profiles.
pub(crate) fn run(options: &Trace) -> Result<Exit, Failure> {
    match &options.command {
        TraceCommand::Cache(options) => cache(options),
        TraceCommand::Coherence(options) => coherence(options),
        TraceCommand::Dram(options) => dram::run(options),
        TraceCommand::Profile(options) => profile(options),
    }
}

fn cache(options: &TraceCache) -> Result<Exit, Failure> {
    let mut source = solo_trace::open(&options.file)?;
    show(&solo_trace::cache(&mut source, &options.caches)?, options.json)
}

fn coherence(options: &TraceCoherence) -> Result<Exit, Failure> {
    let mut source = solo_trace::open(&options.file)?;
    let report = solo_trace::coherence(&mut source, options.cores, &options.cache, options.protocol)?;
    show(&report, options.json)
}

fn profile(options: &TraceProfile) -> Result<Exit, Failure> {
    let mut source = solo_trace::open(&options.file)?;
    let report = solo_trace::profile(&mut source, options.line, options.window, options.top)?;
    if let Some(folder) = &options.plots {
        curves::draw(&report, &options.file, folder)?;
    }
    show(&report, options.json)
}

pub(super) fn show(report: &(impl Display + Serialize), json: bool) -> Result<Exit, Failure> {
    if json {
        output::json(report)?
    } else {
        output::text(&report.to_string())?
    }
    Ok(Exit::Held)
}
