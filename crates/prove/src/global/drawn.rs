//! Task sets that try the tests of this folder.

use crate::task::{Task, TaskSet};
use proptest::prelude::*;

/// One to eight tasks with deadlines of at most their periods on one to four cores.
pub(crate) fn constrained() -> impl Strategy<Value = TaskSet> {
    let tasks = prop::collection::vec((1u64..30, 0u64..60, 0u64..40), 1..9);
    (1u32..5, tasks).prop_map(|(cores, tasks)| {
        let task = |&(c, more, early): &(u64, u64, u64)| {
            let t = c + more;
            Task::new(c, t, t.saturating_sub(early).max(c))
        };
        TaskSet::new(cores, tasks.iter().map(task).collect()).expect("drawn within the limits")
    })
}
