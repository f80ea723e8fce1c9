//! The words of `solo measure cpmd`.

use clap::{Args, ValueHint};
use std::path::PathBuf;

/// Measure what a job loses to cold caches: cache-related preemption and migration delay.
#[derive(Args, Debug)]
pub(crate) struct MeasureCpmd {
    /// A platform's name, or its file
    pub(crate) platform: String,
    /// Working sets, for example 4KiB,64KiB; without, six from 4KiB to 4MiB
    #[arg(long, value_name = "SIZE", value_delimiter = ',')]
    pub(crate) working_sets: Vec<String>,
    /// How often each is tried, with page frames drawn anew
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(crate) iterations: u64,
    /// The first draw of page frames
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Switch the platform's prefetcher on or off; without, it is as the platform says
    #[arg(long, value_name = "ON|OFF", value_parser = ["on", "off"])]
    pub(crate) prefetcher: Option<String>,
    /// Write an overhead file for scenarios on this platform: the most that each working set lost, as cache-affinity
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) write: Option<PathBuf>,
    /// Replace that file
    #[arg(long, requires = "write")]
    pub(crate) force: bool,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress
    #[arg(long)]
    pub(crate) quiet: bool,
}
