//! Task sets that try the tests of this folder.

use crate::task::{Task, TaskSet};
use core::ops::Range;
use proptest::prelude::*;

/// One to eight tasks that execute for less than `most`; periods and deadlines, apart from each other, up to twice that
/// longer.
pub(crate) fn arbitrary(cores: Range<u32>, most: u64) -> impl Strategy<Value = TaskSet> {
    let tasks = prop::collection::vec((1..most, 0..2 * most, 0..2 * most), 1..9);
    (cores, tasks).prop_map(|(cores, tasks)| {
        let task = |&(c, t, d): &(u64, u64, u64)| Task::new(c, c + t, c + d);
        TaskSet::new(cores, tasks.iter().map(task).collect()).expect("drawn within the limits")
    })
}

/// The same on one to four cores with deadlines cut at the periods, which half of them are.
pub(crate) fn constrained(most: u64) -> impl Strategy<Value = TaskSet> {
    arbitrary(1..5, most).prop_map(|set| {
        let tasks = set.tasks().iter().map(|task| Task::new(task.c(), task.t(), task.d().min(task.t())));
        TaskSet::new(set.cores(), tasks.collect()).expect("drawn within the limits")
    })
}
