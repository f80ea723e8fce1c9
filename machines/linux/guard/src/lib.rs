//! Settings of a live Linux changed and put back: whatever ends the guard, nothing stays as it set it.
//!
//! ```text
//!   Guard::change ─▶ journal, on disk ─▶ Actuator ─▶ the kernel's files
//!                     Guard::undo, or the next start ◀─┘
//! ```
//!
//! * [`Setting`]: what a guard may change; nothing else has a name here, so that no journal can make it write elsewhere
//! * [`Actuator`]: looks at settings and sets them, on [this machine](Machine) or on a made-up one
//! * [`Guard`]: writes each change into a journal first, and puts back what is found in one
//! * [`occupier`]: budgets of events per CPU, held by threads that take the CPU away
//! * [`groups`]: budgets of events per cgroup, held by freezing it
//! * [`limits`]: limits of memory bandwidth per CPU, held by the processor
//!
//! A guard puts back only what still says what the guard wrote. What somebody else has changed since is theirs: it is left
//! alone and named.
#![forbid(unsafe_code)]

mod actuator;
mod affinity;
mod cache;
mod claim;
mod error;
mod folder;
pub mod groups;
mod guard;
mod journal;
pub mod limits;
pub mod occupier;
mod restored;
mod says;
mod seen;
mod setting;
mod throttle;

pub use actuator::{Actuator, Machine};
pub use error::GuardError;
pub use guard::{Guard, restore, restore_and};
pub use journal::JOURNAL;
pub use restored::{Fate, Restored};
pub use seen::{Identity, Seen};
pub use setting::{Group, Knob, NotAGroup, Setting};
