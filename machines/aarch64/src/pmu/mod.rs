//! The counters of PMUv3 (Arm Architecture Reference Manual, D13; thesis 4.1.2; hpc-invalidations, section 3).
//!
//! * [`registers`]: the one way to all registers; a model of them stands behind it in tests
//! * [`diluted`]: what programming and reading come to when counter and event are known
//! * [`unit`]: the counters of a core, as the kernel's mediator wants them
//!
//! Numbers of events: `solo_observe::catalog`.

pub mod diluted;
pub mod registers;
pub mod unit;

pub use unit::{Description, SOFTWARE, Unit};
