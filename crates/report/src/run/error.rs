//! What can go wrong with a run directory.

use std::io;
use std::path::{Path, PathBuf};

/// Why a run directory could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The operating system refused.
    #[error("cannot {operation} {}: {}", path.display(), describe(source))]
    Io {
        /// What was tried, as a verb.
        operation: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The answer.
        source: io::Error,
    },
    /// The folder holds a run already.
    #[error("{} holds a run already; choose another folder or remove it", path.display())]
    Occupied {
        /// The folder.
        path: PathBuf,
    },
    /// The folder has no manifest.
    #[error("{} is not a run directory: it has no manifest.json", path.display())]
    NotARun {
        /// The folder.
        path: PathBuf,
    },
    /// The run was interrupted, or the disk was full, before it was complete.
    #[error("the run in {} is incomplete: it was interrupted before its end; run it again", path.display())]
    Incomplete {
        /// The folder.
        path: PathBuf,
    },
    /// The directory was written by a version whose format this one does not know.
    #[error("the run in {} has format {found}; this version reads format {known}", path.display())]
    Schema {
        /// The folder.
        path: PathBuf,
        /// The format of the directory.
        found: u32,
        /// The format this version writes and reads.
        known: u32,
    },
    /// A file is not what its run wrote.
    #[error("{} is damaged: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        what: Damage,
    },
}

/// How a file differs from what its run wrote.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Damage {
    /// It does not begin like a record file.
    #[error("it does not begin like a record file")]
    Magic,
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

fn describe(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::StorageFull => "the disk is full".into(),
        io::ErrorKind::PermissionDenied => "permission denied".into(),
        io::ErrorKind::NotFound => "no such file or folder".into(),
        _ => error.to_string(),
    }
}
