//! Files that a scenario names and that are not what it says.
//!
//! A scenario may come from anybody, and be checked by somebody who can read more than its author: by root, by a build
//! server. A message about `platform = "/etc/shadow"` must not print that file's lines.

use crate::code::Code;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::source::Source;
use crate::tree::{self, Table};
use solo_model::text::Printable;
use std::ops::Range;
use std::path::Path;

/// So many keys of its kind make a file one of that kind, however wrong it is.
const ENOUGH: usize = 2;

/// True where messages may quote a file that a scenario in `folder` names: it lies in that folder or below it, or holds
/// keys that only such a file has.
pub(crate) fn may_be_shown(report: &Diagnostics, named: &str, folder: &Path, keys: &[&str]) -> bool {
    let known = |table: &Table| keys.iter().filter(|key| table.get(key).is_some()).count() >= ENOUGH;
    let looks_like_it = || {
        report
            .problems()
            .first()
            .is_some_and(|problem| tree::read(problem.file()).is_ok_and(|tree| known(&tree)))
    };
    solo_store::read::lies_in(&folder.join(named), folder) || looks_like_it()
}

/// Says that a file is none of its kind, and nothing of what is in it.
pub(crate) fn foreign(
    code: Code,
    kind: &str,
    path: &Path,
    source: &Source,
    span: Range<usize>,
) -> Diagnostic {
    Diagnostic::error(code, format!("{} is no {kind}", Printable(path.display())), source, span)
        .label("named here")
        .help("it lies outside of the scenario's folder, so nothing of it is shown")
}
