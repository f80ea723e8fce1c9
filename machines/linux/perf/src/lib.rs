//! Performance counters of stock Linux: an event becomes what `perf_event_open` wants, a group of them is opened and read.
//!
//! * [`files`]: sysfs, procfs and their like, real or made up
//! * [`cpus`]: which CPUs there are
//! * [`resolve`]: from events to what `perf_event_open` wants, by the kernel's own descriptions
//! * [`pfm`]: libpfm4's names, where it is installed
//! * [`group`]: events that are on the counters at the same time
//! * [`alarm`]: an event of a CPU that rings after so many more
//! * [`mnemonics`]: event strings of PMCTrack, with names and raw, for processor models
//! * [`region`]: counters around parts of a program, placed by the program itself
//!
//! `unsafe` stands in `sys` alone. Nothing here writes to the system.

pub mod alarm;
pub mod cpus;
pub mod files;
pub mod group;
pub mod mnemonics;
pub mod pfm;
pub mod region;
pub mod resolve;
pub mod switches;
mod sys;

pub use files::{Fake, Files, Host};
pub use sys::{asleep, now, raise_file_limit};
