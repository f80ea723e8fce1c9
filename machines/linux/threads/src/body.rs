//! What a program's thread does in place of steps, and how it ended before its run did.

use solo_model::{Instant, TaskId};

/// What a thread of a program does, once.
pub type Body = Box<dyn FnOnce() + Send>;

/// A thread of a program that ended before its run did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ended {
    /// When.
    pub at: Instant,
    /// Whose.
    pub task: TaskId,
    /// What it said, with its place in the program where it panicked.
    pub why: String,
}
