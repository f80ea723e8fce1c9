//! What a cache keeps of its policy.

use crate::{Allowed, Policy, Replacement, Table, table};

/// What one cache remembers of its accesses to decide which line leaves.
#[derive(Clone, Debug)]
pub struct Replacer(Table);

impl Replacer {
    /// For a cache of so many `sets` and `ways`; policies that draw begin with `seed`.
    pub fn new(policy: Replacement, sets: usize, ways: usize, seed: u64) -> Self {
        Self(table(policy, sets, ways, seed))
    }

    /// The memory of a set at the beginning: a cache keeps it beside the set and hands it in again.
    pub fn beginning(&self) -> u64 {
        self.0.beginning()
    }

    /// The line in `way` of `set` was accessed.
    #[inline(always)]
    pub fn touch(&mut self, memory: &mut u64, set: usize, way: usize) {
        self.0.touch(memory, set, way);
    }

    /// A new line came into `way` of `set`, which was empty.
    #[inline]
    pub fn fill(&mut self, memory: &mut u64, set: usize, way: usize) {
        self.0.fill(memory, set, way);
    }

    /// The way of a full set whose line leaves, and into which a new one comes, where all ways are allowed and
    /// the policy needs nothing but the set's memory.
    #[inline(always)]
    pub fn replace_quickly(&self, memory: &mut u64) -> Option<usize> {
        self.0.replace_quickly(memory)
    }

    /// The way of the full `set` whose line leaves, and into which a new one comes.
    #[inline]
    pub fn replace(&mut self, memory: &mut u64, set: usize, allowed: Allowed) -> usize {
        if allowed == Allowed::All
            && let Some(way) = self.replace_quickly(memory)
        {
            return way;
        }
        let way = self.0.victim(*memory, set, allowed);
        self.fill(memory, set, way);
        way
    }
}
