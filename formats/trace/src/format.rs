//! The forms that traces have.

use std::fmt;

/// The version of the files that this program writes and reads.
pub(crate) const VERSION: u32 = 1;

/// A form of text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Valgrind's lackey with `--trace-mem=yes`.
    Lackey,
    /// The traditional input of the Dinero simulators.
    Din,
    /// A core in front of each reference.
    Cores,
    /// Requests to DRAM as its simulators take them; the clock at which each may be made is read over.
    Dram,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Lackey => "lackey",
            Self::Din => "din",
            Self::Cores => "core",
            Self::Dram => "DRAM",
        })
    }
}
