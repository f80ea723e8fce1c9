//! Points of miss-rate curves by duty cycles: co-runners are slowed, so that a task holds more of the cache.

use super::crowd::Crowd;
use super::sweep::Periods;
use crate::placement::{Action, Actions, Hook, Placement, Situation};
use alloc::vec::Vec;
use solo_model::{CoreId, CoreSet, DutyCycle, Instant, Listening, Platform};

/// One process after the other runs at full speed while the cores of the others run at 8/8, 7/8, down to `least-eighths` of the
/// time, each for `settle` periods (PMCTrack 4.3.1). It begins anew when all have been through it.
///
/// Tasks that share a cache come to an equilibrium in which each holds as much as it takes in. Who is slowed takes less in: the
/// others hold more, and what they miss then is another point of their curves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DutyCycles {
    crowd: Crowd,
    cores: CoreSet,
    settle: u64,
    least: u64,
    periods: Periods,
    /// The duty cycle of each core.
    given: Vec<DutyCycle>,
}

impl DutyCycles {
    /// The policy on the cores of `platform`.
    pub fn new(listening: &Listening, platform: &Platform) -> Self {
        Self {
            crowd: Crowd::new(listening),
            cores: platform.core_set(),
            settle: listening.setting("settle").max(1),
            least: listening.setting("least-eighths").clamp(1, 8),
            periods: Periods::default(),
            given: alloc::vec![DutyCycle::FULL; platform.cores.len()],
        }
    }

    /// What `core` is to run at now.
    fn wanted(&self, core: CoreId, situation: &dyn Situation) -> DutyCycle {
        let processes = self.crowd.processes(self.cores);
        let member = situation.running(core).and_then(|task| self.crowd.member(task));
        let Some(place) = member.and_then(|member| processes.place(member.process)) else {
            return DutyCycle::FULL;
        };
        let (step, speeds) = (self.periods.over / self.settle, 9 - self.least);
        let favored = (step / speeds) as usize % processes.all().len();
        let slowed = DutyCycle::new(8 - step % speeds).unwrap_or(DutyCycle::FULL);
        if place == favored { DutyCycle::FULL } else { slowed }
    }
}

impl Placement for DutyCycles {
    fn name(&self) -> &'static str {
        "duty-cycle"
    }

    fn on(&mut self, _: Instant, hook: Hook, situation: &dyn Situation) -> Actions {
        self.crowd.hear(hook, situation);
        let core = match hook {
            Hook::Tick { core, .. } => {
                self.periods.tick(core);
                core
            }
            Hook::SwitchIn { core, .. } => core,
            _ => return Actions::NONE,
        };
        let duty = self.wanted(core, situation);
        match self.given.get_mut(core.index()) {
            Some(given) if *given != duty => {
                *given = duty;
                Actions::one(Action::Slow { core, duty })
            }
            _ => Actions::NONE,
        }
    }
}
