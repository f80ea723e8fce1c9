//! Way masks (CAT-like): which ways of a cache a core or a task may fill.

use alloc::vec::Vec;
use core::fmt;
use solo_model::platform::Cache;
use solo_model::{Bytes, CoreId};

/// Why a mask can't be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WayError {
    /// No way is left.
    Empty,
    /// A way that the cache does not have.
    NoSuchWay {
        /// The mask.
        mask: u64,
        /// The ways of the cache.
        ways: u16,
    },
    /// The hardware takes only runs of ways.
    Gap {
        /// The mask.
        mask: u64,
    },
    /// More ways are asked for than there are.
    TooMany {
        /// What is asked for together.
        wanted: u64,
        /// The ways of the cache.
        ways: u16,
    },
}

impl fmt::Display for WayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "a way mask must leave at least one way"),
            Self::NoSuchWay { mask, ways } => {
                write!(f, "mask {mask:#x} names a way beyond the cache's {ways}")
            }
            Self::Gap { mask } => write!(f, "mask {mask:#x} has a gap: ways must be neighbours"),
            Self::TooMany { wanted, ways } => write!(f, "{wanted} ways are asked for; the cache has {ways}"),
        }
    }
}

impl core::error::Error for WayError {}

/// Checks a mask against a cache of `ways` ways.
///
/// # Errors
/// If it is empty, names a way that does not exist, or has a gap.
pub fn check(mask: u64, ways: u16) -> Result<(), WayError> {
    if mask == 0 {
        return Err(WayError::Empty);
    }
    if ways < 64 && mask >> ways != 0 {
        return Err(WayError::NoSuchWay { mask, ways });
    }
    let run = mask >> mask.trailing_zeros();
    if run & run.wrapping_add(1) != 0 {
        return Err(WayError::Gap { mask });
    }
    Ok(())
}

/// Disjoint runs of ways, the first owner's lowest, of at least the sizes asked for, rounded up to whole ways.
///
/// # Errors
/// If they do not fit.
pub fn divide(cache: &Cache, sizes: &[Bytes]) -> Result<Vec<u64>, WayError> {
    let way = Bytes::new((cache.size.get() / u64::from(cache.ways.max(1))).max(1));
    let counts: Vec<u64> = sizes.iter().map(|size| size.in_pieces_of(way).max(1)).collect();
    let wanted: u64 = counts.iter().sum();
    if wanted > u64::from(cache.ways.min(64)) {
        return Err(WayError::TooMany { wanted, ways: cache.ways });
    }
    let mut first = 0;
    let mask = |count: u64| {
        let run = if count >= 64 { u64::MAX } else { (1 << count) - 1 };
        let mask = run << first;
        first += count;
        mask
    };
    Ok(counts.into_iter().map(mask).collect())
}

/// The pairs of cores whose masks share a way: they can still evict each other's lines.
pub fn overlaps(masks: &[(CoreId, u64)]) -> Vec<(CoreId, CoreId)> {
    let mut pairs = Vec::new();
    for (at, (a, first)) in masks.iter().enumerate() {
        pairs.extend(masks[at + 1..].iter().filter(|(_, second)| first & second != 0).map(|(b, _)| (*a, *b)));
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_runs_of_existing_ways() {
        assert_eq!(check(0b1110, 16), Ok(()));
        assert_eq!(check(u64::MAX, 64), Ok(()));
        assert_eq!(check(0, 16), Err(WayError::Empty));
        assert_eq!(check(0b101, 16), Err(WayError::Gap { mask: 0b101 }));
        assert_eq!(check(1 << 16, 16), Err(WayError::NoSuchWay { mask: 1 << 16, ways: 16 }));
    }

    #[test]
    fn shared_ways_are_found() {
        let masks = [(CoreId(0), 0b0011), (CoreId(1), 0b0110), (CoreId(2), 0b1000)];
        assert_eq!(overlaps(&masks), [(CoreId(0), CoreId(1))]);
    }
}
