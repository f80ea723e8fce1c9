//! Writing a run directory while the run goes on.

use super::codec::{FrameWriter, RecordHash};
use super::hashed::Hashed;
use super::{
    EXPERIMENT, MANIFEST, Manifest, RECORDS, REPORT, RunError, SCENARIO, SCHEMA, bytes_hash, source_hash,
};
use crate::outcome::RunEnd;
use crate::report::{Bound, Report};
use crate::summary::Summary;
use serde::Serialize;
use solo_model::{Experiment, Record};
use solo_store::{Folder, Kind, Replace, StoreError, WholeFile};
use std::io::BufWriter;
use std::path::Path;

/// Writes a run directory, record by record, and summarises on the way.
///
/// Dropped before [`RunWriter::finish`], it leaves a directory that says `complete: false` and that
/// [`Run::open`](super::Run::open) refuses.
#[must_use = "a run that is not finished stays incomplete"]
pub struct RunWriter {
    folder: Folder,
    manifest: Manifest,
    records: FrameWriter<BufWriter<Hashed<WholeFile>>>,
    summary: Summary,
    bounds: Vec<Option<Bound>>,
    warnings: Box<Diagnose>,
}

/// What in a report shows that a mechanism does not do what it is meant to: sentences with cause and remedy.
type Diagnose = dyn Fn(&Report) -> Vec<String> + Send;

/// A run whose directory is complete.
#[derive(Debug)]
pub struct FinishedRun {
    /// The summary of its records.
    pub summary: Report,
    /// The hash of its records.
    pub record_hash: RecordHash,
    /// The manifest as it was written.
    pub manifest: Manifest,
}

impl RunWriter {
    /// Starts a run directory at `dir`, which is created with its parents, and locks it until the run is finished.
    ///
    /// # Errors
    /// [`RunError::Occupied`] where `dir` already holds something; [`RunError::Store`].
    pub fn create(
        dir: &Path,
        manifest: Manifest,
        experiment: &Experiment,
        scenario_source: &str,
    ) -> Result<Self, RunError> {
        let folder = Folder::claim(dir, Kind::Run, Replace::Never).map_err(|error| match error {
            StoreError::Occupied { path } => RunError::Occupied { path },
            other => other.into(),
        })?;
        Self::create_in(folder, manifest, experiment, scenario_source)
    }

    /// Starts a run in a folder that was taken for it.
    ///
    /// The manifest's schema and scenario hash are set here.
    ///
    /// # Errors
    /// [`RunError::Store`].
    pub fn create_in(
        folder: Folder,
        mut manifest: Manifest,
        experiment: &Experiment,
        scenario_source: &str,
    ) -> Result<Self, RunError> {
        manifest.schema = SCHEMA;
        manifest.scenario_hash = source_hash(scenario_source);
        manifest.complete = false;
        manifest.outcome = None;
        manifest.record_hash = None;
        manifest.files.clear();
        manifest.seal();
        write_json(&folder, MANIFEST, &manifest)?;
        folder.write(SCENARIO, scenario_source.as_bytes())?;
        manifest.files.insert(SCENARIO.into(), manifest.scenario_hash.clone());
        manifest.files.insert(EXPERIMENT.into(), write_json(&folder, EXPERIMENT, experiment)?);
        let failed = |error| RunError::io("write", &folder.dir().path_of(RECORDS), error);
        let file = Hashed::new(folder.create(RECORDS)?);
        let records = FrameWriter::new(BufWriter::new(file)).map_err(failed)?;
        let summary = Summary::new(experiment);
        let warnings = Box::new(|_: &Report| Vec::new());
        Ok(Self { folder, manifest, records, summary, bounds: Vec::new(), warnings })
    }

    /// What is proved of each task, by position; the summary will hold what was seen against it.
    pub fn with_bounds(mut self, bounds: Vec<Option<Bound>>) -> Self {
        self.bounds = bounds;
        self
    }

    /// How the finished summary is to be examined for mechanisms without effect.
    pub fn with_warnings(mut self, diagnose: impl Fn(&Report) -> Vec<String> + Send + 'static) -> Self {
        self.warnings = Box::new(diagnose);
        self
    }

    /// Appends a record; records come in the order of their times.
    ///
    /// # Errors
    /// [`RunError::Io`], for example on a full disk. The directory stays incomplete.
    pub fn write(&mut self, record: &Record) -> Result<(), RunError> {
        self.summary.add(record);
        let dir = self.folder.dir();
        self.records.write(record).map_err(|error| RunError::io("write", &dir.path_of(RECORDS), error))
    }

    /// Completes the directory: records, then the summary, then the manifest with the hashes of all files.
    ///
    /// # Errors
    /// [`RunError::Io`], [`RunError::Store`]; the directory stays incomplete.
    pub fn finish(self, outcome: RunEnd) -> Result<FinishedRun, RunError> {
        let Self { folder, mut manifest, records, summary, bounds, warnings } = self;
        let failed = |error| RunError::io("write", &folder.dir().path_of(RECORDS), error);
        let (buffered, count, record_hash) = records.finish().map_err(failed)?;
        let file = buffered.into_inner().map_err(|error| failed(error.into_error()))?;
        let (file, hash) = file.into_parts();
        file.commit()?;
        manifest.files.insert(RECORDS.into(), hash);
        let summary = summary.finish(outcome.end).with_outcome(&outcome).with_bounds(&bounds);
        let warnings = warnings(&summary);
        let summary = summary.with_warnings(warnings);
        manifest.files.insert(REPORT.into(), write_json(&folder, REPORT, &summary)?);
        manifest.outcome = Some(outcome);
        manifest.records = count;
        manifest.record_hash = Some(record_hash.to_string());
        manifest.complete = true;
        manifest.seal();
        write_json(&folder, MANIFEST, &manifest)?;
        Ok(FinishedRun { summary, record_hash, manifest })
    }
}

/// Writes a value as a whole file; returns the file's hash.
fn write_json(folder: &Folder, name: &str, value: &impl Serialize) -> Result<String, RunError> {
    let path = folder.dir().path_of(name);
    let mut text =
        serde_json::to_vec_pretty(value).map_err(|error| RunError::io("write", &path, error.into()))?;
    text.push(b'\n');
    folder.write(name, &text)?;
    Ok(bytes_hash(&text))
}
