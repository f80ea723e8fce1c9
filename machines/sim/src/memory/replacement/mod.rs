//! Which line leaves a full set: one file a policy.
//!
//! A cache asks its policy only when no way of the set is empty; empty ways are filled first, lowest first.

mod fifo;
mod lru;
mod nru;
mod random;
mod tree_plru;

use fifo::Fifo;
use lru::{LruMatrix, LruOrder, LruStamps};
use nru::NotRecentlyUsed;
use random::Random;
use solo_model::platform::Replacement;
use tree_plru::TreePlru;

/// The ways of a set that may be replaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Allowed {
    /// Every way.
    All,
    /// The ways whose bits are set, way 0 lowest; at least one.
    Only(u64),
}

impl Allowed {
    /// True where `way` may be replaced.
    #[inline]
    pub(crate) fn contains(self, way: usize) -> bool {
        match self {
            Self::All => true,
            Self::Only(mask) => way < 64 && mask >> way & 1 == 1,
        }
    }

    /// Without the `locked` ways of a set of `ways`, of which at least one is not locked. Where nothing else is
    /// allowed, any way that is not locked: what is locked stays whatever the mask says.
    pub(crate) fn less(self, locked: u64, ways: usize) -> Self {
        if locked == 0 {
            return self;
        }
        let all = if ways >= 64 { u64::MAX } else { (1 << ways) - 1 };
        let had = match self {
            Self::All => all,
            Self::Only(mask) => mask & all,
        };
        let left = had & !locked;
        Self::Only(if left == 0 { all & !locked } else { left })
    }
}

/// A replacement policy. Of a set's past accesses it remembers 64 bits in the set itself, its *memory*, or what it needs
/// here.
#[derive(Clone, Debug)]
pub(crate) enum Replacer {
    /// Up to 8 ways.
    LruMatrix(LruMatrix),
    /// Up to 16 ways.
    LruOrder(LruOrder),
    LruStamps(LruStamps),
    Fifo(Fifo),
    TreePlru(TreePlru),
    Random(Random),
    NotRecentlyUsed(NotRecentlyUsed),
}

impl Replacer {
    pub(crate) fn new(policy: Replacement, sets: usize, ways: usize, seed: u64) -> Self {
        match policy {
            Replacement::Lru if ways <= LruMatrix::MOST_WAYS => Self::LruMatrix(LruMatrix::new(ways)),
            Replacement::Lru if ways <= LruOrder::MOST_WAYS => Self::LruOrder(LruOrder::new(ways)),
            Replacement::Lru => Self::LruStamps(LruStamps::new(sets, ways)),
            Replacement::Fifo => Self::Fifo(Fifo::new(sets, ways)),
            Replacement::TreePlru => Self::TreePlru(TreePlru::new(sets, ways)),
            Replacement::Random => Self::Random(Random::new(ways, seed)),
            Replacement::NotRecentlyUsed => Self::NotRecentlyUsed(NotRecentlyUsed::new(sets, ways)),
        }
    }

    /// The memory of a set at the beginning.
    pub(crate) fn beginning(&self) -> u64 {
        match self {
            Self::LruMatrix(policy) => policy.beginning(),
            Self::LruOrder(policy) => policy.beginning(),
            _ => 0,
        }
    }

    /// The line in `way` of `set` was accessed.
    #[inline(always)]
    pub(crate) fn touch(&mut self, memory: &mut u64, set: usize, way: usize) {
        match self {
            Self::TreePlru(policy) => policy.touch(memory, set, way),
            Self::LruMatrix(policy) => policy.touch(memory, way),
            Self::LruOrder(policy) => policy.touch(memory, way),
            _ => self.touch_elsewhere(set, way),
        }
    }

    #[inline(never)]
    fn touch_elsewhere(&mut self, set: usize, way: usize) {
        match self {
            Self::LruStamps(policy) => policy.touch(set, way),
            Self::NotRecentlyUsed(policy) => policy.touch(set, way),
            _ => {}
        }
    }

    /// A new line came into `way` of `set`.
    #[inline]
    pub(crate) fn fill(&mut self, memory: &mut u64, set: usize, way: usize) {
        match self {
            Self::Fifo(policy) => policy.fill(set, way),
            _ => self.touch(memory, set, way),
        }
    }

    /// The way of a full set whose line leaves, and into which a new one comes, where all ways are allowed and the
    /// policy needs nothing but the set's memory.
    #[inline(always)]
    pub(crate) fn replace_quickly(&self, memory: &mut u64) -> Option<usize> {
        match self {
            Self::TreePlru(policy) => policy.replace(memory),
            Self::LruMatrix(policy) => Some(policy.replace(memory)),
            Self::LruOrder(policy) => Some(policy.replace(memory)),
            _ => None,
        }
    }

    /// The way of the full `set` whose line leaves, and into which a new one comes.
    #[inline]
    pub(crate) fn replace(&mut self, memory: &mut u64, set: usize, allowed: Allowed) -> usize {
        if allowed == Allowed::All
            && let Some(way) = self.replace_quickly(memory)
        {
            return way;
        }
        let way = self.victim(*memory, set, allowed);
        self.fill(memory, set, way);
        way
    }

    #[inline]
    fn victim(&mut self, memory: u64, set: usize, allowed: Allowed) -> usize {
        match self {
            Self::LruMatrix(policy) => policy.victim(memory, allowed),
            Self::LruOrder(policy) => policy.victim(memory, allowed),
            Self::LruStamps(policy) => policy.victim(set, allowed),
            Self::Fifo(policy) => policy.victim(set, allowed),
            Self::TreePlru(policy) => policy.victim(memory, set, allowed),
            Self::Random(policy) => policy.victim(allowed),
            Self::NotRecentlyUsed(policy) => policy.victim(set, allowed),
        }
    }
}
