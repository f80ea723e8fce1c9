//! What private caches that keep each other coherent make of a trace of several cores.
//!
//! Every core has a write-back cache of the same geometry; they snoop each other's misses. References take
//! effect one after the other, in the order of the trace.

use crate::error::TraceError;
use crate::functional::array::Array;
use crate::geometry::Geometry;
use crate::input::Source;
use crate::reference::Reference;
use serde::Serialize;
use solo_workload::image::TraceKind;
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// A coherence protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// Modified, exclusive, shared, invalid. A modified line is written to memory when it becomes shared.
    Mesi,
    /// MESI in which the last reader of a shared line forwards it.
    Mesif,
    /// MESI in which a modified line that becomes shared stays with its owner, who writes it to memory when
    /// it evicts it.
    Moesi,
}

impl FromStr for Protocol {
    type Err = NoSuchProtocol;
    fn from_str(text: &str) -> Result<Self, NoSuchProtocol> {
        match text {
            "mesi" => Ok(Self::Mesi),
            "mesif" => Ok(Self::Mesif),
            "moesi" => Ok(Self::Moesi),
            _ => Err(NoSuchProtocol { text: text.to_string() }),
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mesi => "mesi",
            Self::Mesif => "mesif",
            Self::Moesi => "moesi",
        })
    }
}

/// The name of no protocol.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("`{text}` is no coherence protocol (mesi, mesif, moesi)")]
pub struct NoSuchProtocol {
    /// What was given.
    pub text: String,
}

/// What happened in the cache of one core.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct CoreCounts {
    /// The core.
    pub core: u16,
    /// Lines looked up.
    pub accesses: u64,
    /// Lines found.
    pub hits: u64,
    /// Lines not found: the sum of the three kinds of misses.
    pub misses: u64,
    /// Misses that another cache held modified, and nobody else held.
    pub hitm: u64,
    /// Misses that other caches held in another state.
    pub hit_remote: u64,
    /// Misses that no other cache held.
    pub clean_miss: u64,
    /// Hits of a write on a line that other caches may hold: they are told to drop it.
    pub upgrades: u64,
    /// Lines lost because another core wrote them.
    pub invalidations: u64,
    /// Lines replaced that memory had an older version of.
    pub dirty_evictions: u64,
}

/// What happened in all caches.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct CoherenceReport {
    /// The protocol.
    pub protocol: Protocol,
    /// The geometry of every cache.
    pub cache: String,
    /// A row for each core.
    pub cores: Vec<CoreCounts>,
}

impl fmt::Display for CoherenceReport {
    /// A table: a row for each core.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} over {} of {}", self.protocol, self.cores.len(), self.cache)?;
        let head = [
            "accesses",
            "hits",
            "misses",
            "hitm",
            "hit_remote",
            "clean_miss",
            "upgrades",
            "invalidations",
            "dirty_evictions",
        ];
        write!(f, "core")?;
        head.iter().try_for_each(|name| write!(f, " {name:>15}"))?;
        writeln!(f)?;
        for row in &self.cores {
            write!(f, "{:>4}", row.core)?;
            let counts = [
                row.accesses,
                row.hits,
                row.misses,
                row.hitm,
                row.hit_remote,
                row.clean_miss,
                row.upgrades,
                row.invalidations,
                row.dirty_evictions,
            ];
            counts.iter().try_for_each(|count| write!(f, " {count:>15}"))?;
            writeln!(f)?;
        }
        Ok(())
    }
}

/// Feeds the trace's data references to the private caches of `cores` cores; fetches are left out. In forms of
/// trace that name no core everything is core 0's.
///
/// # Errors
/// When the trace is malformed, names another core or can't be read.
pub fn coherence(
    source: &mut Source,
    cores: u16,
    geometry: &Geometry,
    protocol: Protocol,
) -> Result<CoherenceReport, TraceError> {
    source.limit_cores(cores);
    let mut caches = Caches::new(cores, geometry, protocol);
    source.for_each(|reference| caches.refer(reference))?;
    Ok(CoherenceReport { protocol, cache: geometry.to_string(), cores: caches.counts })
}

/// Held by this cache alone, newer than memory.
const MODIFIED: u8 = 0;
/// Newer than memory, perhaps held by others.
const OWNED: u8 = 1;
/// Held by this cache alone, like memory.
const EXCLUSIVE: u8 = 2;
/// Perhaps held by others.
const SHARED: u8 = 3;
/// Shared, and the one that answers.
const FORWARD: u8 = 4;

