//! What caches make of a trace: misses and writebacks of any number of geometries in one pass.
//!
//! Each line that a reference touches is an access, the lowest first; a modify reads all its lines, then
//! writes them. A write that misses brings its line in. Caches begin empty and are not flushed at the end. A
//! first-level miss reads the next level, then the victim, if it was modified, is written there. Levels are
//! neither inclusive nor exclusive.

use crate::error::TraceError;
use crate::functional::array::Array;
use crate::geometry::{CacheSpec, Feed, Geometry};
use crate::input::Source;
use crate::reference::{Counts, Reference, lines};
use crate::text::BATCH;
use serde::Serialize;
use solo_model::text::counted;
use solo_workload::image::TraceKind;
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

const CLEAN: u8 = 0;
const DIRTY: u8 = 1;
/// Batches that wait for a simulation at most.
const AHEAD: usize = 8;

/// What all caches made of the trace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CacheReport {
    /// A row for each cache, in the order of the specifications; in a hierarchy L1I, L1D, L2 and on.
    pub caches: Vec<CacheCounts>,
    /// The references of the trace.
    pub references: Counts,
}

impl fmt::Display for CacheReport {
    /// A table: a row for each cache.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.caches.iter().map(|row| row.spec.len()).max().unwrap_or(0).max(4);
        writeln!(
            f,
            "{:<width$}  {:<5} {:>14} {:>14} {:>9} {:>14}",
            "spec", "cache", "accesses", "misses", "missed", "writebacks"
        )?;
        for row in &self.caches {
            // Tenths of thousandths: exact, and enough digits to tell caches apart.
            let missed = (u128::from(row.misses) * 10_000).checked_div(u128::from(row.accesses)).unwrap_or(0);
            writeln!(
                f,
                "{:<width$}  {:<5} {:>14} {:>14} {:>5}.{:02}% {:>14}",
                row.spec,
                row.cache,
                row.accesses,
                row.misses,
                missed / 100,
                missed % 100,
                row.writebacks
            )?;
        }
        let Counts { fetches, reads, writes, modifies } = self.references;
        let [fetches, reads, writes] = [(fetches, "fetch"), (reads, "read"), (writes, "write")]
            .map(|(count, noun)| counted(count, noun));
        writeln!(f, "{fetches}, {reads}, {writes}, {}", counted(modifies, "modify"))
    }
}

/// What one cache made of the trace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CacheCounts {
    /// The specification that the cache belongs to.
    pub spec: String,
    /// `I`, `D`, `U`, `L1I`, `L1D`, `L2` and on.
    pub cache: String,
    /// Lines looked up.
    pub accesses: u64,
    /// Lines not found.
    pub misses: u64,
    /// Modified lines replaced.
    pub writebacks: u64,
}

/// Feeds the trace to every cache of `specs`.
///
/// The trace is parsed in a thread of its own and the caches are spread over the host's cores; the result does
/// not depend on either.
///
/// # Errors
/// When the trace is malformed or can't be read.
pub fn cache(source: &mut Source, specs: &[CacheSpec]) -> Result<CacheReport, TraceError> {
    let mut simulations: Vec<Simulation> = specs.iter().map(Simulation::new).collect();
    let workers =
        thread::available_parallelism().map_or(1, |cores| cores.get()).min(simulations.len()).max(1);
    let share = simulations.len().div_ceil(workers).max(1);
    let references = thread::scope(|scope| {
        let mut queues = Vec::new();
        for part in simulations.chunks_mut(share) {
            let (sender, receiver) = sync_channel(AHEAD);
            scope.spawn(move || simulate(&receiver, part));
            queues.push(sender);
        }
        distribute(source, &queues)
    })?;
    Ok(CacheReport {
        caches: simulations.into_iter().flat_map(Simulation::into_counts).collect(),
        references,
    })
}

/// Sends every batch to every queue.
fn distribute(source: &mut Source, queues: &[SyncSender<Arc<Vec<Reference>>>]) -> Result<Counts, TraceError> {
    let mut counts = Counts::default();
    loop {
        let mut batch = Vec::with_capacity(BATCH);
        source.fill(&mut batch)?;
        if batch.is_empty() {
            return Ok(counts);
        }
        batch.iter().for_each(|reference| counts.add(reference.kind));
        let batch = Arc::new(batch);
        for queue in queues {
            // A closed queue is a worker that panicked; the scope reports it.
            let _ = queue.send(Arc::clone(&batch));
        }
    }
}

fn simulate(batches: &Receiver<Arc<Vec<Reference>>>, simulations: &mut [Simulation]) {
    for batch in batches {
        for simulation in &mut *simulations {
            for reference in &*batch {
                simulation.refer(reference);
            }
        }
    }
}

