//! How a program reuses its memory: stack distances, working sets over time and the busiest pages.
//!
//! The distance of an access is the number of other lines touched since the last access to its line. A fully
//! associative LRU cache hits exactly the accesses whose distance is below its number of lines (Mattson et
//! al. 1970), so one pass gives the misses of all sizes.

use crate::error::TraceError;
use crate::input::Source;
use crate::reference::Reference;
use serde::Serialize;
use solo_model::Bytes;
use solo_model::text::counted;
use solo_workload::image::{PAGE, TraceKind};
use std::collections::HashMap;
use std::fmt;

/// The most distinct lines, and the most windows, of a profile. So many lines take two GiB of memory.
const MOST: usize = 1 << 24;
/// The first capacity of the time line.
const TIMES: usize = 1 << 16;

/// How a program reuses its memory.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ProfileReport {
    /// The bytes of a line.
    pub line: u64,
    /// Lines accessed; a modify accesses its lines twice. Fetches are left out.
    pub accesses: u64,
    /// Distinct lines: accesses that any cache misses.
    pub lines: u64,
    /// Element `k` is the number of accesses at a distance from `2^(k-1)` to below `2^k`, the first of those
    /// at distance 0.
    pub distances: Vec<u64>,
    /// Misses of fully associative LRU caches.
    pub misses: Vec<CurvePoint>,
    /// The accesses of a window of the working set.
    pub window: u64,
    /// The working set over time (Denning 1968): distinct lines in each window, the last one perhaps shorter.
    pub working_set: Vec<u64>,
    /// How few pages take which shares of the accesses: a profile of hot pages is as long as the share that is wanted
    /// (Colored Lockdown, SCE 2.3 and Table 1).
    pub coverage: Vec<Coverage>,
    /// The pages accessed most, in falling order, of equal ones the lowest first.
    pub pages: Vec<PageCount>,
}

impl fmt::Display for ProfileReport {
    /// Two tables: misses by size, and the busiest pages.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} to {} of {}",
            counted(self.accesses, "access"),
            counted(self.lines, "line"),
            counted(self.line, "byte")
        )?;
        writeln!(
            f,
            "\nmisses of fully associative LRU caches\n{:>10} {:>14} {:>9}",
            "size", "misses", "missed"
        )?;
        for &CurvePoint { bytes, misses } in &self.misses {
            let size = Bytes::new(bytes).to_string();
            writeln!(f, "{size:>10} {misses:>14} {:>9}", self.share(misses))?;
        }
        if let Some(most) = self.working_set.iter().max() {
            let mean = self.working_set.iter().sum::<u64>() / self.working_set.len() as u64;
            let [mean, most] = [mean, *most].map(|lines| Bytes::new(lines * self.line));
            writeln!(
                f,
                "\nworking set in {}: {mean} on average, {most} at most",
                counted(self.window, "access")
            )?;
        }
        if !self.coverage.is_empty() {
            write!(f, "\npages that take a share of the accesses:")?;
            for (at, Coverage { per_cent, pages }) in self.coverage.iter().enumerate() {
                write!(f, "{} {pages} take {per_cent} %", if at == 0 { "" } else { "," })?;
            }
            writeln!(f)?;
        }
        if !self.pages.is_empty() {
            writeln!(
                f,
                "\nbusiest pages\n{:>18} {:>7} {:>10} {:>14} {:>9}",
                "address", "region", "offset", "accesses", "share"
            )?;
        }
        for &PageCount { address, accesses, region, offset } in &self.pages {
            let offset = format!("{:#x}", offset.get());
            writeln!(
                f,
                "{address:>#18x} {region:>7} {offset:>10} {accesses:>14} {:>9}",
                self.share(accesses)
            )?;
        }
        Ok(())
    }
}

impl ProfileReport {
    /// `count` as a share of all accesses, in percent, rounded down.
    fn share(&self, count: u64) -> String {
        let share = (u128::from(count) * 10_000).checked_div(u128::from(self.accesses)).unwrap_or(0);
        format!("{}.{:02}%", share / 100, share % 100)
    }
}

/// Misses of one size.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct CurvePoint {
    /// The size of the cache in bytes.
    pub bytes: u64,
    /// Its misses.
    pub misses: u64,
}

/// How few pages take a share of the accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Coverage {
    /// The share, in percent.
    pub per_cent: u64,
    /// The fewest pages whose accesses are that share or more.
    pub pages: u64,
}

/// The shares that are told.
const SHARES: [u64; 6] = [50, 75, 90, 95, 99, 100];

/// The coverage by pages in falling order of accesses; empty without any.
fn coverage(pages: &[PageCount], accesses: u64) -> Vec<Coverage> {
    let mut found = Vec::new();
    let mut taken = 0;
    for (at, page) in pages.iter().enumerate() {
        taken += page.accesses;
        while let Some(&per_cent) = SHARES.get(found.len())
            && u128::from(taken) * 100 >= u128::from(accesses) * u128::from(per_cent)
        {
            found.push(Coverage { per_cent, pages: at as u64 + 1 });
        }
    }
    found
}

