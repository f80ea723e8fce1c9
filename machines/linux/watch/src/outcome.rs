//! Where the rows of a watch go, what it came to, and why there was nothing to watch.

use crate::follow::{Ended, Used};
use crate::row::{Columns, Row, WatchDoubts};
use solo_model::Duration;
use solo_model::text::{Printable, Unnumbered};
use solo_perf::resolve::ResolveError;
use std::io;

/// Where rows go.
pub trait Sink {
    /// Told once, before the first row.
    ///
    /// # Errors
    /// When the output refuses.
    fn begin(&mut self, columns: &Columns) -> io::Result<()>;

    /// Takes a row.
    ///
    /// # Errors
    /// When the output refuses; the watch ends.
    fn row(&mut self, row: &Row) -> io::Result<()>;

    /// Told at every tick after its rows, with the doubts so far; a place to flush.
    ///
    /// # Errors
    /// When the output refuses; the watch ends.
    fn tick(&mut self, doubts: &WatchDoubts) -> io::Result<()> {
        let _ = doubts;
        Ok(())
    }
}

/// Why a watch ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// The program or process ended.
    Ended,
    /// Enough rows.
    Rows,
    /// A thread has given enough samples.
    Samples,
    /// Enough time.
    Time,
    /// The user asked.
    Interrupted,
    /// The output refused.
    Output,
}

/// The sum of a column over all subjects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Total {
    /// The column.
    pub name: String,
    /// The sum; `None` where nothing could be counted.
    pub count: Option<u64>,
    /// Nanoseconds of all subjects together in which the event was wanted.
    pub enabled: u64,
    /// Nanoseconds of those in which it was counted.
    pub running: u64,
}

/// What a watch came to.
#[derive(Debug)]
pub struct WatchOutcome {
    /// What the rows' values mean.
    pub columns: Columns,
    /// One sum for each counted column.
    pub totals: Vec<Total>,
    /// What to hold against them.
    pub doubts: WatchDoubts,
    /// How long it took.
    pub elapsed: Duration,
    /// Why it ended.
    pub reason: Reason,
    /// How the program ended, where one was started and its end was seen.
    pub program: Option<Ended>,
    /// What the program has used of CPUs, with all of it that was waited for.
    pub used: Option<Used>,
    /// Context switches that following the program's threads cost them.
    pub stops: u64,
    /// What else the user should know, in sentences.
    pub notes: Vec<String>,
    /// What the output said when it refused.
    pub output_error: Option<io::Error>,
}

/// Why there is nothing to watch.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// An option that makes no sense.
    #[error("{0}")]
    Options(String),
    /// An event that this machine does not describe.
    #[error("event `{}`: {source}", Printable(event))]
    Resolve {
        /// Its name.
        event: String,
        /// Why.
        source: ResolveError,
    },
    /// An event that the kernel would not count.
    #[error("event `{}`: {why}", Printable(event))]
    Refused {
        /// Its name.
        event: String,
        /// What the kernel said, what it means and what mends it.
        why: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// The program can't be executed.
    #[error("cannot execute `{}`: {}", Printable(program), Unnumbered(source))]
    Execute {
        /// The program.
        program: String,
        /// What the system says.
        source: io::Error,
    },
    /// The process is not there or not ours.
    #[error("cannot watch process {process}: {}", Unnumbered(source))]
    Process {
        /// The process.
        process: u32,
        /// What the system says.
        source: io::Error,
    },
    /// The system refused something else.
    #[error("cannot {what}: {}", Unnumbered(source))]
    System {
        /// What was tried.
        what: &'static str,
        /// What the system says.
        source: io::Error,
    },
}
