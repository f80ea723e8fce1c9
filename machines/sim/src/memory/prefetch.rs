//! Stream prefetchers: neighbouring lines that a core has not asked for yet.
//!
//! ```text
//!   new ──next line──▶ 1 ──next line──▶ ... ──▶ `after` ──next line──▶ asks for lines up to `distance` ahead
//! ```
//! A stream runs up or down and ends at the page. A line that any cache holds, or that is on its way, is not asked
//! for; what is asked for goes into the last level, where an access that comes before it waits for the rest of its
//! time.

use super::PhysicalAddress;
use super::bus::Transaction;
use super::coherence::State;
use super::dram::{Completion, RequestId};
use super::events::count_fill;
use super::hierarchy::{AccessKind, Hierarchy, route};
use solo_model::platform::StreamPrefetcher;
use solo_model::{CoreId, Picoseconds, Platform, Signal};

/// A run of neighbouring lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stream {
    /// The last line accessed.
    last: u64,
    /// Its lines fall.
    down: bool,
    /// Neighbours seen in a row.
    run: u16,
    /// Lines beyond `last` that were asked for.
    ahead: u64,
}

/// One core's prefetcher.
#[derive(Clone, Debug, Default)]
struct Prefetcher {
    /// Least recently used first.
    streams: Vec<Stream>,
    under_way: Vec<RequestId>,
}

/// The prefetchers of all cores.
#[derive(Clone, Debug)]
pub(super) struct Prefetchers {
    description: StreamPrefetcher,
    cores: Vec<Prefetcher>,
    /// Lines of a page, as a power of two.
    page_shift: u32,
}

impl Prefetchers {
    /// Those of a platform; `None` where they are off.
    pub(super) fn new(platform: &Platform, line_shift: u32) -> Option<Self> {
        let description = platform.prefetcher.filter(|prefetcher| prefetcher.on)?;
        let page_shift = platform.page.get().max(1).ilog2().saturating_sub(line_shift);
        Some(Self { description, cores: vec![Prefetcher::default(); platform.cores.len()], page_shift })
    }

    /// A core asks for `line`, which its first level does not have: the lines that it will want, nearest first.
    fn follow(&mut self, core: CoreId, line: u64) -> impl Iterator<Item = u64> + use<> {
        let StreamPrefetcher { streams: most, after, distance, .. } = self.description;
        let streams = &mut self.cores[core.index()].streams;
        let known = streams.iter().position(|stream| {
            line == stream.last
                || line == stream.last + 1 && !(stream.down && stream.run > 0)
                || line + 1 == stream.last && (stream.down || stream.run == 0)
        });
        let mut stream = match known {
            Some(at) => streams.remove(at),
            None => {
                if streams.len() >= usize::from(most) {
                    streams.remove(0);
                }
                Stream { last: line, down: false, run: 0, ahead: 0 }
            }
        };
        if line != stream.last {
            stream.down = line < stream.last;
            stream.run = stream.run.saturating_add(1);
            stream.ahead = stream.ahead.saturating_sub(1);
            stream.last = line;
        }
        let begins = stream.ahead + 1;
        let (down, ends) = (stream.down, if stream.run >= after { u64::from(distance) } else { 0 });
        streams.push(stream);
        let shift = self.page_shift;
        let page = line >> shift;
        let lines =
            (begins..=ends).filter_map(move |n| if down { line.checked_sub(n) } else { Some(line + n) });
        lines.take_while(move |line| line >> shift == page)
    }

    /// So many of the lines that the core's latest stream wants were asked for, or need not be.
    fn asked(&mut self, core: CoreId, lines: u64) {
        if let Some(stream) = self.cores[core.index()].streams.last_mut() {
            stream.ahead += lines;
        }
    }

    /// True where `completion` is that of a line which only the prefetcher asked for; it is forgotten.
    pub(super) fn arrived(&mut self, completion: &Completion) -> bool {
        let under_way = &mut self.cores[completion.core.index()].under_way;
        let found = under_way.iter().position(|request| *request == completion.request);
        found.map(|at| under_way.swap_remove(at)).is_some()
    }
}

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
        let room = |all: &Prefetchers| {
            all.cores[core.index()].under_way.len() < usize::from(all.description.distance)
        };
        let held = self.caches.arrays.iter().any(|array| array.find(line).is_some());
        if held || self.caches.arrays[cache].refuses(line) || self.pending.find(line, now).is_some() {
            return true;
        }
        if !self.prefetchers.as_ref().is_some_and(room) {
            return false;
        }
        if let Some(bus) = &mut self.bus {
            asks += bus.transact(now + asks, core, None, Transaction::Clean, &mut self.counts).addressed;
        }
        let allowed = self.allowed(core, cache);
        let evicted = self.caches.arrays[cache].insert(line, State::Exclusive, 0, allowed);
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
            prefetchers.cores[core.index()].under_way.push(request);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::fixtures::xeon_w3530;

    fn prefetchers(streams: u16) -> Prefetchers {
        let mut platform = xeon_w3530();
        platform.prefetcher = Some(StreamPrefetcher { on: true, streams, after: 2, distance: 4 });
        Prefetchers::new(&platform, 6).unwrap()
    }

    fn wanted(all: &mut Prefetchers, line: u64) -> Vec<u64> {
        let lines: Vec<u64> = all.follow(CoreId(0), line).collect();
        all.asked(CoreId(0), lines.len() as u64);
        lines
    }

    #[test]
    fn a_stream_is_followed_after_two_neighbours_and_up_to_its_page() {
        let mut all = prefetchers(2);
        assert!(wanted(&mut all, 10).is_empty() && wanted(&mut all, 11).is_empty());
        assert_eq!(wanted(&mut all, 12), [13, 14, 15, 16]);
        assert_eq!(wanted(&mut all, 13), [17]);
        // A line asked for again changes nothing.
        assert!(wanted(&mut all, 13).is_empty());
        for line in 14..=59 {
            assert_eq!(wanted(&mut all, line), [line + 4]);
        }
        // The page has 64 lines.
        assert!(wanted(&mut all, 60).is_empty());
    }

    #[test]
    fn streams_run_down_too_and_the_oldest_is_forgotten() {
        let mut all = prefetchers(2);
        for line in [200, 199] {
            assert!(wanted(&mut all, line).is_empty());
        }
        assert_eq!(wanted(&mut all, 198), [197, 196, 195, 194]);
        assert!(wanted(&mut all, 1000).is_empty());
        assert_eq!(wanted(&mut all, 197), [193]);
        // Two others, then the first is unknown again.
        assert!(wanted(&mut all, 2000).is_empty() && wanted(&mut all, 3000).is_empty());
        assert!(wanted(&mut all, 196).is_empty());
    }

    #[test]
    fn a_prefetcher_that_is_off_is_not_there() {
        let mut platform = xeon_w3530();
        platform.prefetcher = Some(StreamPrefetcher { on: false, streams: 1, after: 1, distance: 1 });
        assert!(Prefetchers::new(&platform, 6).is_none());
    }
}
