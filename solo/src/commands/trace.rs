//! `solo trace`: what caches make of a program's memory trace.

use super::{curves, dram};
use crate::cli::{Trace, TraceCache, TraceCoherence, TraceCommand, TraceProfile};
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::output;

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
    output::shown(Document::CacheMisses, &solo_trace::cache(&mut source, &options.caches)?, options.json)
}

fn coherence(options: &TraceCoherence) -> Result<Exit, Failure> {
    let mut source = solo_trace::open(&options.file)?;
    let report = solo_trace::coherence(&mut source, options.cores, &options.cache, options.protocol)?;
    output::shown(Document::Coherence, &report, options.json)
}

fn profile(options: &TraceProfile) -> Result<Exit, Failure> {
    let mut source = solo_trace::open(&options.file)?;
    let report = solo_trace::profile(&mut source, options.line, options.window, options.top)?;
    if let Some(folder) = &options.plots {
        curves::draw(&report, &options.file, folder)?;
    }
    output::shown(Document::Reuse, &report, options.json)
}
