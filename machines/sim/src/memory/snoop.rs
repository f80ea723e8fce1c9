//! Asking the caches of other cores for a line.

use super::array::{CacheArray, Evicted, holder_bit};
use super::coherence::{Rules, State};
use super::topology::Topology;
use solo_model::platform::Inclusion;
use solo_model::{CoreSet, Signal, SignalCounts};

/// What the caches behind one cache, itself included, knew about a line.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Found {
    pub(super) any: bool,
    /// A copy was changed.
    pub(super) dirty: bool,
    /// A copy was clean and the only one.
    pub(super) exclusive: bool,
    /// A copy answers with the data.
    pub(super) supplies: bool,
    /// The changed data go to the next common level.
    pub(super) writes_back: bool,
    /// Cores that lost the line from a private cache.
    pub(super) lost: CoreSet,
    /// Cores whose first-level data cache was looked up.
    pub(super) snooped: CoreSet,
}

impl Found {
    pub(super) fn merge(&mut self, other: Self) {
        self.any |= other.any;
        self.dirty |= other.dirty;
        self.exclusive |= other.exclusive;
        self.supplies |= other.supplies;
        self.writes_back |= other.writes_back;
        self.lost = self.lost.or(other.lost);
        self.snooped = self.snooped.or(other.snooped);
    }
}

/// The caches and the tree they form.
#[derive(Clone, Debug)]
pub(super) struct Caches {
    pub(super) arrays: Vec<CacheArray>,
    pub(super) topology: Topology,
}

impl Caches {
    /// Another core reads (or writes) `line`: `cache` and all caches behind it react by the rules.
    pub(super) fn snoop(&mut self, cache: usize, line: u64, write: bool, rules: &Rules, found: &mut Found) {
        let slot = if self.arrays[cache].is_empty() { None } else { self.arrays[cache].find(line) };
        let node = &self.topology.nodes[cache];
        found.snooped = found.snooped.or(node.snooped);
        let mut behind = u64::MAX;
        match slot {
            Some(slot) => {
                let array = &mut self.arrays[cache];
                let state = array.state(slot);
                behind = array.holders(slot);
                let reaction = if write { rules.remote_write(state) } else { rules.remote_read(state) };
                found.any = true;
                found.dirty |= state.is_dirty();
                found.exclusive |= state == State::Exclusive;
                found.supplies |= reaction.supplies;
                found.writes_back |= reaction.writes_back;
                if reaction.next == State::Invalid {
                    array.remove(slot);
                    if node.private {
                        found.lost = found.lost.with(node.owner);
                    }
                } else {
                    array.set_state(slot, reaction.next);
                }
            }
            None if node.inclusion == Inclusion::Inclusive => return,
            None => {}
        }
        for position in 0..self.topology.nodes[cache].children.len() {
            if behind & holder_bit(position) != 0 {
                let child = self.topology.nodes[cache].children[position];
                self.snoop(child, line, write, rules, found);
            }
        }
    }

    /// False where no cache behind an inclusive one holds the line that it has evicted.
    #[inline]
    pub(super) fn is_held_behind(&self, cache: usize, evicted: Evicted) -> bool {
        let (line, mut holders) = (evicted.line(), evicted.holders());
        let behind = &*self.topology.nodes[cache].behind;
        while holders != 0 {
            let Some(caches) = behind.get(holders.trailing_zeros() as usize) else { return false };
            holders &= holders - 1;
            if caches.iter().any(|cache| self.arrays[*cache].has(line)) {
                return true;
            }
        }
        false
    }

    /// An inclusive cache has evicted a line: the caches behind it give it up. True where a copy was changed.
    pub(super) fn take_back(&mut self, cache: usize, evicted: Evicted, counts: &mut [SignalCounts]) -> bool {
        let mut found = Found::default();
        let holders = evicted.holders();
        self.take_from_children(cache, evicted.line(), holders, &mut found);
        self.count_losses(cache, &found, counts);
        found.dirty
    }

    fn take_from_children(&mut self, cache: usize, line: u64, holders: u64, found: &mut Found) {
        for position in 0..self.topology.nodes[cache].children.len() {
            if holders & holder_bit(position) == 0 {
                continue;
            }
            let child = self.topology.nodes[cache].children[position];
            let mut behind = u64::MAX;
            let slot = if self.arrays[child].is_empty() { None } else { self.arrays[child].find(line) };
            if let Some(slot) = slot {
                let gone = self.arrays[child].remove(slot);
                behind = gone.holders();
                found.any = true;
                found.dirty |= gone.is_dirty();
                let node = &self.topology.nodes[child];
                if node.private {
                    found.lost = found.lost.with(node.owner);
                }
            } else if self.topology.nodes[child].inclusion == Inclusion::Inclusive {
                continue;
            }
            self.take_from_children(child, line, behind, found);
        }
    }

    /// Counts a line lost by other cores: once for each core that had it in a private cache, or once for the
    /// shared cache's lowest core where only that had it.
    pub(super) fn count_losses(&self, cache: usize, found: &Found, counts: &mut [SignalCounts]) {
        if !found.any {
            return;
        }
        if found.lost.is_empty() {
            counts[self.topology.nodes[cache].owner.index()].increment(Signal::InvalidationReceived);
        }
        for core in found.lost.iter() {
            counts[core.index()].increment(Signal::InvalidationReceived);
        }
    }
}
