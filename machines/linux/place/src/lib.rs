//! Policies that listen on a live Linux (tier B): the very value that the kernel of the simulated machine runs, outside the kernel,
//! fed by counters of programs, and acting by affinity, the freezer and weights of cgroups, and groups of resctrl.
//!
//! ```text
//!   perf, /proc ──▶ Source ──▶ Observation ──▶ Agent (monitors, board, placement) ──▶ Decisions ──▶ Hands ──▶ Guard ──▶ Linux
//!                                  │                                                     │            journal, undo
//!                                  └───────────────── Record ◀───────────────────────────┘
//!                                                       └──▶ replay: a second agent is told the same, answers are compared
//! ```
//!
//! * [`Agent`]: a value like the policies; what it is told is all that it knows
//! * [`Observation`]: what was seen of cores and tasks in a period, by the counters of this machine or by a test
//! * [`Hands`]: carries decisions out; every change is in the journal of a [`Guard`](solo_guard::Guard) before it is made
//! * [`record`]: observations and decisions as lines, told again offline
//! * [`place`]: all of them together, until it is told to end
//! * [`host`]: cores and caches of this machine as a platform
#![forbid(unsafe_code)]

mod agent;
mod caches;
mod counters;
mod division;
mod error;
mod hands;
pub mod host;
mod observation;
mod program;
pub mod record;
mod session;
mod view;

pub use agent::{Agent, Decision, PlacedTask, Placing};
pub use caches::check as check_caches;
pub use division::Division;
pub use error::PlaceError;
pub use hands::{Hands, Outcome, TaskTally};
pub use observation::{CoreSeen, Life, Observation, TaskSeen, Where};
pub use program::Subject;
pub use session::{Ended, Options, Placement, Told, place};
