//! The thesis's evaluations of cache partitioning, at any size: task sets drawn as it draws them, run on its processor as
//! it is modelled here, a row for each bar of its figures.
//!
//! An evaluation is points, one for each set in each setting. They go on all cores, are journalled in a folder, and are
//! gone on with where they were stopped; a point depends on the evaluation and its number alone. [`chapter_6`] compares
//! P-, C- and G-EDF in three memory scenarios, [`chapter_7`] partitioning with regard to colors and without, [`chapter_8`]
//! a scheduler that listens to counters with both.

pub mod chapter_6;
pub mod chapter_7;
pub mod chapter_8;
mod drawn;
mod jobs;

use crate::error::Named;
use crate::{Cancel, LabError};
use jobs::Jobs;
use serde::{Deserialize, Serialize};
use solo_model::experiment::Experiment;
use solo_model::{OverheadTable, Platform};
use solo_scenario::{Platforms, parse};
use std::path::Path;

/// How large an evaluation is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Size {
    /// Task sets; the thesis has 10, in chapter 6 for each scheduler. At least 1.
    pub sets: u64,
    /// Jobs of each task in chapter 6, periods of 200 ms in chapter 7, of the longest in chapter 8; the thesis
    /// has 200, 50 times. At least 1.
    pub jobs: u64,
    /// By what periods and execution times are divided; 1 for the thesis's own, of 25 to 200 ms. Cold starts and the kernel's
    /// paths are not divided, and weigh more. At least 1.
    pub scale: u64,
    /// Tells these sets from others.
    pub seed: u64,
}

/// The set and the setting of a point, which are numbered set by set; `None` where there are no settings.
fn set_by_set<P: Copy>(settings: &[P], number: u64) -> Option<(u64, P)> {
    let each = settings.len() as u64;
    let setting = settings.get(number.checked_rem(each)? as usize)?;
    Some((number / each, *setting))
}

/// The working sets of the thesis (6.1, 7.3.1).
pub const WORKING_SETS_KIB: [u64; 4] = [32, 64, 128, 256];

/// What tasks of one color share beside it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// Nothing: each has an array of its own.
    Color,
    /// One array.
    Array,
    /// One line, in which the states of their random generators lie: the thesis's tasks take a generator from the heap of
    /// their color and then an array, and write the generator at each access (Figs. 71 and 78).
    Line,
}

impl Sharing {
    /// The name on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Color => "color",
            Self::Array => "array",
            Self::Line => "line",
        }
    }
}

/// Numbers of several sets.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize)]
pub struct Spread {
    /// The smallest.
    pub least: u64,
    /// The mean, rounded down.
    pub mean: u64,
    /// The largest.
    pub most: u64,
}

impl Spread {
    /// Of these numbers; all zero where there are none.
    pub fn of(numbers: impl IntoIterator<Item = u64>) -> Self {
        let (mut spread, mut sum, mut count) = (Self { least: u64::MAX, ..Self::default() }, 0_u64, 0_u64);
        for number in numbers {
            spread.least = spread.least.min(number);
            spread.most = spread.most.max(number);
            sum = sum.saturating_add(number);
            count += 1;
        }
        spread.mean = sum.checked_div(count).unwrap_or(0);
        if count == 0 { Self::default() } else { spread }
    }
}

/// The thesis's processor, and the costs of its kernel.
#[derive(Clone, Debug)]
struct Machine {
    platform: Platform,
    overheads: OverheadTable,
}

impl Machine {
    fn of_the_thesis() -> Result<Self, LabError> {
        const SCENARIO: &str = "name = \"thesis\"\nplatform = \"i7-2600\"\njobs = 1\n\
            [scheduler]\npolicy = \"P-EDF\"\noverheads = \"epos-thesis\"\n\
            [[task]]\nname = \"T0\"\nclass = \"hard\"\ncore = 0\nperiod = \"25ms\"\nwork = [{ compute = \"1ms\" }]\n";
        let scenario = parse(SCENARIO, Path::new("thesis.toml"), &Platforms::builtin())
            .map_err(|report| LabError::Platform(Box::new(report)))?;
        Ok(Self { platform: scenario.base.platform, overheads: scenario.base.overheads })
    }
}

/// The jobs of an experiment on the simulated machine.
fn simulate(experiment: &Experiment, cancel: &Cancel) -> Result<Jobs, LabError> {
    let jobs = Jobs::of(experiment, cancel);
    jobs.map_err(|error| LabError::Simulation(Named::new(error, experiment)))?.ok_or(LabError::Interrupted)
}

/// What tells an evaluation from others, in hexadecimal digits.
fn hash(said: &impl std::fmt::Debug) -> String {
    blake3::hash(format!("{said:?}").as_bytes()).to_hex().as_str()[..32].to_owned()
}

/// A part of a whole in thousandths.
fn thousandths(part: u64, whole: u64) -> u64 {
    part.saturating_mul(1000).checked_div(whole).unwrap_or(0)
}
