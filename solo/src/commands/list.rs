//! `solo list`: what commands have left in a folder, and the removal of what was never finished.

use crate::cli::List;
use crate::document::Document;
use crate::exit::{Exit, Failure};
use crate::folders;
use crate::output;
use crate::stream::recording::Recording;
use serde::Serialize;
use solo_model::text::Printable;
use solo_report::{Opened, RunError, table};
use solo_store::{Folder, Found, Kind, folders_in};
use std::path::{Path, PathBuf};

/// How far a folder has come.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    /// A command writes into it.
    InUse,
    /// It can be opened.
    Whole,
    /// Its command was stopped.
    Incomplete,
    /// Something in it is not as it was written, or of another version.
    Damaged,
}

impl State {
    fn of(found: &Found) -> Self {
        if found.busy {
            return Self::InUse;
        }
        match found.kind {
            Kind::Run | Kind::Comparison => {}
            Kind::Recording => return Self::of_recording(found),
            _ => return Self::Whole,
        }
        match Opened::open(&found.path) {
            Ok(_) => Self::Whole,
            Err(RunError::Incomplete { .. } | RunError::NotARun { .. }) => Self::Incomplete,
            Err(_) => Self::Damaged,
        }
    }

    fn of_recording(found: &Found) -> Self {
        match Recording::open(&found.path).map(|recording| recording.is_complete()) {
            Ok(true) => Self::Whole,
            Ok(false) => Self::Incomplete,
            Err(_) => Self::Damaged,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::InUse => "in use",
            Self::Whole => "whole",
            Self::Incomplete => "incomplete",
            Self::Damaged => "damaged",
        }
    }
}

/// One folder as JSON.
#[derive(Serialize)]
struct Line {
    folder: PathBuf,
    kind: &'static str,
    state: State,
    removed: bool,
}

/// Lists the folders, and removes those that were never finished where that was asked for.
pub(crate) fn run(options: &List) -> Result<Exit, Failure> {
    let usual = Path::new(folders::RUNS);
    let folder = options.folder.as_deref().unwrap_or(usual);
    let found = match folders_in(folder) {
        // Nothing was ever run here. A folder that was named has to be there.
        Err(error) if options.folder.is_none() && error.is_not_found() => Vec::new(),
        other => other?,
    };
    let mut lines = Vec::new();
    for found in found {
        let state = State::of(&found);
        let removed = options.clean && state == State::Incomplete;
        if removed {
            Folder::remove(&found.path)?;
        }
        lines.push(Line { folder: found.path, kind: found.kind.name(), state, removed });
    }
    if options.show.json {
        output::list(Document::Folders, "folders", &lines)?;
    } else if lines.is_empty() {
        output::text(&format!("Nothing that solo has written lies in {}.\n", Printable(folder.display())))?;
    } else {
        output::text(&as_table(&lines))?;
    }
    Ok(Exit::Held)
}

fn as_table(lines: &[Line]) -> String {
    let row = |line: &Line| {
        let state = if line.removed { "incomplete, removed" } else { line.state.name() };
        vec![Printable(line.folder.display()).to_string(), line.kind.to_owned(), state.to_owned()]
    };
    let rows: Vec<Vec<String>> = lines.iter().map(row).collect();
    format!("{}\n", table::plain(&["folder", "kind", "state"], 3, &rows, output::style()))
}
