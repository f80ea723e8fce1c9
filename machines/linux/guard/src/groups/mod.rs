//! Budgets of events for control groups: a group that has used up its budget is frozen until the period is over, on whatever CPUs its
//! tasks are.
//!
//! ```text
//!   counters of the group, one a CPU ──ring──▶ warden (SCHED_FIFO) ──▶ Enforcer ──▶ Stop: cgroup.freeze = 1
//!                                                ▲                        │         Go: cgroup.freeze = 0
//!                                                └──── period, call ──────┘
//! ```
//!
//! A group is to the enforcer what a CPU is under an [`occupier`](crate::occupier): sharing and reclaiming go between groups. What
//! is left of a budget is [divided](shares) among the counters of all CPUs, so that none rings too late.
//!
//! A frozen group outlives who froze it, so that each value is in the journal before the first period. Who wants it thawed at once, also after a
//! SIGKILL, has another process wait for the end of this one.

mod budgets;
mod error;
mod meter;
mod session;
mod shares;
mod warden;

pub use budgets::GroupBudgets;
pub use error::GroupError;
pub use session::{GroupsHeld, LiveGroups, hold};
pub use warden::GroupTally;
