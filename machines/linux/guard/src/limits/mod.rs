//! Limits of memory bandwidth that the processor holds (Intel MBA), by groups of resctrl that is mounted with `mba_MBps`.
//!
//! ```text
//!   Plan::of ─▶ a group for each CPU: made, given `MB:0=800;1=800`, given the CPU ─▶ the kernel's controller
//!   Watch    ◀─ mbm_total_bytes of the group, once a second                            once a second: what was counted ─▶ delays
//! ```
//!
//! Nobody is stopped and no policy of this house decides: a delay between a core and memory makes all that runs there slower, and the
//! kernel moves it up and down by what it has counted. So a limit is exceeded for seconds after a load has changed, and there is no
//! decision to tell again.
//!
//! All is changed by a [`Guard`](crate::Guard): what a guard that was killed has left is put back like everything else.

mod budgets;
mod error;
mod meter;
mod plan;
mod resctrl;
mod session;

pub use budgets::limits_of;
pub use error::{LimitDoubt, LimitError};
pub use meter::{LimitProgress, LimitTally, Watch};
pub use plan::{Limit, Plan};
pub use resctrl::Resctrl;
pub use session::set;
