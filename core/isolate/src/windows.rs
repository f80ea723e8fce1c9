//! When the last-level cache is divided anew: who may fill which ways while it is on a core, and at which job's begin and end
//! pages are locked and unlocked.
//!
//! ```text
//!   another thread on a core ──▶ FillMasks ──▶ ways
//!   a job begins, a job ends ──▶ LockWindows ──▶ pages to unlock, pages to load and lock
//! ```

use alloc::vec::Vec;
use solo_model::isolation::{LockTime, Lockdown, WayMask, WayOwner};
use solo_model::partition::Partitions;
use solo_model::{CoreId, PartitionId, Platform, TaskId};

/// The ways that each core and each task may fill.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FillMasks {
    by_core: Vec<u64>,
    by_task: Vec<Option<u64>>,
}

impl FillMasks {
    /// The masks of an experiment of so many tasks; `None` where nobody is confined. A core without a mask may fill all ways.
    pub fn new(masks: &[WayMask], platform: &Platform, tasks: usize) -> Option<Self> {
        let all = |core: CoreId| match platform.last_level_of(core) {
            Some((_, cache)) if cache.ways < 64 => (1_u64 << cache.ways) - 1,
            _ => u64::MAX,
        };
        let mut by_core: Vec<u64> = platform.core_set().iter().map(all).collect();
        let mut by_task = alloc::vec![None; tasks];
        for mask in masks {
            match mask.owner {
                WayOwner::Core(core) => *by_core.get_mut(core.index())? = mask.mask,
                WayOwner::Task(task) => *by_task.get_mut(task.index())? = Some(mask.mask),
            }
        }
        (!masks.is_empty()).then_some(Self { by_core, by_task })
    }

    /// What may be filled while `task` is on `core`: its own ways, else the core's. `None` is for an idle core.
    pub fn of(&self, core: CoreId, task: Option<TaskId>) -> u64 {
        let own = task.and_then(|task| self.by_task.get(task.index()).copied().flatten());
        own.or(self.by_core.get(core.index()).copied()).unwrap_or(u64::MAX)
    }
}

/// What is to be done with locked pages as a job begins. Groups are numbered: first one for each task, then one for each
/// partition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowBegin {
    /// The group that is unlocked before.
    pub unlock: Option<usize>,
    /// The group that is loaded and locked.
    pub lock: usize,
}

/// When pages are locked and unlocked during a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LockWindows {
    when: LockTime,
    /// Which group each task loads: its own, or its partition's.
    group_of: Vec<usize>,
    /// Whether a group has any pages.
    has_pages: Vec<bool>,
    /// Whether a task has begun a job.
    has_begun: Vec<bool>,
    /// The partition that was last on each core.
    last: Vec<Option<usize>>,
    /// Partitions whose windows the clock begins and ends: their jobs lock nothing themselves.
    by_clock: Vec<bool>,
}

impl LockWindows {
    /// The windows of an experiment of so many tasks and cores; `None` where nothing is left to do during the run.
    pub fn new(lockdown: &Lockdown, tasks: usize, cores: usize) -> Option<Self> {
        if lockdown.when == LockTime::Boot || lockdown.pages.is_empty() {
            return None;
        }
        let group_of: Vec<usize> = (0..tasks).map(|task| group_of(lockdown, tasks, task)).collect();
        let mut has_pages = alloc::vec![false; tasks + lockdown.partitions.len()];
        for page in &lockdown.pages {
            *has_pages.get_mut(*group_of.get(page.task.index())?)? = true;
        }
        let (has_begun, last) = (alloc::vec![false; tasks], alloc::vec![None; cores]);
        let by_clock = alloc::vec![false; lockdown.partitions.len()];
        Some(Self { when: lockdown.when, group_of, has_pages, has_begun, last, by_clock })
    }

    /// The same where time is divided: the windows of partitions with a cycle begin and end by the clock.
    #[must_use]
    pub fn by_clock(mut self, partitions: &Partitions) -> Self {
        for (at, timed) in self.by_clock.iter_mut().enumerate() {
            *timed = partitions.core_of(PartitionId(at as u16)).is_some();
        }
        self
    }

    /// The pages that are locked while a partition has its window; `None` for none, or where jobs lock them.
    pub fn group_of_partition(&self, partition: PartitionId) -> Option<usize> {
        let timed = self.by_clock.get(partition.index()).copied().unwrap_or(false);
        let group = self.group_of.len() + partition.index();
        let any = self.has_pages.get(group).copied().unwrap_or(false);
        (self.when == LockTime::Partition && timed && any).then_some(group)
    }

