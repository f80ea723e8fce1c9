//! Least recently used, exactly: each line carries the number of its last access.

use super::Allowed;

/// Stamps of 32 bits keep a set of 16 ways in one line of the host's cache. When the numbers run out, each
/// set's stamps are replaced by their ranks, which keeps the order.
#[derive(Clone, Debug)]
pub(crate) struct Lru {
    stamps: Box<[u32]>,
    ways: usize,
    clock: u32,
}

impl Lru {
    pub(crate) fn new(sets: usize, ways: usize) -> Self {
        Self { stamps: vec![0; sets * ways].into(), ways, clock: 0 }
    }

    #[inline]
    pub(crate) fn slot(&self, set: usize, way: usize) -> usize {
        set * self.ways + way
    }

    #[inline]
    pub(crate) fn touch(&mut self, slot: usize) {
        if self.clock == u32::MAX {
            self.renumber();
        }
        self.clock += 1;
        self.stamps[slot] = self.clock;
    }

    #[inline]
    pub(crate) fn victim(&self, set: usize, allowed: Allowed) -> usize {
        let stamps = &self.stamps[set * self.ways..][..self.ways];
        if allowed == Allowed::All {
            let (mut oldest, mut victim) = (u32::MAX, 0);
            for (way, stamp) in stamps.iter().enumerate() {
                (oldest, victim) = if *stamp < oldest { (*stamp, way) } else { (oldest, victim) };
            }
            return victim;
        }
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
        let mut lru = Lru::new(2, 3);
        lru.clock = u32::MAX - 2;
        lru.touch(5);
        lru.touch(3);
        lru.touch(4);
        assert!(lru.clock < 10);
        assert_eq!(lru.victim(1, Allowed::All), 2);
        assert_eq!(lru.victim(1, Allowed::Only(0b011)), 0);
        lru.touch(5);
        assert_eq!(lru.victim(1, Allowed::All), 0);
    }
}
