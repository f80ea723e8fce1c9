//! Stream prefetchers: neighbouring lines that a core has not asked for yet.
//!
//! ```text
//!   new ──next line──▶ 1 ──next line──▶ ... ──▶ `after` ──next line──▶ asks for lines up to `distance` ahead
//! ```
//! A stream runs up or down and ends at the page. A line that any cache holds, or that is on its way, is not asked
//! for; what is asked for goes into the last level, where an access that comes before it waits for the rest of its
//! time.

use super::dram::{Completion, RequestId};
use solo_model::platform::StreamPrefetcher;
use solo_model::{CoreId, Platform};

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
    pub(super) fn follow(&mut self, core: CoreId, line: u64) -> impl Iterator<Item = u64> + use<> {
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
    pub(super) fn asked(&mut self, core: CoreId, lines: u64) {
        if let Some(stream) = self.cores[core.index()].streams.last_mut() {
            stream.ahead += lines;
        }
    }

    /// True where the core's prefetcher may ask for one more line.
    pub(super) fn has_room(&self, core: CoreId) -> bool {
        self.cores[core.index()].under_way.len() < usize::from(self.description.distance)
    }

    /// The core's prefetcher has asked for a line.
    pub(super) fn submitted(&mut self, core: CoreId, request: RequestId) {
        self.cores[core.index()].under_way.push(request);
    }

    /// True where `completion` is that of a line which only the prefetcher asked for; it is forgotten.
    pub(super) fn arrived(&mut self, completion: &Completion) -> bool {
        // Only cores have prefetchers.
        let Some(Prefetcher { under_way, .. }) = self.cores.get_mut(completion.requester.index()) else {
            return false;
        };
        let found = under_way.iter().position(|request| *request == completion.request);
        found.map(|at| under_way.swap_remove(at)).is_some()
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
