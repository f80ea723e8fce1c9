//! Least recently used, exactly: sets of up to 16 ways keep their ways in the order of their last accesses, in
//! larger ones each line carries the number of its last access.

use super::Allowed;
use solo_model::Recency;

#[derive(Clone, Debug)]
pub(crate) struct LruOrder {
    orders: Box<[Recency]>,
    ways: usize,
}

impl LruOrder {
    pub(crate) const MOST_WAYS: usize = Recency::MOST;

    pub(crate) fn new(sets: usize, ways: usize) -> Self {
        // Way 0 leaves first.
        Self { orders: vec![Recency::new(ways); sets].into(), ways }
    }

    #[inline]
    pub(crate) fn touch(&mut self, set: usize, way: usize) {
        self.orders[set].touch(way);
    }

    /// The way of the oldest access, which becomes the way of the last.
    #[inline]
    pub(crate) fn replace(&mut self, set: usize) -> usize {
        self.orders[set].replace(self.ways)
    }

    #[inline]
    pub(crate) fn victim(&self, set: usize, allowed: Allowed) -> usize {
        let order = self.orders[set];
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

    #[test]
    fn the_order_of_small_sets_is_that_of_the_stamps() {
        for ways in 1..=LruOrder::MOST_WAYS {
            let (mut order, mut stamps) = (LruOrder::new(2, ways), LruStamps::new(2, ways));
            let mut random = 1_u64;
            for _ in 0..2000 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let (set, way) = ((random >> 40) as usize % 2, (random >> 50) as usize % ways);
                order.touch(set, way);
                stamps.touch(set, way);
                let some = Allowed::Only((random >> 20 & 0xffff) | 1);
                assert_eq!(order.victim(set, Allowed::All), stamps.victim(set, Allowed::All));
                assert_eq!(order.victim(set, some), stamps.victim(set, some));
                let oldest = stamps.victim(set, Allowed::All);
                assert_eq!(order.replace(set), oldest);
                stamps.touch(set, oldest);
            }
        }
    }
}
