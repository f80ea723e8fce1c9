//! First in, first out: accesses after the fill don't count.

use super::Allowed;

#[derive(Clone, Debug)]
pub(crate) struct Fifo {
    /// The number of each line's fill.
    fills: Box<[u64]>,
    ways: usize,
    clock: u64,
}

impl Fifo {
    pub(crate) fn new(sets: usize, ways: usize) -> Self {
        Self { fills: vec![0; sets * ways].into(), ways, clock: 0 }
    }

    #[inline]
    pub(crate) fn fill(&mut self, set: usize, way: usize) {
        self.clock += 1;
        self.fills[set * self.ways + way] = self.clock;
    }

    #[inline]
    pub(crate) fn victim(&self, set: usize, allowed: Allowed) -> usize {
        let fills = &self.fills[set * self.ways..][..self.ways];
        (0..self.ways).filter(|way| allowed.contains(*way)).min_by_key(|way| fills[*way]).unwrap_or(0)
    }
}