/// Accesses to one page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct PageCount {
    /// The page's address.
    pub address: u64,
    /// Lines of it that were accessed.
    pub accesses: u64,
    /// The region that it lies in, from 0 in the order of addresses: touched pages less than 1 MiB apart.
    pub region: usize,
    /// Where in its region it begins. Programs move regions from run to run, and what is in them stays: ranks of pages are
    /// kept as offsets (Colored Lockdown, SCE 2.3).
    #[serde(rename = "offset_bytes")]
    pub offset: Bytes,
}

/// Pages further apart than this belong to different regions: code, heap, libraries, stack.
pub(crate) const REGION_GAP: Bytes = Bytes::from_mib(1);

/// Profiles the data references of a trace over lines of `line` bytes, a power of two up to 4096 (the nearest
/// such is taken), with the working set in windows of so many accesses, and names the `top` busiest pages.
///
/// # Errors
/// When the trace is malformed or can't be read, and when it touches more lines or lasts for more windows than memory
/// is to be spent on.
pub fn profile(source: &mut Source, line: u64, window: u64, top: usize) -> Result<ProfileReport, TraceError> {
    let mut profile = Profile::new(line, window);
    let mut batch = Vec::new();
    loop {
        source.fill(&mut batch)?;
        if batch.is_empty() {
            return Ok(profile.report(top));
        }
        for reference in &batch {
            profile.refer(reference);
            profile.within_bounds()?;
        }
    }
}

/// A profile that grows.
#[derive(Debug)]
pub struct Profile {
    shift: u32,
    stack: Stack,
    accesses: u64,
    distances: Vec<u64>,
    pages: HashMap<u64, u64>,
    window: u64,
    working_set: Vec<u64>,
    /// The most lines and windows.
    most: usize,
}

impl Profile {
    /// An empty profile over lines of `line` bytes and windows of `window` accesses, as [`profile`] takes them.
    pub fn new(line: u64, window: u64) -> Self {
        let shift = line.clamp(1, PAGE.get()).next_power_of_two().trailing_zeros();
        Self {
            shift,
            stack: Stack::new(),
            accesses: 0,
            distances: Vec::new(),
            pages: HashMap::new(),
            window: window.max(1),
            working_set: Vec::new(),
            most: MOST,
        }
    }

    /// Takes in a reference; fetches are left out.
    pub fn refer(&mut self, reference: &Reference) {
        let rounds = match reference.kind {
            TraceKind::Fetch => 0,
            TraceKind::Modify => 2,
            TraceKind::Read | TraceKind::Write => 1,
        };
        for _ in 0..rounds {
            for line in reference.lines(self.shift) {
                self.access(line);
            }
        }
    }

    fn within_bounds(&self) -> Result<(), TraceError> {
        let kept = [("line", self.stack.last.len()), ("window", self.working_set.len())];
        match kept.into_iter().find(|(_, count)| *count > self.most) {
            Some((what, _)) => Err(TraceError::TooMuch { what, most: self.most }),
            None => Ok(()),
        }
    }

    fn access(&mut self, line: u64) {
        self.accesses += 1;
        *self.pages.entry((line << self.shift) / PAGE.get()).or_insert(0) += 1;
        let distance = self.stack.access(line);
        self.grow_working_set(distance);
        if let Some(distance) = distance {
            let bucket = (u64::BITS - distance.leading_zeros()) as usize;
            if bucket >= self.distances.len() {
                self.distances.resize(bucket + 1, 0);
            }
            self.distances[bucket] += 1;
        }
    }

    /// A line that was last accessed before the window began has all lines of the window above it: its distance is
    /// at least their number. So each distance tells whether its line is new in the window.
    fn grow_working_set(&mut self, distance: Option<u64>) {
        if (self.accesses - 1).is_multiple_of(self.window) {
            self.working_set.push(0);
        }
        if let Some(lines) = self.working_set.last_mut()
            && distance.is_none_or(|distance| distance >= *lines)
        {
            *lines += 1;
        }
    }

    /// The profile so far, with the `top` busiest pages.
    pub fn report(&self, top: usize) -> ProfileReport {
        let line = 1 << self.shift;
        let mut missing = self.accesses;
        // A cache of 2^k lines hits the distances below 2^k: the first k + 1 buckets.
        let misses = self.distances.iter().enumerate().map(|(power, hits)| {
            missing -= hits;
            CurvePoint { bytes: line << power, misses: missing }
        });
        let misses = misses.collect();
        let mut pages = self.ranked();
        pages.sort_unstable_by_key(|page| (std::cmp::Reverse(page.accesses), page.address));
        let coverage = coverage(&pages, self.accesses);
        pages.truncate(top);
        let lines = self.stack.last.len() as u64;
        ProfileReport {
            line,
            accesses: self.accesses,
            lines,
            distances: self.distances.clone(),
            misses,
            window: self.window,
            working_set: self.working_set.clone(),
            coverage,
            pages,
        }
    }
}

