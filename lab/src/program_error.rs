//! What can keep a user's program from running.

use solo_model::Instant;
use solo_model::text::Printable;
use solo_qemu::Refusal;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time;

/// Why a program did not run to its end.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// The folder holds no package.
    #[error(
        "{} has no Cargo.toml: a program is the folder of a Cargo package that stands on solo-app; `solo new NAME` makes one",
        Printable(.0.display())
    )]
    NoPackage(PathBuf),
    /// Cargo is not there.
    #[error(
        "cargo is not installed, which builds programs; on Debian: apt-get install rustup; rustup default stable"
    )]
    NoCargo,
    /// Cargo could not be run.
    #[error("cargo cannot be run: {0}")]
    Cargo(String),
    /// It doesn't compile.
    #[error("the program does not build:\n{0}")]
    Build(String),
    /// The package has no program, or several.
    #[error(
        "{}: expected a package with one program, found {found}; it lies in src/main.rs", Printable(folder.display())
    )]
    Programs {
        /// The package.
        folder: PathBuf,
        /// How many programs Cargo built.
        found: usize,
    },
    /// The program refused what it declares itself.
    #[error("the program declares what can't be: {0}")]
    Declared(String),
    /// This machine can't run it.
    #[error("{0}")]
    Lacks(String),
    /// The process ended before its run.
    #[error("{}", ended(status, console))]
    Ended {
        /// How.
        status: ExitStatus,
        /// What it said.
        console: String,
    },
    /// It did not end in time.
    #[error(
        "the program had not ended after {limit:?} and was stopped: a thread that never calls wait_next() keeps a process from ending; what it said:\n{console}"
    )]
    TimeLimit {
        /// The limit.
        limit: time::Duration,
        /// What it had said.
        console: String,
    },
    /// It can't be simulated, for time does not pass in one of its threads.
    #[error("the simulated machine can't run thread `{}`: at {at} {why}", Printable(thread))]
    Timeless {
        /// The thread.
        thread: String,
        /// When, in simulated time.
        at: Instant,
        /// Why.
        why: Timeless,
    },
    /// Its process can't be talked to.
    #[error(
        "no socket can be opened for the program's process in {}: {reason}; TMPDIR names another folder",
        Printable(folder.display())
    )]
    Socket {
        /// The folder for temporary files.
        folder: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// What it reported is none.
    #[error("the program's report cannot be read: {0}; is it built with this solo's solo-app?")]
    Report(String),
}

/// Why simulated time does not pass in a thread: there it passes only where the program tells of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Timeless {
    /// A job ended that had not told what it costs.
    #[error(
        "its job ended without telling what it costs, and instructions are not seen there: call simulated_cost(us(..)) or compute(us(..)) in each job, in C solo_simulated_cost or solo_compute; 0 where it costs nothing"
    )]
    Untold,
    /// It looks at the clock for ever.
    #[error(
        "it looks at the clock again and again, and no time passes meanwhile: call pause() or compute(us(..)) in such a loop"
    )]
    Looks,
    /// It asks for ever.
    #[error(
        "it has asked the kernel {0} times, and no time has passed: call simulated_cost(us(..)) or compute(us(..)) in such a loop"
    )]
    Requests(u32),
    /// It asks for nothing.
    #[error(
        "it has run for {0:?} of this machine's time without asking for anything: a loop that waits for another thread calls pause() or compute(us(..)), and ends by wait_next()"
    )]
    Silent(time::Duration),
    /// It can't ask for anything any more.
    #[error(
        "its socket is closed, by which the simulated machine hears of it, and its process had not ended {0:?} later: a program closes no files that it has not opened"
    )]
    HungUp(time::Duration),
}

impl From<Refusal> for ProgramError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Declared(reason) => Self::Declared(reason),
            Refusal::Lacks(reason) => Self::Lacks(reason),
        }
    }
}

/// How a process ended that should not have.
fn ended(status: &ExitStatus, console: &str) -> String {
    let said = if console.is_empty() { String::new() } else { format!("; what it said:\n{console}") };
    match status.signal() {
        Some(signal) => format!(
            "the process was ended by signal {signal} (11: a wrong address, or a stack that ran over), which on Linux ends all of its threads; on --on rtos only the one that made the mistake{said}"
        ),
        None => format!("the program ended early, {status}{said}"),
    }
}
