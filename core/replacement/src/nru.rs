//! Not recently used: a bit a line, set by an access. When the last bit of a set would be set, the others are
//! cleared. The lowest way whose bit is clear leaves.

use crate::{Allowed, Policy};
use alloc::boxed::Box;
use alloc::vec;

#[derive(Clone, Debug)]
pub(crate) struct NotRecentlyUsed {
    used: Box<[bool]>,
    ways: usize,
}

pub(crate) fn new(sets: usize, ways: usize, _seed: u64) -> NotRecentlyUsed {
    NotRecentlyUsed { used: vec![false; sets * ways].into(), ways }
}

impl Policy for NotRecentlyUsed {
    fn beginning(&self) -> u64 {
        0
    }

    #[inline(never)]
    fn touch(&mut self, _: &mut u64, set: usize, way: usize) {
        let used = &mut self.used[set * self.ways..][..self.ways];
        if used[way] {
            return;
        }
        used[way] = true;
        if used.iter().all(|used| *used) {
            used.fill(false);
            used[way] = true;
        }
    }

    fn fill(&mut self, memory: &mut u64, set: usize, way: usize) {
        self.touch(memory, set, way);
    }

    #[inline]
    fn replace_quickly(&self, _: &mut u64) -> Option<usize> {
        None
    }

    fn victim(&mut self, _: u64, set: usize, allowed: Allowed) -> usize {
        let used = &mut self.used[set * self.ways..][..self.ways];
        let free = (0..used.len()).find(|way| allowed.contains(*way) && !used[*way]);
        free.unwrap_or_else(|| {
            // Only under a mask or with one way: all candidates were used recently, and start anew.
            let first = (0..used.len()).find(|way| allowed.contains(*way)).unwrap_or(0);
            (0..used.len()).filter(|way| allowed.contains(*way)).for_each(|way| used[way] = false);
            first
        })
    }
}
