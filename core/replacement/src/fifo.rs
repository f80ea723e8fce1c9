//! First in, first out: accesses after the fill don't count.

use crate::{Allowed, Policy};
use alloc::boxed::Box;
use alloc::vec;

#[derive(Clone, Debug)]
pub(crate) struct Fifo {
    /// The number of each line's fill.
    fills: Box<[u64]>,
    ways: usize,
    clock: u64,
}

pub(crate) fn new(sets: usize, ways: usize, _seed: u64) -> Fifo {
    Fifo { fills: vec![0; sets * ways].into(), ways, clock: 0 }
}

impl Policy for Fifo {
    fn beginning(&self) -> u64 {
        0
    }

    #[inline]
    fn touch(&mut self, _: &mut u64, _: usize, _: usize) {}

    #[inline]
    fn fill(&mut self, _: &mut u64, set: usize, way: usize) {
        self.clock += 1;
        self.fills[set * self.ways + way] = self.clock;
    }

    #[inline]
    fn replace_quickly(&self, _: &mut u64) -> Option<usize> {
        None
    }

    fn victim(&mut self, _: u64, set: usize, allowed: Allowed) -> usize {
        let fills = &self.fills[set * self.ways..][..self.ways];
        (0..self.ways).filter(|way| allowed.contains(*way)).min_by_key(|way| fills[*way]).unwrap_or(0)
    }
}
