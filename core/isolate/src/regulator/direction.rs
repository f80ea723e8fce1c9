//! The directions of memory traffic, each counted against a budget of its own.

use core::ops::{Index, IndexMut};

/// How many directions there are.
pub const DIRECTIONS: usize = 2;

/// A direction of memory traffic, with a budget of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Direction {
    /// Lines read, or the one event that is counted.
    Reads,
    /// Lines written back.
    Writes,
}

impl Direction {
    /// All directions.
    pub const ALL: [Self; DIRECTIONS] = [Self::Reads, Self::Writes];
}

/// A value for each direction.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PerDirection<T>(pub [T; DIRECTIONS]);

impl<T> Index<Direction> for PerDirection<T> {
    type Output = T;
    fn index(&self, direction: Direction) -> &T {
        &self.0[direction as usize]
    }
}

impl<T> IndexMut<Direction> for PerDirection<T> {
    fn index_mut(&mut self, direction: Direction) -> &mut T {
        &mut self.0[direction as usize]
    }
}