/// The caches of one specification.
#[derive(Debug)]
pub struct Simulation {
    spec: String,
    feed: Feed,
    /// The caches; each misses to the one behind it that `next` names.
    levels: Vec<Level>,
    /// Which level a fetch goes to, and which one data goes to.
    fetch: Option<usize>,
    data: Option<usize>,
}

/// One cache.
#[derive(Debug)]
struct Level {
    array: Array,
    line_shift: u32,
    next: Option<usize>,
    accesses: u64,
    misses: u64,
    writebacks: u64,
}

impl Level {
    fn new(geometry: &Geometry, next: Option<usize>) -> Self {
        let line_shift = geometry.line().trailing_zeros();
        Self { array: Array::new(geometry), line_shift, next, accesses: 0, misses: 0, writebacks: 0 }
    }
}

impl Simulation {
    /// The caches of `spec`, empty.
    pub fn new(spec: &CacheSpec) -> Self {
        let mut levels = Vec::new();
        let count = spec.levels.len();
        let (fetch, data) = match spec.feed {
            Feed::Instructions => (Some(0), None),
            Feed::Data => (None, Some(0)),
            Feed::Unified => (Some(0), Some(0)),
            Feed::Hierarchy => (Some(0), Some(1)),
        };
        for (index, geometry) in spec.levels.iter().enumerate() {
            // A hierarchy has its first level twice, so the others move up by one.
            let next = (index + 1 < count).then_some(index + 2);
            levels.push(Level::new(geometry, next));
            if index == 0 && spec.feed == Feed::Hierarchy {
                levels.push(Level::new(geometry, next));
            }
        }
        Self { spec: spec.text.clone(), feed: spec.feed, levels, fetch, data }
    }

    /// Feeds one reference to the caches.
    #[inline]
    pub fn refer(&mut self, reference: &Reference) {
        let to = if reference.kind == TraceKind::Fetch { self.fetch } else { self.data };
        let Some(level) = to else { return };
        if reference.kind != TraceKind::Write {
            self.touch(level, reference.address, reference.size, false);
        }
        if matches!(reference.kind, TraceKind::Write | TraceKind::Modify) {
            self.touch(level, reference.address, reference.size, true);
        }
    }

    /// Accesses each line of the bytes from `address`.
    #[inline]
    fn touch(&mut self, level: usize, address: u64, size: u32, write: bool) {
        for line in lines(address, size, self.levels[level].line_shift) {
            self.access(level, line, write);
        }
    }

    #[inline]
    fn access(&mut self, index: usize, line: u64, write: bool) {
        let level = &mut self.levels[index];
        level.accesses += 1;
        match level.array.find(line) {
            Some(slot) => {
                if write {
                    level.array.set_state(slot, DIRTY);
                }
                level.array.touch(slot);
            }
            None => self.miss(index, line, write),
        }
    }

    fn miss(&mut self, index: usize, line: u64, write: bool) {
        let level = &mut self.levels[index];
        level.misses += 1;
        let victim = level.array.insert(line, if write { DIRTY } else { CLEAN });
        let dirty = victim.filter(|(_, state)| *state == DIRTY).map(|(line, _)| line);
        level.writebacks += u64::from(dirty.is_some());
        let (shift, next) = (level.line_shift, level.next);
        if let Some(next) = next {
            self.touch(next, line << shift, 1 << shift, false);
            if let Some(victim) = dirty {
                self.touch(next, victim << shift, 1 << shift, true);
            }
        }
    }

    /// Misses of the first level so far, of fetches and data together.
    pub fn misses(&self) -> u64 {
        let first = self.fetch.into_iter().chain(self.data.filter(|data| self.fetch != Some(*data)));
        first.map(|level| self.levels[level].misses).sum()
    }

    /// The counts of each cache.
    pub fn into_counts(self) -> Vec<CacheCounts> {
        let name = |index: usize| match (self.feed, index) {
            (Feed::Data, _) => "D".to_string(),
            (Feed::Instructions, _) => "I".to_string(),
            (Feed::Unified, _) => "U".to_string(),
            (Feed::Hierarchy, 0) => "L1I".to_string(),
            (Feed::Hierarchy, 1) => "L1D".to_string(),
            (Feed::Hierarchy, level) => format!("L{level}"),
        };
        let counts = |(index, level): (usize, &Level)| CacheCounts {
            spec: self.spec.clone(),
            cache: name(index),
            accesses: level.accesses,
            misses: level.misses,
            writebacks: level.writebacks,
        };
        self.levels.iter().enumerate().map(counts).collect()
    }
}
