//! Stock Linux observed: no kernel module, no patched kernel.
//!
//! * [`files`]: sysfs, procfs and their like, real or made up
//! * [`resolve`]: from events to what `perf_event_open` wants, by the kernel's own descriptions
//! * [`pfm`]: libpfm4's names, where it is installed
//! * [`group`]: events that are on the counters at the same time
//! * [`follow`]: a program and every thread that comes out of it
//! * [`rights`]: capabilities that are given up once they have served
//! * [`region`]: counters around parts of a program, placed by the program itself
//! * [`watch`]: counters over time: ticks, overflows, rotation, limits
//! * [`doctor`]: what this machine can do, and the least that mends the rest
//! * [`modules`]: monitoring modules for what Linux tells in files
//!
//! `unsafe` stands in `sys` alone. Nothing here writes to the system.

pub mod doctor;
pub mod files;
pub mod follow;
pub mod group;
pub mod modules;
pub mod pfm;
pub mod region;
pub mod resolve;
pub mod rights;
mod sys;
mod tree;
pub mod watch;

pub use files::{Fake, Files, Host};
