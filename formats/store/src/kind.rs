//! What folders hold.

use serde::{Deserialize, Serialize};

/// What a folder holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// One run.
    Run,
    /// Several runs side by side, a folder each.
    Comparison,
    /// A study, or a shard of one.
    Study,
    /// Figures and what they are made from.
    Figures,
    /// What was measured.
    Measurement,
    /// What a watch of Linux saw.
    Recording,
    /// Reports and exports.
    Export,
}

impl Kind {
    /// The word for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Comparison => "comparison",
            Self::Study => "study",
            Self::Figures => "figures",
            Self::Measurement => "measurement",
            Self::Recording => "recording",
            Self::Export => "export",
        }
    }
}
