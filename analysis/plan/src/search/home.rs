//! The partitions of a request, and their tasks.

use crate::request::{IsolationWish, PartitionWish, Request};
use alloc::string::String;
use alloc::vec::Vec;

/// A partition of the request.
pub(super) struct Home {
    pub(super) name: String,
    /// Its tasks.
    pub(super) tasks: Vec<usize>,
}

/// The partitions of a request; `wish_of`: by task, its wish.
pub(super) fn homes(request: &Request, wish_of: &[usize]) -> Vec<Home> {
    let IsolationWish::By(wished) = &request.isolation else { return Vec::new() };
    let named = |name: &str| {
        let of = |task: &usize| request.tasks[wish_of[*task]].name.value == name;
        (0..wish_of.len()).filter(of).collect::<Vec<_>>()
    };
    let home = |wish: &PartitionWish| Home {
        name: wish.name.value.clone(),
        tasks: wish.tasks.iter().flat_map(|name| named(&name.value)).collect(),
    };
    wished.partitions.iter().map(home).collect()
}
