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
//! In a region samples can be taken, too: each so many of an event (`page_faults:ebs=100`), or each so many nanoseconds that the thread
//! ran ([`Settings::every`]); each sample has the counts of all events. Events can be changed between regions, a thread opens what another
//! has opened with the same [`Settings`], and what is counted may be the whole machine.
//!
//! A set of regions belongs to the thread that opened it and counts that thread alone; each thread opens its own, and
//! [`Regions::merge`] adds them up. Events that this machine can't count are left out and named, so an instrumented
//! program runs everywhere. Where the kernel allows it and it is faster, hardware
//! counters are read without a system call (`rdpmc`).

mod event;
mod sampler;

use crate::files::Host;
use crate::group::Whom;
use crate::pfm::{Pfm, PfmNames};
use crate::resolve::{ResolveError, Resolver, SysfsNames};
use event::Event;
use sampler::Sampler;
use solo_model::text::Unnumbered;
use solo_model::{CoreId, Duration};
use solo_observe::{EventGroup, ParseError, parse_set};
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
    /// A sampling period that is too short.
    #[error("a sampling period is 100 us or more, found {0}")]
    Period(Duration),
    /// Samples by time and by an event at once.
    #[error("samples come by time or by an event, and `{0}` has :ebs already")]
    TwoSampled(String),
}

/// What is counted, and of whom: all that another thread needs to open the same.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// The events, as for `solo watch -e`.
    pub events: String,
    /// The whole machine instead of the calling thread. It takes the right to count CPUs.
    pub machine: bool,
    /// A sample each time the thread has run so long, or a CPU has; 100 us or more.
    pub every: Option<Duration>,
}

impl Settings {
    /// The calling thread's events, without samples by time.
    pub fn of(events: &str) -> Self {
        Self { events: events.to_owned(), machine: false, every: None }
    }
}

/// The shortest sampling period.
const PERIOD_MIN: Duration = Duration::from_micros(100);
/// Samples that are kept of a region, at most; further ones are counted as lost.
const SAMPLES_MAX: usize = 100_000;

/// What one region came to.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Total {
    /// How often it was passed.
    pub passes: u64,
    /// The time in it, by the clock on the wall.
    pub time: Duration,
    /// One count an event of [`Regions::events`], `None` for those that can't be counted here, or were not while it was passed.
    pub counts: Vec<Option<u64>>,
    /// The samples that were taken in it.
    pub samples: Vec<Taken>,
    /// Samples for which there was no room.
    pub lost: u64,
}

/// A sample in a region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Taken {
    /// In which pass, from 0.
    pub pass: u64,
    /// When, since the pass began.
    pub at: Duration,
    /// On which CPU.
    pub core: CoreId,
    /// What was counted since the sample before, or since the region began: as [`Total::counts`]. Of a whole machine it is the CPU's.
    pub counts: Vec<Option<u64>>,
}

/// The beginning of a region.
#[derive(Clone, Debug)]
pub struct Mark {
    at: u64,
    /// Which of the sets of events that were configured counted.
    set: u32,
    counts: Counts,
}

/// As many counts as a set may have; no allocation in a measured region.
type Counts = [u64; EVENTS_MAX];

/// The most events of a region.
pub(crate) const EVENTS_MAX: usize = 8;

/// Regions of the calling thread.
pub struct Regions {
    settings: Settings,
    /// The events of all sets that were configured, each once.
    names: Vec<String>,
    /// Those that count now.
    events: Vec<Event>,
    set: u32,
    sampler: Option<Sampler>,
    totals: BTreeMap<String, Total>,
    /// Counters are read by the thread that they count: this value stays in its thread.
    thread: PhantomData<*const ()>,
}

impl Regions {
    /// Opens these events for the calling thread, in user mode where an event does not say otherwise.
    ///
    /// # Errors
    /// The string is wrong, or names more than eight events. An event that the machine lacks is no error.
    pub fn open(events: &str) -> Result<Self, RegionError> {
        Self::with(&Settings::of(events))
    }

    /// Opens what is said; for another thread's settings, the same as that one.
    ///
    /// # Errors
    /// As [`Self::open`]; a sampling period that is too short.
    pub fn with(settings: &Settings) -> Result<Self, RegionError> {
        let mut regions = Self {
            settings: settings.clone(),
            names: Vec::new(),
            events: Vec::new(),
            set: 0,
            sampler: None,
            totals: BTreeMap::new(),
            thread: PhantomData,
        };
        regions.configure(settings)?;
        Ok(regions)
    }

