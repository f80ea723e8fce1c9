//! Pages that are loaded and locked at the begin of each window of a partition (SCE 2.3 and 5, Fig. 16a): what that takes of the window.
//!
//! Whoever runs first in the window loads them, before anything else of the partition is done; so to its tasks that is a part of the time
//! in which the partition does not run. What is loaded are misses of the core like all others, and use its budget up.

use super::{System, step};
use solo_model::isolation::LockTime;
use solo_model::partition::MajorCycle;
use solo_model::units::Duration;
use solo_model::{CoreId, CoreSet, Experiment, TaskId};

/// What is loaded at the begin of a partition's windows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Load {
    /// Lines of the last level: as many misses at most.
    pub(crate) lines: u64,
    /// What loading and locking them takes alone.
    pub(crate) time: Duration,
    /// The longest stretch of it without interrupts.
    pub(crate) step: Duration,
    /// What unlocking them takes whoever runs when the window is over.
    pub(crate) unlocking: Duration,
}

/// By partition, what is loaded at the begin of each of its windows: nothing, or something that takes so long, or something for which
/// there is no bound. `budgets`: what other cores add to misses is bounded and counted elsewhere.
pub(super) fn loads(experiment: &Experiment, users: CoreSet, budgets: bool) -> Vec<Option<Option<Load>>> {
    let (Some(lockdown), true) = (&experiment.isolation.lockdown, locks_by_clock(experiment)) else {
        return Vec::new();
    };
    let platform = &experiment.platform;
    let of = |members: &Vec<TaskId>| {
        let pages = lockdown.pages.iter().filter(|page| members.contains(&page.task)).count() as u64;
        let core = members.first().and_then(|task| experiment.tasks[task.index()].core).unwrap_or(CoreId(0));
        let lines = crate::wcet::loading(pages, platform.page, platform.line());
        let load = || {
            let crowded = !budgets && others_use_memory(experiment, core);
            let [time, step, unlocking] = step::loading(experiment, users, core, lines, crowded)?;
            Some(Load { lines, time, step, unlocking })
        };
        (pages > 0).then(load)
    };
    lockdown.partitions.iter().map(of).collect()
}

/// What loading and locking so many pages takes a core, with what budgets and other cores add; `None` where that has no bound. All cores
/// are supposed to use memory.
pub fn loading(system: &System, experiment: &Experiment, core: CoreId, pages: u64) -> Option<Duration> {
    let lines = crate::wcet::loading(pages, experiment.platform.page, experiment.platform.line());
    // Where no core has a budget, nothing holds the others.
    let crowded = !matches!(system.interference, Some(Ok(_)));
    let [alone, ..] = step::loading(experiment, experiment.platform.core_set(), core, lines, crowded)?;
    Some(alone.saturating_add(system.adds(core, lines)?))
}

/// True where memory serves others than this core, too: tasks of other cores, devices, or the kernel on behalf of these.
fn others_use_memory(experiment: &Experiment, core: CoreId) -> bool {
    let abroad = experiment.tasks.iter().filter(|task| task.core != Some(core));
    let kernel = experiment.isolation.memory.as_ref().is_some_and(|memory| memory.kernel_data.is_some());
    let locked = experiment.isolation.lockdown.iter().flat_map(|lockdown| &lockdown.pages);
    kernel
        || !experiment.devices.is_empty()
        || abroad.into_iter().any(|task| task.work.touches_memory())
        || locked.into_iter().any(|page| experiment.tasks[page.task.index()].core != Some(core))
}

impl System {
    /// How many lines are loaded, to be locked, at the begins of windows that fall into so long a time, on the core of a task. Whoever
    /// runs first in a window loads them, so that they may be counted among its misses.
    pub fn loaded_within(&self, task: usize, time: Duration) -> u64 {
        let core = self.tasks.get(task).and_then(|member| self.domains[member.domain].core);
        let cycles = self.partitions.iter().flat_map(|partitions| partitions.cycles());
        let of = |cycle: &MajorCycle| {
            let lines = cycle.windows.iter().map(|window| {
                let load = self.loads.get(window.partition.index()).copied().flatten().flatten();
                load.map_or(0, |load| load.lines)
            });
            let times = (time.get() / cycle.length.get().max(1)).saturating_add(1);
            lines.fold(0, u64::saturating_add).saturating_mul(times)
        };
        cycles.filter(|cycle| Some(cycle.core) == core).map(of).fold(0, u64::saturating_add)
    }
}

/// True where pages are locked in the windows of partitions, and all of these are by the clock.
pub(super) fn locks_by_clock(experiment: &Experiment) -> bool {
    let isolation = &experiment.isolation;
    let (Some(lockdown), Some(partitions)) = (&isolation.lockdown, &isolation.partitions) else {
        return false;
    };
    let timed = |task: TaskId| partitions.of(task).and_then(|home| partitions.core_of(home)).is_some();
    lockdown.when == LockTime::Partition && lockdown.pages.iter().all(|page| timed(page.task))
}
