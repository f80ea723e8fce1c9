//! What bounds a task's time beside other cores: a part of the last level of its own, budgets that nobody exceeds, memory that serves
//! cores in turn.

use crate::error::Unbounded;
use solo_isolate::map::MemoryMap;
use solo_model::isolation::{Regulation, WayOwner};
use solo_model::platform::{Cache, RequestOrder};
use solo_model::{Color, CoreId, CoreSet, Duration, Experiment, Picoseconds, TaskId};
use solo_prove::wcet::{Arbiter, Regulation as Model};

/// Which part of the last level is the task's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::campaign) enum Apart {
    /// All of it: nobody else is behind it.
    Whole,
    /// These ways, and those that are left.
    Ways { own: u64, rest: u64 },
    /// These colors, and those that are left.
    Colors { own: Vec<Color>, rest: Vec<Color> },
}

/// The active cores: the task's first, then one of each other physical core, for siblings share more than memory.
pub(in crate::campaign) fn cores(experiment: &Experiment, task: TaskId) -> Vec<CoreId> {
    let platform = &experiment.platform;
    let first = experiment.tasks[task.index()].core.unwrap_or(CoreId(0));
    let physical = |core: CoreId| platform.cores.get(core.index()).map(|core| core.physical);
    let mut cores = vec![first];
    for core in platform.core_set().iter() {
        if cores.iter().all(|&taken| physical(taken) != physical(core)) {
            cores.push(core);
        }
    }
    cores
}

/// The part of the last level that is the task's own beside `active` cores.
pub(in crate::campaign) fn apart(
    experiment: &Experiment,
    task: TaskId,
    active: &[CoreId],
) -> Result<Apart, Unbounded> {
    if experiment.tasks.iter().any(|task| task.work.flushes()) {
        return Err(Unbounded::Flush);
    }
    let platform = &experiment.platform;
    let own = active.first().copied().unwrap_or(CoreId(0));
    let set = active.iter().fold(CoreSet::EMPTY, |all, &core| all.or(CoreSet::only(core)));
    let shared = |cache: &&Cache| cache.cores.contains(own) && cache.cores.and(set).len() > 1;
    let mut levels = platform.caches.iter().filter(shared);
    let (Some(cache), None) = (levels.next(), levels.next()) else {
        let none = !platform.caches.iter().any(|cache| shared(&cache));
        return if none { Ok(Apart::Whole) } else { Err(Unbounded::InnerCache) };
    };
    if platform.last_level().is_none_or(|last| last.level != cache.level) {
        return Err(Unbounded::InnerCache);
    }
    let ways = own_ways(experiment, task, own, cache.ways);
    ways.or_else(|| own_colors(experiment, task)).ok_or(Unbounded::SharedCache)
}

fn own_ways(experiment: &Experiment, task: TaskId, core: CoreId, ways: u16) -> Option<Apart> {
    let owned = |owner| experiment.isolation.ways.iter().find(|mask| mask.owner == owner);
    let mask = owned(WayOwner::Task(task)).or_else(|| owned(WayOwner::Core(core)))?;
    let all = if ways >= 64 { u64::MAX } else { (1 << ways) - 1 };
    let own = mask.mask & all;
    let above = all & !(own | own.wrapping_sub(1));
    let below = (own & own.wrapping_neg()).wrapping_sub(1);
    let rest = if above.count_ones() >= below.count_ones() { above } else { below };
    (own != 0 && rest != 0).then_some(Apart::Ways { own, rest })
}

fn own_colors(experiment: &Experiment, task: TaskId) -> Option<Apart> {
    let memory = experiment.isolation.memory.as_ref()?;
    let own = memory.owners.iter().find(|owner| owner.task == task)?.colors.clone();
    let map = MemoryMap::of(&experiment.platform).ok()?.grouped(memory.groups);
    let others = (0..map.colors().count()).map(Color);
    let rest: Vec<Color> =
        others.filter(|color| !own.contains(color) && memory.kernel != Some(*color)).collect();
    (!own.is_empty() && !rest.is_empty()).then_some(Apart::Colors { own, rest })
}

/// The budgets of the scenario, where no core can have more than its own.
pub(in crate::campaign) fn strict(experiment: &Experiment) -> Result<&Regulation, Unbounded> {
    let regulation = experiment.isolation.bandwidth.as_ref().ok_or(Unbounded::NoBudgets)?;
    if !experiment.devices.is_empty() {
        return Err(Unbounded::Device);
    }
    solo_prove::system::strict(experiment, regulation).map_err(|why| match why {
        solo_prove::system::Unbounded::Key(key) => Unbounded::LooseBudgets { key },
        solo_prove::system::Unbounded::Prefetcher => Unbounded::Prefetcher,
        solo_prove::system::Unbounded::LockedLater => Unbounded::LockedLater,
        _ => Unbounded::LooseBudgets { key: "count" },
    })?;
    Ok(regulation)
}

/// Equal budgets of misses, each of which moves two lines at most: what a hog reads pushes modified lines out.
pub(in crate::campaign) fn model(
    regulation: &Regulation,
    cores: usize,
    longest: Picoseconds,
    overtake: u64,
) -> Result<Model, Unbounded> {
    // Streams overlap their misses: one may add next to nothing to a time alone.
    let times = (Picoseconds::new(1), Picoseconds::new(longest.get().saturating_mul(2)));
    let arbiter = if overtake == 0 { Arbiter::RoundRobin } else { Arbiter::HitsFirst { overtake } };
    Model::even(regulation.period, cores, times, arbiter).map_err(|_| Unbounded::ShortPeriod { cores })
}

/// True where the controller lets row hits of other cores overtake.
pub(in crate::campaign) fn prefers_hits(experiment: &Experiment) -> bool {
    experiment.platform.dram.order == RequestOrder::RowHitsFirst
}

/// From one job to the next: a period is left between two, and they begin at each eighth of one.
pub(in crate::campaign) fn distance(bound: Duration, period: Duration) -> Duration {
    let whole = (bound.get() / period.get().max(1)).saturating_add(2);
    Duration::new(period.get().saturating_mul(whole).saturating_add(period.get() * 3 / 8))
}
