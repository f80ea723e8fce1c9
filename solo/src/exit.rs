//! Exit codes, and failures that know theirs.

use crate::cli::Input;
use solo_lab::program::ProgramError;
use solo_lab::{LabError, Named};
use solo_model::text::Printable;
use solo_scenario::{Code, OtherKind};
use solo_sim::SimError;
use solo_store::StoreError;
use solo_study::StudyError;
use solo_trace::RecordError;
use std::io::ErrorKind;
use std::path::PathBuf;

/// How a command ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exit {
    /// Every deadline and bound held.
    Held,
    /// A deadline or bound did not hold.
    NotHeld,
    /// The input is wrong, or the output can't be written.
    BadInput,
    /// This machine can't do it.
    Cannot,
    /// Ctrl-C.
    Interrupted,
    /// As the program that was watched.
    Program(u8),
}

impl Exit {
    /// The number that the shell sees.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Held => 0,
            Self::NotHeld => 1,
            Self::BadInput => 2,
            Self::Cannot => 3,
            Self::Interrupted => 130,
            Self::Program(status) => status,
        }
    }

    /// The status of a watched program, passed on.
    pub(crate) const fn of_program(status: u8) -> Self {
        Self::Program(status)
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Why a command could not do its work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The scenario or a file it names is wrong; the report points at the place.
    #[error("the scenario is wrong")]
    Scenario(Box<solo_scenario::Diagnostics>),
    /// An experiment or a campaign came to nothing.
    #[error("{0}")]
    Lab(LabError),
    /// A file of another kind than the command reads.
    #[error("{0}")]
    Other(OtherKind),
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
    #[error("cannot {action} {}: {}", Printable(path.display()), solo_store::system_reason(source))]
    File {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A table can't be exported.
    #[error("{}: {error}", Printable(path.display()))]
    Export {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: solo_report::export::ExportError,
    },
    /// This program was built without the writer of a format.
    #[error("{0}")]
    NotBuilt(#[from] solo_report::export::ExportError),
    /// This solo is not where it can do this; the sentence says what can.
    #[error("{0}")]
    NotHere(String),
    /// An output folder that holds something already.
    #[error("{} already holds something; choose another folder with --out, or overwrite it with --force", Printable(.0.display()))]
    Occupied(PathBuf),
    /// An output folder that holds something else than what a command left there.
    #[error(
        "{} holds `{}`, which solo did not write there, and --force replaces only what solo wrote; \
         choose another folder with --out", Printable(path.display()), Printable(found)
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
    /// A watch came to nothing.
    #[error("{message}")]
    Watch {
        /// Whose fault it is.
        exit: Exit,
        /// What is wrong, in the words of the watch, which may have run on another machine.
        message: String,
    },
    /// A guard does not act.
    #[error("{message}")]
    Guard {
        /// Whose fault it is.
        exit: Exit,
        /// What is wrong, in the words of the guard.
        message: String,
    },
    /// libpfm4 can't be used.
    #[error("{0}")]
    Pfm(#[from] solo_perf::pfm::PfmError),
    /// Lines can't be read from standard input or written to standard output.
    #[error("{}", solo_store::system_reason(.0))]
    Lines(std::io::Error),
    /// Ctrl-C.
    #[error("interrupted")]
    Interrupted,
    /// Standard output was closed: whoever read it has seen enough.
    #[error("standard output: {}", solo_store::system_reason(.0))]
    Output(std::io::Error),
    /// Results can't be written as JSON.
    #[error("cannot write JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A word of the command line that is none of the known ones.
    #[error("{what} `{}` does not exist; known: {}", Printable(found), known.join(", "))]
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
    /// A watch came to nothing.
    pub(crate) fn watch((exit, message): (Exit, String)) -> Self {
        Self::Watch { exit, message }
    }

    /// Where an input is a file of another kind than the command reads, that: all else that is wrong with it follows from it.
    pub(crate) fn or_other_kind(self, inputs: &[Input]) -> Self {
        let is_told = |report: &solo_scenario::Diagnostics| {
            report.problems().iter().any(|problem| problem.code() == Code::OtherKind)
        };
        match &self {
            Self::Scenario(report) if is_told(report) => self,
            _ if self.exit() != Exit::BadInput => self,
            _ => {
                inputs.iter().find_map(|(path, wanted)| OtherKind::at(path, wanted)).map_or(self, Self::Other)
            }
        }
    }

    /// The exit code.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Interrupted | Self::Study(StudyError::Interrupted) => Exit::Interrupted,
            Self::Record(RecordError::ValgrindMissing) => Exit::Cannot,
            Self::NotBuilt(_) | Self::NotHere(_) => Exit::Cannot,
            Self::Lab(LabError::Interrupted) => Exit::Interrupted,
            Self::Watch { exit, .. } | Self::Guard { exit, .. } => *exit,
            Self::Pfm(_) => Exit::Cannot,
            // Whoever reads has seen enough.
            Self::Lines(error) if error.kind() == ErrorKind::BrokenPipe => Exit::Held,
            Self::Lab(LabError::Program(ProgramError::NoCargo | ProgramError::Lacks(_))) => Exit::Cannot,
            Self::Lab(
                LabError::Metal(_)
                | LabError::Threads(_)
                | LabError::Scheduler { .. }
                | LabError::Lacks { .. },
            ) => Exit::Cannot,
            Self::Lab(LabError::Simulation(Named { error: SimError::Lacks(_), .. })) => Exit::Cannot,
            Self::ReplayDiffers { .. } => Exit::NotHeld,
            _ => Exit::BadInput,
        }
    }
}
