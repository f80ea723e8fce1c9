//! Whom a watch is about.

use std::ffi::OsString;

/// Whom to watch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Target {
    /// A program, from its first instruction to its end.
    Command(Vec<OsString>),
    /// A process that runs already.
    Process(u32),
    /// Whatever runs, until told to stop.
    Machine,
}
