//! Platforms that no hardware could be.

use solo_model::{Bytes, CoreId, CoreSet};
use thiserror::Error;

/// Why no memory can be built from a platform.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum HierarchyError {
    /// A cache's size is not a whole number of sets, or a line is no power of two.
    #[error("a level {level} cache of {size} can't be made of {ways} ways with {line} lines")]
    Geometry {
        /// The cache's level.
        level: u8,
        /// Its size.
        size: Bytes,
        /// Its ways.
        ways: u16,
        /// Its line size.
        line: Bytes,
    },
    /// The sets can't be divided among the slices.
    #[error("the {sets} sets of a level {level} cache can't be divided among {slices} slices")]
    Slices {
        /// The cache's level.
        level: u8,
        /// Sets over all slices.
        sets: u64,
        /// The slices.
        slices: u64,
    },
    /// A slice hash looks at bits that tell the bytes of one line apart.
    #[error("the slice hash {mask:#x} of a level {level} cache looks at bits inside a line")]
    SliceBitInsideLine {
        /// The cache's level.
        level: u8,
        /// The address bits of the hash.
        mask: u64,
    },
    /// Caches of one machine have different line sizes.
    #[error("caches have lines of {first} and of {second}: one machine needs one line size")]
    LineSizes {
        /// One line size.
        first: Bytes,
        /// Another.
        second: Bytes,
    },
    /// A core has no data cache.
    #[error("{core} has no cache for its data")]
    NoCache {
        /// The core.
        core: CoreId,
    },
    /// More cores than a set of cores can hold, or none.
    #[error("a machine of {cores} cores can't be simulated: 1 to 64 can")]
    Cores {
        /// Cores of the platform.
        cores: usize,
    },
    /// Two caches of one level and content stand before the same core.
    #[error("{core} has two caches of level {level} for the same content")]
    Overlap {
        /// The core.
        core: CoreId,
        /// The level.
        level: u8,
    },
    /// A cache's cores don't share the next level's cache.
    #[error("the cores {cores:?} share a level {level} cache, but not the next level")]
    NotATree {
        /// The level of the cache that is shared.
        level: u8,
        /// Its cores.
        cores: CoreSet,
    },
    /// An exclusive cache has no inner cache whose victims it could hold.
    #[error("a level {level} cache can't be exclusive: {reason}")]
    Exclusive {
        /// The cache's level.
        level: u8,
        /// What stands against it.
        reason: &'static str,
    },
    /// A core's kind or clock is missing.
    #[error("{core} has no clock: its kind is missing or runs at 0 Hz")]
    NoClock {
        /// The core.
        core: CoreId,
    },
    /// The DRAM can't work.
    #[error("DRAM: {0}")]
    Dram(#[from] DramError),
}

/// Why no DRAM can be built from its description.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum DramError {
    /// A quantity that must be above zero is zero.
    #[error("{name} must be above zero")]
    Zero {
        /// The quantity.
        name: &'static str,
    },
    /// A timing parameter contradicts another.
    #[error("{smaller} ({value}) must not be below {larger} ({bound})")]
    Timing {
        /// The parameter that is too small.
        smaller: &'static str,
        /// Its value in clocks.
        value: u64,
        /// What it must reach.
        larger: &'static str,
        /// The least value in clocks.
        bound: u64,
    },
    /// More banks or channels than the model holds.
    #[error("{count} {name} are more than the {most} that can be simulated")]
    TooMany {
        /// What there is too much of.
        name: &'static str,
        /// How many were asked for.
        count: u64,
        /// The most.
        most: u64,
    },
    /// A burst doesn't carry one cache line.
    #[error("a burst of {burst} on a bus of {bus_width} moves {moved}, but a cache line is {line}")]
    Burst {
        /// Transfers in a burst.
        burst: u16,
        /// The width of the data bus.
        bus_width: Bytes,
        /// What a burst moves.
        moved: Bytes,
        /// The size of a cache line.
        line: Bytes,
    },
}

/// A way mask that leaves a core no way of a cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("way mask {mask:#x} leaves none of {ways} ways")]
pub struct WayMaskError {
    /// The mask.
    pub mask: u64,
    /// The cache's ways; 0 where there is no such cache.
    pub ways: usize,
}
