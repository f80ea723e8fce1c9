//! From a line number to its set.

use super::HierarchyError;
use solo_model::platform::{Cache, XorBits};

/// The set of a line. Lines are numbered by physical address divided by the line size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SetIndex {
    /// One slice, a power of two of sets: the low bits.
    mask: u64,
    /// Everything else.
    function: Option<Box<SetFunction>>,
}

/// What the low bits of a line's number do not decide.
#[derive(Clone, PartialEq, Eq, Debug)]
enum SetFunction {
    /// One slice, any number of sets: the remainder.
    Modulo(u64),
    /// Several slices chosen by parities of address bits, each with `sets` sets.
    Sliced { parities: Vec<u64>, sets: u64 },
    /// Any number of slices chosen by a hash that nobody has published, each with `sets` sets.
    Hashed { slices: u64, sets: u64 },
}

impl SetIndex {
    pub(crate) fn new(cache: &Cache) -> Result<Self, HierarchyError> {
        let sets = cache.sets();
        let slices = 1_u64 << cache.slice_hash.len().min(32);
        if cache.hashed_slices > 1 {
            let slices = u64::from(cache.hashed_slices);
            if !sets.is_multiple_of(slices) || !cache.slice_hash.is_empty() {
                return Err(HierarchyError::Slices { level: cache.level, sets, slices });
            }
            return Ok(Self::function(SetFunction::Hashed { slices, sets: sets / slices }));
        }
        if slices == 1 {
            let mask = Self { mask: sets.wrapping_sub(1), function: None };
            return Ok(if sets.is_power_of_two() { mask } else { Self::function(SetFunction::Modulo(sets)) });
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
        Ok(Self::function(SetFunction::Sliced { parities, sets: sets / slices }))
    }

    fn function(function: SetFunction) -> Self {
        Self { mask: 0, function: Some(Box::new(function)) }
    }

    /// The bits of a line's number that are its set's, where no others count.
    pub(crate) fn low_bits(&self) -> Option<u64> {
        self.function.is_none().then_some(self.mask)
    }

    #[inline]
    pub(crate) fn of(&self, line: u64) -> usize {
        match &self.function {
            None => (line & self.mask) as usize,
            Some(function) => function.of(line),
        }
    }
}

impl SetFunction {
    /// Not inlined, so that the path of plain caches stays short.
    #[inline(never)]
    fn of(&self, line: u64) -> usize {
        match self {
            Self::Modulo(sets) => (line % sets) as usize,
            Self::Sliced { parities, sets } => sliced(parities, *sets, line),
            Self::Hashed { slices, sets } => hashed(*slices, *sets, line),
        }
    }
}

fn sliced(parities: &[u64], sets: u64, line: u64) -> usize {
    let mut slice = 0;
    for (bit, parity) in parities.iter().enumerate() {
        slice |= u64::from((line & parity).count_ones() & 1) << bit;
    }
    let set = if sets.is_power_of_two() { line & (sets - 1) } else { line % sets };
    (slice * sets + set) as usize
}

/// The slice is the high part of a product with an odd constant (Fibonacci hashing), scaled to the number of
/// slices: neighbouring lines fall into different slices, and each slice gets as many.
fn hashed(slices: u64, sets: u64, line: u64) -> usize {
    let mixed = (line ^ (line >> 11)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    let slice = (mixed * slices) >> 32;
    (slice * sets + line % sets) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::fixtures;
    use solo_model::CoreSet;
    use solo_model::platform::Contents;

    #[test]
    fn hashed_slices_get_nearly_as_many_lines_each_and_any_page_color_all_of_them() {
        let mut cache = fixtures::cache(3, Contents::Unified, CoreSet::first(1), 35 * 1024, 20, 50);
        cache.hashed_slices = 14;
        let index = SetIndex::new(&cache).unwrap();
        let sets = 2048;
        let mut counts = [0_u32; 14];
        for page in 0..20_000_u64 {
            // Pages of color 3 of 32.
            for line in 0..64 {
                let line = (page * 32 + 3) * 64 + line;
                let set = index.of(line);
                assert_eq!(set % sets, (line % sets as u64) as usize);
                counts[set / sets] += 1;
            }
        }
        let mean = 20_000 * 64 / 14;
        assert!(counts.iter().all(|count| count.abs_diff(mean) < mean / 50), "{counts:?}");
    }
}
