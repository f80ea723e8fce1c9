//! Scenario and platform files: what people write, checked.
//!
//! [`requests`] reads what a scenario file asks for, each wish with its place, and decides nothing. [`load`] has it planned with
//! the defaults of [`solo_plan`], too, and gives [`Experiment`]s: the scenario as it stands and one for each variant.
//! Whatever is wrong with the file comes back as a [`Diagnostics`] that points at the offending text and says what
//! was expected, for people or as JSON. All keys are described in `docs/scenario.md`.
//!
//! Files are read as a tree in which everything knows its place ([`toml`] gives the spans). A variant is laid
//! over the tree key by key before anything is checked, so that one mechanism serves every override and
//! messages about a variant still point into it.
#![forbid(unsafe_code)]
// Whatever stands in a file is a report, never a panic: no index out of range, no cut within a character, no overflow.
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::string_slice, clippy::arithmetic_side_effects))]

pub mod address_map;
mod application;
mod clocks;
mod code;
mod command;
mod complaints;
mod device_faults;
mod devices;
mod diagnostic;
mod enforcers;
mod fields;
mod files;
mod foreign;
mod io_table;
mod isolation;
mod kind;
mod limits;
mod model;
mod monitor;
mod nearest;
mod overheads;
mod overrides;
mod phase;
mod platform;
mod resolve;
mod rt_app;
mod scheduler;
mod source;
mod task;
mod tree;
pub mod units;
mod variant;
mod work;
mod written;

pub use code::{Code, Entry};
pub use diagnostic::{Diagnostic, Diagnostics, Severity, Style, render};
pub use enforcers::{Enforcer, NotEnforceable, export_plan};
pub use io_table::{IoTable, step_name};
pub use kind::{FileKind, OtherKind};
pub use overheads::{parse_overheads, write_overheads};
pub use overrides::{Choice, Overrides};
pub use platform::{DEVICES, Platforms, SourcedValue, derived, has_guesses, load_device, parse_platform};
pub use rt_app::{Imported, NotRtApp, export_rt_app, import_rt_app, parse_rt_app};
pub use source::{Position, Source};
pub use written::{NotWritable, write_plan};

use kind::or_other;
use solo_model::estimate::Model;
use solo_model::text::Printable;
use solo_model::work::TraceSource;
use solo_model::{Experiment, Platform};
use solo_plan::{Reason, Request};
use solo_store::{StoreError, read};
use solo_workload::TraceImage;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A scenario file, read and checked.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The scenario's name.
    pub name: String,
    /// The text of the file.
    pub source: String,
    /// The file.
    pub path: PathBuf,
    /// The scenario as it stands.
    pub base: Experiment,
    /// The variants, in the order of the file, each complete.
    pub variants: Vec<Experiment>,
    /// What was decided that the file leaves open, and why: of the scenario as it stands, then of each variant.
    pub rationales: Vec<Vec<Reason>>,
    /// Variants that are well written and can't be had: their isolation, policy or memory contradicts the chip.
    pub refused: Vec<Refused>,
    /// The recorded programs that its experiments replay, each read once.
    pub recordings: Vec<(TraceSource, Arc<TraceImage>)>,
    /// What is probably not meant as it is written.
    pub warnings: Vec<Diagnostic>,
}

/// A variant that can't be had on its platform.
#[derive(Clone, Debug)]
pub struct Refused {
    /// Its name.
    pub variant: String,
    /// Why, with the places in the file.
    pub report: Diagnostics,
}

/// Reads and checks a scenario file.
///
/// # Errors
/// If the file can't be read, or anything in it is wrong.
pub fn load(path: &Path, platforms: &Platforms) -> Result<Scenario, Diagnostics> {
    load_with(path, platforms, &Overrides::default())
}

/// Reads and checks a scenario file with `overrides` laid over it.
///
/// # Errors
/// If the file can't be read, or anything in it, or in what is laid over it, is wrong.
pub fn load_with(path: &Path, platforms: &Platforms, overrides: &Overrides) -> Result<Scenario, Diagnostics> {
    parse_with(&text_of(path)?, path, platforms, overrides)
}

/// Reads and checks a file of avionics partitions.
///
/// # Errors
/// If the file can't be read, or anything in it is wrong.
pub fn load_io_table(path: &Path) -> Result<IoTable, Diagnostics> {
    io_table::parse_io_table(&text_of(path)?, &path.display().to_string())
}

/// Checks the text of an estimation model of `platform` (docs/models.md). `path` names it in messages.
///
/// # Errors
/// If the text is no model file, or one of another platform or version.
pub fn parse_model(text: &str, path: &Path, platform: &Platform) -> Result<Model, Diagnostics> {
    model::read(&Source::new(path.display().to_string(), text), platform)
}

/// What stands in a file that a user names.
fn text_of(path: &Path) -> Result<String, Diagnostics> {
    text_within(path, tree::LARGEST_FILE as u64)
}

/// The same of at most so many bytes.
fn text_within(path: &Path, limit: u64) -> Result<String, Diagnostics> {
    read::text(path, limit).map_err(|error| {
        let source = Source::new(path.display().to_string(), "");
        if matches!(error, StoreError::TooLarge { .. }) {
            let size = std::fs::metadata(path).map_or(u64::MAX, |metadata| metadata.len());
            return tree::too_large(&source, size, limit);
        }
        let headline = format!("cannot read {}: {}", Printable(path.display()), error.reason());
        Diagnostic::error(Code::File, headline, &source, 0..0).label("this file").into()
    })
}

/// Checks a scenario's text. `path` names it in messages; files that it names (platforms, overheads, traces)
/// are looked for in the folder of `path`.
///
/// # Errors
/// If anything in it is wrong.
pub fn parse(text: &str, path: &Path, platforms: &Platforms) -> Result<Scenario, Diagnostics> {
    parse_with(text, path, platforms, &Overrides::default())
}

/// Checks a scenario's text with `overrides` laid over it; as [`parse`] otherwise.
///
/// # Errors
/// If anything in it, or in what is laid over it, is wrong.
pub fn parse_with(
    text: &str,
    path: &Path,
    platforms: &Platforms,
    overrides: &Overrides,
) -> Result<Scenario, Diagnostics> {
    let source = Source::new(path.display().to_string(), text);
    resolve::scenario(&source, path, platforms, overrides)
        .map_err(|report| or_other(report, &source, &FileKind::Scenario))
}

/// Reads a scenario file and what it asks for, as [`requests`], with its text.
///
/// # Errors
/// If the file can't be read, or anything in it can't.
pub fn load_requests(path: &Path, platforms: &Platforms) -> Result<(String, Vec<Request>), Diagnostics> {
    let text = text_of(path)?;
    let requests = requests(&text, path, platforms, &Overrides::default())?;
    Ok((text, requests))
}

/// Reads what a scenario's text asks for with `overrides` laid over it, and decides nothing: the scenario as it stands, then each
/// variant. As [`parse_with`] otherwise.
///
/// # Errors
/// If anything in it can't be read.
pub fn requests(
    text: &str,
    path: &Path,
    platforms: &Platforms,
    overrides: &Overrides,
) -> Result<Vec<Request>, Diagnostics> {
    let source = Source::new(path.display().to_string(), text);
    resolve::requests(&source, path, platforms, overrides)
        .map_err(|report| or_other(report, &source, &FileKind::Scenario))
}
