//! Whether counters count what their names say.

use crate::error::Named;
use crate::{CampaignError, LabError};
use solo_isolate::diagnose::{self, Warning};
use solo_model::{EventId, Events, Platform};
use solo_sim::Faults;
use solo_sim::calibrate::Walk;

/// A counter held against a walk that causes a known number of events.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CalibratedCounter {
    /// What it should count.
    pub event: EventId,
    /// The walk.
    pub walk: Walk,
    /// What the walk causes.
    pub expected: Events,
    /// What was counted.
    pub counted: Events,
    /// The counter counts what its name says.
    pub holds: bool,
    /// What is probably not meant; beside a counter that holds, it is about other traffic.
    pub warning: Option<Warning>,
}

/// Switches a platform's prefetcher on or off.
///
/// # Errors
/// [`CampaignError::NoPrefetcher`].
pub fn with_prefetcher(mut platform: Platform, on: bool) -> Result<Platform, CampaignError> {
    match &mut platform.prefetcher {
        Some(prefetcher) => prefetcher.on = on,
        None => return Err(CampaignError::NoPrefetcher { platform: platform.name }),
    }
    Ok(platform)
}

/// Runs all walks on the simulated platform, whose pages lie where `seed` draws them.
///
/// # Errors
/// [`LabError::Simulation`] where the platform contradicts itself, or has no counters that interrupt.
pub fn calibrate(platform: &Platform, seed: u64) -> Result<Vec<CalibratedCounter>, LabError> {
    let found = solo_sim::calibrate::calibrate(platform, seed, Faults::default())
        .map_err(|error| LabError::Simulation(Named::nameless(error)))?;
    let moved = |walk| {
        let read = found.iter().find(|one| (one.event, one.walk) == (EventId::DRAM_READS, walk));
        read.map(|one| one.counted)
    };
    let judged = |one: &solo_sim::calibrate::Calibration| {
        // What memory moved is known: misses that prefetchers came before are no fault of the counter.
        let swept = one.walk == Walk::Sweep && one.event == EventId::LLC_MISSES;
        let warning = if swept {
            diagnose::coverage(moved(one.walk).unwrap_or(one.expected), one.counted, false)
        } else {
            diagnose::counter(one.event, one.expected, one.counted)
        };
        CalibratedCounter {
            event: one.event,
            walk: one.walk,
            expected: one.expected,
            counted: one.counted,
            holds: swept || warning.is_none(),
            warning,
        }
    };
    Ok(found.iter().map(judged).collect())
}
