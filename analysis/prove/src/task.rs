//! Sporadic tasks as the tests see them: three integers in one unit of time, whatever that unit is.
//!
//! A verdict depends on the unit where a test counts "one unit less" (BCL, RTA, BAR), so a study fixes one and
//! stays with it. Microseconds are customary in the literature.

use core::fmt;

/// A length of time in the unit of its task set, at most [`Ticks::LIMIT`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Ticks(pub u64);

impl Ticks {
    /// The longest time a task may name: 2^48 - 1 units, close to nine years of microseconds. The room above
    /// it keeps sums of products within 128 bits.
    pub(crate) const LIMIT: Self = Self((1 << 48) - 1);

    /// The number of units.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Ticks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A sporadic task (thesis 2.3, Table 4).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Task {
    /// The worst-case execution time `e_i`, at least 1.
    pub c: Ticks,
    /// The least time between releases `p_i`, at least `c`.
    pub t: Ticks,
    /// The relative deadline `d_i`, at least 1; any relation to `t`.
    pub d: Ticks,
}

impl Task {
    /// A task from plain numbers: execution time, period, relative deadline.
    pub const fn new(c: u64, t: u64, d: u64) -> Self {
        Self { c: Ticks(c), t: Ticks(t), d: Ticks(d) }
    }
    /// A task whose deadline is its period.
    pub const fn implicit(c: u64, t: u64) -> Self {
        Self::new(c, t, t)
    }
    /// The shorter of deadline and period, the divisor of the density (thesis 2.3).
    pub fn window(&self) -> Ticks {
        self.d.min(self.t)
    }
    pub(crate) fn c(&self) -> u64 {
        self.c.0
    }
    pub(crate) fn t(&self) -> u64 {
        self.t.0
    }
    pub(crate) fn d(&self) -> u64 {
        self.d.0
    }
}

/// Which parameter of a task is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Field {
    /// The worst-case execution time.
    C,
    /// The period.
    T,
    /// The relative deadline.
    D,
}

impl Field {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::C => "c",
            Self::T => "t",
            Self::D => "d",
        }
    }
}

/// Why tasks do not form a task set.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SetError {
    /// No core to run on.
    #[error("m: there must be at least one core")]
    NoCores,
    /// More cores than [`TaskSet::CORES_LIMIT`].
    #[error("m: {0} cores are more than the {limit} that a set can have", limit = TaskSet::CORES_LIMIT)]
    TooManyCores(u64),
    /// More tasks than [`TaskSet::TASKS_LIMIT`].
    #[error("tasks: {0} tasks are more than the {limit} that a set can have", limit = TaskSet::TASKS_LIMIT)]
    TooManyTasks(usize),
    /// A parameter is zero.
    #[error("tasks[{task}].{name}: must be at least 1", name = field.name())]
    Zero {
        /// The position of the task.
        task: usize,
        /// The parameter.
        field: Field,
    },
    /// A parameter exceeds [`Ticks::LIMIT`].
    #[error("tasks[{task}].{name}: {value} is above the limit of {limit}", name = field.name(), limit = Ticks::LIMIT)]
    TooLong {
        /// The position of the task.
        task: usize,
        /// The parameter.
        field: Field,
        /// Its value.
        value: u64,
    },
    /// The task would need more than one whole core.
    #[error("tasks[{task}].c: the execution time {c} is longer than the period {t}")]
    LongerThanPeriod {
        /// The position of the task.
        task: usize,
        /// Its execution time.
        c: Ticks,
        /// Its period.
        t: Ticks,
    },
    /// The clusters do not divide the cores evenly.
    #[error("cluster: {size} cores a cluster do not divide {cores} cores evenly")]
    UnevenClusters {
        /// Cores in each cluster.
        size: u64,
        /// Cores in all.
        cores: u32,
    },
}

/// Tasks that share identical cores. Every value of this type is valid: the limits hold, and `c <= t`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TaskSet {
    cores: u32,
    cluster: Option<u32>,
    tasks: Vec<Task>,
    constrained: bool,
    implicit: bool,
    fits_alone: bool,
}

impl TaskSet {
    /// The most cores: far above any chip, low enough that products stay within 128 bits.
    pub const CORES_LIMIT: u32 = 1 << 16;
    /// The most tasks.
    pub(crate) const TASKS_LIMIT: usize = 1 << 20;

    /// Checks the parameters. A set without tasks is valid and schedulable.
    ///
    /// # Errors
    /// A [`SetError`] names the first parameter that is out of range.
    pub fn new(cores: u32, tasks: Vec<Task>) -> Result<Self, SetError> {
        if cores == 0 {
            return Err(SetError::NoCores);
        }
        if cores > Self::CORES_LIMIT {
            return Err(SetError::TooManyCores(u64::from(cores)));
        }
        if tasks.len() > Self::TASKS_LIMIT {
            return Err(SetError::TooManyTasks(tasks.len()));
        }
        for (index, task) in tasks.iter().enumerate() {
            check_task(index, task)?;
        }
        let constrained = tasks.iter().all(|task| task.d <= task.t);
        let implicit = tasks.iter().all(|task| task.d == task.t);
        let fits_alone = tasks.iter().all(|task| task.c <= task.d);
        Ok(Self { cores, cluster: None, tasks, constrained, implicit, fits_alone })
    }

    /// The same set on cores grouped into clusters of `size`.
    ///
    /// # Errors
    /// When `size` is zero or does not divide the number of cores.
    pub fn with_clusters(mut self, size: u64) -> Result<Self, SetError> {
        let fits = u32::try_from(size).ok().filter(|&size| size > 0 && self.cores.is_multiple_of(size));
        let Some(size) = fits else {
            return Err(SetError::UnevenClusters { size, cores: self.cores });
        };
        self.cluster = Some(size);
        Ok(self)
    }

    /// Some of the tasks, in the order given, on `cores` cores without clusters.
    pub(crate) fn part(cores: u32, tasks: Vec<Task>) -> Self {
        let constrained = tasks.iter().all(|task| task.d <= task.t);
        let implicit = tasks.iter().all(|task| task.d == task.t);
        let fits_alone = tasks.iter().all(|task| task.c <= task.d);
        Self { cores, cluster: None, tasks, constrained, implicit, fits_alone }
    }

    /// The number of cores `m`, at least 1.
    pub fn cores(&self) -> u32 {
        self.cores
    }
    /// The number of cores as the wide integer that the tests multiply with.
    pub(crate) fn m(&self) -> u128 {
        u128::from(self.cores)
    }
    /// Cores in each cluster, where the set names any.
    pub fn cluster(&self) -> Option<u32> {
        self.cluster
    }
    /// The tasks in the order they were given.
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }
    /// True where every deadline is at most its period.
    pub fn is_constrained(&self) -> bool {
        self.constrained
    }
    /// True where every deadline equals its period.
    pub(crate) fn is_implicit(&self) -> bool {
        self.implicit
    }
    /// True where every task alone on a core would meet its deadline.
    pub(crate) fn fits_alone(&self) -> bool {
        self.fits_alone
    }
}

fn check_task(index: usize, task: &Task) -> Result<(), SetError> {
    for (field, value) in [(Field::C, task.c), (Field::T, task.t), (Field::D, task.d)] {
        if value.0 == 0 {
            return Err(SetError::Zero { task: index, field });
        }
        if value > Ticks::LIMIT {
            return Err(SetError::TooLong { task: index, field, value: value.0 });
        }
    }
    if task.c > task.t {
        return Err(SetError::LongerThanPeriod { task: index, c: task.c, t: task.t });
    }
    Ok(())
}
