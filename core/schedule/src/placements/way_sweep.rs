//! Points of miss-rate curves by ways: the sweep of a divided cache.

use super::crowd::Crowd;
use super::sweep::{Given, Last, Periods, Sweep, last_levels};
use crate::placement::{Actions, Hook, Placement, Situation};
use alloc::vec::Vec;
use solo_model::{CoreSet, Instant, Listening, Platform};

/// One process after the other has one way of its last level, two ways, and so on to all but one, each for `settle` periods; the
/// others share the rest (PMCTrack 4.3.1, the use of Intel CAT that it plans). It begins anew when all have been through it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaySweep {
    crowd: Crowd,
    given: Given,
    caches: Vec<Last>,
    sweep: Sweep,
    periods: Periods,
}

impl WaySweep {
    /// The policy on the last levels of `platform`.
    pub fn new(listening: &Listening, platform: &Platform) -> Self {
        Self {
            crowd: Crowd::new(listening),
            given: Given::new(),
            caches: last_levels(platform),
            sweep: Sweep { settle: listening.setting("settle").max(1) },
            periods: Periods::default(),
        }
    }
}

impl Placement for WaySweep {
    fn name(&self) -> &'static str {
        "way-sweep"
    }

    fn on(&mut self, _: Instant, hook: Hook, situation: &dyn Situation) -> Actions {
        self.crowd.hear(hook, situation);
        let core = match hook {
            Hook::Tick { core, .. } => {
                self.periods.tick(core);
                core
            }
            Hook::SwitchIn { core, .. } => core,
            Hook::Exit(task) => {
                self.given.forget(task);
                return Actions::NONE;
            }
            _ => return Actions::NONE,
        };
        let Some(cache) = self.caches.iter().find(|cache| cache.cores.contains(core)).copied() else {
            return Actions::NONE;
        };
        let count = self.crowd.processes(cache.cores).all().len();
        let (sweep, period) = (self.sweep, self.periods.over);
        let cores: CoreSet = cache.cores;
        self.given.give(&self.crowd, cores, |place| sweep.mask(cache.ways, count, place, period))
    }
}
