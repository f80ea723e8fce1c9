//! One line of a trace, whatever its form.

use serde::Serialize;
use solo_model::CoreId;
use solo_workload::image::TraceKind;
use std::ops::RangeInclusive;

/// A program's reference to memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reference {
    /// The first byte's address in the program's own address space.
    pub address: u64,
    /// How many bytes, at least one; the last one's address has 64 bits, too.
    pub size: u32,
    /// What is done; a modify is a read and then a write.
    pub kind: TraceKind,
    /// The core; 0 in forms that name none.
    pub core: CoreId,
}

impl Reference {
    /// The lines of `1 << shift` bytes that it touches, the lowest first.
    #[inline]
    pub const fn lines(&self, shift: u32) -> RangeInclusive<u64> {
        lines(self.address, self.size, shift)
    }
}

/// The lines of `1 << shift` bytes that `size` bytes from `address` touch.
#[inline]
pub(crate) const fn lines(address: u64, size: u32, shift: u32) -> RangeInclusive<u64> {
    // What ends at the last address has no end above it.
    address >> shift..=address.saturating_add(size.saturating_sub(1) as u64) >> shift
}

/// How many references of each kind there are.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Counts {
    /// Instructions fetched.
    pub fetches: u64,
    /// Loads.
    pub reads: u64,
    /// Stores.
    pub writes: u64,
    /// Loads whose datum is stored back.
    pub modifies: u64,
}

impl Counts {
    /// Counts one reference.
    pub const fn add(&mut self, kind: TraceKind) {
        match kind {
            TraceKind::Read => self.reads = self.reads.saturating_add(1),
            TraceKind::Write => self.writes = self.writes.saturating_add(1),
            TraceKind::Modify => self.modifies = self.modifies.saturating_add(1),
            TraceKind::Fetch => self.fetches = self.fetches.saturating_add(1),
        }
    }
    /// References to data.
    pub const fn data(&self) -> u64 {
        self.reads.saturating_add(self.writes).saturating_add(self.modifies)
    }
}
