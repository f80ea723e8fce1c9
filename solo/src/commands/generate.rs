//! Completions and manual pages, from the definition of the command line.

use crate::cli::{Cli, Completions, Man};
use crate::exit::{Exit, Failure};
use clap::CommandFactory;
use std::io::Write;

/// Prints the completion script of a shell.
pub(crate) fn completions(options: &Completions) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Cli::command(), "solo", &mut script);
    std::io::stdout().write_all(&script).map_err(Failure::Output)?;
    Ok(Exit::Held)
}

/// Writes `solo.1` and a page for each command.
pub(crate) fn man(options: &Man) -> Result<Exit, Failure> {
    let folder = &options.folder;
    std::fs::create_dir_all(folder).map_err(|source| Failure::File {
        action: "create",
        path: folder.clone(),
        source,
    })?;
    clap_mangen::generate_to(Cli::command(), folder).map_err(|source| Failure::File {
        action: "write manual pages into",
        path: folder.clone(),
        source,
    })?;
    Ok(Exit::Held)
}
