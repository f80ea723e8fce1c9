//! The usual miss of a first-level cache: the core's second level has the line, and nobody else need know. What it does
//! is what [`walk`](super::walk) does, in fewer steps.

use super::coherence::State;
use super::hierarchy::{AccessKind, Answer, Hierarchy, Route};
use solo_model::{CoreId, Event, Picoseconds};

impl Hierarchy {
    /// The line is in `slot` of the second cache of the route. None, and nothing has happened, where more than the first
    /// two caches may be concerned.
    #[inline(always)]
    pub(super) fn take_from_second_level(
        &mut self,
        core: CoreId,
        now: Picoseconds,
        line: u64,
        kind: AccessKind,
        slot: usize,
    ) -> Option<Answer> {
        let routes = if kind == AccessKind::Fetch { &self.fetch } else { &self.data };
        let route: &Route = &routes[core.index()];
        let (first, second) = route.nearest();
        let beside = second.beside != 0
            && self.caches.arrays[second.cache].holders(slot) & second.beside != 0
            && !second.only_beside.is_some_and(|cache| self.caches.arrays[cache].is_empty());
        if beside
            || !route.plain
            || !self.caches.arrays[second.cache].state(slot).is_writable()
            || self.caches.arrays[first.cache].has_locks()
            || self.pending.find(line).is_some()
        {
            return None;
        }
        let array = &mut self.caches.arrays[second.cache];
        array.set_holders(slot, second.holder);
        array.touch(slot);
        let counts = &mut self.counts[core.index()];
        if let Some((_, miss)) = first.events {
            counts.increment(miss);
        }
        if let Some((hit, _)) = second.events {
            counts.increment(hit);
        }
        counts.increment(Event::L2AddressStrobes);
        let (cache, latency, level) =
            (first.cache, second.latency, self.caches.topology.nodes[second.cache].level);
        let (holder, allowed, silent, onward) = (first.holder, first.allowed, first.silent, first.onward);
        let stalls = route.stalls(1);
        let state = if kind == AccessKind::Write { State::Modified } else { State::Exclusive };
        let evicted = self.caches.arrays[cache].insert(line, state, holder, allowed);
        if let Some(evicted) = evicted {
            self.send_onward(core, now + latency, (cache, silent, onward), evicted);
        }
        Some(Answer::Hit { latency, level, stalls })
    }
}
