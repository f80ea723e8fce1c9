//! Counters over time.
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

mod attached;
mod machine;
mod recorder;
mod session;
mod subject;

pub use machine::Modules;
pub use recorder::real;

use crate::files::Files;
use crate::follow::Ended;
use crate::resolve::ResolveError;
use crate::rights::Rights;
use solo_model::Duration;
use solo_observe::{Columns, Doubts, EventSet, Filter, Metric, Row};
use std::ffi::OsString;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The shortest sampling period.
pub const PERIOD_MIN: Duration = Duration::from_millis(1);

/// What rows are about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Per {
    /// Each thread by itself. A program is followed through clone, fork and exec.
    Thread,
    /// The process and all that comes out of it, as one. The program is not touched.
    Process,
    /// Each CPU, whoever runs there.
    Core,
}

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

/// What to count and how often.
#[derive(Clone, Debug)]
pub struct Options {
    /// Event sets, one after the other in force for a period each.
    pub sets: Vec<EventSet>,
    /// Metrics over the columns.
    pub metrics: Vec<Metric>,
    /// What rows are about.
    pub per: Per,
    /// The sampling period, 1 ms or more; `None` for rows on overflow and exit only.
    pub every: Option<Duration>,
    /// Stop after this many rows.
    pub rows_max: Option<u64>,
    /// Stop after this time.
    pub time_max: Option<Duration>,
    /// The processor's modes to count where an event says nothing.
    pub filter: Filter,
    /// CPUs to keep a started program on.
    pub cpus: Option<Vec<usize>>,
    /// This process becomes the parent of whatever the started program leaves behind, so that all of it can be ended
    /// with the watch. For a process that starts nothing else.
    pub adopt: bool,
    /// What becomes of this thread's capabilities.
    pub rights: Rights,
}

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
    fn tick(&mut self, doubts: &Doubts) -> io::Result<()> {
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
pub struct Outcome {
    /// What the rows' values mean.
    pub columns: Columns,
    /// One sum for each counted column.
    pub totals: Vec<Total>,
    /// What to hold against them.
    pub doubts: Doubts,
    /// How long it took.
    pub elapsed: Duration,
    /// Why it ended.
    pub reason: Reason,
    /// How the program ended, where one was started and its end was seen.
    pub program: Option<Ended>,
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
    #[error("event `{event}`: {source}")]
    Resolve {
        /// Its name.
        event: String,
        /// Why.
        source: ResolveError,
    },
    /// An event that the kernel would not count.
    #[error("event `{event}`: {why}")]
    Refused {
        /// Its name.
        event: String,
        /// What the kernel said, what it means and what mends it.
        why: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// The program can't be executed.
    #[error("cannot execute `{program}`: {source}")]
    Execute {
        /// The program.
        program: String,
        /// What the system says.
        source: io::Error,
    },
    /// The process is not there or not ours.
    #[error("cannot watch process {process}: {source}")]
    Process {
        /// The process.
        process: u32,
        /// What the system says.
        source: io::Error,
    },
    /// The system refused something else.
    #[error("cannot {what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the system says.
        source: io::Error,
    },
}

/// Watches `target` until it ends, a limit is reached or `stop` is set. Rows go to `sink`.
///
/// # Errors
/// Nothing could be watched. What goes wrong later is in the outcome.
pub fn watch(
    target: &Target,
    options: &Options,
    modules: Modules,
    files: &dyn Files,
    stop: &Arc<AtomicBool>,
    sink: &mut dyn Sink,
) -> Result<Outcome, WatchError> {
    check(target, options)?;
    check_cpus(options, files)?;
    crate::sys::raise_file_limit();
    session::Session::new(options, modules, files, sink)?.run(target, stop)
}

fn check(target: &Target, options: &Options) -> Result<(), WatchError> {
    let sampled = options.sets.iter().any(|set| set.sampled().is_some());
    let wrong = |text: String| Err(WatchError::Options(text));
    if options.sets.is_empty() || options.sets.iter().any(|set| set.events.is_empty()) {
        return wrong("expected at least one event in each set".into());
    }
    if let Some(set) = options.sets.iter().find(|set| set.events.len() > 48) {
        return wrong(format!("a set has 48 events at most, found {}", set.events.len()));
    }
    match options.every {
        Some(period) if period < PERIOD_MIN => {
            return wrong(format!("the sampling period is 1 ms or more, found {period}"));
        }
        None if !sampled => return wrong("without a sampling period an event needs :ebs=N".into()),
        None if options.sets.len() > 1 => {
            return wrong("several event sets take turns at each tick: name a sampling period".into());
        }
        _ => {}
    }
    if sampled && options.per == Per::Process {
        return wrong(
            "event-based sampling is per thread or per core: the kernel keeps no samples of inherited events"
                .into(),
        );
    }
    if *target == Target::Machine && options.per == Per::Process {
        return wrong("the whole machine is watched per core or per thread".into());
    }
    if *target == Target::Machine && options.per == Per::Thread && options.every.is_none() {
        return wrong("threads of the machine are looked for at each tick: name a sampling period".into());
    }
    if matches!(target, Target::Process(_)) && options.per == Per::Core {
        return wrong("a process is watched per thread or as a whole; whole cores belong to nobody".into());
    }
    Ok(())
}

/// A program is kept on the CPUs that were named or refused.
fn check_cpus(options: &Options, files: &dyn Files) -> Result<(), WatchError> {
    let Some(cpus) = &options.cpus else { return Ok(()) };
    let online = attached::online(files);
    let is_online = |cpu: usize| u16::try_from(cpu).is_ok_and(|cpu| online.contains(&cpu));
    match cpus.iter().find(|cpu| !is_online(**cpu)) {
        None if cpus.is_empty() => Err(WatchError::Options("expected at least one CPU".into())),
        None => Ok(()),
        Some(cpu) => {
            let list = files.text("/sys/devices/system/cpu/online").unwrap_or_else(|| "0".into());
            Err(WatchError::Options(format!("CPU {cpu} is not there; online are {list}")))
        }
    }
}
