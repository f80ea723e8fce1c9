//! What memory guarantees, measured instead of typed in.

use crate::LabError;
use crate::error::Named;
use solo_model::{Bandwidth, Platform};
use solo_sim::measure::{self, Effort, MemoryBandwidth};

/// What a platform's memory moves, beside what its file promises.
#[derive(Clone, Debug)]
pub struct FoundBandwidth {
    /// What was measured.
    pub measured: MemoryBandwidth,
    /// What the platform file promises.
    pub promised: Option<Bandwidth>,
}

impl FoundBandwidth {
    /// False where the file promises more than was found.
    pub fn promise_holds(&self) -> bool {
        self.promised.is_none_or(|promised| promised <= self.measured.guaranteed())
    }
}

/// Runs loads of all cores on the simulated platform, whose pages lie where `seed` draws them.
///
/// # Errors
/// [`LabError::Simulation`] where the platform contradicts itself.
pub fn bandwidth(platform: &Platform, effort: Effort, seed: u64) -> Result<FoundBandwidth, LabError> {
    let measured = measure::bandwidth(platform, effort, seed)
        .map_err(|error| LabError::Simulation(Named::nameless(error)))?;
    Ok(FoundBandwidth { measured, promised: platform.dram.guaranteed })
}
