//! What a policy sees of tasks and jobs.

use solo_model::task::Release;
use solo_model::{ApplicationId, CoreId, Duration, Instant, Migration, Task, TaskClass, TaskId};

/// What a policy knows of a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TaskParameters {
    /// Hard, soft or best effort.
    pub class: TaskClass,
    /// When jobs are released.
    pub release: Release,
    /// The relative deadline `d_i` that counts, where the task has one (thesis 2.3).
    pub deadline: Option<Duration>,
    /// The declared worst-case execution time `e_i`.
    pub wcet: Option<Duration>,
    /// The static priority, 0 highest.
    pub priority: Option<u32>,
    /// The core, or one core of the cluster, that the task is assigned to.
    pub core: Option<CoreId>,
    /// When it is moved to another core of its scope; `None` where it stays.
    pub migrate: Option<Migration>,
    /// The application of which it is a thread, and what that weighs.
    pub member: Option<Membership>,
}

/// Of which application a task is a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Membership {
    /// The application.
    pub application: ApplicationId,
    /// Its weight; [`Application::WEIGHT`](solo_model::Application::WEIGHT) for like all others.
    pub weight: u32,
}

impl From<&Task> for TaskParameters {
    fn from(task: &Task) -> Self {
        Self {
            class: task.class,
            release: task.release,
            deadline: task.relative_deadline(),
            wcet: task.wcet,
            priority: task.priority,
            core: task.core,
            migrate: task.migrate,
            member: None,
        }
    }
}

/// What a criterion sees of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JobView<'t> {
    /// The task.
    pub task: TaskId,
    /// The task's parameters.
    pub parameters: &'t TaskParameters,
    /// The nominal release `r_ij`.
    pub release: Instant,
    /// The absolute deadline `d_ij`, where the task has one.
    pub deadline: Option<Instant>,
    /// The time it has occupied a core so far.
    pub executed: Duration,
    /// Its number in line: a count that grows each time any job joins the line (released, woken, at the end
    /// of its time slice, yielding), so that the lowest has waited longest.
    pub turn: u64,
    /// It gave its core away of its own accord.
    pub yielded: bool,
}

impl JobView<'_> {
    /// What is left of the declared execution time; zero once it is used up, `None` where it isn't declared.
    pub fn remaining(&self) -> Option<Duration> {
        self.parameters.wcet.map(|wcet| wcet.saturating_sub(self.executed))
    }
}
