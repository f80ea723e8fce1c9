//! Least recently used, exactly: sets of up to 8 ways keep a matrix that says which way was accessed after which, of up
//! to 16 the ways in the order of their last accesses, in larger ones each line carries the number of its last access.

use super::Allowed;
use solo_model::{Recency, RecencyMatrix};

/// The matrix is the set's memory.
#[derive(Clone, Debug)]
pub(crate) struct LruMatrix {
    ways: usize,
    row: u64,
}

impl LruMatrix {
    pub(crate) const MOST_WAYS: usize = RecencyMatrix::MOST;

    pub(crate) fn new(ways: usize) -> Self {
        Self { ways, row: RecencyMatrix::row(ways) }
    }

    /// Way 0 leaves first.
    pub(crate) fn beginning(&self) -> u64 {
        RecencyMatrix::new(self.ways).bits()
    }

    #[inline(always)]
    pub(crate) fn touch(&self, memory: &mut u64, way: usize) {
        let mut matrix = RecencyMatrix::from_bits(*memory);
        matrix.touch(way, self.row);
        *memory = matrix.bits();
    }

    /// The way of the oldest access, which becomes the way of the last.
    #[inline(always)]
    pub(crate) fn replace(&self, memory: &mut u64) -> usize {
        let mut matrix = RecencyMatrix::from_bits(*memory);
        let way = matrix.replace(self.row);
        *memory = matrix.bits();
        way
    }

    pub(crate) fn victim(&self, memory: u64, allowed: Allowed) -> usize {
        let older = |way: &usize| RecencyMatrix::from_bits(memory).older_than(*way, self.row);
        (0..self.ways).filter(|way| allowed.contains(*way)).min_by_key(older).unwrap_or(0)
    }
}

/// The order is the set's memory.
#[derive(Clone, Debug)]
pub(crate) struct LruOrder {
    ways: usize,
}

impl LruOrder {
    pub(crate) const MOST_WAYS: usize = Recency::MOST;

    pub(crate) fn new(ways: usize) -> Self {
        Self { ways }
    }

    /// Way 0 leaves first.
    pub(crate) fn beginning(&self) -> u64 {
        Recency::new(self.ways).bits()
    }

    #[inline]
    pub(crate) fn touch(&self, memory: &mut u64, way: usize) {
        let mut order = Recency::from_bits(*memory);
        order.touch(way);
        *memory = order.bits();
    }

    /// The way of the oldest access, which becomes the way of the last.
    #[inline]
    pub(crate) fn replace(&self, memory: &mut u64) -> usize {
        let mut order = Recency::from_bits(*memory);
        let way = order.replace(self.ways);
        *memory = order.bits();
        way
    }

    #[inline]
    pub(crate) fn victim(&self, memory: u64, allowed: Allowed) -> usize {
        let order = Recency::from_bits(memory);
        if allowed == Allowed::All {
            return order.nth(self.ways - 1);
        }
        (0..self.ways).rev().map(|at| order.nth(at)).find(|way| allowed.contains(*way)).unwrap_or(0)
    }
}

/// When the numbers run out, each
/// set's stamps are replaced by their ranks, which keeps the order.
#[derive(Clone, Debug)]
pub(crate) struct LruStamps {
    stamps: Box<[u32]>,
    ways: usize,
    clock: u32,
}

impl LruStamps {
    pub(crate) fn new(sets: usize, ways: usize) -> Self {
        Self { stamps: vec![0; sets * ways].into(), ways, clock: 0 }
    }

    #[inline]
    pub(crate) fn touch(&mut self, set: usize, way: usize) {
        if self.clock == u32::MAX {
            self.renumber();
        }
        self.clock += 1;
        self.stamps[set * self.ways + way] = self.clock;
    }

    #[inline]
    pub(crate) fn victim(&self, set: usize, allowed: Allowed) -> usize {
        let stamps = &self.stamps[set * self.ways..][..self.ways];
        (0..self.ways).filter(|way| allowed.contains(*way)).min_by_key(|way| stamps[*way]).unwrap_or(0)
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
    use super::super::Replacer;
    use super::*;

    #[test]
    fn the_order_survives_renumbering() {
        let mut lru = LruStamps::new(2, 3);
        lru.clock = u32::MAX - 2;
        lru.touch(1, 2);
        lru.touch(1, 0);
        lru.touch(1, 1);
        assert!(lru.clock < 10);
        assert_eq!(lru.victim(1, Allowed::All), 2);
        assert_eq!(lru.victim(1, Allowed::Only(0b011)), 0);
        lru.touch(1, 2);
        assert_eq!(lru.victim(1, Allowed::All), 0);
    }

    /// Compares a policy that needs no more than a set's memory with the stamps.
    fn same_as_stamps(ways: usize, policy: &mut Replacer) {
        let mut stamps = LruStamps::new(2, ways);
        let mut memory = [policy.beginning(); 2];
        let mut random = 1_u64;
        for _ in 0..2000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (set, way) = ((random >> 40) as usize % 2, (random >> 50) as usize % ways);
            let memory = &mut memory[set];
            policy.touch(memory, set, way);
            stamps.touch(set, way);
            let some = Allowed::Only((random >> 20 & 0xffff) | 1);
            assert_eq!(policy.victim(*memory, set, Allowed::All), stamps.victim(set, Allowed::All));
            assert_eq!(policy.victim(*memory, set, some), stamps.victim(set, some));
            let oldest = stamps.victim(set, Allowed::All);
            assert_eq!(policy.replace_quickly(memory), Some(oldest));
            stamps.touch(set, oldest);
        }
    }

    #[test]
    fn the_order_of_small_sets_is_that_of_the_stamps() {
        for ways in 1..=LruMatrix::MOST_WAYS {
            same_as_stamps(ways, &mut Replacer::LruMatrix(LruMatrix::new(ways)));
        }
        for ways in 1..=LruOrder::MOST_WAYS {
            same_as_stamps(ways, &mut Replacer::LruOrder(LruOrder::new(ways)));
        }
    }
}
