//! The command line of `solo sweep`.

use super::{Instead, Show};
use clap::{Args, ValueHint};
use solo_lab::sweep::Axis;
use std::path::PathBuf;

/// Run a scenario at many points.
#[derive(Args, Debug)]
pub(crate) struct Sweep {
    /// The scenario file
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) scenario: PathBuf,
    /// A key and its values: task.frame.period=10ms,20ms or seed=1..20; repeated, every combination is a point
    #[arg(long = "set", value_name = "KEY=VALUE,...", required = true)]
    pub(crate) axes: Vec<Axis>,
    #[command(flatten)]
    pub(crate) instead: Instead,
    /// The folder for results; a sweep goes on with what it finds there. By default one under runs/
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,
    /// Only this part of the points, for a batch system: 3/64 is the third of 64
    #[arg(long, value_name = "I/N")]
    pub(crate) shard: Option<solo_study::Shard>,
    /// Take in the points of shards that ran into this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "shard")]
    pub(crate) from: Vec<PathBuf>,
    /// Threads; 0 for one a core
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) threads: usize,
    #[command(flatten)]
    pub(crate) show: Show,
}
