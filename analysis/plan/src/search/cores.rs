//! Which core each task goes to.

use super::choices::{Choices, CoreRule, Planned};
use super::lack::NoPlan;
use super::subject::Subject;
use crate::assign::{as_sporadic, by_speed, capacity, key};
use crate::objection::NoRoom;
use crate::request::Heuristic;
use crate::{Defaults, plan};
use alloc::boxed::Box;
use alloc::vec::Vec;
use solo_model::random::SplitMix64;
use solo_model::{CoreId, RelativeSpeed, TaskId};
use solo_prove::Effort;
use solo_prove::pack::{Capacity, Fit, Full, Order, Sizes, place_among};

/// Work for one placement.
const STEPS: u64 = 1 << 24;
/// Drawn orders have a stream of random numbers of their own.
const STREAM: u64 = 0x706c_616e;

/// Tasks with cores.
pub(super) struct Placement {
    pub(super) rule: CoreRule,
    pub(super) charged: bool,
    /// By task.
    pub(super) cores: Vec<CoreId>,
}

/// What a placement came to.
pub(super) enum Placed {
    Done(Choices, Box<Planned>),
    Together(usize, usize),
    No,
}

impl Subject {
    /// Gives each task a core.
    pub(super) fn place(&self, rule: CoreRule, charged: bool) -> Result<Placement, NoPlan> {
        let cores = match rule {
            CoreRule::ByColor => self.by_color()?,
            CoreRule::Each(way) => self.one_way(way),
            CoreRule::Written => self.probe.tasks.iter().map(|task| task.core.unwrap_or(CoreId(0))).collect(),
            CoreRule::Packed(heuristic) => self.pack(heuristic, None, &self.held, charged)?,
            CoreRule::Apart(heuristic) => {
                let held = self.alone().unwrap_or_else(|| self.held.clone());
                self.pack(heuristic, None, &held, charged)?
            }
            CoreRule::Drawn(draw) => {
                let heuristic = Heuristic { fit: Fit::Worst, order: Order::Given };
                self.pack(heuristic, Some(draw), &self.held, charged)?
            }
        };
        Ok(Placement { rule, charged, cores })
    }

    fn by_color(&self) -> Result<Vec<CoreId>, NoPlan> {
        let planned = plan(&self.request, &Defaults).map_err(|refused| NoPlan::Refused(Box::new(refused)))?;
        Ok(planned.experiment.tasks.iter().map(|task| task.core.unwrap_or(CoreId(0))).collect())
    }

    /// The choice of these cores for the wishes that name none.
    pub(super) fn cores(&self, placement: &Placement) -> Choices {
        let mut choices = self.nothing();
        if placement.rule == CoreRule::ByColor {
            return choices;
        }
        for (task, &wish) in self.wish_of.iter().enumerate() {
            if self.request.tasks[wish].core.is_nothing() {
                choices.tasks[wish].core = Some(placement.cores[task]);
            }
        }
        choices
    }

    /// One core of each physical core, and those that are written: siblings share all caches, and what they do to each other has no
    /// bound. All cores where nobody uses memory.
    pub(super) fn usable(&self) -> Vec<CoreId> {
        let platform = &self.probe.platform;
        let touches = self.probe.tasks.iter().any(|task| task.work.touches_memory());
        let first = |core: CoreId| {
            let physical = |core: CoreId| platform.cores.get(core.index()).map(|core| core.physical);
            (0..core.0).all(|other| physical(CoreId(other)) != physical(core))
        };
        let all = (0..platform.cores.len() as u16).map(CoreId);
        let all = all.filter(|&core| !self.starts_devices(core));
        all.filter(|&core| !touches || first(core) || self.held.contains(&Some(core))).collect()
    }

