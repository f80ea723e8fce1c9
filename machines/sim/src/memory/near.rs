//! What becomes of most accesses: a cache of the route has the line, or DRAM must bring it, and no other core's cache need
//! know. It is what [`walk`](super::walk) does, in fewer steps.

use super::array::Service;
use super::coherence::State;
use super::hierarchy::{AccessKind, Answer, Hierarchy, Stage, route};
use super::walk::send_onward;
use solo_model::{CoreId, Picoseconds, Signal};

impl Hierarchy {
    /// An access that the first cache of the route did not serve; `absent` where that does not have the line.
    #[inline(always)]
    pub(super) fn beyond_first_level(
        &mut self,
        core: CoreId,
        now: Picoseconds,
        line: u64,
        kind: AccessKind,
        absent: bool,
    ) -> Answer {
        if self.prefetchers.is_some() && kind != AccessKind::Fetch {
            return self.look_further_and_follow(core, now, line, kind, absent);
        }
        self.look_further(core, now, line, kind, absent)
    }

    #[inline(never)]
    fn look_further_and_follow(
        &mut self,
        core: CoreId,
        now: Picoseconds,
        line: u64,
        kind: AccessKind,
        absent: bool,
    ) -> Answer {
        let answer = self.look_further(core, now, line, kind, absent);
        self.follow_streams(core, now, line);
        answer
    }

    #[inline(always)]
    fn look_further(
        &mut self,
        core: CoreId,
        now: Picoseconds,
        line: u64,
        kind: AccessKind,
        absent: bool,
    ) -> Answer {
        if absent {
            self.take_from_second_level(core, now, line, kind)
        } else {
            self.walk(core, now, line, kind)
        }
    }

    /// The first cache of the route does not have the line. Mostly the second has it, and no more need be known.
    #[inline(always)]
    fn take_from_second_level(
        &mut self,
        core: CoreId,
        now: Picoseconds,
        line: u64,
        kind: AccessKind,
    ) -> Answer {
        let route = route(&self.routes, core, kind);
        let (first, second) = route.nearest();
        let arrays = &mut self.caches.arrays;
        if !route.plain || arrays[first.cache].has_extras() {
            return self.walk(core, now, line, kind);
        }
        let empty = second.only_beside.is_some_and(|cache| arrays[cache].is_empty());
        match arrays[second.cache].lend(line, second.holder, if empty { 0 } else { second.beside }) {
            Service::Served => {}
            Service::Absent => return self.take_from_afar(core, now, line, kind),
            Service::NotAllowed => return self.walk(core, now, line, kind),
        }
        let counts = &mut self.counts[core.index()];
        if let Some((_, miss)) = first.events {
            counts.increment(miss);
        }
        if let Some((hit, _)) = second.events {
            counts.increment(hit);
        }
        counts.increment(Signal::L2AddressStrobes);
        let state = if kind == AccessKind::Write { State::Modified } else { State::Exclusive };
        let evicted = self.caches.arrays[first.cache].insert(line, state, first.holder, first.allowed);
        let answer = Answer::Hit { latency: second.latency, level: second.level, stalls: route.stalls(1) };
        if let Some(evicted) = evicted
            && (evicted.is_dirty() || !first.silent)
        {
            let (cache, at) = (first.cache, now + second.latency);
            let next = send_onward(&mut self.caches, counts, first, evicted);
            self.follow_up(core, at, cache, evicted, next);
        }
        answer
    }

    /// The first two caches of a plain route do not have the line. A farther one has, or DRAM must bring it, and no other
    /// core's cache need be asked.
    #[inline(never)]
    fn take_from_afar(&mut self, core: CoreId, now: Picoseconds, line: u64, kind: AccessKind) -> Answer {
        let route = route(&self.routes, core, kind);
        let stages = route.stages();
        let (mut depth, mut quiet) = (1, true);
        let answers = loop {
            let nearer = &stages[depth];
            quiet &= nearer.inclusive || self.beside(nearer) == 0;
            depth += 1;
            let Some(stage) = stages.get(depth) else { break false };
            let beside = if quiet { self.beside(stage) } else { u64::MAX };
            match self.caches.arrays[stage.cache].lend(line, stage.holder, beside) {
                Service::Served => break true,
                Service::Absent => {}
                Service::NotAllowed => return self.walk(core, now, line, kind),
            }
        };
        if !answers && !self.caches.topology.common_root {
            return self.walk(core, now, line, kind);
        }
        let counts = &mut self.counts[core.index()];
        for (_, miss) in stages[..depth].iter().filter_map(|stage| stage.events) {
            counts.increment(miss);
        }
        counts.increment(Signal::L2AddressStrobes);
        if !answers {
            return self.fetch_from_dram(core, now, line, kind);
        }
        let Stage { latency, level, events, .. } = stages[depth];
        if let Some((hit, _)) = events {
            counts.increment(hit);
        }
        let stalls = route.stalls(depth);
        self.fill_alone(core, now + latency, line, kind, depth);
        Answer::Hit { latency, level, stalls }
    }

    /// The bits of the caches behind a stage's that are not on the route, and that may hold anything.
    #[inline(always)]
    fn beside(&self, stage: &Stage) -> u64 {
        let empty = stage.only_beside.is_some_and(|cache| self.caches.arrays[cache].is_empty());
        if empty { 0 } else { stage.beside }
    }
}
