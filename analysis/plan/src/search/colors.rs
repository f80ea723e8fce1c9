//! Colors of the last-level cache, so that tasks of different cores share none.
//!
//! Each core whose tasks use memory gets a stretch of the colors that nobody has: one, then as many as hold the pages of its tasks with
//! deadlines, and of the rest a part in proportion to the pages that its tasks touch. Where colors don't suffice for a step they are given
//! in proportion, by largest remainders (of equal ones the lowest core first). All tasks of a core share its stretch.

use super::choices::{Choices, CoreRule};
use super::cores::Placement;
use super::lack::NoPlan;
use super::subject::Subject;
use alloc::vec::Vec;
use solo_isolate::MemoryMap;
use solo_model::work::Visit;
use solo_model::{BufferId, CoreId};

impl Subject {
    /// Cores whose tasks use memory, ascending.
    pub(super) fn users(&self, placement: &Placement) -> Vec<CoreId> {
        let uses = |task: &usize| self.probe.tasks[*task].work.touches_memory();
        let mut cores: Vec<CoreId> =
            (0..placement.cores.len()).filter(uses).map(|task| placement.cores[task]).collect();
        cores.sort_unstable();
        cores.dedup();
        cores
    }

    /// Chooses colors for tasks that use memory and name none.
    pub(super) fn color(&self, placement: &Placement, choices: &mut Choices) -> Result<(), NoPlan> {
        let Some(wished) = self.mechanisms() else { return Ok(()) };
        let by_ways = !wished.ways.is_empty() || self.request.tasks.iter().any(|wish| wish.ways.is_some());
        if by_ways || placement.rule == CoreRule::ByColor || self.users(placement).len() < 2 {
            return Ok(());
        }
        let Ok(map) = MemoryMap::of(&self.probe.platform) else { return Ok(()) };
        let memory = &wished.coloring.memory;
        let count =
            memory.groups.map_or(map.colors().count(), |groups| map.grouped(groups.value).colors().count());
        if count < 2 {
            return Ok(());
        }
        let open = |wish: usize| self.colors_of(wish).is_none();
        let mut needs: Vec<(CoreId, u64)> = Vec::new();
        for core in self.users(placement) {
            let here = |task: &usize| placement.cores[*task] == core && open(self.wish_of[*task]);
            let pages = self.pages((0..placement.cores.len()).filter(here));
            if pages > 0 {
                needs.push((core, pages));
            }
        }
        let taken: Vec<u16> = (0..self.request.tasks.len())
            .filter_map(|wish| self.colors_of(wish))
            .flatten()
            .copied()
            .collect();
        let kernel = memory.kernel.map(|kernel| kernel.value);
        let free: Vec<u16> =
            (0..count).filter(|color| !taken.contains(color) && Some(*color) != kernel).collect();
        if needs.is_empty() {
            return Ok(());
        }
        if free.len() < needs.len() {
            return Err(NoPlan::Colors { needed: needs.len(), there: free.len() });
        }
        let promised = |core: CoreId| {
            let tasks = &self.probe.tasks;
            let of = |task: &usize| {
                placement.cores[*task] == core
                    && open(self.wish_of[*task])
                    && tasks[*task].relative_deadline().is_some()
            };
            self.pages((0..tasks.len()).filter(of))
        };
        let ways = self.probe.platform.last_level().map_or(1, |cache| u64::from(cache.ways.max(1)));
        let wanted: Vec<u64> = needs.iter().map(|&(core, _)| promised(core).div_ceil(ways).max(1)).collect();
        let pages: Vec<u64> = needs.iter().map(|(_, pages)| *pages).collect();
        let parts = with_room(free.len() as u64, &wanted, &pages);
        let mut rest = free.as_slice();
        for ((core, _), part) in needs.iter().zip(parts) {
            let (own, others) = rest.split_at(usize::try_from(part).unwrap_or(0).min(rest.len()));
            rest = others;
            for (task, &wish) in self.wish_of.iter().enumerate() {
                let uses = self.probe.tasks[task].work.touches_memory();
                if placement.cores[task] == *core && uses && open(wish) {
                    choices.tasks[wish].colors = Some(own.to_vec());
                }
            }
        }
        Ok(())
    }

    /// The colors that are written for a wish.
    fn colors_of(&self, wish: usize) -> Option<&Vec<u16>> {
        let task = &self.request.tasks[wish];
        let named = self.mechanisms().map_or(&[][..], |wished| wished.coloring.colors.as_slice());
        let named = named.iter().find(|named| named.name.value == task.name.value);
        named.map(|named| &named.wish.value).or(task.colors.as_ref().map(|colors| &colors.value))
    }

