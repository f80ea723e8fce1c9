//! `sets` and `turn` of `[scheduler.monitor]`: events that are counted in turns.

use super::unknown_event;
use crate::code::Code;
use crate::fields::{At, Fields, wrong_type};
use crate::limits::{at_least, not_too_long};
use crate::tree::{Node, Value};
use solo_model::listening::{MonitorKind, Takes};
use solo_model::platform::Pmu;
use solo_model::{Duration, EventSet, EventTable, Platform};
use std::ops::Range;

const EXAMPLE: &str = "sets = [[\"instructions\", \"l1_misses\"], [\"instructions\", \"llc_misses\"]]";

/// The sets of a monitor, none where it counts all events all the time; nothing where the file says something wrong.
pub(super) fn read(fields: &Fields<'_>, kind: MonitorKind, table: &EventTable) -> Option<Vec<EventSet>> {
    let turns = kind.takes() == Takes::Sets;
    if !fields.has("sets") {
        if turns {
            fields.missing("sets", EXAMPLE);
            return None;
        }
        return Some(Vec::new());
    }
    let items = fields.list("sets", EXAMPLE)?;
    let problems = fields.problems;
    let span = fields.span_of("sets");
    if !turns {
        let headline = format!("`{}` counts all its events all the time", kind.name());
        let refused = problems.error(Code::Monitor, headline, &span).label("no sets to take turns");
        problems.push(refused.expected("an expression, with `monitor = \"multiplexed\"` or none"));
        return None;
    }
    if items.is_empty() || items.len() > 64 {
        let refused = problems.error(Code::Monitor, "`sets` takes 1 to 64 sets of events", &span);
        problems.push(refused.label("sets that take turns").expected(format!("for example `{EXAMPLE}`")));
        return None;
    }
    items.iter().map(|item| set(fields, item, table)).collect()
}

/// Where the set stands that needs most programmable counters, of several the first; nothing where no sets take turns.
pub(super) fn largest(fields: &Fields<'_>, platform: Option<&Platform>) -> Option<Range<usize>> {
    let Value::Array(sets) = &fields.get("sets")?.node.value else { return None };
    let fixed = platform.map_or(&[][..], |platform| Pmu::events_of_fixed(platform.pmu.fixed));
    let bound = |name: &Node| match (&name.value, platform) {
        (Value::String(name), Some(platform)) => {
            fixed.iter().any(|event| platform.events.name(*event) == name)
        }
        _ => false,
    };
    let events = |set: &&Node| match &set.value {
        Value::Array(names) => names.iter().filter(|name| !bound(name)).count(),
        _ => 0,
    };
    sets.iter().rev().max_by_key(events).map(|set| set.span.clone())
}

/// One set: the names of its events.
fn set(fields: &Fields<'_>, item: &Node, table: &EventTable) -> Option<EventSet> {
    let problems = fields.problems;
    let Value::Array(names) = &item.value else {
        wrong_type(problems, item, "sets", "lists of events", EXAMPLE);
        return None;
    };
    let mut set = EventSet::EMPTY;
    for name in names {
        let Value::String(text) = &name.value else {
            wrong_type(problems, name, "sets", "names of events", EXAMPLE);
            return None;
        };
        let Some(event) = table.find(text) else {
            unknown_event(problems, &name.span, text, table);
            return None;
        };
        set.insert(event);
    }
    if set.is_empty() {
        let refused = problems.error(Code::Empty, "a set of events is empty", &item.span);
        problems.push(refused.label("nothing to count").expected(format!("for example `{EXAMPLE}`")));
        return None;
    }
    Some(set)
}

/// How long each set counts. `Err` where the file says something wrong.
pub(super) fn turn(fields: &Fields<'_>) -> Result<Option<At<Duration>>, ()> {
    if !fields.has("turn") {
        return Ok(None);
    }
    let found = fields.positive::<Duration>("turn");
    if !fields.has("sets") {
        let span = fields.span_of("turn");
        let refused =
            fields.problems.error(Code::Monitor, "`turn` without `sets`: nothing takes turns", &span);
        fields.problems.push(refused.label("remove it").help(format!("or name the sets: `{EXAMPLE}`")));
        return Err(());
    }
    let found = at_least(fields.problems, found, "turn");
    let found = found.and_then(|found| not_too_long(fields.problems, found, "turn"));
    found.map(Some).ok_or(())
}
