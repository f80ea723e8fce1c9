//! `solo import` and `solo export`: scenarios from other tools' descriptions of tasks, and such descriptions from scenarios.

use super::run::chosen;
use crate::cli::{Export, Import, Tool};
use crate::exit::{Exit, Failure};
use crate::output;
use solo_model::text::Printable;
use solo_scenario::{Platforms, export_rt_app, import_rt_app};
use solo_store::Output;
use std::io::Write;
use std::path::Path;

/// Reads another tool's file and writes a scenario.
pub(crate) fn import(options: &Import) -> Result<Exit, Failure> {
    let imported = match options.tool {
        Tool::RtApp => import_rt_app(&options.file, &options.platform, &Platforms::builtin())
            .map_err(|report| Failure::Scenario(Box::new(report)))?,
    };
    output::warn(&imported.notes, options.quiet);
    write(options.out.as_deref(), &imported.scenario)
}

/// Reads a scenario and writes another tool's file.
pub(crate) fn export(options: &Export) -> Result<Exit, Failure> {
    let (_, experiment) =
        chosen(&options.scenario, options.variant.as_deref(), &options.instead, options.quiet)?;
    let text = match options.tool {
        Tool::RtApp => export_rt_app(&experiment).map_err(|lacking| {
            Failure::Usage(format!("{}: {lacking}", Printable(options.scenario.display())))
        })?,
    };
    write(options.out.as_deref(), &text)
}

/// Into the file, whole or not at all, or to standard output.
fn write(file: Option<&Path>, text: &str) -> Result<Exit, Failure> {
    match file {
        None => output::text(text)?,
        Some(path) => {
            let whole = Output::create(path)?;
            let failed = |source| Failure::File { action: "write", path: path.to_owned(), source };
            whole.handle()?.write_all(text.as_bytes()).map_err(failed)?;
            whole.commit()?;
        }
    }
    Ok(Exit::Held)
}
