//! Color-aware partitioning: tasks that share cache colors stay on one core (thesis chapters 7 and 8).

pub mod assign;
pub mod cap;
pub mod cap_gs;
pub mod lwfg;

mod groups;
mod memory;
mod method;

pub use groups::groups;
pub use memory::Memory;
pub use method::{Method, Rules, partition};

use crate::pack::Share;
use crate::task::{Task, Ticks};
use solo_model::task::TaskClass;
use solo_model::units::Bytes;

/// A task with the colors its memory comes from (thesis Definitions 7.1.1 and 8.1.1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ColoredTask {
    /// The worst-case execution time with these colors, overheads included, and the period; a best-effort
    /// task has none and counts as utilisation zero.
    pub timing: Option<Task>,
    /// Hard, soft or best effort; CAP takes all for hard.
    pub class: TaskClass,
    /// The memory it allocates, spread evenly over its colors.
    pub memory: Bytes,
    /// Its colors, each once; at least one where it has memory.
    pub colors: Vec<u16>,
}

impl ColoredTask {
    /// A task with an implicit deadline.
    pub fn new(c: u64, t: u64, class: TaskClass, memory: Bytes, colors: &[u16]) -> Self {
        Self { timing: Some(Task::implicit(c, t)), class, memory, colors: colors.to_vec() }
    }
    /// A best-effort task.
    pub fn best_effort(memory: Bytes, colors: &[u16]) -> Self {
        Self { timing: None, class: TaskClass::BestEffort, memory, colors: colors.to_vec() }
    }
    /// The utilisation; zero for best effort (thesis 8.1).
    pub fn share(&self) -> Share {
        match &self.timing {
            Some(task) if self.class != TaskClass::BestEffort => Share::of(task),
            _ => Share::ZERO,
        }
    }
    /// The worst-case execution time, where it has one.
    pub fn wcet(&self) -> Option<Ticks> {
        self.timing.map(|task| task.c)
    }
    fn shares_with(&self, other: &Self) -> bool {
        self.colors.iter().any(|color| other.colors.contains(color))
    }
}

/// The utilisation of tasks together in millionths, rounded up.
fn millionths<'t>(tasks: &'t [ColoredTask], of: impl IntoIterator<Item = &'t usize>) -> u64 {
    crate::exact::millionths(of.into_iter().map(|&task| tasks[task].share().ratio()))
}

impl ColorError {
    /// No core of `partition` has room for a group.
    fn no_room(tasks: &[ColoredTask], group: &[usize], partition: &[Vec<usize>], capacity: Share) -> Self {
        Self::NoRoom {
            tasks: group.to_vec(),
            needs: millionths(tasks, group),
            has: capacity.millionths(),
            loads: partition.iter().map(|core| millionths(tasks, core)).collect(),
        }
    }
}

/// The tasks of each core, by their positions, in the order they were put there.
pub type Partition = Vec<Vec<usize>>;

/// Why tasks could not be partitioned by color.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ColorError {
    /// A task without colors, with one named twice, or with one beyond those there are.
    #[error("task {task}: its colors must be distinct and below {colors}")]
    BadColors {
        /// The task.
        task: usize,
        /// How many colors there are.
        colors: u16,
    },
    /// Equation 1 of chapter 7.
    #[error("equation 1: the tasks need {needed} of memory, there are {available}")]
    Memory {
        /// What the tasks need together.
        needed: u128,
        /// What there is, in bytes.
        available: Bytes,
    },
    /// Equation 3 of chapter 7: these tasks share colors and need more than one core.
    #[error("equation 3: tasks {tasks:?} share colors and need {needs} of {has} millionths of a core")]
    Utilization {
        /// The group.
        tasks: Vec<usize>,
        /// Its utilisation in millionths, rounded up.
        needs: u64,
        /// The capacity of a core in millionths, rounded down.
        has: u64,
    },
    /// Equation 4 of chapter 7, equation 3 of chapter 8: the tasks that use this color need more of it than
    /// there is.
    #[error("equation 4: the tasks that use color {color} need {needed} bytes of a partition of {size}")]
    Partition {
        /// The color.
        color: u16,
        /// What they need of it in bytes, rounded up.
        needed: u64,
        /// The size of one partition, rounded down.
        size: u64,
    },
    /// Chapter 8: a hard task shares colors.
    #[error("hard task {task} shares a color with task {with}")]
    HardShares {
        /// The hard task.
        task: usize,
        /// The other.
        with: usize,
    },
    /// Equation 4 of chapter 8: the hard tasks take more than their part.
    #[error("equation 4 of chapter 8: the hard tasks need {needs} of {has} millionths of a core")]
    HardUtilization {
        /// Their utilisation in millionths, rounded up.
        needs: u64,
        /// What they may have in millionths, rounded down.
        has: u64,
    },
    /// No core has room for these tasks.
    #[error("tasks {tasks:?} of {needs} millionths find no core with room: {loads:?} of {has}")]
    NoRoom {
        /// The group, or what is left of it.
        tasks: Vec<usize>,
        /// Its utilisation in millionths, rounded up.
        needs: u64,
        /// The capacity of a core in millionths, rounded down.
        has: u64,
        /// What each core held when it was tried, in millionths, rounded up.
        loads: Vec<u64>,
    },
}