/// Private caches that snoop each other.
#[derive(Debug)]
pub struct Caches {
    arrays: Vec<Array>,
    counts: Vec<CoreCounts>,
    line_shift: u32,
    protocol: Protocol,
}

/// What the other caches held.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Remote {
    Nothing,
    Modified,
    Other,
}

impl Remote {
    /// With a holder in `state`. A modified line has no other holder.
    fn and(self, state: u8) -> Self {
        if state == MODIFIED && self == Self::Nothing { Self::Modified } else { Self::Other }
    }
}

impl Caches {
    /// Empty caches.
    pub fn new(cores: u16, geometry: &Geometry, protocol: Protocol) -> Self {
        Self {
            arrays: (0..cores).map(|_| Array::new(geometry)).collect(),
            counts: (0..cores).map(|core| CoreCounts { core, ..CoreCounts::default() }).collect(),
            line_shift: geometry.line().trailing_zeros(),
            protocol,
        }
    }

    /// The counts of each core.
    pub fn counts(&self) -> &[CoreCounts] {
        &self.counts
    }

    /// Lets a core make a reference; one of a core that isn't there, and a fetch, are left out.
    #[inline]
    pub fn refer(&mut self, reference: &Reference) {
        let core = reference.core.index();
        if core >= self.arrays.len() || reference.kind == TraceKind::Fetch {
            return;
        }
        let lines = reference.lines(self.line_shift);
        if reference.kind != TraceKind::Write {
            lines.clone().for_each(|line| self.access(core, line, false));
        }
        if reference.kind != TraceKind::Read {
            lines.for_each(|line| self.access(core, line, true));
        }
    }

    #[inline]
    fn access(&mut self, core: usize, line: u64, write: bool) {
        self.counts[core].accesses += 1;
        let array = &mut self.arrays[core];
        let Some(slot) = array.find(line) else {
            return self.miss(core, line, write);
        };
        self.counts[core].hits += 1;
        if write {
            let state = array.state(slot);
            array.set_state(slot, MODIFIED);
            array.touch(slot);
            if state != MODIFIED && state != EXCLUSIVE {
                self.counts[core].upgrades += 1;
                self.invalidate_others(core, line);
            }
        } else {
            array.touch(slot);
        }
    }

    fn miss(&mut self, core: usize, line: u64, write: bool) {
        let remote =
            if write { self.invalidate_others(core, line) } else { self.share_with_others(core, line) };
        let counts = &mut self.counts[core];
        counts.misses += 1;
        match remote {
            Remote::Nothing => counts.clean_miss += 1,
            Remote::Modified => counts.hitm += 1,
            Remote::Other => counts.hit_remote += 1,
        }
        let state = match (write, remote, self.protocol) {
            (true, ..) => MODIFIED,
            (false, Remote::Nothing, _) => EXCLUSIVE,
            (false, _, Protocol::Mesif) => FORWARD,
            (false, _, Protocol::Mesi | Protocol::Moesi) => SHARED,
        };
        if let Some((_, MODIFIED | OWNED)) = self.arrays[core].insert(line, state) {
            self.counts[core].dirty_evictions += 1;
        }
    }

    /// Drops `line` from all caches but `core`'s.
    fn invalidate_others(&mut self, core: usize, line: u64) -> Remote {
        let mut remote = Remote::Nothing;
        for other in (0..self.arrays.len()).filter(|&other| other != core) {
            let array = &mut self.arrays[other];
            if let Some(slot) = array.find(line) {
                remote = remote.and(array.state(slot));
                array.invalidate(slot);
                self.counts[other].invalidations += 1;
            }
        }
        remote
    }

    /// Tells all caches but `core`'s that `core` reads `line`.
    fn share_with_others(&mut self, core: usize, line: u64) -> Remote {
        let mut remote = Remote::Nothing;
        for other in (0..self.arrays.len()).filter(|&other| other != core) {
            let array = &mut self.arrays[other];
            let Some(slot) = array.find(line) else { continue };
            let state = array.state(slot);
            remote = remote.and(state);
            let next = match (state, self.protocol) {
                (MODIFIED | OWNED, Protocol::Moesi) => OWNED,
                (_, Protocol::Mesi | Protocol::Mesif | Protocol::Moesi) => SHARED,
            };
            array.set_state(slot, next);
        }
        remote
    }
}
