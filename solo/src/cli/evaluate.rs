//! The options of `solo evaluate`.

use super::Show;
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use solo_lab::evaluation::chapter_6::Repetitions;
use solo_lab::evaluation::chapter_8::Approach;
use solo_lab::evaluation::{Sharing, Size, WORKING_SETS_KIB};
use std::path::PathBuf;

/// Which evaluation.
#[derive(Subcommand, Debug)]
pub(crate) enum Evaluate {
    /// P-EDF, C-EDF and G-EDF near their bounds: colors for all (S1), none for the kernel (S2), one for all tasks (S3)
    #[command(name = "chapter-6")]
    Chapter6(Chapter6),
    /// Groups of tasks of one color, partitioned with regard to colors (CAP) and without (WFD)
    #[command(name = "chapter-7")]
    Chapter7(Chapter7),
    /// Best-effort tasks that disturb groups of soft ones: BFD, CAP-GS, and CAP-GS with a scheduler that listens to counters
    #[command(name = "chapter-8")]
    Chapter8(Chapter8),
}

/// `solo evaluate chapter-6`.
#[derive(Args, Debug)]
pub(crate) struct Chapter6 {
    #[command(flatten)]
    pub(crate) common: EvaluateCommon,
    /// What all tasks share in S3 beside the color
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Share::Color, Share::Line])]
    pub(crate) share: Vec<Share>,
    /// Accesses of a job: found with the smallest working set and kept, or found anew for each
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Accesses::Kept])]
    pub(crate) repetitions: Vec<Accesses>,
}

/// `solo evaluate chapter-7`.
#[derive(Args, Debug)]
pub(crate) struct Chapter7 {
    #[command(flatten)]
    pub(crate) common: EvaluateCommon,
    /// What the tasks of a group share beside the color
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Share::Color, Share::Array, Share::Line])]
    pub(crate) share: Vec<Share>,
}

/// `solo evaluate chapter-8`.
#[derive(Args, Debug)]
pub(crate) struct Chapter8 {
    #[command(flatten)]
    pub(crate) common: EvaluateCommon,
    /// What the tasks of a group share beside the color, its best-effort task included
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Share::Array])]
    pub(crate) share: Vec<Share>,
    /// How the sets are scheduled
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Scheduled::Bfd, Scheduled::CapGs, Scheduled::Yield])]
    pub(crate) approach: Vec<Scheduled>,
    /// Accesses of hard tasks, in thousandths of what their execution times have room for: above 1000, by how much they would have
    /// to be slowed down to be late
    #[arg(long, value_name = "PER_MILLE", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) hard_accesses: u64,
}

/// What all evaluations have in common.
#[derive(Args, Debug)]
pub(crate) struct EvaluateCommon {
    /// Task sets in each setting
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) sets: u64,
    /// Jobs of each task (chapter 6), periods of 200 ms (chapter 7), of the longest (chapter 8); the thesis has 200
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) jobs: u64,
    /// Divide periods and execution times by this; cold starts and the kernel's paths then weigh more
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(crate) scale: u64,
    /// Tells these task sets from others
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Working sets of a task in KiB
    #[arg(
        long = "wss-kib", value_name = "N,...", value_delimiter = ',', default_values_t = WORKING_SETS_KIB,
        value_parser = clap::value_parser!(u64).range(4..=1024)
    )]
    pub(crate) working_sets_kib: Vec<u64>,
    /// The folder for results; an evaluation goes on with what it finds there. By default one under runs/
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

impl EvaluateCommon {
    pub(crate) const fn size(&self) -> Size {
        Size { sets: self.sets, jobs: self.jobs, scale: self.scale, seed: self.seed }
    }
}

/// What tasks of one color share.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Share {
    /// Nothing else: each has its own array
    Color,
    /// One array
    Array,
    /// One line, in which the states of their random generators lie
    Line,
}

impl From<Share> for Sharing {
    fn from(share: Share) -> Self {
        match share {
            Share::Color => Self::Color,
            Share::Array => Self::Array,
            Share::Line => Self::Line,
        }
    }
}

/// How many accesses fill an execution time.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Accesses {
    /// As many as of the smallest working set, as in the thesis
    Kept,
    /// As many as fit, found anew for each working set
    Fitted,
}

impl From<Accesses> for Repetitions {
    fn from(accesses: Accesses) -> Self {
        match accesses {
            Accesses::Kept => Self::Kept,
            Accesses::Fitted => Self::Fitted,
        }
    }
}

/// How sets of chapter 8 are scheduled.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scheduled {
    /// Best-fit decreasing, without regard to colors
    Bfd,
    /// Groups of a color on as few cores as they fit
    CapGs,
    /// The same; a best-effort task that disturbs gives its core away for the next 10 ms
    Yield,
    /// The same at once, by an interrupt of the counter, for the rest of the 10 ms
    Overflow,
    /// CAP-GS without best-effort tasks
    NoBestEffort,
}

impl From<Scheduled> for Approach {
    fn from(scheduled: Scheduled) -> Self {
        match scheduled {
            Scheduled::Bfd => Self::Bfd,
            Scheduled::CapGs => Self::CapGs,
            Scheduled::Yield => Self::Yield,
            Scheduled::Overflow => Self::Overflow,
            Scheduled::NoBestEffort => Self::NoBestEffort,
        }
    }
}
