//! Standard output for results, standard error for messages.

use crate::document::Document;
use crate::exit::{Exit, Failure};
use serde::Serialize;
use solo_model::text::Unnumbered;
use solo_report::table::Style as TableStyle;
use solo_scenario::{Diagnostic, Style};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::{ErrorKind, IsTerminal, Write};

/// Writes text as it is. A reader that has gone away ends the program quietly.
pub(crate) fn text(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::Output)
}

/// Writes a message to standard error, if it takes it.
pub(crate) fn message(words: std::fmt::Arguments<'_>) {
    // Whoever reads the exit code learns the outcome without it.
    let _ = write!(std::io::stderr().lock(), "{}", Unnumbered(words));
}

/// Writes an object as indented JSON, with the name and version of the document.
pub(crate) fn json(document: Document, value: &impl Serialize) -> Result<(), Failure> {
    text(&document.text(value)?)
}

/// Writes a value that names its document itself.
pub(crate) fn plain_json(value: &impl Serialize) -> Result<(), Failure> {
    text(&format!("{}\n", serde_json::to_string_pretty(value)?))
}

/// Writes a list as a document with one field of this name.
pub(crate) fn list(document: Document, name: &str, rows: &[impl Serialize]) -> Result<(), Failure> {
    json(document, &BTreeMap::from([(name, rows)]))
}

/// Writes a report as people read it, or as JSON.
pub(crate) fn shown(
    document: Document,
    report: &(impl Display + Serialize),
    json: bool,
) -> Result<Exit, Failure> {
    if json {
        self::json(document, report)?;
    } else {
        text(&report.to_string())?;
    }
    Ok(Exit::Held)
}

/// How tables look: colored on a terminal, plain elsewhere.
pub(crate) fn style() -> TableStyle {
    let width = columns(std::io::stdout());
    TableStyle::detect(std::io::stdout().is_terminal(), std::env::var_os("NO_COLOR").as_deref(), width)
}

/// How many characters fit into a line of a terminal; `None` for what is none or does not say.
fn columns(of: impl std::os::fd::AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(of).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// The width of drawn diagnostics: the terminal's, and never so wide that lines are hard to follow.
fn stderr_columns() -> usize {
    columns(std::io::stderr()).unwrap_or(100).clamp(60, 100)
}

fn no_color() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

fn stderr_style() -> Style {
    match (std::io::stderr().is_terminal(), no_color()) {
        (false, _) => Style::Plain,
        (true, true) => Style::Monochrome,
        (true, false) => Style::Fancy,
    }
}

/// The problems of a scenario, drawn for standard error.
pub(crate) fn diagnostics(report: &solo_scenario::Diagnostics) -> String {
    report.render(stderr_style(), stderr_columns())
}

/// Writes warnings to standard error.
pub(crate) fn warn(warnings: &[Diagnostic], quiet: bool) {
    if !quiet && !warnings.is_empty() {
        eprint!("{}", solo_scenario::render(warnings, stderr_style(), stderr_columns()));
    }
}

impl Failure {
    /// Writes the message to standard error.
    pub(crate) fn print(&self) {
        match self {
            Self::Scenario(report) => eprint!("{}", diagnostics(report)),
            Self::Output(error) | Self::Lines(error) if error.kind() == ErrorKind::BrokenPipe => {}
            other => eprintln!("error: {}", visible(&other.to_string())),
        }
    }
}

/// A message that may quote a file: question marks stand for what a terminal would act on, so that places stay where they are.
fn visible(message: &str) -> String {
    let acts = |c: char| c != '\n' && c != '\t' && solo_model::text::is_hidden(c);
    message.chars().map(|c| if acts(c) { '?' } else { c }).collect()
}
