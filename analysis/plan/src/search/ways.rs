//! All ways to give tasks cores, where they are few: what no rule finds is then not there.

use super::choices::CoreRule;
use super::subject::Subject;
use crate::assign::as_sporadic;
use alloc::vec;
use alloc::vec::Vec;
use solo_model::CoreId;

/// More rounds than this are not made, whatever is tried with each.
pub(super) const MOST_ROUNDS: usize = 1000;
/// More ways than this are not tried: seven groups of tasks on any number of equal cores, ten on two, six on three that differ.
const MOST_WAYS: usize = 1000;

impl Subject {
    /// All ways to give tasks cores; nothing where the scenario says how, they are many, or nobody knows how long jobs take.
    pub(super) fn all_ways(&self) -> Vec<(CoreRule, bool)> {
        let written = self.request.scheduler.value().and_then(|wish| wish.partition.value());
        let tasks = self.probe.tasks.iter().enumerate();
        let periodic = tasks.filter(|(_, task)| task.release.period().is_some());
        let mut sizes = periodic.map(|(at, task)| as_sporadic(task, self.slowest_for(at)));
        // How long jobs take has to be said; a verdict without it would be none.
        if !self.is_open() || written.is_some() || sizes.any(|size| size.is_none()) {
            return Vec::new();
        }
        let ways = self.ways().map_or(0, |ways| ways.len() as u32);
        (0..ways).map(|way| (CoreRule::Each(way), false)).collect()
    }

    /// The cores of all tasks by one of these ways. Tasks that have been joined since leave fewer: it then is one of those.
    pub(super) fn one_way(&self, way: u32) -> Vec<CoreId> {
        let mut cores = self.held.clone();
        if let Some(ways) = self.ways().filter(|ways| !ways.is_empty()) {
            for (leader, &core) in self.unheld_groups().into_iter().zip(&ways[way as usize % ways.len()]) {
                cores[leader] = Some(core);
            }
        }
        let home = |task| self.home_of(task, &cores).unwrap_or(CoreId(0));
        (0..cores.len()).map(home).collect()
    }

    /// The first task of each group of which no task has to be on some core.
    fn unheld_groups(&self) -> Vec<usize> {
        let leads = |&task: &usize| self.group(task) == task && self.home_of(task, &self.held).is_none();
        (0..self.probe.tasks.len()).filter(leads).collect()
    }

    /// By way: the cores of these groups. Of cores that are alike a group takes the first on which nobody is.
    fn ways(&self) -> Option<Vec<Vec<CoreId>>> {
        let usable = self.usable();
        let mut ways = vec![Vec::new()];
        for _ in self.unheld_groups() {
            let mut longer = Vec::new();
            for way in &ways {
                let is_empty = |core: CoreId| !way.contains(&core) && !self.held.contains(&Some(core));
                let alike = |&core: &CoreId| {
                    let before = usable.iter().take_while(|&&other| other != core);
                    !is_empty(core)
                        || !before.copied().any(|other| is_empty(other) && self.are_alike(other, core))
                };
                longer.extend(
                    usable.iter().copied().filter(alike).map(|core| [way.as_slice(), &[core]].concat()),
                );
                if longer.len() > MOST_WAYS {
                    return None;
                }
            }
            ways = longer;
        }
        Some(ways)
    }

    /// Cores of one kind that have equal caches for themselves, and the same ones with others.
    fn are_alike(&self, a: CoreId, b: CoreId) -> bool {
        let platform = &self.probe.platform;
        let core = |id: CoreId| platform.cores.get(id.index());
        let of = |id: CoreId| {
            let physical = core(id).map(|core| core.physical);
            let here = platform.caches.iter().filter(move |cache| cache.cores.contains(id));
            here.map(move |cache| {
                let own = cache.cores.iter().all(|other| core(other).map(|other| other.physical) == physical);
                (cache.level, cache.size, cache.ways, (!own).then_some(cache.cores))
            })
        };
        core(a).map(|core| core.kind) == core(b).map(|core| core.kind) && of(a).eq(of(b))
    }
}
