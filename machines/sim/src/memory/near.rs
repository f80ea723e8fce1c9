//! What the first two caches of a route do by themselves: the first level has the line, or the second, and nobody else
//! need know. It is what [`walk`](super::walk) does, in fewer steps.

use super::array::Service;
use super::coherence::State;
use super::hierarchy::{AccessKind, Answer, Hierarchy, Route, Stage};
use solo_model::{CoreId, Event, Picoseconds};

impl Hierarchy {
    /// What the first two caches of the route can do by themselves.
    #[inline(always)]
    pub(super) fn take_nearby(
        &mut self,
        core: CoreId,
        now: Picoseconds,
        line: u64,
        kind: AccessKind,
    ) -> Option<Answer> {
        // A line under way is in the caches already, and its data are not.
        if self.pending.find(line, now).is_some() {
            return None;
        }
        let route = route(&self.data, &self.fetch, core, kind);
        let first = route.nearest().0;
        match self.caches.arrays[first.cache].serve(line, kind == AccessKind::Write) {
            Service::Served => {}
            Service::Absent => return self.take_from_second_level(core, now, line, kind),
            Service::NotAllowed => return None,
        }
        if let Some((hit, _)) = first.events {
            self.counts[core.index()].increment(hit);
        }
        Some(Answer::Hit { latency: first.latency, level: 1, stalls: route.stalls(0) })
    }

    /// The first cache of the route does not have the line, the second has, and no more need be known.
    #[inline(always)]
    fn take_from_second_level(
        &mut self,
        core: CoreId,
        now: Picoseconds,
        line: u64,
        kind: AccessKind,
    ) -> Option<Answer> {
        let route = route(&self.data, &self.fetch, core, kind);
        let (first, second) = route.nearest();
        let beside = self.beside(second);
        if !route.plain
            || self.caches.arrays[first.cache].has_locks()
            || !self.caches.arrays[second.cache].lend(line, second.holder, beside)
        {
            return None;
        }
        let counts = &mut self.counts[core.index()];
        if let Some((_, miss)) = first.events {
            counts.increment(miss);
        }
        if let Some((hit, _)) = second.events {
            counts.increment(hit);
        }
        counts.increment(Event::L2AddressStrobes);
        let (latency, level) = (second.latency, second.level);
        let stalls = route.stalls(1);
        let state = if kind == AccessKind::Write { State::Modified } else { State::Exclusive };
        let (cache, silent, onward) = (first.cache, first.silent, first.onward);
        let evicted = self.caches.arrays[cache].insert(line, state, first.holder, first.allowed);
        if let Some(evicted) = evicted {
            self.send_onward(core, now + latency, (cache, silent, onward), evicted);
        }
        Some(Answer::Hit { latency, level, stalls })
    }

    /// The bits of the caches behind a stage's that are not on the route, and that may hold anything.
    #[inline(always)]
    fn beside(&self, stage: &Stage) -> u64 {
        let empty = stage.only_beside.is_some_and(|cache| self.caches.arrays[cache].is_empty());
        if empty { 0 } else { stage.beside }
    }
}

/// A core's route for a kind of access.
#[inline(always)]
fn route<'a>(data: &'a [Route], fetch: &'a [Route], core: CoreId, kind: AccessKind) -> &'a Route {
    if kind == AccessKind::Fetch { &fetch[core.index()] } else { &data[core.index()] }
}
