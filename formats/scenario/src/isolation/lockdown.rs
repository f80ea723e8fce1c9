//! `[isolation.lockdown]` and `[isolation.partitions]`.

use super::named;
use crate::fields::{At, Fields, Problems, integer, string, word, wrong_type};
use crate::tree::{Entry, Value};
use solo_model::isolation::LockTime;
use solo_plan::{LockdownWish, PartitionWish, Wish};

/// Reads `[isolation.lockdown]`: how many of its most accessed pages each task keeps in the last level.
pub(super) fn read(problems: &Problems, isolation: &Fields<'_>) -> Option<LockdownWish> {
    let table = isolation.table("lockdown", "[isolation.lockdown]\nframe = 40")?;
    let words = [
        ("boot", LockTime::Boot),
        ("task", LockTime::Task),
        ("job", LockTime::Job),
        ("partition", LockTime::Partition),
    ];
    let when = table.value.get("when").and_then(|entry| {
        let said = string(problems, &entry.node, "when")?;
        word(problems, &said, "when", &words)
    });
    let pages = |entry: &Entry| {
        let found = integer(problems, &entry.node, &entry.key, 0, u64::from(u32::MAX))?;
        Some(named(entry, found.wish()))
    };
    let entries = table.value.entries.iter().filter(|entry| entry.key != "when");
    let pages = entries.filter_map(pages).collect();
    Some(LockdownWish { at: table.span.into(), when: when.map(At::wish), pages })
}

/// Reads `[isolation.partitions]`: the tasks of each IMA partition.
pub(super) fn partitions(problems: &Problems, isolation: &Fields<'_>) -> Vec<PartitionWish> {
    let Some(table) = isolation.table("partitions", "[isolation.partitions]\nnavigation = [\"frame\"]")
    else {
        return Vec::new();
    };
    let partition = |entry: &Entry| {
        let Value::Array(names) = &entry.node.value else {
            wrong_type(problems, &entry.node, &entry.key, "a list of tasks", "[\"frame\", \"route\"]");
            return None;
        };
        let task = |name| {
            let name = string(problems, name, &entry.key)?;
            Some(Wish::new(name.value.to_owned(), name.span))
        };
        let tasks = names.iter().filter_map(task).collect();
        Some(PartitionWish { name: Wish::new(entry.key.clone(), entry.key_span.clone()), tasks })
    };
    table.value.entries.iter().filter_map(partition).collect()
}
