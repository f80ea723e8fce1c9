//! Run directories: everything that a run produced, and what it takes to repeat it.
//!
//! ```text
//! DIR/manifest.json     which scenario, seed, machine, version; how it ended; the hashes of the other files
//! DIR/scenario.toml     the scenario's source, byte for byte
//! DIR/experiment.json   the resolved scenario: what the machine was given
//! DIR/records.solo      the records (format: docs/report.md)
//! DIR/report.json       the summary of the records
//! ```
//!
//! The manifest is written first with `complete: false` and replaced, by renaming, after everything else is
//! on disk. So a directory whose run was interrupted, or whose disk was full, can never be taken for whole.

mod carried;
mod codec;
mod comparison;
mod error;
mod hashed;
mod manifest;
mod reader;
mod spool;
mod system;
mod writer;

pub use carried::CarriedOut;
pub use codec::{RecordHash, RecordHasher};
pub use comparison::{ComparisonRun, Opened, Part, RefusedVariant};
pub use error::{Damage, Instead, RunError};
use manifest::bytes_hash;
pub(crate) use manifest::source_hash;
pub use manifest::{Manifest, Repeated, SCHEMA, System, Tier};
pub use reader::{Records, Run};
pub use spool::Spool;
pub use writer::{FinishedRun, RunWriter};

const MANIFEST: &str = "manifest.json";
const SCENARIO: &str = "scenario.toml";
const EXPERIMENT: &str = "experiment.json";
const RECORDS: &str = "records.solo";
const COMPARISON: &str = "comparison.json";
const REPORT: &str = "report.json";
