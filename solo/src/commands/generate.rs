//! Completions and manual pages, from the definition of the command line.

use crate::cli::{self, Cli, Completions};
use crate::exit::{Exit, Failure};
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use solo_store::TargetFolder;
use std::io::Write;

/// Prints the completion script of a shell.
pub(crate) fn completions(options: &Completions) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut Cli::command(), "solo", &mut script);
    std::io::stdout().write_all(&script).map_err(Failure::Output)?;
    Ok(Exit::Held)
}

/// Writes `solo.1` and a page for each command.
pub(crate) fn man(options: &cli::Man) -> Result<Exit, Failure> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    write_pages(&command, &TargetFolder::at(&options.folder)?)?;
    Ok(Exit::Held)
}

/// The pages of a command and of those below it.
fn write_pages(command: &Command, place: &TargetFolder) -> Result<(), Failure> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        write_pages(below, place)?;
    }
    let page = Man::new(command.clone());
    let mut text = Vec::new();
    page.render(&mut text).map_err(Failure::Output)?;
    place.write(&page.get_filename(), &text)?;
    Ok(())
}
