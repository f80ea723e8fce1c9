//! What a setting says, and which file it is.

use serde::{Deserialize, Serialize};

/// Which file a setting is: that of a group which was removed and made anew under the same path is another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Identity {
    /// The file system.
    pub device: u64,
    /// The file in it.
    pub file: u64,
}

impl Identity {
    /// A setting that there is once for each run of the machine, whatever number its file has.
    pub(crate) const ONLY: Self = Self { device: 0, file: 0 };
}

/// What a setting says, and where that stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seen {
    /// What it says, without white space around it.
    pub value: String,
    /// The file.
    pub identity: Identity,
}
