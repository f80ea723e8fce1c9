//! Ways of the last level: which of them a core's accesses may fill while a thread is on it, and which lines
//! stay where they are.

use crate::memory::{Hierarchy, WayMaskError};
use crate::outcome::SimError;
use crate::space::Spaces;
use solo_isolate::Refusal;
use solo_model::isolation::WayOwner;
use solo_model::platform::{Cache, Contents};
use solo_model::{CoreId, Experiment, Platform, ThreadId};

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
        let last = |core: CoreId| last_level(platform, core);
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

/// The last-level data cache of a core, with its position among the platform's caches.
fn last_level(platform: &Platform, core: CoreId) -> Option<(usize, &Cache)> {
    let holds = platform.caches.iter().enumerate();
    let holds = holds.filter(|(_, cache)| cache.contents != Contents::Instructions);
    holds.filter(|(_, cache)| cache.cores.contains(core)).max_by_key(|(_, cache)| cache.level)
}

/// Loads the pages that an experiment locks into the last level of their task's core and keeps them there.
/// Loading takes no time: it is done before the run begins.
pub(crate) fn lock_pages(
    experiment: &Experiment,
    spaces: &Spaces,
    memory: &mut Hierarchy,
) -> Result<(), SimError> {
    let platform = &experiment.platform;
    let pages = experiment.isolation.lockdown.as_ref().map_or(&[][..], |lockdown| &lockdown.pages);
    for page in pages {
        let task = experiment.tasks.get(page.task.index());
        let core = task.and_then(|task| task.core).unwrap_or_default();
        let Some((position, cache)) = last_level(platform, core) else { continue };
        let lines = platform.page.get() / cache.line.get().max(1);
        for line in 0..lines {
            let offset = platform.page * page.page + cache.line * line;
            if !memory.lock_line(position, spaces.translate(page.buffer, offset)) {
                let pages = pages.iter().filter(|other| other.color == page.color).count() as u64;
                let capacity = u64::from(cache.ways.saturating_sub(1));
                let refusal = Refusal::TooManyLocked { color: page.color, pages, capacity };
                return Err(SimError::Isolation(refusal));
            }
        }
    }
    Ok(())
}

fn all_ways(ways: u16) -> u64 {
    if ways >= 64 { u64::MAX } else { (1 << ways) - 1 }
}
