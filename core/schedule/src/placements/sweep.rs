//! Ways of a cache given to processes, and a sweep through all sizes of one after the other.

use super::crowd::{Crowd, MOST};
use crate::placement::{Action, Actions};
use alloc::vec::Vec;
use solo_model::{CoreId, CoreSet, Platform, TaskId};

/// A last-level cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Last {
    pub(super) cores: CoreSet,
    /// At most 64.
    pub(super) ways: u32,
}

/// The last-level caches of a platform, that of the lowest core first.
pub(super) fn last_levels(platform: &Platform) -> Vec<Last> {
    let mut all: Vec<Last> = Vec::new();
    for core in platform.core_set().iter() {
        let Some((_, cache)) = platform.last_level_of(core) else { continue };
        let last = Last { cores: cache.cores, ways: u32::from(cache.ways.min(64)) };
        if !all.contains(&last) {
            all.push(last);
        }
    }
    all
}

/// `count` ways from `first` on.
pub(super) fn run(first: u32, count: u32) -> u64 {
    let run = if count >= 64 { u64::MAX } else { (1 << count) - 1 };
    run.checked_shl(first).unwrap_or(0)
}

/// One process after the other has one way, two, and so on to all but one; the others share the rest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sweep {
    /// For so many periods each size is kept.
    pub(super) settle: u64,
}

impl Sweep {
    /// The periods of a whole sweep of so many processes.
    pub(super) fn length(self, ways: u32, processes: usize) -> u64 {
        self.settle * u64::from(ways.saturating_sub(1)) * processes as u64
    }

    /// The ways that the process at `place` of `processes` has in a period of the sweep.
    pub(super) fn mask(self, ways: u32, processes: usize, place: usize, period: u64) -> u64 {
        let sizes = u64::from(ways.saturating_sub(1)).max(1);
        let step = period / self.settle.max(1);
        let own = 1 + (step % sizes) as u32;
        let turn = (step / sizes) as usize % processes.max(1);
        if ways < 2 {
            run(0, ways)
        } else if place == turn {
            run(0, own)
        } else {
            run(own, ways - own)
        }
    }
}

/// What each task was given last.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Given([u64; MOST]);

impl Given {
    pub(super) const fn new() -> Self {
        Self([0; MOST])
    }

    /// Gives every task behind the cache what is `wanted` of its process, as far as actions reach; what is left over comes with
    /// the next hook. Zero is for a task that is left as it is.
    pub(super) fn give(
        &mut self,
        crowd: &Crowd,
        cores: CoreSet,
        mut wanted: impl FnMut(usize) -> u64,
    ) -> Actions {
        let processes = crowd.processes(cores);
        let mut actions = Actions::NONE;
        for member in crowd.behind(cores) {
            let mask = processes.place(member.process).map_or(0, &mut wanted);
            let given = &mut self.0[member.task.index()];
            if mask != 0 && *given != mask && actions.push(Action::Ways { task: member.task, mask }).is_some()
            {
                *given = mask;
            }
        }
        actions
    }

    /// The task has ended.
    pub(super) fn forget(&mut self, task: TaskId) {
        if let Some(given) = self.0.get_mut(task.index()) {
            *given = 0;
        }
    }
}

/// Counts sampling periods, at the ticks of one core.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Periods {
    by: Option<CoreId>,
    /// How many are over.
    pub(super) over: u64,
}

impl Periods {
    /// A period is over on `core`. The first core that says so is the one that counts.
    pub(super) fn tick(&mut self, core: CoreId) {
        if *self.by.get_or_insert(core) == core {
            self.over += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_has_each_size_once_and_the_others_the_rest() {
        let sweep = Sweep { settle: 3 };
        let (ways, processes) = (4, 3);
        assert_eq!(sweep.length(ways, processes), 27);
        let mut seen = alloc::vec![Vec::new(); processes];
        for period in 0..27 {
            let masks: Vec<u64> =
                (0..processes).map(|place| sweep.mask(ways, processes, place, period)).collect();
            let turn = (period / 9) as usize;
            seen[turn].push(masks[turn]);
            for (place, mask) in masks.iter().enumerate().filter(|(place, _)| *place != turn) {
                assert_eq!(mask | masks[turn], 0b1111, "{place}");
                assert_eq!(mask & masks[turn], 0);
            }
        }
        for own in seen {
            assert_eq!(own, [1, 1, 1, 3, 3, 3, 7, 7, 7]);
        }
    }
}
