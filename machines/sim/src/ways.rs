//! Ways of the last level: which of them a core's accesses may fill while a thread is on it, and which lines
//! stay where they are.

use crate::memory::{Hierarchy, WayMaskError};
use crate::outcome::SimError;
use crate::space::Spaces;
use solo_isolate::Refusal;
use solo_model::isolation::{LockTime, WayOwner};
use solo_model::{BufferId, Bytes, CoreId, Experiment, JobIndex, ThreadId};

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
        let last = |core: CoreId| platform.last_level_of(core);
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

/// The pages that are locked, line by line.
pub(crate) struct PageLocks {
    when: LockTime,
    /// Which group of lines each task loads: its own, or its partition's.
    group_of: Vec<usize>,
    /// For each group the cache it locks in, and its lines.
    groups: Vec<(usize, Vec<Line>)>,
    /// The partition that was last on each core.
    last: Vec<Option<usize>>,
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
        let partition = |task: usize| {
            let tasks = lockdown.partitions.iter().filter(|_| lockdown.when == LockTime::Partition);
            tasks.into_iter().position(|tasks| tasks.iter().any(|known| known.index() == task))
        };
        // Partitions come after the tasks, each of which is a group of its own otherwise.
        let count = experiment.tasks.len();
        let group_of: Vec<usize> =
            (0..count).map(|task| partition(task).map_or(task, |partition| count + partition)).collect();
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
                    let (pages, capacity) = (same.count() as u64, u64::from(cache.ways.saturating_sub(1)));
                    let refusal = Refusal::TooManyLocked { color: page.color, pages, capacity };
                    return Err(SimError::Isolation(refusal));
                }
            } else if let Some((at, own)) =
                group_of.get(page.task.index()).and_then(|&group| groups.get_mut(group))
            {
                *at = position;
                own.extend(lines);
            }
        }
        let later = groups.iter().any(|(_, lines)| !lines.is_empty());
        let last = vec![None; platform.cores.len()];
        Ok(later.then_some(Self { when: lockdown.when, group_of, groups, last, refused: 0 }))
    }

    /// `thread` begins `job` on `core`: how many lines of another partition are unlocked for it, where it has to load
    /// and lock first.
    pub(crate) fn begin(
        &mut self,
        core: CoreId,
        (thread, job): (ThreadId, JobIndex),
        spaces: &Spaces,
        memory: &mut Hierarchy,
    ) -> Option<u64> {
        let group = self.group_of[thread.index()];
        if self.when != LockTime::Partition {
            let due = (self.when == LockTime::Job || job.0 == 0) && !self.groups[group].1.is_empty();
            return due.then_some(0);
        }
        if group < self.group_of.len() || self.last[core.index()] == Some(group) {
            // In no partition, or within its window.
            return None;
        }
        let before = self.last[core.index()].replace(group);
        let unlocked = before.map_or(0, |before| self.unlock_group(before, spaces, memory));
        Some(unlocked)
    }

    /// The line that a thread loads as its `at`-th.
    pub(crate) fn line(&self, thread: ThreadId, at: usize) -> Option<Line> {
        self.groups[self.group_of[thread.index()]].1.get(at).copied()
    }

    /// Locks the `at`-th line, which has just been loaded.
    pub(crate) fn lock(&mut self, thread: ThreadId, at: usize, spaces: &Spaces, memory: &mut Hierarchy) {
        let (position, lines) = &self.groups[self.group_of[thread.index()]];
        let Some(line) = lines.get(at) else { return };
        let held = memory.lock_line(*position, spaces.translate(line.buffer, line.offset));
        self.refused += u64::from(!held);
    }

    /// Unlocks all lines of a thread whose job has ended, where they are locked for a job; how many.
    pub(crate) fn unlock(&self, thread: ThreadId, spaces: &Spaces, memory: &mut Hierarchy) -> u64 {
        if self.when != LockTime::Job {
            return 0;
        }
        self.unlock_group(self.group_of[thread.index()], spaces, memory)
    }

    fn unlock_group(&self, group: usize, spaces: &Spaces, memory: &mut Hierarchy) -> u64 {
        let (position, lines) = &self.groups[group];
        for line in lines {
            memory.unlock_line(*position, spaces.translate(line.buffer, line.offset));
        }
        lines.len() as u64
    }
}

fn all_ways(ways: u16) -> u64 {
    if ways >= 64 { u64::MAX } else { (1 << ways) - 1 }
}
