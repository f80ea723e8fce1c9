//! What the verdicts of a study depend on beside its file.

use serde::Serialize;

/// What the verdicts of a study depend on beside its file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct ProgramVersion {
    /// How sets are drawn; raised whenever the same seed gives other sets.
    draw: u32,
    /// The program that judges.
    program: &'static str,
}

impl ProgramVersion {
    pub(crate) const CURRENT: Self = Self { draw: 1, program: env!("CARGO_PKG_VERSION") };
}
