//! Exit codes, and failures that know theirs.

use solo_lab::{LabError, Named};
use solo_model::text::Printable;
use solo_sim::SimError;
use solo_store::StoreError;
use solo_study::StudyError;
use solo_trace::RecordError;
use std::path::PathBuf;

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Exit {
    /// Every deadline and bound held.
    Held = 0,
    /// A deadline or bound did not hold.
    NotHeld = 1,
    /// The input is wrong, or the output can't be written.
    BadInput = 2,
    /// This machine can't do it.
    Cannot = 3,
    /// Ctrl-C.
    Interrupted = 130,
}

/// Why a command could not do its work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The scenario or a file it names is wrong; the report points at the place.
    #[error("the scenario is wrong")]
    Scenario(Box<solo_scenario::Report>),
    /// An experiment or a campaign came to nothing.
    #[error("{0}")]
    Lab(LabError),
    /// A run directory can't be written or read.
    #[error("{0}")]
    Run(#[from] solo_report::RunError),
    /// A trace can't be read or recorded.
    #[error("{0}")]
    Trace(#[from] solo_trace::TraceError),
    /// A program could not be recorded.
    #[error("{0}")]
    Record(#[from] RecordError),
    /// A study can't be read, run or merged.
    #[error("{0}")]
    Study(#[from] StudyError),
    /// Words of the command line that don't go together.
    #[error("{0}")]
    Usage(String),
    /// A file can't be written or read.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A table can't be exported.
    #[error("{}: {error}", path.display())]
    Export {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: solo_report::export::ExportError,
    },
    /// This program was built without the writer of a format.
    #[error("{0}")]
    NotBuilt(#[from] solo_report::export::ExportError),
    /// An output folder that holds something already.
    #[error("{} already holds something; choose another folder with --out, or overwrite it with --force", .0.display())]
    Occupied(PathBuf),
    /// An output folder that holds something else than what a command left there.
    #[error(
        "{} holds `{}`, which solo did not write there, and --force replaces only what solo wrote; \
         choose another folder with --out", path.display(), Printable(found)
    )]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// The first such thing.
        found: String,
    },
    /// A file or folder can't be written or read.
    #[error("{0}")]
    Store(StoreError),
    /// A replayed run did not give the recorded records.
    #[error("the replay differs: recorded {expected}, replayed {found}")]
    ReplayDiffers {
        /// The recorded hash.
        expected: String,
        /// The hash of the replay.
        found: String,
    },
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
    /// Standard output was closed: whoever read it has seen enough.
    #[error("standard output: {0}")]
    Output(std::io::Error),
    /// Results can't be written as JSON.
    #[error("cannot write JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A word of the command line that is none of the known ones.
    #[error("{what} `{found}` does not exist; known: {}", known.join(", "))]
    Unknown {
        /// What kind of word.
        what: &'static str,
        /// The word.
        found: String,
        /// What there is.
        known: Vec<String>,
    },
}

/// A platform's problems are drawn like a scenario's.
impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        match error {
            LabError::Platform(report) => Self::Scenario(report),
            LabError::Store(error) => error.into(),
            other => Self::Lab(other),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Occupied { path } => Self::Occupied(path),
            StoreError::Foreign { path, found } => Self::Foreign { path, found },
            other => Self::Store(other),
        }
    }
}

impl Failure {
    /// The exit code.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Interrupted | Self::Study(StudyError::Interrupted) => Exit::Interrupted,
            Self::Record(RecordError::ValgrindMissing) => Exit::Cannot,
            Self::NotBuilt(_) => Exit::Cannot,
            Self::Lab(LabError::Interrupted) => Exit::Interrupted,
            Self::Lab(LabError::Metal(_) | LabError::Lacks { .. }) => Exit::Cannot,
            Self::Lab(LabError::Simulation(Named { error: SimError::Isolation(refusal), .. }))
                if refusal.is_the_machines() =>
            {
                Exit::Cannot
            }
            Self::ReplayDiffers { .. } => Exit::NotHeld,
            _ => Exit::BadInput,
        }
    }

    /// Writes the message to standard error.
    pub(crate) fn print(&self) {
        match self {
            Self::Scenario(report) => eprint!("{}", crate::output::diagnostics(report)),
            Self::Output(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
            other => eprintln!("error: {other}"),
        }
    }
}