    /// `task` begins a job on `core`: what is to be done before its work; `None` for nothing.
    pub fn begin(&mut self, core: CoreId, task: TaskId) -> Option<WindowBegin> {
        let group = *self.group_of.get(task.index())?;
        let first = !core::mem::replace(self.has_begun.get_mut(task.index())?, true);
        let lock = WindowBegin { unlock: None, lock: group };
        match self.when {
            LockTime::Boot => None,
            LockTime::Task => (first && self.has_pages[group]).then_some(lock),
            LockTime::Job => self.has_pages[group].then_some(lock),
            LockTime::Partition => {
                let last = self.last.get_mut(core.index())?;
                let timed = |partition| self.by_clock.get(partition).copied().unwrap_or(false);
                if group.checked_sub(self.group_of.len()).is_none_or(timed) || *last == Some(group) {
                    // In no partition, in one whose windows the clock begins, or within its window.
                    return None;
                }
                Some(WindowBegin { unlock: last.replace(group), lock: group })
            }
        }
    }

    /// A job of `task` ends: the group that is unlocked.
    pub fn end(&self, task: TaskId) -> Option<usize> {
        let group = *self.group_of.get(task.index())?;
        (self.when == LockTime::Job && self.has_pages[group]).then_some(group)
    }
}

/// The group of pages that `task` of so many loads: its partition's, where windows of partitions are what counts, else its
/// own.
pub fn group_of(lockdown: &Lockdown, tasks: usize, task: usize) -> usize {
    let is_in = |members: &Vec<TaskId>| members.iter().any(|member| member.index() == task);
    let partition = lockdown.partitions.iter().position(is_in);
    let partition = partition.filter(|_| lockdown.when == LockTime::Partition);
    partition.map_or(task, |partition| tasks + partition)
}

#[cfg(test)]
mod tests {
    use super::*;
    use solo_model::isolation::LockedPage;
    use solo_model::{BufferId, Color, fixtures};

    fn windows(when: LockTime) -> LockWindows {
        let page = |task| LockedPage { task: TaskId(task), buffer: BufferId(task), page: 0, color: Color(0) };
        let partitions = Vec::from([Vec::from([TaskId(0)]), Vec::from([TaskId(1), TaskId(2)])]);
        let lockdown = Lockdown { pages: Vec::from([page(0), page(1)]), when, partitions };
        LockWindows::new(&lockdown, 4, 2).expect("there are pages")
    }

    #[test]
    fn pages_are_locked_when_it_is_said() {
        let (core, other) = (CoreId(0), CoreId(1));
        let lock = |lock| Some(WindowBegin { unlock: None, lock });
        let mut once = windows(LockTime::Task);
        assert_eq!([0, 0, 1, 3].map(|task| once.begin(core, TaskId(task))), [lock(0), None, lock(1), None]);
        assert_eq!(once.end(TaskId(0)), None);
        let mut jobs = windows(LockTime::Job);
        assert_eq!([0, 0, 2].map(|task| jobs.begin(core, TaskId(task))), [lock(0), lock(0), None]);
        assert_eq!((jobs.end(TaskId(0)), jobs.end(TaskId(2))), (Some(0), None));
        let mut cycle = windows(LockTime::Partition);
        let begin = |cycle: &mut LockWindows, core, task| cycle.begin(core, TaskId(task));
        assert_eq!(begin(&mut cycle, core, 0), lock(4));
        assert_eq!(begin(&mut cycle, core, 0), None, "within its window");
        assert_eq!(begin(&mut cycle, core, 3), None, "in no partition");
        assert_eq!(begin(&mut cycle, core, 2), Some(WindowBegin { unlock: Some(4), lock: 5 }));
        assert_eq!(begin(&mut cycle, core, 1), None, "the same partition");
        assert_eq!(begin(&mut cycle, other, 1), lock(5), "each core has its windows");
        assert_eq!(cycle.end(TaskId(0)), None);
        assert_eq!(begin(&mut cycle, CoreId(9), 0), None, "there is no such core");
        assert_eq!(begin(&mut cycle, core, 9), None, "there is no such task");
    }

    #[test]
    fn a_task_of_its_own_ways_fills_them_wherever_it_runs() {
        let mut platform = fixtures::chip(2);
        let all = solo_model::CoreSet::first(2);
        platform.caches =
            Vec::from([fixtures::cache(1, solo_model::platform::Contents::Unified, all, 64, 8, 1)]);
        let mask = |owner, mask| WayMask { owner, mask };
        let masks = [mask(WayOwner::Core(CoreId(1)), 0b11), mask(WayOwner::Task(TaskId(0)), 0b1100)];
        let masks = FillMasks::new(&masks, &platform, 2).expect("somebody is confined");
        let of = |core, task: Option<u32>| masks.of(CoreId(core), task.map(TaskId));
        assert_eq!([of(0, None), of(0, Some(1)), of(1, Some(1)), of(1, None)], [0xff, 0xff, 0b11, 0b11]);
        assert_eq!([of(0, Some(0)), of(1, Some(0))], [0b1100, 0b1100]);
        assert_eq!(FillMasks::new(&[], &platform, 2), None);
    }
}