    /// The pages that tasks touch together, each buffer once.
    pub(super) fn pages(&self, tasks: impl Iterator<Item = usize>) -> u64 {
        let mut buffers: Vec<BufferId> = Vec::new();
        for task in tasks {
            buffers.extend(self.probe.tasks[task].work.walk().filter_map(|visit| match visit {
                Visit::Step(step) => step.buffer(),
                Visit::Begin { .. } | Visit::End { .. } => None,
            }));
        }
        buffers.sort_unstable();
        buffers.dedup();
        let page = self.probe.platform.page.get().max(1);
        buffers.iter().map(|buffer| self.probe.buffers[buffer.index()].size.get().div_ceil(page).max(1)).sum()
    }
}

/// `total` in whole parts: one each, what is wanted or of it in proportion, then the rest in proportion to `pages`. No more parts than
/// `total`; what is wanted is at least one each.
fn with_room(total: u64, wanted: &[u64], pages: &[u64]) -> Vec<u64> {
    let sum = wanted.iter().fold(0, |sum: u64, &wanted| sum.saturating_add(wanted));
    if sum >= total {
        // One each, and what is wanted beyond in proportion: nobody gets more than that.
        let beyond: Vec<u64> = wanted.iter().map(|&wanted| wanted - 1).collect();
        return proportional(total, &beyond);
    }
    // One more than the rest in parts of at least one each.
    let count = wanted.len() as u64;
    let rest = proportional(total - sum + count, pages);
    wanted.iter().zip(rest).map(|(&wanted, more)| wanted + more - 1).collect()
}

/// `total` in whole parts: one each, and the rest in proportion to `weights` by largest remainders. No more parts than `total`.
pub(super) fn proportional(total: u64, weights: &[u64]) -> Vec<u64> {
    let rest = u128::from(total.saturating_sub(weights.len() as u64));
    let sum = weights.iter().map(|&weight| u128::from(weight)).sum::<u128>().max(1);
    let exact: Vec<u128> = weights.iter().map(|&weight| rest * u128::from(weight)).collect();
    let mut parts: Vec<u64> =
        exact.iter().map(|share| 1 + u64::try_from(share / sum).unwrap_or(u64::MAX >> 1)).collect();
    let given: u128 = exact.iter().map(|share| share / sum).sum();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|&at| (core::cmp::Reverse(exact[at] % sum), at));
    let left = if weights.iter().all(|&weight| weight == 0) { 0 } else { rest - given };
    for &at in order.iter().take(usize::try_from(left).unwrap_or(0)) {
        parts[at] += 1;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::{proportional, with_room};

    #[test]
    fn what_deadlines_need_comes_before_what_others_touch() {
        // Two streams of a thousand pages beside tasks whose pages fill two colors and one.
        assert_eq!(with_room(16, &[2, 1, 1, 1], &[48, 20, 1_024, 1_024]), [2, 1, 7, 6]);
        // Too few: one each, the rest as wanted.
        assert_eq!(with_room(6, &[4, 2, 1], &[100, 50, 9_000]), [3, 2, 1]);
        assert_eq!(with_room(4, &[1, 1, 1, 1], &[1, 1, 1, 1]), [1, 1, 1, 1]);
        for total in 3..100_u64 {
            for wanted in [[1, 1, 1], [40, 2, 1], [7, 7, 7]] {
                let parts = with_room(total, &wanted, &[1, 900, 30]);
                assert_eq!(parts.iter().sum::<u64>(), total, "{total} {wanted:?}");
                let sum = wanted.iter().sum::<u64>();
                assert!(sum > total || parts.iter().zip(wanted).all(|(part, wanted)| *part >= wanted));
            }
        }
    }

    #[test]
    fn parts_are_in_proportion_and_none_is_empty() {
        assert_eq!(proportional(16, &[1, 1, 1, 1]), [4, 4, 4, 4]);
        assert_eq!(proportional(16, &[1000, 1, 1]), [14, 1, 1]);
        assert_eq!(proportional(3, &[5, 9, 1]), [1, 1, 1]);
        assert_eq!(proportional(128, &[300, 100]), [96, 32]);
        for total in 3..200_u64 {
            for weights in [[1, 2, 3], [7, 7, 7], [1, 0, 900], [u64::MAX, 1, u64::MAX]] {
                assert_eq!(proportional(total, &weights).iter().sum::<u64>(), total, "{total} {weights:?}");
            }
        }
    }
}
