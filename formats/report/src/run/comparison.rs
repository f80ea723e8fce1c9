//! Folders of variants: a run directory each, and `comparison.json`, which names them.

use super::{COMPARISON, Damage, Run, RunError};
use crate::gains::Gains;
use serde::{Deserialize, Serialize};
use solo_store::{Dir, name, read};
use std::path::Path;

/// The format of `comparison.json` that this version writes and reads.
const SCHEMA: u32 = 2;

/// A run of a comparison.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Part {
    /// The variant's name.
    pub variant: String,
    /// The name of its folder in the comparison's.
    pub folder: String,
}

impl Part {
    /// Folders for variants, in their order; see [`solo_store::name`].
    pub fn of<'v>(variants: impl IntoIterator<Item = &'v str> + Clone) -> Vec<Self> {
        let folders = name::escape_all(variants.clone());
        let parts = variants.into_iter().zip(folders);
        parts.map(|(variant, folder)| Self { variant: variant.to_owned(), folder }).collect()
    }
}

/// A variant that could not run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RefusedVariant {
    /// Its name.
    pub variant: String,
    /// Why, for people.
    pub reason: String,
}

/// A run of a comparison, opened.
#[derive(Debug)]
pub struct ComparisonRun {
    /// Which it is.
    pub part: Part,
    /// The run.
    pub run: Run,
}

/// What is read of `comparison.json`; the figures in it are computed anew from the records, but for those that other runs told.
#[derive(Deserialize)]
struct Index {
    runs: Vec<Part>,
    refused: Vec<RefusedVariant>,
}

/// What is read of it if it has the form of this version.
#[derive(Deserialize)]
struct Told {
    #[serde(default)]
    gains: Vec<Gains>,
}

/// What is read of it first: the rest may have had another form.
#[derive(Deserialize)]
struct Version {
    schema: u32,
}

/// What a folder holds.
#[derive(Debug)]
pub enum Opened {
    /// A run.
    Run(Box<Run>),
    /// A complete comparison.
    Comparison {
        /// Its variants that ran, in their order.
        runs: Vec<ComparisonRun>,
        /// Those that could not.
        refused: Vec<RefusedVariant>,
        /// What applications gained, where it says so in the form of this version.
        gains: Vec<Gains>,
    },
}

impl Opened {
    /// Opens a run directory or a folder of variants.
    ///
    /// # Errors
    /// As [`Run::open`], of the folder or the first of its runs that is not whole.
    pub fn open(path: &Path) -> Result<Self, RunError> {
        let index = match Dir::open(path).and_then(|dir| dir.bytes(COMPARISON, read::TEXT)) {
            Ok(index) => index,
            // Says what it is instead.
            Err(error) if error.is_not_found() => return Run::open(path).map(|run| Self::Run(Box::new(run))),
            Err(error) => return Err(error.into()),
        };
        let at = path.join(COMPARISON);
        let damaged = |error| RunError::damaged(&at, Damage::Json(error));
        let version: Version = serde_json::from_slice(&index).map_err(damaged)?;
        if version.schema != SCHEMA {
            return Err(RunError::Schema { path: path.to_owned(), found: version.schema, known: SCHEMA });
        }
        let gains = serde_json::from_slice::<Told>(&index).map_or_else(|_| Vec::new(), |told| told.gains);
        let index: Index = serde_json::from_slice(&index).map_err(damaged)?;
        let open = |part: Part| {
            if !name::is_component(&part.folder) {
                return Err(RunError::damaged(&at, Damage::Folder { found: part.folder }));
            }
            let run = Run::open(&path.join(&part.folder))?;
            Ok(ComparisonRun { part, run })
        };
        let runs: Vec<ComparisonRun> = index.runs.into_iter().map(open).collect::<Result<_, _>>()?;
        if runs.is_empty() {
            return Err(RunError::damaged(&at, Damage::Empty));
        }
        Ok(Self::Comparison { runs, refused: index.refused, gains })
    }
}
