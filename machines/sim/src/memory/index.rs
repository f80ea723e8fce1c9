//! From a line number to its set.

use super::HierarchyError;
use solo_model::platform::{Cache, XorBits};

/// The set of a line. Lines are numbered by physical address divided by the line size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum SetIndex {
    /// One slice, a power of two of sets: the low bits.
    Mask(u64),
    /// One slice, any number of sets: the remainder.
    Modulo(u64),
    /// Several slices chosen by parities of address bits, each with `sets` sets.
    Sliced { parities: Vec<u64>, sets: u64 },
}

impl SetIndex {
    pub(crate) fn new(cache: &Cache) -> Result<Self, HierarchyError> {
        let sets = cache.sets();
        let slices = 1_u64 << cache.slice_hash.len().min(32);
        if slices == 1 {
            return Ok(if sets.is_power_of_two() { Self::Mask(sets - 1) } else { Self::Modulo(sets) });
        }
        if !sets.is_multiple_of(slices) {
            return Err(HierarchyError::Slices { level: cache.level, sets, slices });
        }
        let offset_bits = cache.line.get() - 1;
        if let Some(XorBits(mask)) = cache.slice_hash.iter().find(|bits| bits.0 & offset_bits != 0) {
            return Err(HierarchyError::SliceBitInsideLine { level: cache.level, mask: *mask });
        }
        let shift = cache.line.get().trailing_zeros();
        let parities = cache.slice_hash.iter().map(|bits| bits.0 >> shift).collect();
        Ok(Self::Sliced { parities, sets: sets / slices })
    }

    #[inline]
    pub(crate) fn of(&self, line: u64) -> usize {
        match self {
            Self::Mask(mask) => (line & mask) as usize,
            Self::Modulo(sets) => (line % sets) as usize,
            Self::Sliced { parities, sets } => sliced(parities, *sets, line),
        }
    }
}

/// Not inlined, so that the path of plain caches stays short.
#[inline(never)]
fn sliced(parities: &[u64], sets: u64, line: u64) -> usize {
    let mut slice = 0;
    for (bit, parity) in parities.iter().enumerate() {
        slice |= u64::from((line & parity).count_ones() & 1) << bit;
    }
    let set = if sets.is_power_of_two() { line & (sets - 1) } else { line % sets };
    (slice * sets + set) as usize
}
