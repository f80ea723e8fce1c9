//! Why a guard does not act.

use crate::restored::Restored;
use crate::setting::Setting;
use solo_model::text::Printable;
use solo_store::StoreError;
use std::path::PathBuf;

/// Why a guard does not act. Nothing was changed, except where it says so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GuardError {
    /// Another guard holds the journal.
    #[error("another guard is at work: it holds {}", Printable(.0.display()))]
    Busy(PathBuf),
    /// The journal can't be read or written. What was to be changed is as it was.
    #[error("the journal of changes: {0}")]
    Journal(#[source] StoreError),
    /// The journal has no room for more. What was to be changed is as it was.
    #[error("the journal of changes is full")]
    Full,
    /// The journal could not be trusted from this line on. What the lines before it say has been put back.
    #[error(
        "{}: line {line} is not what a guard wrote; what stands before it was put back. Look at the settings that it names, \
         then remove it",
        Printable(path.display())
    )]
    Damaged {
        /// The journal.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What became of the lines before.
        restored: Restored,
    },
    /// Settings of an earlier guard could not be put back; they are still in the journal.
    #[error("what an earlier guard changed can't be put back: {}", .0.failures())]
    NotRestored(Restored),
    /// A setting can't be looked at or set. It is as it was.
    #[error("cannot change {setting}: {source}")]
    Refused {
        /// The setting.
        setting: Setting,
        /// What the system says.
        source: StoreError,
    },
    /// Somebody else has set it since.
    #[error("{setting} says `{}`, which this guard did not write: somebody else sets it, too", found.escape_debug())]
    Contested {
        /// The setting.
        setting: Setting,
        /// What it says.
        found: String,
    },
    /// A value that no setting takes.
    #[error("{setting}: a value is one line of text of at most 4,096 bytes")]
    Value {
        /// The setting.
        setting: Setting,
    },
}
