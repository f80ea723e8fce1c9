//! Groups of tasks that share colors are given cores (thesis chapters 7 and 8): CAP, CAP-GS, LWFG.
//!
//! A task's memory is what its work touches; memory that several tasks touch is counted for the first of them. A task that touches
//! memory and names no colors gets pages of any color, and so shares with everybody.

use crate::assign::{as_sporadic, is_placed_by_color};
use crate::place::Wish;
use crate::request::{CoreCapacity, IsolationWish, Mechanisms, Partitioner, SchedulerWish};
use crate::{Draft, Fault};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use solo_model::policy::{FixedBy, Theory};
use solo_model::work::Visit;
use solo_model::{BufferId, Bytes, Platform, Policy, Task, TaskClass, TaskId};
use solo_prove::color::{ColoredTask, Memory, Method, Rules, partition};
use solo_prove::pack::Share;

/// The share of a core that rate-monotonic scheduling is sure of, in thousandths, as the thesis rounds it (8.1).
const RM_SHARE: u64 = 690;

impl Draft<'_> {
    /// Gives cores to tasks by their colors; none of those that are placed may have a core already.
    pub(crate) fn assign_by_color(
        &mut self,
        method: Wish<Method>,
        scheduler: &SchedulerWish,
        platform: &Platform,
        policy: &Policy,
    ) {
        let placed: Vec<usize> =
            (0..self.tasks.len()).filter(|&at| is_placed_by_color(&self.tasks[at])).collect();
        if let Some(&held) = placed.iter().find(|&&at| self.tasks[at].core.is_some()) {
            let at = self
                .wish_of(held as u32)
                .map_or(method.at, |wish| wish.core.wish().map_or(wish.at, |core| core.at));
            let task = self.tasks[held].name.clone();
            return self.object(at, Fault::CoreAndPartition { task });
        }
        let capacity = match (scheduler.capacity.value(), policy.criterion.facts().theory) {
            (Some(CoreCapacity::Edf), _) | (None, Theory::Edf) => Share::cores(1),
            (Some(CoreCapacity::Rm), _) | (None, Theory::Fixed(FixedBy::Period)) => {
                Share::liu_layland(placed.len())
            }
            (Some(CoreCapacity::Share(share)), _) => thousandths(u64::from(share.get())),
            (None, Theory::Fixed(_) | Theory::None) => {
                return self.object(method.at, Fault::NoCapacity { policy: policy.clone() });
            }
        };
        let alpha = scheduler.alpha.value();
        let hard_limit = alpha.and_then(|&alpha| Share::new(alpha.saturating_mul(RM_SHARE), 1_000_000));
        let Some(tasks) = self.colored(&placed) else { return };
        let memory = Memory { total: platform.dram.size, colors: self.colors_of(platform) };
        let rules = Rules { capacity, hard_limit };
        match partition(method.value, &tasks, &memory, platform.cores.len(), rules) {
            Ok(cores) => {
                let homes = cores.iter().enumerate();
                let mut homes: Vec<(usize, usize)> =
                    homes.flat_map(|(core, tasks)| tasks.iter().map(move |&task| (task, core))).collect();
                homes.sort_unstable();
                for (task, core) in homes {
                    self.settle(placed[task], core, Partitioner::Colors(method.value));
                }
            }
            Err(error) => {
                let tasks = placed.iter().map(|&at| TaskId(at as u32)).collect();
                self.object(method.at, Fault::Colors { error, tasks });
            }
        }
    }

    /// The colors of the last level, as many as are told apart.
    fn colors_of(&self, platform: &Platform) -> u16 {
        let colors = platform.last_level().map_or(1, |cache| cache.colors(platform.page));
        let groups = self.mechanisms().and_then(|wished| wished.coloring.memory.groups.as_ref());
        groups.map_or(colors, |groups| groups.value.clamp(1, colors.max(1)))
    }

    fn mechanisms(&self) -> Option<&Mechanisms> {
        match &self.request.isolation {
            IsolationWish::By(wished) => Some(wished),
            IsolationWish::Off => None,
        }
    }

    /// The tasks with their memory and colors; none where nothing says how long one of them runs.
    fn colored(&mut self, placed: &[usize]) -> Option<Vec<ColoredTask>> {
        let every: Vec<u16> = match self.request.platform.value() {
            Some(platform) => (0..self.colors_of(platform)).collect(),
            None => Vec::new(),
        };
        let mut seen = BTreeSet::new();
        let mut colored = Vec::with_capacity(placed.len());
        for &at in placed {
            let task = &self.tasks[at];
            let timing = as_sporadic(task, self.slowest_for(task.core));
            if timing.is_none() && task.class != TaskClass::BestEffort {
                self.object_unsized(at);
                return None;
            }
            let touched = touched(task);
            let colors = match self.named_colors(at as u32) {
                Some(colors) => colors.to_vec(),
                None if touched.is_empty() => Vec::new(),
                None => every.clone(),
            };
            let new = touched.into_iter().filter(|&buffer| seen.insert(buffer));
            let sizes = new.filter_map(|buffer| self.buffers.get(buffer.index()).map(|buffer| buffer.size));
            let memory = sizes.fold(0_u64, |sum, size| sum.saturating_add(size.get()));
            colored.push(ColoredTask { timing, class: task.class, memory: Bytes::new(memory), colors });
        }
        Some(colored)
    }

    /// The colors that a task is confined to: by its name, by its pattern's, or as it says itself.
    fn named_colors(&self, at: u32) -> Option<&[u16]> {
        let wished = self.mechanisms()?;
        let owner = self.wish_of(at);
        let called = |name: &str| {
            self.tasks[at as usize].name == name || owner.is_some_and(|wish| wish.name.value == name)
        };
        let named = wished.coloring.colors.iter().find(|named| called(&named.name.value));
        let own = || owner.and_then(|wish| wish.colors.as_ref());
        named.map(|named| &named.wish).or_else(own).map(|wish| wish.value.as_slice())
    }
}

fn thousandths(share: u64) -> Share {
    Share::new(share, 1000).unwrap_or(Share::ZERO)
}

/// The memory that a task's work touches.
fn touched(task: &Task) -> BTreeSet<BufferId> {
    let buffer = |visit: Visit<'_>| match visit {
        Visit::Step(step) => step.buffer(),
        Visit::Begin { .. } | Visit::End { .. } => None,
    };
    task.work.walk().filter_map(buffer).collect()
}
