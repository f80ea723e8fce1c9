//! Caches as a processor describes them, and the page colors that follow.

use alloc::vec::Vec;
use serde::{Deserialize, Serialize};
use solo_isolate::map::MapError;
use solo_isolate::{Classes, MemoryMap};
use solo_model::Bytes;
use solo_model::platform::{Contents, XorBits};

/// A cache as the processor describes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Geometry {
    /// The level, 1 nearest to the core.
    pub level: u8,
    /// What it holds.
    pub contents: Contents,
    /// Total size.
    pub size: Bytes,
    /// Lines in a set.
    pub ways: u16,
    /// The size of a line.
    pub line: Bytes,
}

/// The outermost of `caches` that holds data.
pub fn last_level(caches: &[Geometry]) -> Option<Geometry> {
    caches
        .iter()
        .copied()
        .filter(|cache| cache.contents != Contents::Instructions)
        .max_by_key(|cache| cache.level)
}

impl Geometry {
    /// The data cache of `level` as an Arm processor describes it (Arm ARM, CCSIDR_EL1 without FEAT_CCIDX).
    pub fn of_ccsidr(level: u8, described: u64) -> Self {
        let (line, ways) = (16 << (described & 7), (described >> 3 & 0x3ff) + 1);
        let sets = (described >> 13 & 0x7fff) + 1;
        let contents = if level == 1 { Contents::Data } else { Contents::Unified };
        let size = Bytes::new(line * ways * sets);
        Self { level, contents, size, ways: ways as u16, line: Bytes::new(line) }
    }

    /// Groups of pages that share no set: size / ways / page (thesis 3.1.1), or the largest power of two that divides it.
    pub fn colors(&self, page: Bytes) -> u16 {
        let pages_of_a_way = self.size.get() / u64::from(self.ways.max(1)) / page.get().max(1);
        let power = 1 << pages_of_a_way.max(1).trailing_zeros().min(Classes::MOST_FUNCTIONS as u32);
        u16::try_from(power).unwrap_or(u16::MAX)
    }

    /// Which color a page frame has in this cache. Banks are the memory controller's secret: one for all.
    ///
    /// # Errors
    /// If the page size is no power of two.
    pub fn map(&self, page: Bytes) -> Result<MemoryMap, MapError> {
        let low = page.get().max(1).trailing_zeros();
        let bits = 0..self.colors(page).trailing_zeros();
        let colors: Vec<_> = bits.map(|bit| XorBits(1 << (low + bit))).collect();
        MemoryMap::new(page, Classes::new(&colors), Classes::new(&[]), None)
    }
}
