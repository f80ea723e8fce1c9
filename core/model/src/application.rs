//! Applications: tasks that are the threads of one program (PMCTrack 4.1.3).
//!
//! All start together, and each begins anew as soon as it is done: its tasks are continuous. An application of several threads has
//! serial phases, in which the first thread works and the others wait, and parallel ones; what keeps its threads together are
//! semaphores that its tasks take and give.

use crate::id::TaskId;
use alloc::string::String;
use alloc::vec::Vec;

/// A program of one or more threads.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Application {
    /// The name in the scenario; unique.
    pub name: String,
    /// How much it counts against others, [`Application::WEIGHT`] for like all others; above zero.
    pub weight: u32,
    /// Its tasks; at least one, and none of another application. The first one's jobs are its runs: they end when all of it is done.
    pub threads: Vec<TaskId>,
}

impl Application {
    /// The weight of an application of which nothing is said.
    pub const WEIGHT: u32 = 100;
    /// The most that an application can weigh.
    pub const WEIGHT_MAX: u32 = 10_000;
}
