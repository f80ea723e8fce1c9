//! Regions: counters around parts of a program, placed by the program itself (PMCTrack's libpmctrack, 3.2).
//!
//! ```no_run
//! use solo_perf::region::Regions;
//! # fn work() {}
//! let mut regions = Regions::open("instructions,llc_misses")?;
//! for _ in 0..100 {
//!     let start = regions.start();
//!     work();
//!     regions.stop("work", start);
//! }
//! print!("{}", regions.table());
//! # Ok::<(), solo_perf::region::RegionError>(())
//! ```
//!
//! A set of regions belongs to the thread that opened it and counts that thread alone; each thread opens its own, and
//! [`Regions::merge`] adds them up. Events that this machine can't count are left out and named, so an instrumented
//! program runs everywhere. Where the kernel allows it and it is faster, hardware
//! counters are read without a system call (`rdpmc`).

use crate::files::Host;
use crate::group::{Group, Start, Whom};
use crate::pfm::{Pfm, PfmNames};
use crate::resolve::{ResolveError, Resolver, SysfsNames};
use crate::sys::page::UserPage;
use solo_model::Duration;
use solo_model::text::Unnumbered;
use solo_observe::{EventGroup, Filter, ParseError, parse_set};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::marker::PhantomData;

/// Why no regions can be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegionError {
    /// The event string is wrong.
    #[error("{0}")]
    Parse(#[from] ParseError),
    /// An event is not described on this machine.
    #[error("{0}")]
    Resolve(#[from] ResolveError),
    /// The kernel refused.
    #[error("cannot read counters: {}", Unnumbered(.0))]
    System(#[from] io::Error),
}

/// What one region came to.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Total {
    /// How often it was passed.
    pub passes: u64,
    /// The time in it, by the clock on the wall.
    pub time: Duration,
    /// One count an event of [`Regions::events`], `None` for those that can't be counted here.
    pub counts: Vec<Option<u64>>,
}

/// The beginning of a region.
#[derive(Clone, Debug)]
pub struct Mark {
    at: u64,
    counts: Counts,
}

/// As many counts as a set may have; no allocation in a measured region.
type Counts = [u64; EVENTS_MAX];

/// The most events of a region.
pub(crate) const EVENTS_MAX: usize = 8;

struct Event {
    name: String,
    /// Why it is not counted, or the group that counts it.
    group: Result<Group, String>,
    page: Option<UserPage>,
}

impl Event {
    /// Reads without the kernel where that is possible and faster: a hypervisor may trap `rdpmc`, which then costs
    /// more than a system call. The fastest of some readings decides, whatever else the machine does.
    fn take_the_faster_way(&mut self) {
        let Ok(group) = &mut self.group else { return };
        let Some(page) = group.user_page() else { return };
        let fastest = |read: &mut dyn FnMut()| {
            let timed = (0..8).map(|_| {
                let begin = crate::sys::now();
                read();
                crate::sys::now().saturating_sub(begin)
            });
            timed.min()
        };
        let direct = fastest(&mut || {
            std::hint::black_box(page.count());
        });
        let kernel = fastest(&mut || {
            std::hint::black_box(group.count().ok());
        });
        self.page = (direct < kernel).then_some(page);
    }
}

/// Regions of the calling thread.
pub struct Regions {
    events: Vec<Event>,
    totals: BTreeMap<String, Total>,
    /// Counters are read by the thread that they count: this value stays in its thread.
    thread: PhantomData<*const ()>,
}

impl Regions {
    /// Opens these events for the calling thread, in user mode where an event does not say otherwise.
    ///
    /// # Errors
    /// The string is wrong, or names more than [`EVENTS_MAX`] events. An event that the machine lacks is no error.
    pub fn open(events: &str) -> Result<Self, RegionError> {
        let host = Host::new();
        let resolver = Resolver::new(&host);
        let names = PfmNames { first: SysfsNames(&host), pfm: Pfm::get().ok(), files: &host };
        let set = parse_set(events, &names, resolver.layout())?;
        if set.events.len() > EVENTS_MAX {
            let message = format!("{} events; a region has {EVENTS_MAX} at most", set.events.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message).into());
        }
        let mut opened = Vec::new();
        for event in set.events {
            let name = event.name.clone();
            // Alone in its group, so that one that is refused takes no other with it.
            let groups = resolver.groups(&EventGroup { events: vec![event] }, Filter::USER)?;
            let group = match groups.first() {
                Some(members) => Group::open(members, Whom::Thread(0), Start::Now)
                    .map_err(|refused| refused.source.to_string()),
                None => Err("no PMU".to_owned()),
            };
            let mut event = Event { name, group, page: None };
            event.take_the_faster_way();
            opened.push(event);
        }
        Ok(Self { events: opened, totals: BTreeMap::new(), thread: PhantomData })
    }

    /// The names of the events, in the order of counts.
    pub fn events(&self) -> Vec<&str> {
        self.events.iter().map(|event| event.name.as_str()).collect()
    }

    /// The events that can't be counted here, and why.
    pub fn missing(&self) -> Vec<(&str, &str)> {
        let missing = self.events.iter().filter_map(|event| Some((event, event.group.as_ref().err()?)));
        missing.map(|(event, why)| (event.name.as_str(), why.as_str())).collect()
    }

    fn counts(&mut self) -> Counts {
        let mut counts = [0; EVENTS_MAX];
        for (count, event) in counts.iter_mut().zip(&mut self.events) {
            let fast = event.page.as_ref().and_then(UserPage::count);
            *count = fast.or_else(|| event.group.as_mut().ok()?.count().ok()).unwrap_or(0);
        }
        counts
    }

    /// Begins a region.
    pub fn start(&mut self) -> Mark {
        Mark { at: crate::sys::now(), counts: self.counts() }
    }

    /// Ends a region; the same name may be passed any number of times.
    pub fn stop(&mut self, name: &str, mark: Mark) {
        let counts = self.counts();
        let at = crate::sys::now();
        let counted: Vec<bool> = self.events.iter().map(|event| event.group.is_ok()).collect();
        if !self.totals.contains_key(name) {
            let empty = counted.iter().map(|counted| counted.then_some(0)).collect();
            self.totals.insert(name.to_owned(), Total { counts: empty, ..Total::default() });
        }
        let Some(total) = self.totals.get_mut(name) else { return };
        total.passes += 1;
        total.time += Duration::new(at.saturating_sub(mark.at));
        for (i, sum) in total.counts.iter_mut().enumerate() {
            if let Some(sum) = sum {
                *sum += counts[i].wrapping_sub(mark.counts[i]);
            }
        }
    }

    /// What each region came to, by name.
    pub fn totals(&self) -> &BTreeMap<String, Total> {
        &self.totals
    }

    /// Adds the totals of another thread's regions with the same events.
    pub fn merge(&mut self, others: &BTreeMap<String, Total>) {
        for (name, other) in others {
            let total = self.totals.entry(name.clone()).or_default();
            total.counts.resize(total.counts.len().max(other.counts.len()), None);
            total.passes += other.passes;
            total.time += other.time;
            for (sum, more) in total.counts.iter_mut().zip(&other.counts) {
                *sum = match (*sum, *more) {
                    (Some(sum), Some(more)) => Some(sum + more),
                    (one, None) | (None, one) => one,
                };
            }
        }
    }

    /// What an empty region costs: nanoseconds a start and stop, the mean of many.
    pub fn cost(&mut self) -> Duration {
        const PASSES: u64 = 1000;
        let begin = crate::sys::now();
        for _ in 0..PASSES {
            let mark = self.start();
            self.stop("", mark);
        }
        let spent = crate::sys::now().saturating_sub(begin);
        self.totals.remove("");
        Duration::new(spent / PASSES)
    }

    /// How many events are read without a system call at this moment.
    pub fn fast(&self) -> usize {
        self.events
            .iter()
            .filter(|event| event.page.as_ref().is_some_and(|page| page.count().is_some()))
            .count()
    }

    /// The totals as a table, with what could not be counted beneath.
    pub fn table(&self) -> String {
        let mut text = format!("{:<20} {:>10} {:>14}", "region", "passes", "time_ns");
        for event in &self.events {
            let _ = write!(text, " {:>16}", event.name);
        }
        text.push('\n');
        for (name, total) in &self.totals {
            let _ = write!(text, "{name:<20} {:>10} {:>14}", total.passes, total.time.get());
            for count in &total.counts {
                let count = count.map_or_else(|| "-".to_owned(), |count| count.to_string());
                let _ = write!(text, " {count:>16}");
            }
            text.push('\n');
        }
        for (event, why) in self.missing() {
            let _ = writeln!(text, "not counted: {event}: {why}");
        }
        text
    }
}

#[cfg(test)]
mod tests;
