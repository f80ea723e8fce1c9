//! Budgets of events held from user space: each regulated CPU has a thread that takes it away from everybody else while its
//! budget is used up.
//!
//! ```text
//!   counter of the CPU ──rings──▶ occupier (SCHED_FIFO, on that CPU) ──▶ Enforcer ──▶ Stop: computes until the period is over
//!                                   ▲                                       │         Go, Arm: waits for the counter again
//!                                   └───────────── period, call ────────────┘
//! ```
//!
//! No module, no patch, no eBPF. The price: a stopped core is busy, at a priority that everything but real-time threads above
//! it waits for; and Linux takes a core back from real-time threads for a part of each second where its fair server says so.
//! What leaks through then is counted ([`CoreTally::leaked`]). Where a scheduler offers a [`Gate`] to each CPU, the occupier closes it
//! and sleeps instead: nothing of this price is paid then.
//!
//! An occupier that would not let go (a fault of ours) is ended by the kernel, with its process: see [`Watchdog`].
//!
//! The decisions are those of [`Enforcer`](solo_isolate::Enforcer), fed by events from outside the kernel. All that it was told
//! is told to a second one, and answers that differ are counted ([`Replayed`]).

mod budgets;
mod decider;
mod error;
mod gate;
mod histogram;
mod session;
mod tally;
mod thread;
mod watchdog;

pub(crate) use decider::{Decider, Replayer};
pub(crate) use session::{AHEAD, EACH, SOON};
pub(crate) use thread::{PRIORITY, SOMEBODY, Shared};

pub use budgets::Budgets;
pub use decider::Replayed;
pub use error::{BudgetRefusal, OccupierError};
pub use gate::Gate;
pub use histogram::Histogram;
pub use session::{Held, Live, hold};
pub use tally::{CoreTally, Progress};
pub use watchdog::Watchdog;
