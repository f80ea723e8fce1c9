//! How much of a cache is held by whom, and what that is worth: monitoring ids and miss-rate curves (PMCTrack 4.3).

use crate::fixed::Fixed;
use crate::id::TaskId;
use crate::units::Bytes;
use alloc::vec::Vec;
use core::fmt;

/// A resource monitoring id (RMID): each line of a last-level cache carries that of whoever brought it in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Rmid(pub u16);

impl Rmid {
    /// Of all that nobody monitors.
    pub const NOBODY: Self = Self(0);

    /// Its place among all.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Which of the free ids a new process gets (PMCTrack 4.3). Lines of the one that had it before may be left in the cache, and
/// count as the new one's.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Recycling {
    /// The one that has been free for the longest time.
    #[default]
    Fifo,
    /// The one that was given back last.
    Lifo,
    /// Any, drawn from the experiment's seed.
    Random,
}

impl Recycling {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Fifo, Self::Lifo, Self::Random];

    /// The word in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fifo => "fifo",
            Self::Lifo => "lifo",
            Self::Random => "random",
        }
    }
}

/// Of each eight parts of the time so many in which the clock of a core runs (duty-cycle modulation).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct DutyCycle(u8);

impl DutyCycle {
    /// The clock always runs.
    pub const FULL: Self = Self(8);

    /// So many eighths; `None` outside 1 to 8.
    pub const fn new(eighths: u64) -> Option<Self> {
        if matches!(eighths, 1..=8) { Some(Self(eighths as u8)) } else { None }
    }

    /// The eighths, from 1 to 8.
    pub const fn eighths(self) -> u8 {
        self.0
    }
}

impl fmt::Display for DutyCycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/8", self.0)
    }
}

/// What is known of a range of sizes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CurveBin {
    /// Samples with a size of the range.
    pub samples: u64,
    /// The instructions in them.
    pub instructions: u64,
    /// The misses in them.
    pub misses: u64,
    /// The sum of their sizes, each times its instructions in thousands.
    pub weighed: u128,
}

/// Misses by size of the cache that a task held.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MissRateCurve {
    /// Whose.
    pub task: TaskId,
    /// The size of the whole cache.
    #[cfg_attr(feature = "serde", serde(rename = "capacity_bytes"))]
    pub capacity: Bytes,
    /// What was sampled: equal ranges of sizes from zero to the whole cache.
    pub bins: Vec<CurveBin>,
    /// Misses in 1,000 instructions at the ends of the ranges, from size zero to the whole cache: never more at a larger size.
    /// Empty where nothing was sampled.
    pub points: Vec<Fixed>,
}

impl MissRateCurve {
    /// The ranges of sizes.
    pub const BINS: usize = 32;
    /// Ranges of sizes with at least so many samples.
    pub fn covered(&self, least: u64) -> usize {
        self.bins.iter().filter(|bin| bin.samples >= least.max(1)).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duty_cycles_are_one_to_eight_eighths() {
        let told = [0, 1, 8, 9].map(|eighths| DutyCycle::new(eighths).map(DutyCycle::eighths));
        assert_eq!(told, [None, Some(1), Some(8), None]);
    }
}
