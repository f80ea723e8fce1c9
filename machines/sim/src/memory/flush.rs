//! Caches give a line up because a program wants them to: what was changed of it is written to memory.
//!
//! ```text
//!   all lines        those of the caches on the core's way to memory, and of the caches behind the inclusive ones of these
//!   lines by address in every cache; where the platform keeps no coherence, in the same as above
//! ```
//!
//! A line that is locked in a cache stays there, unchanged from then on.

use super::PhysicalAddress;
use super::array::LINE_MASK;
use super::coherence::State;
use super::hierarchy::{AccessKind, Hierarchy, Stalls, route};
use solo_model::platform::Inclusion;
use solo_model::{CoreId, CoreSet, Picoseconds, Signal};

/// What becomes of a line that caches are to give up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flushed {
    /// No cache has it any more.
    Done {
        /// What looking for it took.
        stalls: Stalls,
        /// The time after that until the bus has carried it, where it was changed.
        written: Picoseconds,
    },
    /// It was changed, and the controller has no place for another write; nothing has happened.
    Full,
}

impl Hierarchy {
    /// The caches from which `core` takes lines: all lines or, where `by_address`, those that it names.
    pub(crate) fn emptied_by(&self, core: CoreId, by_address: bool) -> Vec<usize> {
        if by_address && self.rules.is_some() {
            return (0..self.caches.arrays.len()).collect();
        }
        let mut caches: Vec<usize> = Vec::new();
        for cache in self.way_of(core) {
            caches.push(cache);
            let node = &self.caches.topology.nodes[cache];
            if node.inclusion == Inclusion::Inclusive {
                caches.extend(node.behind.iter().flat_map(|behind| behind.iter().copied()));
            }
        }
        caches.sort_unstable();
        caches.dedup();
        caches
    }

