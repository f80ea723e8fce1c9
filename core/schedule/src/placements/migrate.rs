//! Tasks that take each other's lines are brought behind a common cache.

use super::alert::Alert;
use crate::placement::{Action, Actions, Hook, Placement, Situation};
use alloc::vec::Vec;
use core::cmp::Reverse;
use solo_model::{CoreId, CoreSet, Instant, Listening, Platform};

/// At the end of each period, on each core: where the core counted more than the threshold and the task on it is of one of the
/// classes, it moves next to the core whose lines it takes (thesis 4.1.5: closer to the data).
///
/// Counters do not say whose lines are taken. Lines go to and fro between two cores, and both count: the other one is the loudest
/// core of those that are above the threshold too and have a task. *Next to it* means behind the outermost cache that not all
/// cores share. Of the cores there an idle one is taken first, then the one that counted least. Where both are behind that cache
/// already, or nobody else is loud, the task stays.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Migrate {
    alert: Alert,
    /// The cores behind each of those caches.
    near: Vec<CoreSet>,
}

impl Migrate {
    /// The policy over metric 0, what each core counted in a period.
    pub fn new(listening: &Listening, platform: &Platform) -> Self {
        Self { alert: Alert::new(listening), near: platform.neighborhoods() }
    }

    /// The cores behind the same outermost cache as `core`.
    fn neighbors(&self, core: CoreId) -> CoreSet {
        self.near.iter().copied().find(|cores| cores.contains(core)).unwrap_or(CoreSet::only(core))
    }

    /// The core whose lines the task on `core` takes.
    fn other(&self, core: CoreId, situation: &dyn Situation) -> Option<CoreId> {
        let others = self.alert.loud().without(core).iter().filter(|&other| situation.running(other).is_some());
        others.max_by_key(|&other| (self.alert.count(other, situation), Reverse(other)))
    }

    /// Where to go from `core` to be next to `other`.
    fn beside(&self, other: CoreId, situation: &dyn Situation) -> Option<CoreId> {
        let free = self.neighbors(other).and(situation.cores()).without(other);
        let busy = |core: CoreId| situation.running(core).is_some();
        free.iter().min_by_key(|&core| (busy(core), self.alert.count(core, situation), core))
    }
}

impl Placement for Migrate {
    fn name(&self) -> &'static str {
        "migrate"
    }

    fn on(&mut self, _: Instant, hook: Hook, situation: &dyn Situation) -> Actions {
        let Hook::Tick { core, .. } = hook else { return Actions::NONE };
        let Some(task) = self.alert.culprit(core, situation) else { return Actions::NONE };
        let target = self
            .other(core, situation)
            .filter(|&other| !self.neighbors(other).contains(core))
            .and_then(|other| self.beside(other, situation));
        target.map_or(Actions::NONE, |core| Actions::one(Action::Move { task, core }))
    }
}
