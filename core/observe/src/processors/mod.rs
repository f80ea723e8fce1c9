//! How processors count events: the codes that their manuals give.
//!
//! * [`x86`]: one table for each microarchitecture of Intel's and AMD's
//!
//! Arm's common events (PMUv3) have one number on every processor: they stand in [`catalog`](crate::catalog).

pub mod x86;

pub use x86::Microarchitecture;
