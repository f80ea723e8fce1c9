//! Studies over millions of task sets (thesis 5.1, 5.9): which share of drawn sets is schedulable, by which test,
//! under which overheads, as their utilisation grows.
//!
//! ```text
//!  study.toml -> StudyPlan -> blocks of task sets -> drawn, inflated, judged on all cores
//!                          |                       |
//!                       a shard's own          journal: one line a block, written whole
//!                                                  |
//!                                               Results -> Parquet, summary, page with figures
//! ```
//!
//! A set is a function of the study's seed, its distribution, its cap and its number, and of nothing else: shards,
//! threads, interruptions and their order leave no trace in what comes out.
#![forbid(unsafe_code)]
// Whatever stands in a file is an error, never a panic: no index out of range, no cut within a character, no overflow.
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::string_slice, clippy::arithmetic_side_effects))]

mod error;
mod file;
#[allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "works on plans that were read and checked"
)]
mod fit;
mod journal;
mod plan;
#[allow(clippy::indexing_slicing, clippy::arithmetic_side_effects, reason = "counts rows that fit the plan")]
mod results;
mod run;
#[allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "works on plans that were read and checked"
)]
mod sets;
mod store;
mod version;

pub use error::StudyError;
pub use file::{Overrides, load, parse};
pub use fit::{FitPlan, FitReport, FittedTable, SentenceReport, TargetReport, load as load_fit};
pub use plan::{Block, Curve, Distribution, Inflation, Shard, StudyPlan, Utilizations};
pub use results::{CurvePoint, CurveSummary, DistributionSummary, Results, Summary};
pub use run::{Collection, Ended, Progress, judge, merge, run};
pub use sets::draw;
pub use store::{Written, write_all};