    /// Counts something else from now on, of the same thread or machine; what was counted stays. A region that is open counts
    /// nothing more.
    ///
    /// # Errors
    /// As [`Self::with`]; then it counts what it did.
    pub fn configure(&mut self, settings: &Settings) -> Result<(), RegionError> {
        if let Some(every) = settings.every.filter(|every| *every < PERIOD_MIN) {
            return Err(RegionError::Period(every));
        }
        let host = Host::new();
        let resolver = Resolver::new(&host);
        let names = PfmNames { first: SysfsNames(&host), pfm: Pfm::get().ok(), files: &host };
        let set = parse_set(&settings.events, &names, resolver.layout())?;
        if set.events.len() > EVENTS_MAX {
            let message = format!("{} events; a region has {EVENTS_MAX} at most", set.events.len());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message).into());
        }
        if let (Some(at), Some(_)) = (set.sampled(), settings.every) {
            return Err(RegionError::TwoSampled(set.events[at].name.clone()));
        }
        let whom: Vec<Whom> = match settings.machine {
            true => crate::cpus::online(&host).into_iter().map(|cpu| Whom::Core(CoreId(cpu))).collect(),
            false => vec![Whom::Thread(0)],
        };
        let sampled = set.sampled().is_some() || settings.every.is_some();
        let (events, sampler) = event::open(&set, &resolver, &whom, settings.every, sampled)?;
        self.take(&set, events, sampler);
        self.settings = settings.clone();
        Ok(())
    }

    fn take(&mut self, set: &EventGroup, mut events: Vec<Event>, sampler: Option<Sampler>) {
        for (event, named) in events.iter_mut().zip(&set.events) {
            let known = self.names.iter().position(|name| *name == named.name);
            event.place = known.unwrap_or_else(|| {
                self.names.push(named.name.clone());
                self.names.len() - 1
            });
        }
        (self.events, self.sampler, self.set) = (events, sampler, self.set + 1);
    }

    /// What was said when they were opened.
    pub const fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The names of the events, in the order of counts: of all sets that were configured.
    pub fn events(&self) -> Vec<&str> {
        self.names.iter().map(String::as_str).collect()
    }

    /// The events that can't be counted here, and why.
    pub fn missing(&self) -> Vec<(&str, &str)> {
        let missing = self.events.iter().filter_map(|event| Some((event, event.missing()?)));
        missing.map(|(event, why)| (self.names[event.place].as_str(), why)).collect()
    }

    fn counts(&mut self) -> Counts {
        let mut counts = [0; EVENTS_MAX];
        match &mut self.sampler {
            Some(sampler) => sampler.read(&mut counts),
            None => {
                for (count, event) in counts.iter_mut().zip(&mut self.events) {
                    *count = event.read();
                }
            }
        }
        counts
    }

    /// Begins a region.
    pub fn start(&mut self) -> Mark {
        Mark { at: crate::sys::now(), set: self.set, counts: self.counts() }
    }

    /// Ends a region; the same name may be passed any number of times.
    pub fn stop(&mut self, name: &str, mark: Mark) {
        let counts = self.counts();
        let at = crate::sys::now();
        if !self.totals.contains_key(name) {
            self.totals.insert(name.to_owned(), Total::default());
        }
        let Some(total) = self.totals.get_mut(name) else { return };
        total.counts.resize(self.names.len(), None);
        let pass = total.passes;
        total.passes += 1;
        total.time += Duration::new(at.saturating_sub(mark.at));
        if mark.set != self.set {
            return;
        }
        for (place, event) in self.events.iter().enumerate().filter(|(_, event)| event.missing().is_none()) {
            let sum = total.counts[event.place].get_or_insert(0);
            *sum += counts[place].wrapping_sub(mark.counts[place]);
        }
        if let Some(sampler) = &mut self.sampler {
            let places: Vec<usize> = self.events.iter().map(|event| event.place).collect();
            let taken = sampler.taken(mark.at, &mark.counts, self.settings.machine);
            total.lost += std::mem::take(&mut sampler.lost);
            for sample in taken {
                if total.samples.len() >= SAMPLES_MAX {
                    total.lost += 1;
                    continue;
                }
                let mut counts = vec![None; self.names.len()];
                for (place, count) in places.iter().zip(&sample.counts) {
                    counts[*place] = *count;
                }
                let at = Duration::new(sample.at.saturating_sub(mark.at));
                total.samples.push(Taken { pass, at, core: sample.core, counts });
            }
        }
    }

    /// What each region came to, by name.
    pub fn totals(&self) -> &BTreeMap<String, Total> {
        &self.totals
    }

    /// Adds the totals of another thread's regions with the same events. Its samples stay its own.
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
        self.events.iter().filter(|event| event.is_fast()).count()
    }

    /// The totals as a table, with what could not be counted beneath.
    pub fn table(&self) -> String {
        let mut text = format!("{:<20} {:>10} {:>14}", "region", "passes", "time_ns");
        for name in &self.names {
            let _ = write!(text, " {name:>16}");
        }
        text.push('\n');
        for (name, total) in &self.totals {
            let _ = write!(text, "{name:<20} {:>10} {:>14}", total.passes, total.time.get());
            for place in 0..self.names.len() {
                let count = total.counts.get(place).copied().flatten();
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
