//! Tree pseudo-LRU: a binary tree over the ways whose nodes point away from the last access.
//!
//! For a number of ways that is no power of two the tree is that of the next power of two with its last
//! leaves missing: a node whose right half has no leaf always points left.

use super::Allowed;

/// The nodes of a set's tree are bits, numbered like a heap from 1: node `n` has children `2n` and `2n + 1`.
/// A set bit points right.
#[derive(Clone, Debug)]
pub(crate) struct TreePlru {
    nodes: Box<[u64]>,
    words_per_set: usize,
    ways: usize,
    depth: u32,
}

impl TreePlru {
    pub(crate) fn new(sets: usize, ways: usize) -> Self {
        let leaves = ways.next_power_of_two();
        let words_per_set = leaves.div_ceil(64);
        Self {
            nodes: vec![0; sets * words_per_set].into(),
            words_per_set,
            ways,
            depth: leaves.trailing_zeros(),
        }
    }

    #[inline]
    pub(crate) fn slot(&self, set: usize, way: usize) -> usize {
        set * self.ways + way
    }

    #[inline]
    pub(crate) fn touch(&mut self, slot: usize) {
        let (set, way) = (slot / self.ways, slot % self.ways);
        let words = &mut self.nodes[set * self.words_per_set..][..self.words_per_set];
        let mut node = 1;
        for level in (0..self.depth).rev() {
            let right = way >> level & 1;
            let bit = 1 << (node % 64);
            if right == 1 {
                words[node / 64] &= !bit;
            } else {
                words[node / 64] |= bit;
            }
            node = node * 2 + right;
        }
    }

    #[inline]
    pub(crate) fn victim(&self, set: usize, allowed: Allowed) -> usize {
        let words = &self.nodes[set * self.words_per_set..][..self.words_per_set];
        let mut node = 1;
        let mut way = 0;
        for level in (0..self.depth).rev() {
            let points_right = words[node / 64] >> (node % 64) & 1 == 1;
            let half = 1 << level;
            let right = if points_right {
                self.has_leaf(way + half, half, allowed)
            } else {
                !self.has_leaf(way, half, allowed)
            };
            node = node * 2 + usize::from(right);
            way += if right { half } else { 0 };
        }
        way
    }

    /// True where one of the `count` ways from `first` exists and may be replaced.
    #[inline]
    fn has_leaf(&self, first: usize, count: usize, allowed: Allowed) -> bool {
        match allowed {
            Allowed::All => first < self.ways,
            Allowed::Only(_) => (first..(first + count).min(self.ways)).any(|way| allowed.contains(way)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_ways_follow_the_textbook() {
        let mut tree = TreePlru::new(1, 4);
        (0..4).for_each(|way| tree.touch(way));
        assert_eq!(tree.victim(0, Allowed::All), 0);
        tree.touch(0);
        assert_eq!(tree.victim(0, Allowed::All), 2);
        tree.touch(2);
        assert_eq!(tree.victim(0, Allowed::All), 1);
    }

    #[test]
    fn missing_leaves_are_never_chosen() {
        for ways in [1, 3, 5, 20, 24, 48, 65, 100] {
            let mut tree = TreePlru::new(1, ways);
            for _ in 0..500 {
                let victim = tree.victim(0, Allowed::All);
                assert!(victim < ways);
                tree.touch(victim);
            }
        }
    }
}
