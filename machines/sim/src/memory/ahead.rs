//! Lines that a prefetcher asks for, on their way through the caches.

use super::PhysicalAddress;
use super::bus::Transaction;
use super::coherence::State;
use super::events::count_fill;
use super::hierarchy::{AccessKind, Hierarchy, route};
use solo_model::{CoreId, Picoseconds, Signal};

impl Hierarchy {
    /// Lets the prefetcher of `core` see an access to `line` that the first level could not answer.
    #[inline(never)]
    pub(super) fn follow_streams(&mut self, core: CoreId, now: Picoseconds, line: u64) {
        let Some(prefetchers) = &mut self.prefetchers else { return };
        let wanted = prefetchers.follow(core, line);
        let asked = wanted.take_while(|wanted| self.prefetch(core, now, *wanted)).count();
        if let Some(prefetchers) = &mut self.prefetchers {
            prefetchers.asked(core, asked as u64);
        }
    }

    /// Asks for a line, unless somebody has it. False where as many are under way as may be.
    fn prefetch(&mut self, core: CoreId, now: Picoseconds, line: u64) -> bool {
        let route = route(&self.routes, core, AccessKind::Read);
        let last = route.path.len() - 1;
        let (cache, mut asks) = (route.path.at(last), route.latency(last));
        let held = self.caches.arrays.iter().any(|array| array.find(line).is_some());
        if held || self.caches.arrays[cache].refuses(line) || self.pending.find(line, now).is_some() {
            return true;
        }
        if !self.prefetchers.as_ref().is_some_and(|all| all.has_room(core)) {
            return false;
        }
        if let Some(bus) = &mut self.bus {
            asks += bus.transact(now + asks, core, None, Transaction::Clean, &mut self.counts).addressed;
        }
        let allowed = self.allowed(core, cache);
        let tag = self.tags[core.index()];
        let evicted = self.caches.arrays[cache].insert(line, State::Exclusive, tag, allowed);
        if self.caches.topology.nodes[cache].level == 2 {
            count_fill(&mut self.counts[core.index()], State::Exclusive, evicted.is_none());
        }
        if let Some(evicted) = evicted {
            self.evict(core, now + asks, cache, evicted);
        }
        let counts = &mut self.counts[core.index()];
        counts.increment(Signal::Prefetch);
        counts.increment(Signal::DramRead);
        let request = self.dram.submit(now + asks, core, PhysicalAddress(line << self.line_shift), false);
        self.pending.tidy(now);
        self.pending.insert(line, request);
        if let Some(prefetchers) = &mut self.prefetchers {
            prefetchers.submitted(core, request);
        }
        true
    }
}
