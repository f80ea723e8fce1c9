//! Patterns of tasks without a core become tasks of their own, so that each copy may go elsewhere.

use crate::place::Wish;
use crate::request::{IsolationWish, Mechanisms, Named, PartitionWish, Request, TaskWish};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// The request with the copies of each pattern that names no core as wishes of their own, and which patterns these were. It means the
/// same: copies are called `NAME-0`, `NAME-1` and so on either way.
pub(super) fn unfold_patterns(request: &Request) -> (Request, Vec<(String, u64)>) {
    let open = |wish: &&TaskWish| wish.core.is_nothing();
    let unfolded: Vec<(String, u64)> = request
        .tasks
        .iter()
        .filter(open)
        .filter_map(|wish| Some((wish.name.value.clone(), wish.copies?)))
        .collect();
    let mut tasks = Vec::new();
    for wish in &request.tasks {
        match wish.copies.filter(|_| wish.core.is_nothing()) {
            None => tasks.push(wish.clone()),
            Some(copies) => tasks.extend((0..copies).map(|copy| {
                let name = Wish::new(format!("{}-{copy}", wish.name.value), wish.name.at);
                TaskWish { name, copies: None, ..wish.clone() }
            })),
        }
    }
    let mut request = Request { tasks, ..request.clone() };
    // A device that belongs to a pattern belongs to its first copy.
    for device in &mut request.devices {
        for name in [Some(&mut device.owner), device.releases.as_mut()].into_iter().flatten() {
            if let Some(first) = names(name, &unfolded).into_iter().next() {
                *name = first;
            }
        }
    }
    if let IsolationWish::By(wished) = &mut request.isolation {
        rename(wished, &unfolded);
    }
    (request, unfolded)
}

fn rename(wished: &mut Mechanisms, unfolded: &[(String, u64)]) {
    each(&mut wished.coloring.colors, unfolded);
    each(&mut wished.coloring.banks, unfolded);
    each(&mut wished.ways, unfolded);
    if let Some(lockdown) = &mut wished.lockdown {
        each(&mut lockdown.pages, unfolded);
    }
    for PartitionWish { tasks, .. } in &mut wished.partitions {
        *tasks = tasks.iter().flat_map(|name| names(name, unfolded)).collect();
    }
}

fn each<T: Clone>(named: &mut Vec<Named<T>>, unfolded: &[(String, u64)]) {
    let copies = |one: &Named<T>| -> Vec<Named<T>> {
        names(&one.name, unfolded).into_iter().map(|name| Named { name, wish: one.wish.clone() }).collect()
    };
    *named = named.iter().flat_map(copies).collect();
}

fn names(name: &Wish<String>, unfolded: &[(String, u64)]) -> Vec<Wish<String>> {
    match unfolded.iter().find(|(pattern, _)| *pattern == name.value) {
        None => alloc::vec![name.clone()],
        Some((pattern, copies)) => {
            (0..*copies).map(|copy| Wish::new(format!("{pattern}-{copy}"), name.at)).collect()
        }
    }
}
