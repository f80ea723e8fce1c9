//! Stock Linux watched over time: rows of counters of a program, a process or the whole machine, without a kernel module.
//!
//! ```text
//!  target ──▶ subjects (threads, a process, CPUs), each with the groups of every event set
//!                │ tick: read the set in force, give a row a subject, put the next set in force
//!                │ overflow: take samples from the ring, give a row a sample
//!                │ exit: last reading, last row
//!                ▼
//!             rows ──▶ sink        totals and doubts ──▶ outcome
//! ```
//!
//! A thread that did not run gives no row; its next row covers the time. Counts are never scaled: what was
//! counted a part of the time only is said so in the doubts.
//!
//! * [`follow`]: a program and every thread that comes out of it
//! * [`rights`]: capabilities that are given up once they have served
//! * [`modules`]: monitoring modules for what Linux tells in files
//!
//! `unsafe` stands in `process` alone. Nothing here changes the system.

mod attached;
pub mod follow;
pub mod limits;
mod machine;
pub mod modules;
mod options;
mod outcome;
mod process;
mod recorder;
pub mod rights;
pub mod row;
mod session;
mod subject;
mod target;
mod tree;

pub use follow::Used;
pub use machine::{Maker, Modules};
pub use options::{Per, WatchOptions};
pub use outcome::{Reason, Sink, Total, WatchError, WatchOutcome};
pub use recorder::real;
pub use row::{Columns, Row, RowKind, WatchDoubts};
pub use target::Target;

use solo_perf::files::Files;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Watches `target` until it ends, a limit is reached or `stop` is set. Rows go to `sink`.
///
/// # Errors
/// Nothing could be watched. What goes wrong later is in the outcome.
pub fn watch(
    target: &Target,
    options: &WatchOptions,
    modules: Modules,
    files: &dyn Files,
    stop: &Arc<AtomicBool>,
    sink: &mut dyn Sink,
) -> Result<WatchOutcome, WatchError> {
    options::check(target, options)?;
    options::check_cpus(options, files)?;
    solo_perf::raise_file_limit();
    session::Session::new(options, modules, files, sink)?.run(target, stop)
}
