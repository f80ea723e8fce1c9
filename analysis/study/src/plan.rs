//! A study with nothing left to decide.

use crate::version::ProgramVersion;
use serde::Serialize;
use solo_model::overhead::OverheadTable;
use solo_model::units::{Bytes, Duration};
use std::fmt;

/// Sets in a block: what is judged, written and skipped as a whole.
pub(crate) const BLOCK_SETS: u64 = 20;

/// How utilisations are drawn.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Utilizations {
    /// Each uniformly from a range, until the cap is reached (thesis 5.1).
    Uniform((f64, f64)),
    /// Each from one of two ranges.
    Bimodal {
        /// The range of light tasks.
        light: (f64, f64),
        /// The range of heavy ones.
        heavy: (f64, f64),
        /// How likely a task is heavy.
        heavy_share: f64,
    },
    /// So many tasks that sum up to the cap, none above 1: UUniFast-discard.
    UUniFast {
        /// How many.
        tasks: usize,
    },
    /// So many tasks within a range that sum up to the cap, uniformly: RandFixedSum.
    RandFixedSum {
        /// How many.
        tasks: usize,
        /// The range of each.
        range: (f64, f64),
    },
    /// Tasks with bounds of their own that sum up to the cap: Dirichlet-Rescale.
    Drs {
        /// The least utilisation of each.
        least: Vec<f64>,
        /// The most.
        most: Vec<f64>,
    },
}

/// Where task sets come from.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Distribution {
    /// The name in tables and figures; the drawn sets don't depend on it.
    #[serde(skip)]
    pub name: String,
    /// The utilisations.
    pub utilization: Utilizations,
    /// The range of periods, uniform, in milliseconds.
    pub period_ms: (f64, f64),
    /// How far below its cap a set's utilisation may lie.
    pub slack: f64,
}

impl Distribution {
    /// What the drawn sets depend on, as text.
    pub fn key(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// What is added to execution times before the tests.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Inflation {
    /// Kernel paths; `None` for none.
    pub overheads: Option<OverheadTable>,
    /// The period of the timer interrupt.
    pub tick: Option<Duration>,
    /// Whether releases need requests to other cores.
    pub ipi: bool,
    /// The cache delay of a preempted job.
    pub cache_delay: Duration,
}

/// One curve: sets are schedulable if any of the tests accepts them as inflated.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Curve {
    /// The name in tables and figures.
    pub name: String,
    /// The tests, in the order in which they are asked.
    pub any_of: Vec<&'static str>,
    /// True where [`StudyPlan::skips`] is nothing to it.
    pub all_tests: bool,
    /// The position of its inflation in [`StudyPlan::inflations`].
    pub inflation: usize,
    /// The working set whose loss is counted, for curves over working sets; curves of one name belong together.
    pub working_set: Option<Bytes>,
}

/// A study with nothing left to decide.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct StudyPlan {
    /// The name.
    pub name: String,
    /// What it is about.
    #[serde(skip)]
    pub about: String,
    /// The source of all randomness.
    pub seed: u64,
    /// Sets for each cap.
    pub sets: u64,
    /// The number of cores.
    pub cores: u32,
    /// Cores in a cluster, where there are clusters.
    pub cluster: Option<u32>,
    /// The caps in thousandths of a core, ascending.
    pub caps: Vec<u64>,
    /// The work that a test may do for a set.
    pub work_limit: u64,
    /// Where sets come from.
    pub distributions: Vec<(String, Distribution)>,
    /// For each distribution, tests that are not asked of its sets.
    pub skips: Vec<Vec<&'static str>>,
    /// What is added to execution times, each once.
    pub inflations: Vec<Inflation>,
    /// The curves.
    pub curves: Vec<Curve>,
    /// Studies of other versions aren't mixed.
    pub(crate) version: ProgramVersion,
}

/// Some sets of one distribution and cap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    /// Its number, from 0.
    pub id: u64,
    /// The position of the distribution.
    pub distribution: usize,
    /// The cap in thousandths of a core.
    pub cap: u64,
    /// The number of its first set.
    pub first: u64,
    /// How many sets it has.
    pub sets: u64,
}

impl StudyPlan {
    /// What tells this study from others: 32 hexadecimal digits.
    pub fn hash(&self) -> String {
        let text = serde_json::to_vec(self).unwrap_or_default();
        blake3::hash(&text).to_hex().chars().take(32).collect()
    }

    /// Distributions and caps, one with each other.
    fn rows(&self) -> u64 {
        (self.distributions.len() as u64).saturating_mul(self.caps.len() as u64)
    }

    fn blocks_a_cap(&self) -> u64 {
        self.sets.div_ceil(BLOCK_SETS)
    }

    /// How many blocks there are.
    pub fn blocks(&self) -> u64 {
        self.rows().saturating_mul(self.blocks_a_cap())
    }

    /// How many sets there are.
    pub fn total_sets(&self) -> u64 {
        self.rows().saturating_mul(self.sets)
    }

    /// The block of that number; `None` beyond the last.
    pub fn block(&self, id: u64) -> Option<Block> {
        if id >= self.blocks() {
            return None;
        }
        let (a_cap, caps) = (self.blocks_a_cap(), self.caps.len() as u64);
        let (row, chunk) = (id.checked_div(a_cap)?, id.checked_rem(a_cap)?);
        let (distribution, cap) = (row.checked_div(caps)?, row.checked_rem(caps)?);
        let first = chunk.checked_mul(BLOCK_SETS)?;
        Some(Block {
            id,
            distribution: distribution as usize,
            cap: *self.caps.get(cap as usize)?,
            first,
            sets: BLOCK_SETS.min(self.sets.checked_sub(first)?),
        })
    }
}

/// One part of a study for a batch system: `3/64` is the third of 64.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shard {
    /// Which, from 1.
    pub index: u64,
    /// Of how many.
    pub of: u64,
}

impl Shard {
    /// The whole study.
    pub const WHOLE: Self = Self { index: 1, of: 1 };

    /// True where the block is this shard's. Neighbouring blocks, which cost alike, go to different shards.
    pub const fn has(self, block: u64) -> bool {
        match block.checked_rem(self.of) {
            Some(rest) => rest == self.index.saturating_sub(1),
            None => false,
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

impl std::str::FromStr for Shard {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let parsed =
            text.split_once('/').and_then(|(index, of)| Some((index.parse().ok()?, of.parse().ok()?)));
        match parsed {
            Some((index, of)) if (1..=of).contains(&index) => Ok(Self { index, of }),
            _ => Err(format!("{text:?} is no shard; expected I/N with 1 <= I <= N, for example 3/64")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_share_the_blocks_out() {
        let shards: Vec<Shard> = (1..=3).map(|index| format!("{index}/3").parse().unwrap()).collect();
        for block in 0..20 {
            assert_eq!(shards.iter().filter(|shard| shard.has(block)).count(), 1);
        }
        for wrong in ["0/3", "4/3", "x/3", "3", "1/0"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
