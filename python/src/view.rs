//! What a policy written in Python sees of tasks and jobs.

use crate::convert::class_name;
use pyo3::prelude::*;
use solo_model::Duration;
use solo_schedule::{JobView, TaskParameters};

/// What a policy knows of a task. Times are nanoseconds.
#[pyclass(frozen, get_all, skip_from_py_object, module = "solocore")]
#[derive(Clone)]
pub(crate) struct TaskView {
    /// `hard`, `soft` or `best-effort`.
    class_: &'static str,
    /// From one release to the next; `None` where nothing is periodic or sporadic.
    period_ns: Option<u64>,
    /// The relative deadline `d_i` (thesis 2.3).
    deadline_ns: Option<u64>,
    /// The declared worst-case execution time `e_i`.
    wcet_ns: Option<u64>,
    /// The static priority, 0 highest.
    priority: Option<u32>,
    /// The core that it is assigned to, or one of the cluster.
    core: Option<u16>,
}

impl From<&TaskParameters> for TaskView {
    fn from(task: &TaskParameters) -> Self {
        Self {
            class_: class_name(task.class),
            period_ns: task.release.period().map(Duration::get),
            deadline_ns: task.deadline.map(Duration::get),
            wcet_ns: task.wcet.map(Duration::get),
            priority: task.priority,
            core: task.core.map(|core| core.0),
        }
    }
}

/// What a criterion sees of a job. Times are nanoseconds since the start of the run.
#[pyclass(frozen, get_all, module = "solocore")]
pub(crate) struct Job {
    /// The task's number.
    task: u32,
    /// The task's parameters.
    of: TaskView,
    /// The nominal release `r_ij`.
    release_ns: u64,
    /// The absolute deadline `d_ij`, where the task has one.
    deadline_ns: Option<u64>,
    /// The time that it has occupied a core so far.
    executed_ns: u64,
    /// What is left of the declared execution time; `None` where it is not declared.
    remaining_ns: Option<u64>,
    /// Its number in line: the lowest has waited longest.
    turn: u64,
    /// It gave its core away of its own accord.
    yielded: bool,
}

impl From<&JobView<'_>> for Job {
    fn from(job: &JobView<'_>) -> Self {
        Self {
            task: job.task.0,
            of: job.parameters.into(),
            release_ns: job.release.get(),
            deadline_ns: job.deadline.map(|deadline| deadline.get()),
            executed_ns: job.executed.get(),
            remaining_ns: job.remaining().map(Duration::get),
            turn: job.turn,
            yielded: job.yielded,
        }
    }
}

#[pymethods]
impl Job {
    fn __repr__(&self) -> String {
        format!(
            "<Job of task {}: released at {} ns, due at {:?} ns>",
            self.task, self.release_ns, self.deadline_ns
        )
    }
}
