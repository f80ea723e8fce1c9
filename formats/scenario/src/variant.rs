//! Variants: the scenario with some keys changed.

use crate::code::Code;
use crate::diagnostic::clip;
use crate::fields::{Fields, Problems, string, wrong_type};
use crate::nearest::nearest;
use crate::tree::{Entry, Node, Table, Value};
use std::collections::{HashMap, HashSet};

/// Keys of a variant that are not overrides.
const OWN_KEYS: [&str; 4] = ["name", "without", "only", "isolation"];

/// The scenario with a variant laid over it; `None` where that is impossible.
pub(crate) fn apply(problems: &Problems, base: &Table, variant: &Fields<'_>) -> Option<Table> {
    let errors = problems.errors();
    let mut tree = base.clone();
    for entry in variant.entries() {
        let key = entry.key.as_str();
        match (key, &entry.node.value) {
            ("isolation", _) => isolation(problems, &mut tree, entry),
            ("variant", _) => problems.push(
                problems
                    .error(Code::UnknownKey, "a variant has no variants", &entry.key_span)
                    .label("not known here"),
            ),
            ("task" | "buffer" | "lock" | "device", Value::Table(overrides)) => {
                override_named(problems, &mut tree, entry, overrides);
            }
            // A list of devices takes the place of the scenario's.
            ("device", Value::Array(_)) => tree.merge(&Table { entries: vec![entry.clone()] }),
            ("task" | "buffer" | "lock" | "device", _) => wrong_type(
                problems,
                &entry.node,
                key,
                &format!("a table that changes the {key} of that name"),
                &format!("[variant.{key}.NAME]"),
            ),
            _ if OWN_KEYS.contains(&key) => {}
            _ => {
                // The two ways to end a run exclude each other: the variant's replaces the scenario's.
                match key {
                    "jobs" => drop(tree.remove("duration")),
                    "duration" => drop(tree.remove("jobs")),
                    _ => {}
                }
                tree.merge(&Table { entries: vec![entry.clone()] });
            }
        }
    }
    keep_tasks(problems, &mut tree, variant);
    (problems.errors() == errors).then_some(tree)
}

/// `isolation = "off"` takes the place of all tables; a table is laid over them.
fn isolation(problems: &Problems, tree: &mut Table, entry: &Entry) {
    match &entry.node.value {
        Value::String(text) if text == "off" => {
            tree.remove("isolation");
            tree.entries.push(entry.clone());
        }
        Value::Table(_) => tree.merge(&Table { entries: vec![entry.clone()] }),
        _ => wrong_type(problems, &entry.node, "isolation", "\"off\" or tables", "isolation = \"off\""),
    }
}

/// The items of `[[task]]`, `[[buffer]]` or `[[lock]]` in a scenario.
fn items<'t>(tree: &'t mut Table, key: &str) -> Option<&'t mut Vec<Node>> {
    match &mut tree.entries.iter_mut().find(|entry| entry.key == key)?.node.value {
        Value::Array(items) => Some(items),
        _ => None,
    }
}

/// The name that an item of `[[task]]` and the like carries.
fn name_of(item: &Node) -> Option<&str> {
    let Value::Table(table) = &item.value else { return None };
    match &table.get("name")?.node.value {
        Value::String(name) => Some(name),
        _ => None,
    }
}

/// Lays `[variant.task.NAME]` over the task of that name.
fn override_named(problems: &Problems, tree: &mut Table, entry: &Entry, overrides: &Table) {
    let key = entry.key.as_str();
    let positions: HashMap<String, usize> = items(tree, key)
        .map(|all| all.iter().enumerate().rev())
        .into_iter()
        .flatten()
        .filter_map(|(at, item)| Some((name_of(item)?.to_owned(), at)))
        .collect();
    for over in &overrides.entries {
        let Value::Table(changes) = &over.node.value else {
            wrong_type(
                problems,
                &over.node,
                &over.key,
                "a table",
                &format!("[variant.{key}.{}]", clip(&over.key)),
            );
            continue;
        };
        let Some(all) = items(tree, key) else {
            unknown_name(problems, over, key, &[]);
            continue;
        };
        match positions.get(&over.key).and_then(|&at| all.get_mut(at)).map(|node| &mut node.value) {
            Some(Value::Table(item)) => {
                // What a job does is said in one of two ways: the variant's replaces the scenario's.
                for (said, other) in [("work", "command"), ("command", "work")] {
                    if key == "task" && changes.get(said).is_some() && changes.get(other).is_none() {
                        drop(item.remove(other));
                    }
                }
                item.merge(changes);
            }
            _ if problems.is_full() => return,
            _ => {
                let names: Vec<&str> = all.iter().filter_map(name_of).collect();
                unknown_name(problems, over, key, &names);
            }
        }
    }
}

fn unknown_name(problems: &Problems, over: &Entry, key: &str, names: &[&str]) {
    let label = match nearest(&over.key, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("no {key} of this name"),
    };
    problems.push(
        problems
            .error(
                Code::UnknownName,
                format!("there is no {key} `{}` to change", clip(&over.key)),
                &over.key_span,
            )
            .label(label),
    );
}

/// Takes out the tasks that `without` names, or all but those that `only` names.
fn keep_tasks(problems: &Problems, tree: &mut Table, variant: &Fields<'_>) {
    if let (Some(_), Some(only)) = (variant.get("without"), variant.get("only")) {
        problems.push(
            problems
                .error(Code::Both, "a variant has both `without` and `only`", &only.key_span)
                .label("one of the two is enough")
                .also(variant.span_of("without"), "the other one"),
        );
        return;
    }
    for (key, keep_named) in [("without", false), ("only", true)] {
        let Some(list) = variant.list(key, &format!("{key} = [\"task\"]")) else { continue };
        let Some(all) = items(tree, "task") else { continue };
        let known: HashSet<String> = all.iter().filter_map(name_of).map(str::to_owned).collect();
        let mut named = HashSet::new();
        for item in list {
            let Some(name) = string(problems, item, key) else { continue };
            if known.contains(name.value) {
                named.insert(name.value);
                continue;
            }
            if problems.is_full() {
                return;
            }
            let mut names: Vec<&str> = known.iter().map(String::as_str).collect();
            names.sort_unstable();
            let label = match nearest(name.value, names.iter().copied()) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => String::from("no task of this name"),
            };
            problems.push(
                problems
                    .error(
                        Code::UnknownName,
                        format!("there is no task \"{}\"", clip(name.value)),
                        &name.span,
                    )
                    .label(label),
            );
        }
        all.retain(|item| name_of(item).is_some_and(|name| named.contains(name)) == keep_named);
    }
}
