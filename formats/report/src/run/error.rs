//! What can go wrong with a run directory.

use solo_model::text::Printable;
use solo_store::system_reason;
use std::io;
use std::path::{Path, PathBuf};

/// Why a run directory could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The operating system refused.
    #[error("cannot {operation} {}: {}", Printable(path.display()), system_reason(source))]
    Io {
        /// What was tried, as a verb.
        operation: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The answer.
        source: io::Error,
    },
    /// A file can't be written or read.
    #[error("{0}")]
    Store(#[from] solo_store::StoreError),
    /// The folder holds something already.
    #[error("{} already holds something; choose another folder or remove it", Printable(path.display()))]
    Occupied {
        /// The folder.
        path: PathBuf,
    },
    /// There is no such folder.
    #[error("{} does not exist", Printable(path.display()))]
    Missing {
        /// The folder.
        path: PathBuf,
    },
    /// The folder holds something else than a run.
    #[error("{} is not a run directory: {what}", Printable(path.display()))]
    NotARun {
        /// The folder.
        path: PathBuf,
        /// What it is instead.
        what: Instead,
    },
    /// The run was interrupted, or the disk was full, before it was complete.
    #[error("the run in {} is incomplete: it was interrupted before its end; run it again", Printable(path.display()))]
    Incomplete {
        /// The folder.
        path: PathBuf,
    },
    /// The directory was written by a version whose format this one does not know.
    #[error(
        "the run in {} has format {found}; this version reads format {known}: {}",
        Printable(path.display()),
        if found < known { "run the scenario in it again" } else { "a newer version wrote it" }
    )]
    Schema {
        /// The folder.
        path: PathBuf,
        /// The format of the directory.
        found: u32,
        /// The format this version writes and reads.
        known: u32,
    },
    /// A file is not what its run wrote.
    #[error("{} is damaged: {what}", Printable(path.display()))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        what: Damage,
    },
}

/// What a folder without a run is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Instead {
    /// Nothing of Solocore's.
    Unknown,
    /// A comparison that was stopped before its end.
    StoppedComparison,
    /// A recording of a watch.
    Recording,
    /// A study.
    Study,
    /// Something that was measured.
    Measurement,
    /// Figures.
    Figures,
}

impl std::fmt::Display for Instead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Unknown => "it has no manifest.json",
            Self::StoppedComparison => {
                "it holds a comparison that is incomplete; run it again, or name one of the runs in it"
            }
            Self::Recording => "it holds a recording of `solo watch`; see it with `solo top --recording`",
            Self::Study => "it holds a study; its page is report.html",
            Self::Measurement => "it holds something that was measured; its page is report.html",
            Self::Figures => "it holds figures of `solo plot`",
        })
    }
}

/// How a file differs from what its run wrote.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Damage {
    /// It does not begin like a record file.
    #[error("it does not begin like a record file")]
    Magic,
    /// It is a record file of another format.
    #[error("it holds records of format {found}; this version reads format {known}")]
    Version {
        /// The format of the file.
        found: u8,
        /// The format that this version reads.
        known: u8,
    },
    /// A record counts an event that the run's experiment does not define.
    #[error("the frame at byte {offset} counts an event that experiment.json does not define")]
    Stranger {
        /// Where the frame begins.
        offset: u64,
    },
    /// The experiment names an event by a number that its table does not have.
    #[error("it names the {event}, which its table of events does not have")]
    UnknownEvent {
        /// The event.
        event: solo_model::EventId,
    },
    /// It ends in the middle of a frame.
    #[error("it ends early, in the frame at byte {offset}")]
    Truncated {
        /// Where the frame begins.
        offset: u64,
    },
    /// It goes on after its end.
    #[error("it goes on after its end, at byte {offset}")]
    Trailing {
        /// Where the end was.
        offset: u64,
    },
    /// A frame's checksum differs.
    #[error("the checksum of the frame at byte {offset} differs")]
    Checksum {
        /// Where the frame begins.
        offset: u64,
    },
    /// A frame's content is not a sequence of records.
    #[error("the frame at byte {offset} does not hold records")]
    Content {
        /// Where the frame begins.
        offset: u64,
    },
    /// The number of records differs from the one written down.
    #[error("it holds {found} records instead of {expected}")]
    Count {
        /// The number in the manifest.
        expected: u64,
        /// The number in the file.
        found: u64,
    },
    /// The BLAKE3 hash differs from the one written down.
    #[error("its hash is {found} instead of {expected}")]
    Hash {
        /// The hash in the manifest.
        expected: String,
        /// The hash of the content.
        found: String,
    },
    /// It names a folder that is not one of its own.
    #[error("`{}` is not the name of a folder", found.escape_default())]
    Folder {
        /// The name.
        found: String,
    },
    /// No machine can work with a number of it.
    #[error("{0}")]
    Experiment(solo_model::check::Implausible),
    /// It names no run.
    #[error("it names no run")]
    Empty,
    /// It is not the JSON that it should be.
    #[error("{0}")]
    Json(serde_json::Error),
}

impl RunError {
    pub(crate) fn io(operation: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { operation, path: path.to_owned(), source }
    }
    pub(crate) fn damaged(path: &Path, what: Damage) -> Self {
        Self::Damaged { path: path.to_owned(), what }
    }
}
