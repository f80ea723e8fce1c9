//! Schedulability tests, overhead accounting, partitioning; exact integer arithmetic.
//!
//! Every test is a pure function of a [`TaskSet`] and a [`Effort`] and answers with a [`TestAnswer`]; see
//! [`catalogue`] for the list.
#![forbid(unsafe_code)]

pub mod assign_lines;
pub mod catalogue;
pub mod color;
pub mod effort;
pub mod explain;
pub mod global;
pub mod jsonl;
pub mod necessary;
pub mod overhead;
pub mod pack;
pub mod peer;
pub mod system;
pub mod task;
pub mod uni;
pub mod verdict;
pub mod wcet;

mod demand;
mod exact;
mod line;

pub use effort::Effort;
pub use task::{Field, SetError, Task, TaskSet, Ticks};
pub use verdict::{Infeasible, Reason, TestAnswer};