impl Profile {
    /// All pages with their regions, by address.
    fn ranked(&self) -> Vec<PageCount> {
        let mut touched: Vec<(u64, u64)> = self.pages.iter().map(|(&page, &count)| (page, count)).collect();
        touched.sort_unstable();
        let mut pages: Vec<PageCount> = Vec::with_capacity(touched.len());
        let mut first = touched.first().map_or(0, |(page, _)| page * PAGE.get());
        for (page, accesses) in touched {
            let address = page * PAGE.get();
            let last = pages.last();
            let mut region = last.map_or(0, |last| last.region);
            if last.is_some_and(|last| address - last.address > REGION_GAP.get()) {
                region += 1;
                first = address;
            }
            pages.push(PageCount { address, accesses, region, offset: Bytes::new(address - first) });
        }
        pages
    }
}

/// The lines in the order of their last access: a time for each, and a Fenwick tree that counts the times
/// taken.
#[derive(Debug)]
struct Stack {
    /// The time of each line's last access, from 1.
    last: HashMap<u64, usize>,
    tree: Vec<u32>,
    now: usize,
}

impl Stack {
    fn new() -> Self {
        Self { last: HashMap::new(), tree: vec![0; TIMES + 1], now: 0 }
    }

    /// Moves `line` to the top and returns its distance, unless it is new.
    fn access(&mut self, line: u64) -> Option<u64> {
        if self.now + 1 == self.tree.len() {
            self.compact();
        }
        self.now += 1;
        let before = self.last.insert(line, self.now);
        let distance = before.map(|time| {
            self.add(time, u32::MAX);
            self.last.len() as u64 - 1 - u64::from(self.taken_until(time))
        });
        self.add(self.now, 1);
        distance
    }

    /// Adds `change`, modulo 2^32, at `time`.
    fn add(&mut self, mut time: usize, change: u32) {
        while time < self.tree.len() {
            self.tree[time] = self.tree[time].wrapping_add(change);
            time += time & time.wrapping_neg();
        }
    }

    /// How many times up to `time` are some line's last.
    fn taken_until(&self, mut time: usize) -> u32 {
        let mut sum = 0u32;
        while time > 0 {
            sum = sum.wrapping_add(self.tree[time]);
            time &= time - 1;
        }
        sum
    }

    /// Renumbers the times without gaps, so that at least half of them are free.
    fn compact(&mut self) {
        let mut times: Vec<&mut usize> = self.last.values_mut().collect();
        times.sort_unstable();
        for (index, time) in times.into_iter().enumerate() {
            *time = index + 1;
        }
        self.now = self.last.len();
        let capacity = (2 * self.now).max(TIMES);
        self.tree = vec![0; capacity + 1];
        for time in 1..=self.now {
            self.add(time, 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use solo_model::CoreId;

    #[test]
    fn what_would_take_too_much_memory_is_refused() {
        let read = |address| Reference { kind: TraceKind::Read, address, size: 1, core: CoreId(0) };
        for (window, stride, expected) in [(1000, 64, "line"), (2, 0, "window")] {
            let mut profile = Profile { most: 50, ..Profile::new(64, window) };
            let fits = if expected == "line" { 50 } else { 100 };
            for i in 0..fits {
                profile.refer(&read(i * stride));
                assert!(profile.within_bounds().is_ok());
            }
            profile.refer(&read(fits * stride));
            let error = profile.within_bounds().unwrap_err();
            assert!(matches!(error, TraceError::TooMuch { what, most: 50 } if what == expected), "{error}");
        }
    }

    /// Of ten accesses seven go to one page and two to another: the first is more than half, both are 90 %.
    #[test]
    fn few_pages_take_most_accesses() {
        let mut profile = Profile::new(64, 100);
        assert_eq!(profile.report(0).coverage, []);
        for (page, times) in [(5, 1), (3, 7), (8, 2)] {
            for _ in 0..times {
                let (kind, address) = (TraceKind::Read, page * 4096);
                profile.refer(&Reference { kind, address, size: 4, core: CoreId(0) });
            }
        }
        let found = profile.report(0).coverage;
        let found: Vec<_> = found.iter().map(|share| (share.per_cent, share.pages)).collect();
        assert_eq!(found, [(50, 1), (75, 2), (90, 2), (95, 3), (99, 3), (100, 3)]);
    }

    /// Wherever a program's regions lie, its pages have the same ranks and offsets.
    #[test]
    fn pages_are_offsets_in_regions() {
        let profile = |code: u64, heap: u64| {
            let mut profile = Profile::new(64, 100);
            for (address, times) in [(code, 1), (heap, 2), (heap + 0x5000, 7), (code + 0x2008, 3)] {
                for _ in 0..times {
                    profile.refer(&Reference { kind: TraceKind::Read, address, size: 4, core: CoreId(0) });
                }
            }
            let pages = profile.report(10).pages;
            pages.iter().map(|page| (page.region, page.offset.get(), page.accesses)).collect::<Vec<_>>()
        };
        let found = profile(0x40_0000, 0x7f00_0000_0000);
        assert_eq!(found, [(1, 0x5000, 7), (0, 0x2000, 3), (1, 0, 2), (0, 0, 1)]);
        assert_eq!(found, profile(0x5555_0000_0000, 0x7fff_1234_5000));
    }
}
