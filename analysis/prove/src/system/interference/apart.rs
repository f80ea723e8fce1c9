//! Who uses memory, and whether what tasks of different cores keep in caches is kept apart.

use super::Unbounded;
use solo_model::isolation::{Fallback, WayOwner};
use solo_model::platform::{Cache, Replacement};
use solo_model::work::{Step, Visit};
use solo_model::{BufferId, Color, CoreId, CoreSet, Experiment, TaskId};

/// The tasks that use memory, each with its core.
pub(super) fn users(experiment: &Experiment) -> Result<Vec<(usize, CoreId)>, Unbounded> {
    let platform = &experiment.platform;
    let domains = experiment.policy.domains(platform.cores.len());
    if domains.iter().any(|domain| domain.len() > 1) {
        return Err(Unbounded::Queue);
    }
    let mut users = Vec::new();
    let mut cores = CoreSet::EMPTY;
    for (at, task) in experiment.tasks.iter().enumerate() {
        let core = task.core.unwrap_or(CoreId(0));
        cores = cores.or(CoreSet::only(core));
        if task.work.command().is_some() {
            return Err(Unbounded::Command(at));
        }
        if task.work.touches_memory() {
            users.push((at, core));
        }
    }
    let physical = |core: CoreId| platform.cores.get(core.index()).map(|core| core.physical);
    let doubled = |a: CoreId| cores.iter().any(|b| b != a && physical(a) == physical(b));
    if cores.iter().any(doubled) {
        return Err(Unbounded::Sibling);
    }
    Ok(users)
}

/// Whether what tasks of different cores keep in caches is kept apart.
pub(super) fn apart(experiment: &Experiment, users: &[(usize, CoreId)]) -> Result<(), Unbounded> {
    let buffers: Vec<Option<Vec<BufferId>>> =
        users.iter().map(|&(task, _)| buffers(&experiment.tasks[task].work.steps)).collect();
    let pairs = |at: usize| (at + 1..users.len()).filter(move |&other| users[other].1 != users[at].1);
    for at in 0..users.len() {
        for other in pairs(at) {
            let ((one, first), (two, second)) = (users[at], users[other]);
            let common = match (&buffers[at], &buffers[other]) {
                (Some(own), Some(theirs)) => own.iter().any(|buffer| theirs.contains(buffer)),
                // Recorded programs have memory of their own.
                _ => false,
            };
            if common {
                return Err(Unbounded::Data(one, two));
            }
            let both = |cache: &&Cache| cache.cores.contains(first) && cache.cores.contains(second);
            for cache in experiment.platform.caches.iter().filter(both) {
                let last = experiment.platform.last_level().is_some_and(|last| last.level == cache.level);
                let found =
                    if last { divided(experiment, users[at], users[other], cache) } else { Divided::No };
                match found {
                    Divided::Yes => {}
                    Divided::ButForReplacement => return Err(Unbounded::Replacement(one, two)),
                    Divided::No => return Err(Unbounded::Cache(one, two)),
                }
            }
        }
    }
    Ok(())
}

/// Whether two tasks keep their lines apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Divided {
    Yes,
    ButForReplacement,
    No,
}

/// Whether two tasks have ways or colors of the last level of their own.
fn divided(experiment: &Experiment, one: (usize, CoreId), two: (usize, CoreId), cache: &Cache) -> Divided {
    let (isolation, ways) = (&experiment.isolation, cache.ways);
    let of = |(task, core): (usize, CoreId)| {
        let owned = |owner| isolation.ways.iter().find(|mask| mask.owner == owner);
        let mask = owned(WayOwner::Task(TaskId(task as u32))).or_else(|| owned(WayOwner::Core(core)));
        let all = if ways >= 64 { u64::MAX } else { (1 << ways) - 1 };
        mask.map_or(all, |mask| mask.mask & all)
    };
    // Pages that somebody else has locked, of which those of its own core disturb a task only as all its work does.
    let pages = || isolation.lockdown.iter().flat_map(|lockdown| &lockdown.pages);
    let foreign = |(task, core): (usize, CoreId)| {
        let at_home = move |other: TaskId| experiment.tasks[other.index()].core.unwrap_or(CoreId(0)) == core;
        pages().filter(move |page| page.task.index() != task && !at_home(page.task)).map(|page| page.color)
    };
    let (first, second) = (of(one), of(two));
    let by_ways = first & second == 0 && first != 0 && second != 0;
    // Locked pages take ways of their colors from everybody.
    if by_ways && pages().next().is_none() {
        // Of these two the order of one part of the ways says nothing about the others.
        return match cache.replacement {
            Replacement::Lru | Replacement::Fifo => Divided::Yes,
            Replacement::TreePlru | Replacement::Random | Replacement::NotRecentlyUsed => {
                Divided::ButForReplacement
            }
        };
    }
    if by_colors(experiment, one, two, &foreign) { Divided::Yes } else { Divided::No }
}

/// Whether two tasks have colors of their own, in which nobody else has locked pages.
fn by_colors<I: Iterator<Item = Color>>(
    experiment: &Experiment,
    one: (usize, CoreId),
    two: (usize, CoreId),
    foreign: &dyn Fn((usize, CoreId)) -> I,
) -> bool {
    let isolation = &experiment.isolation;
    let Some(memory) = isolation.memory.as_ref().filter(|memory| memory.kernel_data.is_none()) else {
        return false;
    };
    // Heaps have colors of their own, whoever takes from them.
    if [one.0, two.0].iter().any(|&task| experiment.tasks[task].work.allocations().next().is_some()) {
        return false;
    }
    let colors = |(task, _): (usize, CoreId)| -> &[Color] {
        let own = memory.owners.iter().find(|owner| owner.task.index() == task);
        own.map_or(&[], |owner| owner.colors.as_slice())
    };
    let (own, theirs) = (colors(one), colors(two));
    memory.fallback == Fallback::Fail
        && !own.is_empty()
        && !theirs.is_empty()
        && !own.iter().any(|color| theirs.contains(color))
        && !foreign(one).any(|color| own.contains(&color))
        && !foreign(two).any(|color| theirs.contains(&color))
}

/// The buffers of a job's steps; `None` where it replays a recorded program.
fn buffers(steps: &[Step]) -> Option<Vec<BufferId>> {
    let mut found = Vec::new();
    for visit in solo_model::work::walk(steps) {
        match visit {
            Visit::Step(Step::Replay(_)) => return None,
            Visit::Step(step) => found.extend(step.buffer()),
            Visit::Begin { .. } | Visit::End { .. } => {}
        }
    }
    Some(found)
}
