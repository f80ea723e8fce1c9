//! Linux's own costs: what a process can see of its switches, wake-ups, ticks and interprocessor interrupts.
//!
//! Every number here contains a system call or an interrupt and, on a guest, what the hypervisor does with it. The
//! kernel's own paths beside them contain neither: that is the difference between a library and a kernel with a
//! border, not between two schedulers (thesis 5.4 says the same of EPOS). The least system call is measured too.

mod calls;
mod switches;
mod ticks;
mod wakeups;

pub(crate) use calls::null_call;
pub use switches::FutexRing;
pub(crate) use switches::{futex_ring, pipe_ring, yield_ring};
pub(crate) use ticks::broadcast;
pub use ticks::ticks;
pub(crate) use wakeups::timer_files;
pub use wakeups::{Class, Target, across, sleeps, wake_ups};
