//! Which address bits choose the DRAM bank, from the times of address pairs.

use crate::{CampaignError, LabError};
use solo_isolate::Classes;
use solo_isolate::map::{Inferred, Measured, Solved, Timed, solve};
use solo_model::platform::XorBits;
use solo_model::{Bytes, Cycles, Platform};
use solo_sim::pairs::{self, Pairs};

/// Functions of address bits that tell banks apart.
#[derive(Clone, Debug)]
pub struct FoundMap {
    /// How pairs were told into fast and slow ones.
    pub timed: Timed,
    /// The functions, and how many pairs contradict them.
    pub found: Inferred,
}

impl FoundMap {
    /// True where these functions and those of the platform's file tell the same addresses apart.
    pub fn agrees(&self, platform: &Platform, granule: Bytes) -> bool {
        Classes::new(&said(platform, granule)).equivalent(&Classes::new(&self.found.functions))
    }
}

/// Times pairs of addresses on the simulated platform.
///
/// # Errors
/// [`CampaignError::Granule`], and [`CampaignError::Dram`] where the platform contradicts itself.
pub fn time_pairs(platform: &Platform, pairs: Pairs) -> Result<Vec<Measured>, LabError> {
    if !pairs.granule.get().is_power_of_two() {
        return Err(CampaignError::Granule(pairs.granule).into());
    }
    let failed = |error| CampaignError::Dram { platform: platform.name.clone(), error };
    Ok(pairs::time_pairs(platform, pairs).map_err(failed)?)
}

/// Finds the functions; times above `threshold` are conflicts, without one the two groups that differ most are told apart.
/// Functions have no bits below `granule`.
///
/// # Errors
/// [`CampaignError::Unsolved`].
pub fn infer(
    times: &[Measured],
    threshold: Option<Cycles>,
    granule: Bytes,
    seed: u64,
) -> Result<FoundMap, LabError> {
    let Solved { timed, found } = solve(times, threshold, granule, seed).map_err(CampaignError::Unsolved)?;
    Ok(FoundMap { timed, found })
}

/// The functions of a platform's banks, ranks and channels that addresses of this granule can tell.
pub fn said(platform: &Platform, granule: Bytes) -> Vec<XorBits> {
    let dram = &platform.dram;
    let all = dram.bank_bits.iter().chain(&dram.rank_bits).chain(&dram.channel_bits);
    all.copied().filter(|function| function.0 & !(granule.get() - 1) != 0).collect()
}
