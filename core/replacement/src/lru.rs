//! Least recently used, exactly: sets of up to 8 ways keep a matrix that says which way was accessed after which, of up
//! to 16 the ways in the order of their last accesses, in larger ones each line carries the number of its last access.

use crate::recency::{Recency, RecencyMatrix};
use crate::{Allowed, Policy, Table};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

pub(crate) fn new(sets: usize, ways: usize, _seed: u64) -> Table {
    if ways <= RecencyMatrix::MOST {
        LruMatrix { ways, row: RecencyMatrix::row(ways) }.into()
    } else if ways <= Recency::MOST {
        LruOrder { ways }.into()
    } else {
        LruStamps::new(sets, ways).into()
    }
}

/// The matrix is the set's memory.
#[derive(Clone, Debug)]
pub(crate) struct LruMatrix {
    ways: usize,
    row: u64,
}

impl Policy for LruMatrix {
    /// Way 0 leaves first.
    fn beginning(&self) -> u64 {
        RecencyMatrix::new(self.ways).bits()
    }

    #[inline(always)]
    fn touch(&mut self, memory: &mut u64, _: usize, way: usize) {
        let mut matrix = RecencyMatrix::from_bits(*memory);
        matrix.touch(way, self.row);
        *memory = matrix.bits();
    }

    #[inline(always)]
    fn fill(&mut self, memory: &mut u64, set: usize, way: usize) {
        self.touch(memory, set, way);
    }

    /// The way of the oldest access, which becomes the way of the last.
    #[inline(always)]
    fn replace_quickly(&self, memory: &mut u64) -> Option<usize> {
        let mut matrix = RecencyMatrix::from_bits(*memory);
        let way = matrix.replace(self.row);
        *memory = matrix.bits();
        Some(way)
    }

    fn victim(&mut self, memory: u64, _: usize, allowed: Allowed) -> usize {
        let older = |way: &usize| RecencyMatrix::from_bits(memory).older_than(*way, self.row);
        (0..self.ways).filter(|way| allowed.contains(*way)).min_by_key(older).unwrap_or(0)
    }
}

/// The order is the set's memory.
#[derive(Clone, Debug)]
pub(crate) struct LruOrder {
    ways: usize,
}

impl Policy for LruOrder {
    /// Way 0 leaves first.
    fn beginning(&self) -> u64 {
        Recency::new(self.ways).bits()
    }

    #[inline]
    fn touch(&mut self, memory: &mut u64, _: usize, way: usize) {
        let mut order = Recency::from_bits(*memory);
        order.touch(way);
        *memory = order.bits();
    }

    #[inline]
    fn fill(&mut self, memory: &mut u64, set: usize, way: usize) {
        self.touch(memory, set, way);
    }

    /// The way of the oldest access, which becomes the way of the last.
    #[inline]
    fn replace_quickly(&self, memory: &mut u64) -> Option<usize> {
        let mut order = Recency::from_bits(*memory);
        let way = order.replace(self.ways);
        *memory = order.bits();
        Some(way)
    }

    #[inline]
    fn victim(&mut self, memory: u64, _: usize, allowed: Allowed) -> usize {
        let order = Recency::from_bits(memory);
        if allowed == Allowed::All {
            return order.nth(self.ways - 1);
        }
        (0..self.ways).rev().map(|at| order.nth(at)).find(|way| allowed.contains(*way)).unwrap_or(0)
    }
}

/// Each line carries the number of its last access. When the numbers run out, each set's are replaced by their ranks,
/// which keeps the order.
#[derive(Clone, Debug)]
pub(crate) struct LruStamps {
    stamps: Box<[u32]>,
    ways: usize,
    clock: u32,
}

impl Policy for LruStamps {
    fn beginning(&self) -> u64 {
        0
    }

    #[inline(never)]
    fn touch(&mut self, _: &mut u64, set: usize, way: usize) {
        if self.clock == u32::MAX {
            self.renumber();
        }
        self.clock += 1;
        self.stamps[set * self.ways + way] = self.clock;
    }

    fn fill(&mut self, memory: &mut u64, set: usize, way: usize) {
        self.touch(memory, set, way);
    }

    #[inline]
    fn replace_quickly(&self, _: &mut u64) -> Option<usize> {
        None
    }

    fn victim(&mut self, _: u64, set: usize, allowed: Allowed) -> usize {
        let stamps = &self.stamps[set * self.ways..][..self.ways];
        (0..self.ways).filter(|way| allowed.contains(*way)).min_by_key(|way| stamps[*way]).unwrap_or(0)
    }
}

impl LruStamps {
    fn new(sets: usize, ways: usize) -> Self {
        Self { stamps: vec![0; sets * ways].into(), ways, clock: 0 }
    }

    #[cold]
    fn renumber(&mut self) {
        let mut order: Vec<usize> = Vec::with_capacity(self.ways);
        for stamps in self.stamps.chunks_mut(self.ways) {
            order.clear();
            order.extend(0..stamps.len());
            order.sort_by_key(|way| stamps[*way]);
            for (rank, way) in order.iter().enumerate() {
                stamps[*way] = rank as u32;
            }
        }
        self.clock = self.ways as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_survives_renumbering() {
        let mut lru = LruStamps::new(2, 3);
        lru.clock = u32::MAX - 2;
        lru.touch(&mut 0, 1, 2);
        lru.touch(&mut 0, 1, 0);
        lru.touch(&mut 0, 1, 1);
        assert!(lru.clock < 10);
        assert_eq!(lru.victim(0, 1, Allowed::All), 2);
        assert_eq!(lru.victim(0, 1, Allowed::Only(0b011)), 0);
        lru.touch(&mut 0, 1, 2);
        assert_eq!(lru.victim(0, 1, Allowed::All), 0);
    }

    /// Compares a policy that needs no more than a set's memory with the stamps.
    fn same_as_stamps(ways: usize, mut policy: impl Policy) {
        let mut stamps = LruStamps::new(2, ways);
        let mut memory = [policy.beginning(); 2];
        let mut random = 1_u64;
        for _ in 0..2000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (set, way) = ((random >> 40) as usize % 2, (random >> 50) as usize % ways);
            let memory = &mut memory[set];
            policy.touch(memory, set, way);
            stamps.touch(&mut 0, set, way);
            let some = Allowed::Only((random >> 20 & 0xffff) | 1);
            assert_eq!(policy.victim(*memory, set, Allowed::All), stamps.victim(0, set, Allowed::All));
            assert_eq!(policy.victim(*memory, set, some), stamps.victim(0, set, some));
            let oldest = stamps.victim(0, set, Allowed::All);
            assert_eq!(policy.replace_quickly(memory), Some(oldest));
            stamps.touch(&mut 0, set, oldest);
        }
    }

    #[test]
    fn the_order_of_small_sets_is_that_of_the_stamps() {
        for ways in 1..=RecencyMatrix::MOST {
            same_as_stamps(ways, LruMatrix { ways, row: RecencyMatrix::row(ways) });
        }
        for ways in 1..=Recency::MOST {
            same_as_stamps(ways, LruOrder { ways });
        }
    }
}
