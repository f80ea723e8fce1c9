//! `processes` and `rmids` of `[scheduler.monitor]`: whose lines of the last level count together, and by which ids.

use crate::code::Code;
use crate::diagnostic::{Diagnostic, clip};
use crate::fields::{Fields, Problems, string, wrong_type};
use crate::tree::Value;
use solo_model::Recycling;
use solo_model::listening::{MonitorKind, Takes};
use solo_plan::{Blind, Wish};
use std::ops::Range;

const EXAMPLE: &str = "processes = [[\"swim-0\", \"swim-1\"]]";

/// Refuses a key where nobody reads what tasks hold.
fn pointless(fields: &Fields<'_>, key: &str, kind: Option<MonitorKind>) -> bool {
    let Some(kind) = kind.filter(|kind| fields.has(key) && kind.takes() != Takes::Occupancy) else {
        return false;
    };
    let headline = format!("`{key}`, and `{}` does not read what tasks hold of the cache", kind.name());
    let refused = fields.problems.error(Code::Monitor, headline, &fields.span_of(key)).label("has no effect");
    fields.problems.push(refused.help("remove it, or say `monitor = \"occupancy\"`"));
    true
}

/// The names of the tasks of each process that has several.
pub(super) fn read(fields: &Fields<'_>, kind: Option<MonitorKind>) -> Option<Vec<Vec<Wish<String>>>> {
    if !fields.has("processes") {
        return Some(Vec::new());
    }
    let items = fields.list("processes", EXAMPLE)?;
    if pointless(fields, "processes", kind) {
        return None;
    }
    let mut all = Vec::new();
    for item in items {
        let Value::Array(names) = &item.value else {
            wrong_type(fields.problems, item, "processes", "lists of tasks", EXAMPLE);
            return None;
        };
        let name = |node| {
            let found = string(fields.problems, node, "processes")?;
            Some(Wish::new(found.value.to_owned(), found.span))
        };
        all.push(names.iter().map(name).collect::<Option<Vec<_>>>()?);
    }
    Some(all)
}

/// Which of the free ids a process gets.
pub(super) fn recycling(fields: &Fields<'_>, kind: Option<MonitorKind>) -> Option<Recycling> {
    if !fields.has("rmids") {
        return Some(Recycling::default());
    }
    let found = fields.word("rmids", &Recycling::ALL.map(|recycling| (recycling.name(), recycling)))?;
    (!pointless(fields, "rmids", kind)).then_some(found.value)
}

/// Why a scheduler can't hear of what tasks hold of the cache, or act on it.
pub(super) fn blind(problems: &Problems, at: &Range<usize>, blind: &Blind) -> Diagnostic {
    let error = |headline: String| problems.error(Code::Monitor, headline, at);
    match blind {
        Blind::Untold { platform } => {
            error(format!("{platform} does not tell what a task holds of its last-level cache"))
                .label("needs ids for lines")
                .help("choose a chip with `rmids` in the [pmu] of its file, for example xeon-e5-2695v3")
        }
        Blind::TooFewRmids { needed, available } => {
            error(format!("{needed} processes may be there together, and the chip tells {available} apart"))
                .label("an id for each process")
                .help("name tasks that are one process in `processes`, or run fewer that never end")
        }
        Blind::OtherMetric { reaction, over } => {
            let names: Vec<String> =
                over.iter().map(|kind| format!("`monitor = \"{}\"`", kind.name())).collect();
            error(format!("`{}` decides by other metrics than this monitor's", reaction.name()))
                .label("has nothing to decide by")
                .expected(names.join(" or "))
        }
        Blind::NoWays { reaction } => error(format!(
            "`{}` gives ways of the last-level cache, and there are none to divide",
            reaction.name()
        ))
        .label("no ways to give")
        .help("choose a chip whose last-level cache has two ways or more"),
        Blind::TwoProcesses { task } => {
            error(format!("`{}` is in `processes` twice", clip(task))).label("a task is part of one process")
        }
    }
}