    /// The caches that the core's accesses meet.
    fn way_of(&self, core: CoreId) -> impl Iterator<Item = usize> + '_ {
        self.routes[core.index()].iter().flat_map(|route| route.path.iter())
    }

    /// All lines of these caches, each once, by the address of their first byte.
    pub(crate) fn lines_in(&self, caches: &[usize]) -> Vec<PhysicalAddress> {
        let lines = caches.iter().flat_map(|cache| self.caches.arrays[*cache].lines());
        let mut lines: Vec<u64> = lines.map(|(line, _)| line).collect();
        lines.sort_unstable();
        lines.dedup();
        lines.into_iter().map(|line| PhysicalAddress(line << self.line_shift)).collect()
    }

    /// These caches give up the line at `address` for `core` at `now`; `core` is charged for what is written.
    pub(crate) fn flush_line(
        &mut self,
        core: CoreId,
        now: Picoseconds,
        address: PhysicalAddress,
        caches: &[usize],
    ) -> Flushed {
        let line = address.0 >> self.line_shift & LINE_MASK;
        let arrays = &self.caches.arrays;
        let state = |cache: &usize| arrays[*cache].find(line).map(|slot| arrays[*cache].state(slot));
        let changed = caches.iter().filter_map(state).any(State::is_dirty);
        if changed && !self.dram.takes_write(address) {
            return Flushed::Full;
        }
        self.give_up(core, line, caches);
        let route = route(&self.routes, core, AccessKind::Read);
        let stalls = route.stalls(route.path.len() - 1);
        let at = now + stalls.lookup;
        let mut written = Picoseconds::ZERO;
        if changed {
            let arrives = self.write_back_over_the_bus(core, at);
            written = arrives - at;
            self.write_to_dram(core, arrives, line);
        }
        Flushed::Done { stalls, written }
    }

    /// Takes a line out of caches. Other cores count what they lose: each once for all its private caches, or the lowest of a shared cache
    /// where only that had it.
    fn give_up(&mut self, core: CoreId, line: u64, caches: &[usize]) {
        let (mut lost, mut shared) = (CoreSet::EMPTY, None);
        for &cache in caches {
            let array = &mut self.caches.arrays[cache];
            let Some(slot) = array.find(line) else { continue };
            if array.is_locked(slot) {
                array.set_state(slot, array.state(slot).cleaned());
                continue;
            }
            array.remove(slot);
            let (own, node) = (self.way_of(core).any(|own| own == cache), &self.caches.topology.nodes[cache]);
            match (own, node.private) {
                (true, _) => {}
                (false, true) => lost = lost.with(node.owner),
                (false, false) => shared = Some(node.owner),
            }
        }
        let losers = if lost.is_empty() { shared.map_or(lost, CoreSet::only) } else { lost };
        for loser in losers.iter() {
            self.counts[loser.index()].increment(Signal::InvalidationReceived);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::fixtures::{i7_2600, private_only, xeon_w3530};
    use solo_model::{Platform, SplitMix64};

    /// So many accesses drawn from few lines by all cores; the time after them.
    fn busy(memory: &mut Hierarchy, platform: &Platform, random: &mut SplitMix64) -> Picoseconds {
        let mut now = Picoseconds::ZERO;
        for _ in 0..4_000 {
            let core = CoreId(random.below(platform.cores.len() as u64) as u16);
            let kind = [AccessKind::Read, AccessKind::Write, AccessKind::Fetch][random.below(3) as usize];
            let _ = memory.access(core, now, PhysicalAddress(random.below(3_000) * 64), kind);
            now += Picoseconds::new(200_000);
            memory.advance(now, |_| {});
        }
        now
    }

    fn platforms() -> [Platform; 4] {
        let mut exclusive = xeon_w3530();
        exclusive.caches.iter_mut().filter(|c| c.level == 3).for_each(|c| c.inclusion = Inclusion::Exclusive);
        [xeon_w3530(), i7_2600(), private_only(3, 16, 4), exclusive]
    }

    fn changed(memory: &Hierarchy, caches: &[usize]) -> usize {
        let lines = caches.iter().flat_map(|&cache| memory.lines(cache));
        let mut changed: Vec<_> = lines.filter(|(_, state)| state.is_dirty()).map(|(line, _)| line).collect();
        changed.sort_unstable();
        changed.dedup();
        changed.len()
    }

    #[test]
    fn afterwards_the_caches_are_empty_and_memory_has_each_changed_line_once() {
        for (platform, by_address) in platforms().iter().flat_map(|it| [(it, false), (it, true)]) {
            for seed in 0..5 {
                let mut random = SplitMix64::new(seed);
                let mut memory = Hierarchy::new(platform, seed).expect("it fits together");
                let mut now = busy(&mut memory, platform, &mut random);
                let core = CoreId(random.below(platform.cores.len() as u64) as u16);
                let caches = memory.emptied_by(core, by_address);
                let lines = memory.lines_in(&caches);
                let (owed, before) = (changed(&memory, &caches), memory.counts(core)[Signal::DramWrite]);
                let others: Vec<usize> =
                    (0..platform.caches.len()).filter(|cache| !caches.contains(cache)).collect();
                let held =
                    |memory: &Hierarchy| others.iter().map(|&c| memory.lines(c).count()).sum::<usize>();
                let beside = held(&memory);
                for line in &lines {
                    while memory.flush_line(core, now, *line, &caches) == Flushed::Full {
                        now += Picoseconds::new(10_000);
                        memory.advance(now, |_| {});
                    }
                }
                assert!(!lines.is_empty() && owed > 0, "{}", platform.name);
                assert_eq!(caches.iter().map(|&cache| memory.lines(cache).count()).sum::<usize>(), 0);
                assert_eq!(memory.counts(core)[Signal::DramWrite] - before, owed as u64, "{}", platform.name);
                assert_eq!(held(&memory), beside, "nothing else is touched");
            }
        }
    }

    /// What is on the core's own way goes; what stands behind an inclusive cache, too.
    #[test]
    fn other_cores_keep_their_private_caches_unless_an_inclusive_one_is_emptied() {
        let emptied = |platform: &Platform, by_address| {
            let memory = Hierarchy::new(platform, 0).expect("it fits together");
            memory.emptied_by(CoreId(0), by_address).len()
        };
        let [inclusive, _, private, exclusive] = platforms();
        // Three private caches of each of four cores, and the last level.
        assert_eq!([emptied(&inclusive, false), emptied(&inclusive, true)], [13, 13]);
        assert_eq!([emptied(&exclusive, false), emptied(&exclusive, true)], [4, 13]);
        assert_eq!([emptied(&private, false), emptied(&private, true)], [1, 3]);
    }

    #[test]
    fn a_locked_line_stays_and_is_written() {
        let platform = xeon_w3530();
        let mut memory = Hierarchy::new(&platform, 0).expect("it fits together");
        let (address, last) = (PhysicalAddress(4096), platform.caches.len() - 1);
        assert!(memory.lock_line(last, address));
        let slot = memory.caches.arrays[last].find(64).expect("it is locked there");
        memory.caches.arrays[last].set_state(slot, State::Modified);
        let caches = memory.emptied_by(CoreId(1), true);
        let flushed = memory.flush_line(CoreId(1), Picoseconds::ZERO, address, &caches);
        assert!(matches!(flushed, Flushed::Done { .. }));
        assert_eq!(memory.state(last, address), State::Exclusive);
        assert_eq!(memory.counts(CoreId(1))[Signal::DramWrite], 1);
        // It is locked still.
        let again = memory.flush_line(CoreId(1), Picoseconds::ZERO, address, &caches);
        assert!(matches!(again, Flushed::Done { written: Picoseconds::ZERO, .. }));
        assert_eq!(memory.state(last, address), State::Exclusive);
    }
}
