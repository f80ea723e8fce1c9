//! What can go wrong with a study.

use solo_model::text::Printable;
use std::path::{Path, PathBuf};

/// Why a study can't be read, run or merged.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// A file can't be read or written.
    #[error("cannot {action} {}: {}", Printable(path.display()), solo_store::system_reason(source))]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// It is no file, too large or no text; a file can't be written.
    #[error("{0}")]
    Store(#[from] solo_store::StoreError),
    /// The study file is no TOML of a study; the message points at the place.
    #[error("{}: {message}", Printable(path.display()))]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The parser's message, with line and column.
        message: String,
    },
    /// A value of the study file is out of range or unknown.
    #[error("{}: {key}: {message}", Printable(path.display()))]
    Value {
        /// The file.
        path: PathBuf,
        /// The key.
        key: String,
        /// What was found and what was expected.
        message: String,
    },
    /// The folder holds results of another study, seed or version.
    #[error(
        "{} holds results of another study (it has {found}, this is {expected}); choose another folder with --out",
        Printable(path.display())
    )]
    OtherStudy {
        /// The journal.
        path: PathBuf,
        /// The hash of this study.
        expected: String,
        /// The hash in the journal.
        found: String,
    },
    /// Another process writes this journal.
    #[error("{} is being written by another process", Printable(path.display()))]
    Busy {
        /// The journal.
        path: PathBuf,
    },
    /// A line inside a journal is damaged: not the last one, which a kill may cut.
    #[error("{} is damaged at line {line}: {what}", Printable(path.display()))]
    Damaged {
        /// The journal.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// What somebody has judged for this study is none of it, or not as it was written.
    #[error("{} can't keep what has come: {what}", Printable(path.display()))]
    Strange {
        /// The journal.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// Two journals disagree about a block.
    #[error("{} and another journal disagree about block {block}", Printable(path.display()))]
    Contradiction {
        /// The second journal.
        path: PathBuf,
        /// The block.
        block: u64,
    },
    /// Blocks are missing; nothing was written.
    #[error(
        "{missing} of {blocks} blocks are missing, the first is block {first} (shard {shard}); run them first"
    )]
    Missing {
        /// How many.
        missing: u64,
        /// Of how many.
        blocks: u64,
        /// The first.
        first: u64,
        /// The shard it belongs to, as far as the journals tell.
        shard: String,
    },
    /// A cap that no set of the distribution reaches.
    #[error(
        "no set of {distribution} comes within the slack of cap {cap}; widen the slack or change the caps"
    )]
    Unreachable {
        /// The distribution.
        distribution: String,
        /// The cap.
        cap: String,
    },
    /// The user asked to stop. What was done is kept.
    #[error("interrupted; the same command goes on from here")]
    Interrupted,
    /// Parquet can't be written.
    #[cfg(feature = "parquet")]
    #[error("{}: {source}", Printable(path.display()))]
    Parquet {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: parquet::errors::ParquetError,
    },
}

impl StudyError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { action, path, source }
    }
}
