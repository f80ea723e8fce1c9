//! Task sets from columns.

use crate::error;
use pyo3::prelude::*;
use solo_prove::{SetError, Task, TaskSet};

/// Task sets that are all right.
pub(crate) struct Sets(pub(crate) Vec<TaskSet>);

impl Sets {
    /// The tasks of set `i` are those from `begin[i]` up to `begin[i + 1]`.
    pub(crate) fn of(
        py: Python<'_>,
        cores: u32,
        cluster: Option<u64>,
        begin: &[usize],
        (c, t, d): (&[u64], &[u64], &[u64]),
    ) -> PyResult<Self> {
        let row = |row: usize| Some(Task::new(*c.get(row)?, *t.get(row)?, *d.get(row)?));
        let mut sets = Vec::with_capacity(begin.len().saturating_sub(1));
        for (at, bounds) in begin.windows(2).enumerate() {
            let tasks: Option<Vec<Task>> = (bounds[0]..bounds[1]).map(row).collect();
            let Some(tasks) = tasks else {
                return Err(error::input(
                    py,
                    "columns of equal length",
                    "a shorter one",
                    &format!("set {at}"),
                ));
            };
            let set = TaskSet::new(cores, tasks).and_then(|set| match cluster {
                Some(size) => set.with_clusters(size),
                None => Ok(set),
            });
            sets.push(set.map_err(|wrong| refused(py, at, bounds[0], &wrong))?);
        }
        Ok(Self(sets))
    }
}

/// What is wrong with a set, where its frame has it.
fn refused(py: Python<'_>, set: usize, first: usize, wrong: &SetError) -> PyErr {
    let (expected, task) = match wrong {
        SetError::Zero { task, .. } => ("at least 1 microsecond", Some(*task)),
        SetError::TooLong { task, .. } => ("less than 2^48 microseconds", Some(*task)),
        SetError::LongerThanPeriod { task, .. } => ("an execution time of at most the period", Some(*task)),
        SetError::UnevenClusters { .. } => ("clusters that divide the cores evenly", None),
        SetError::NoCores | SetError::TooManyCores(_) => ("1 to 65536 cores", None),
        SetError::TooManyTasks(_) => ("at most 2^20 tasks", None),
    };
    let place = task.map_or(String::new(), |task| format!(", row {}", first + task));
    error::input(py, expected, &wrong.to_string(), &format!("set {set}{place}"))
}