    /// By task, the core that it has to be on where each group with a deadline that uses memory gets one of its own, the largest
    /// first; `None` where there are too few, or tasks of one core use memory whatever is done.
    pub(super) fn alone(&self) -> Option<Vec<Option<CoreId>>> {
        let tasks = &self.probe.tasks;
        let mut held = self.held.clone();
        let mut free = self.usable();
        free.retain(|&core| !self.held.contains(&Some(core)));
        let uses = |task: usize| tasks[task].work.touches_memory();
        let promised = |task: usize| uses(task) && tasks[task].relative_deadline().is_some();
        let share = |task: usize| {
            as_sporadic(&tasks[task], self.slowest_for(task))
                .map_or(0, |task| u128::from(task.c.get()) * 1_000_000 / u128::from(task.t.get().max(1)))
        };
        let mut groups: Vec<(u128, usize)> = Vec::new();
        for leader in (0..tasks.len()).filter(|&task| self.group(task) == task) {
            let members: Vec<usize> = (0..tasks.len()).filter(|&task| self.group(task) == leader).collect();
            if !members.iter().any(|&task| promised(task)) {
                continue;
            }
            if members.iter().filter(|&&task| uses(task)).count() > 1
                || self.home_of(leader, &self.held).is_some()
            {
                return None;
            }
            groups.push((members.iter().map(|&task| share(task)).sum(), leader));
        }
        groups.sort_by_key(|&(share, leader)| (core::cmp::Reverse(share), leader));
        let others = (0..tasks.len()).any(|task| uses(task) && !promised(task));
        if groups.len() + usize::from(others) > free.len() {
            return None;
        }
        for (&(_, leader), core) in groups.iter().zip(free) {
            for task in (0..tasks.len()).filter(|&task| self.group(task) == leader) {
                held[task] = Some(core);
            }
        }
        Some(held)
    }

    /// How fast the slowest core computes that a task may come onto.
    pub(super) fn slowest_for(&self, task: usize) -> RelativeSpeed {
        let platform = &self.probe.platform;
        match self.held.get(task).copied().flatten() {
            Some(core) => platform.speed(core),
            None => platform.slowest(platform.core_set()),
        }
    }

    /// Packs tasks with periods, then spreads the others. Who is held has a core already.
    fn pack(
        &self,
        heuristic: Heuristic,
        drawn: Option<u32>,
        fixed: &[Option<CoreId>],
        charged: bool,
    ) -> Result<Vec<CoreId>, NoPlan> {
        let usable = self.usable();
        let index = |core: CoreId| usable.iter().position(|&known| known == core);
        let mut placed: Vec<usize> = (0..self.probe.tasks.len())
            .filter(|&task| self.probe.tasks[task].release.period().is_some())
            .collect();
        if let Some(draw) = drawn {
            SplitMix64::derived(self.probe.seed, &[STREAM, u64::from(draw)]).shuffle(&mut placed);
        }
        let sized = |at: usize, speed: RelativeSpeed| {
            let task = &self.probe.tasks[at];
            let sized = as_sporadic(task, speed).ok_or_else(|| NoPlan::Unsized(task.name.clone()))?;
            let memory = if charged { self.charge(at) } else { 0 };
            let c = sized.c.get().saturating_add(memory).min(sized.d.get().max(sized.c.get()));
            Ok(solo_prove::Task::new(c, sized.t.get(), sized.d.get()))
        };
        let (kinds, kind_of) = by_speed(&self.probe.platform, &usable, |speed| {
            placed.iter().map(|&at| sized(at, speed)).collect()
        })?;
        let sizes = Sizes { kinds: &kinds, kind_of: &kind_of };
        let keys: Vec<u64> =
            placed.iter().map(|&at| key(&self.probe.policy, &self.probe.tasks[at])).collect();
        // Where no test is exact the demand of deadlines is as good a measure as any; the analysis has the last word.
        let capacity = capacity(&self.probe.policy, &keys).unwrap_or(Capacity::Edf);
        let mut held: Vec<Option<usize>> =
            placed.iter().map(|&at| self.home_of(at, fixed).and_then(index)).collect();
        loop {
            let how = (heuristic.fit, heuristic.order);
            let homes = place_among(sizes, &held, how, capacity, &mut Effort::steps(STEPS))
                .map_err(|unplaced| self.no_room(&placed, &usable, unplaced.task, unplaced.tried))?;
            // Who belongs together follows the first of them that was placed.
            let torn = (0..placed.len()).find_map(|at| {
                let leader = (0..at).find(|&other| self.group(placed[other]) == self.group(placed[at]))?;
                (homes[leader] != homes[at] && held[at].is_none()).then_some((at, leader))
            });
            match torn {
                Some((at, leader)) => {
                    held[leader] = Some(homes[leader]);
                    held[at] = held[leader];
                }
                None => return Ok(self.spread(&placed, &homes, &usable, fixed)),
            }
        }
    }

