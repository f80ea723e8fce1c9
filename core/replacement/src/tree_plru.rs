//! Tree pseudo-LRU: a binary tree over the ways whose nodes point away from the last access.
//!
//! For a number of ways that is no power of two the tree is that of the next power of two with its last
//! leaves missing: a node whose right half has no leaf always points left.

use crate::{Allowed, Policy};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// The nodes of a set's tree are bits, numbered like a heap from 1: node `n` has children `2n` and `2n + 1`.
/// A set bit points right. Trees of up to 64 leaves are the set's memory.
#[derive(Clone, Debug)]
pub(crate) struct TreePlru {
    /// The nodes of larger trees.
    nodes: Box<[u64]>,
    words_per_set: usize,
    ways: usize,
    depth: u32,
    /// The same where the tree is one word and has all leaves, else zero.
    plain_depth: u32,
    /// Where the tree is one word: by way, the nodes above it, and those of them that an access lets point right.
    paths: Box<[(u64, u64)]>,
}

pub(crate) fn new(sets: usize, ways: usize, _seed: u64) -> TreePlru {
        let leaves = ways.next_power_of_two();
        let words_per_set = leaves.div_ceil(64);
        let depth = leaves.trailing_zeros();
        let mut paths = Vec::new();
        if words_per_set == 1 {
            for way in 0..ways {
                let (mut above, mut right) = (0, 0);
                for (node, away) in path(way, depth) {
                    above |= 1 << node;
                    right |= u64::from(away) << node;
                }
                paths.push((above, right));
            }
        }
        let nodes = vec![0; if words_per_set == 1 { 0 } else { sets * words_per_set }].into();
        let plain_depth = if words_per_set == 1 && leaves == ways { depth } else { 0 };
        TreePlru { nodes, words_per_set, ways, depth, plain_depth, paths: paths.into() }
    }

impl Policy for TreePlru {
    fn beginning(&self) -> u64 {
        0
    }

    #[inline]
    fn touch(&mut self, memory: &mut u64, set: usize, way: usize) {
        if let Some((above, right)) = self.paths.get(way) {
            *memory = *memory & !above | right;
        } else {
            self.touch_in_words(set, way);
        }
    }

    #[inline]
    fn fill(&mut self, memory: &mut u64, set: usize, way: usize) {
        self.touch(memory, set, way);
    }

    /// The victim among all ways, and the access that takes its place: each node above it pointed to it, and now
    /// points away.
    #[inline(always)]
    fn replace_quickly(&self, memory: &mut u64) -> Option<usize> {
        let word = *memory;
        let down = |(node, above): (u64, u64)| (node * 2 + (word >> node & 1), above | 1 << node);
        let (leaf, above) = match self.plain_depth {
            0 => return None,
            // The usual numbers of ways, without a loop.
            2 => down(down((1, 0))),
            3 => down(down(down((1, 0)))),
            4 => down(down(down(down((1, 0))))),
            depth => Self::descend(word, depth),
        };
        *memory = word ^ above;
        Some(leaf as usize - self.ways)
    }

    #[inline]
    fn victim(&mut self, memory: u64, set: usize, allowed: Allowed) -> usize {
        if self.words_per_set > 1 {
            return self.victim_among(&self.nodes[set * self.words_per_set..][..self.words_per_set], allowed);
        }
        if allowed != Allowed::All || !self.ways.is_power_of_two() {
            return self.victim_among(&[memory], allowed);
        }
        let leaf = (0..self.depth).fold(1, |node, _| node * 2 + (memory >> node & 1));
        leaf as usize - self.ways
    }
}

impl TreePlru {
    fn touch_in_words(&mut self, set: usize, way: usize) {
        let words = &mut self.nodes[set * self.words_per_set..][..self.words_per_set];
        for (node, away) in path(way, self.depth) {
            let word = &mut words[node / 64];
            *word = *word & !(1 << (node % 64)) | u64::from(away) << (node % 64);
        }
    }

    /// The leaf to which a tree of any depth points, and the nodes above it.
    #[cold]
    #[inline(never)]
    fn descend(word: u64, depth: u32) -> (u64, u64) {
        let down = |(node, above): (u64, u64)| (node * 2 + (word >> node & 1), above | 1 << node);
        (0..depth).fold((1, 0), |way, _| down(way))
    }

    fn victim_among(&self, words: &[u64], allowed: Allowed) -> usize {
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

    #[inline]
    fn has_leaf(&self, first: usize, count: usize, allowed: Allowed) -> bool {
        match allowed {
            Allowed::All => first < self.ways,
            Allowed::Only(_) => (first..(first + count).min(self.ways)).any(|way| allowed.contains(way)),
        }
    }
}

/// The nodes above a leaf, the root first; true where a node that points away from the leaf points right.
fn path(way: usize, depth: u32) -> impl Iterator<Item = (usize, bool)> {
    (0..depth).rev().scan(1, move |node, level| {
        let (here, right) = (*node, way >> level & 1);
        *node = here * 2 + right;
        Some((here, right == 0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_ways_follow_the_textbook() {
        let (mut tree, mut memory) = (new(1, 4, 0), 0);
        (0..4).for_each(|way| tree.touch(&mut memory, 0, way));
        assert_eq!(tree.victim(memory, 0, Allowed::All), 0);
        tree.touch(&mut memory, 0, 0);
        assert_eq!(tree.victim(memory, 0, Allowed::All), 2);
        tree.touch(&mut memory, 0, 2);
        assert_eq!(tree.victim(memory, 0, Allowed::All), 1);
    }

    #[test]
    fn a_replacement_is_a_victim_and_an_access() {
        for ways in [2, 4, 8, 16, 32, 64] {
            let (mut tree, mut memory) = (new(2, ways, 0), 0);
            let mut random = 1_u64;
            for _ in 0..500 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                tree.touch(&mut memory, 1, (random >> 40) as usize % ways);
                let mut at_once = memory;
                let victim = tree.victim(memory, 1, Allowed::All);
                tree.touch(&mut memory, 1, victim);
                assert_eq!(tree.replace_quickly(&mut at_once), Some(victim));
                assert_eq!(at_once, memory);
            }
        }
        assert_eq!(new(1, 24, 0).replace_quickly(&mut 0), None);
    }

    #[test]
    fn missing_leaves_are_never_chosen() {
        for ways in [1, 3, 5, 20, 24, 48, 65, 100] {
            let (mut tree, mut memory) = (new(1, ways, 0), 0);
            for _ in 0..500 {
                let victim = tree.victim(memory, 0, Allowed::All);
                assert!(victim < ways);
                tree.touch(&mut memory, 0, victim);
            }
        }
    }
}
