//! Way masks: which ways of the last level a core's accesses may fill while a thread is on it.

use crate::memory::{Hierarchy, WayMaskError};
use solo_model::isolation::WayOwner;
use solo_model::platform::Contents;
use solo_model::{CoreId, Experiment, ThreadId};

/// The masks of an experiment.
pub(crate) struct WayControl {
    /// The last-level cache of each core among the platform's caches.
    caches: Vec<Option<usize>>,
    by_core: Vec<u64>,
    by_thread: Vec<Option<u64>>,
}

impl WayControl {
    /// `None` where nobody is confined.
    pub(crate) fn new(experiment: &Experiment) -> Option<Self> {
        let masks = &experiment.isolation.ways;
        if masks.is_empty() {
            return None;
        }
        let platform = &experiment.platform;
        let last = |core: CoreId| {
            let holds = platform.caches.iter().enumerate();
            let holds = holds.filter(|(_, cache)| cache.contents != Contents::Instructions);
            holds.filter(|(_, cache)| cache.cores.contains(core)).max_by_key(|(_, cache)| cache.level)
        };
        let all = |core: CoreId| last(core).map_or(u64::MAX, |(_, cache)| all_ways(cache.ways));
        let mut by_core: Vec<u64> = platform.core_set().iter().map(all).collect();
        let mut by_thread = vec![None; experiment.tasks.len()];
        for mask in masks {
            match mask.owner {
                WayOwner::Core(core) => by_core[core.index()] = mask.mask,
                WayOwner::Task(task) => by_thread[task.index()] = Some(mask.mask),
            }
        }
        let caches = platform.core_set().iter().map(|core| last(core).map(|(at, _)| at)).collect();
        Some(Self { caches, by_core, by_thread })
    }

    /// Sets the mask of what is on `core` from now on: the thread's own, else the core's.
    pub(crate) fn apply(
        &self,
        memory: &mut Hierarchy,
        core: CoreId,
        thread: Option<ThreadId>,
    ) -> Result<(), WayMaskError> {
        let own = thread.and_then(|thread| self.by_thread[thread.index()]);
        match self.caches[core.index()] {
            Some(position) => memory.restrict_ways(core, position, own.unwrap_or(self.by_core[core.index()])),
            None => Ok(()),
        }
    }
}

fn all_ways(ways: u16) -> u64 {
    if ways >= 64 { u64::MAX } else { (1 << ways) - 1 }
}