    /// The core of a task's group, where any of them has one.
    pub(super) fn home_of(&self, task: usize, held: &[Option<CoreId>]) -> Option<CoreId> {
        let same = (0..held.len()).filter(|&other| self.group(other) == self.group(task));
        held[task].or_else(|| same.into_iter().find_map(|other| held[other]))
    }

    /// Tasks without periods go to the cores of their groups, else each to the core with the fewest tasks
    /// that it may disturb, of these the one with the fewest partitions, then tasks.
    fn spread(
        &self,
        placed: &[usize],
        homes: &[usize],
        usable: &[CoreId],
        held: &[Option<CoreId>],
    ) -> Vec<CoreId> {
        let count = self.probe.tasks.len();
        let mut cores: Vec<Option<CoreId>> = (0..count).map(|task| self.home_of(task, held)).collect();
        for (&task, &home) in placed.iter().zip(homes) {
            cores[task] = Some(usable[home]);
        }
        for task in 0..count {
            if cores[task].is_some() {
                continue;
            }
            let friend =
                (0..count).find(|&other| self.group(other) == self.group(task) && cores[other].is_some());
            // Who uses memory keeps away from tasks with deadlines that do, too: they would evict each other's lines.
            let beside = |core: CoreId| {
                let promised = |other: &usize| {
                    let other = &self.probe.tasks[*other];
                    other.work.touches_memory() && other.relative_deadline().is_some()
                };
                let touches = self.probe.tasks[task].work.touches_memory();
                (0..count).filter(|&other| touches && cores[other] == Some(core)).filter(promised).count()
            };
            let fewest = || {
                let on = |core: CoreId| cores.iter().filter(|known| **known == Some(core)).count();
                // A partition counts once.
                let leads = |task: usize| {
                    (0..task)
                        .all(|other| cores[other] != cores[task] || self.group(other) != self.group(task))
                };
                let groups = |core: CoreId| {
                    (0..count).filter(|&task| cores[task] == Some(core) && leads(task)).count()
                };
                usable.iter().copied().min_by_key(|&core| (beside(core), groups(core), on(core), core))
            };
            cores[task] = friend.and_then(|friend| cores[friend]).or_else(fewest);
        }
        cores.into_iter().map(|core| core.unwrap_or(CoreId(0))).collect()
    }

    fn no_room(&self, placed: &[usize], usable: &[CoreId], task: usize, tried: Vec<Full>) -> NoPlan {
        let asked = tried.iter().filter_map(|full| match full {
            Full::Utilization { millionths } | Full::Demand { millionths } => Some(*millionths),
            Full::Response { .. } | Full::Undecided | Full::Behind => None,
        });
        let asked = asked.min().unwrap_or(0);
        let room = |(at, full): (usize, Full)| NoRoom {
            core: usable[at],
            full,
            late: match full {
                Full::Response { late, .. } => Some(TaskId(placed[late] as u32)),
                _ => None,
            },
        };
        let name = self.probe.tasks[placed[task]].name.clone();
        NoPlan::NoRoom { task: name, tried: tried.into_iter().enumerate().map(room).collect(), asked }
    }
}
