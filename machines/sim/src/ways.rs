//! Ways of the last level: which of them a core's accesses may fill, and which lines stay where they are. When that changes
//! is decided in the kernel; here it is carried out.

use crate::memory::{Hierarchy, WayMaskError};
use crate::outcome::SimError;
use crate::space::Spaces;
use solo_hal::PageGroup;
use solo_isolate::IsolationRefusal;
use solo_isolate::windows::group_of;
use solo_model::isolation::LockTime;
use solo_model::{BufferId, Bytes, CoreId, Experiment, Platform};

/// Where the ways are that the kernel gives to whoever is on a core.
pub(crate) struct WayControl {
    /// The last-level cache of each core among the platform's caches.
    caches: Vec<Option<usize>>,
}

impl WayControl {
    pub(crate) fn new(platform: &Platform) -> Self {
        let last = |core: CoreId| platform.last_level_of(core).map(|(at, _)| at);
        Self { caches: platform.core_set().iter().map(last).collect() }
    }

    /// What is on `core` fills only the ways of `mask` from now on.
    pub(crate) fn restrict(
        &self,
        memory: &mut Hierarchy,
        core: CoreId,
        mask: u64,
    ) -> Result<(), WayMaskError> {
        match self.caches[core.index()] {
            Some(position) => memory.restrict_ways(core, position, mask),
            None => Ok(()),
        }
    }
}

/// The pages that are locked, line by line.
pub(crate) struct PageLocks {
    /// For each group the cache it locks in, and its lines.
    groups: Vec<(usize, Vec<Line>)>,
    /// Lines that could not be locked because their set had no room at that time.
    pub(crate) refused: u64,
}

/// A line of a buffer that is to be locked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    pub(crate) buffer: BufferId,
    pub(crate) offset: Bytes,
}

impl PageLocks {
    /// Loads and locks what is to be locked before the run begins, in no time; `None` where nothing is left to
    /// do during the run.
    pub(crate) fn new(
        experiment: &Experiment,
        spaces: &Spaces,
        memory: &mut Hierarchy,
    ) -> Result<Option<Self>, SimError> {
        let Some(lockdown) = &experiment.isolation.lockdown else { return Ok(None) };
        let platform = &experiment.platform;
        let count = experiment.tasks.len();
        let mut groups = vec![(0, Vec::new()); count + lockdown.partitions.len()];
        for page in &lockdown.pages {
            let task = experiment.tasks.get(page.task.index());
            let core = task.and_then(|task| task.core).unwrap_or_default();
            let Some((position, cache)) = platform.last_level_of(core) else { continue };
            let lines = platform.page.get() / cache.line.get().max(1);
            let lines = (0..lines).map(|line| platform.page * page.page + cache.line * line);
            let lines = lines.map(|offset| Line { buffer: page.buffer, offset });
            if lockdown.when == LockTime::Boot {
                let mut lines = lines;
                if !lines.all(|line| memory.lock_line(position, spaces.translate(line.buffer, line.offset))) {
                    let same = lockdown.pages.iter().filter(|other| other.color == page.color);
                    let (pages, capacity) = (same.count() as u64, u64::from(cache.ways));
                    let refusal = IsolationRefusal::TooManyLocked { color: page.color, pages, capacity };
                    return Err(SimError::Isolation(refusal));
                }
            } else if let Some((at, own)) = groups.get_mut(group_of(lockdown, count, page.task.index())) {
                *at = position;
                own.extend(lines);
            }
        }
        let later = groups.iter().any(|(_, lines)| !lines.is_empty());
        Ok(later.then_some(Self { groups, refused: 0 }))
    }

    /// The `at`-th line of a group.
    pub(crate) fn line(&self, group: PageGroup, at: usize) -> Option<Line> {
        self.groups.get(group.0 as usize)?.1.get(at).copied()
    }

    /// Locks the `at`-th line of a group, which has just been loaded.
    pub(crate) fn lock(&mut self, group: PageGroup, at: usize, spaces: &Spaces, memory: &mut Hierarchy) {
        let Some((position, lines)) = self.groups.get(group.0 as usize) else { return };
        let Some(line) = lines.get(at) else { return };
        let held = memory.lock_line(*position, spaces.translate(line.buffer, line.offset));
        self.refused += u64::from(!held);
    }

    /// Unlocks all lines of a group; how many.
    pub(crate) fn unlock(&self, group: PageGroup, spaces: &Spaces, memory: &mut Hierarchy) -> u64 {
        let Some((position, lines)) = self.groups.get(group.0 as usize) else { return 0 };
        for line in lines {
            memory.unlock_line(*position, spaces.translate(line.buffer, line.offset));
        }
        lines.len() as u64
    }
}
