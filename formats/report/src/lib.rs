//! From records to what people and programs read.
//!
//! A machine emits a stream of [`Record`](solo_model::Record)s. Everything here reads that stream once, in
//! constant memory:
//!
//! * [`run`]: run directories: written while a run goes on, refused when incomplete or damaged
//! * [`summary`]: the stream becomes a [`Report`]
//! * [`verdict`]: who missed what, and why, in sentences
//! * [`compare`]: variants side by side
//! * [`classes`]: what hard, soft and best-effort tasks got of a run
//! * [`table`]: reports and comparisons in a terminal
//! * [`html`]: the same as one page with charts
//! * [`perfetto`]: a trace for the Perfetto viewer
//! * [`export`]: jobs, samples and switches as CSV, JSON lines and Parquet
//!
//! The same records yield the same bytes, whatever the host or the hour.
#![forbid(unsafe_code)]

pub mod classes;
mod columns;
pub mod compare;
mod counted;
pub mod devices;
pub mod diff;
pub mod distribution;
mod energy;
pub mod export;
pub mod gains;
mod grid;
mod heard;
mod held;
pub mod html;
pub mod isolation;
mod kinds;
mod listening;
mod outcome;
pub mod perfetto;
pub mod report;
// Whatever stands in a file is an error, never a panic: no index out of range, no cut within a character, no overflow.
#[cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::string_slice, clippy::arithmetic_side_effects))]
pub mod run;
pub mod series;
pub mod summary;
pub mod table;
mod text;
pub mod timeparts;
pub mod verdict;

pub use compare::{Comparison, compare};
pub use counted::Counted;
pub use devices::DeviceReport;
pub use energy::EnergyReport;
pub use isolation::IsolationReport;
pub use outcome::{Early, EndReason, EndedTask, RunEnd, Shortfalls, StopOn, StopWatch};
pub use report::{Bound, CoreReport, Deadlock, Report, TaskReport};
pub use run::{
    ComparisonRun, FinishedRun, Manifest, Opened, Part, RecordHash, RecordHasher, RefusedVariant, Run,
    RunError, RunWriter, Spool, System, Tier,
};
pub use summary::Summary;
pub use verdict::{Verdict, verdict};
