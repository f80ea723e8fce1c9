//! Writing a run directory while the run goes on.

use super::codec::{FrameWriter, RecordHash};
use super::{
    EXPERIMENT, MANIFEST, Manifest, Outcome, RECORDS, REPORT, RunError, SCENARIO, SCHEMA, source_hash,
};
use crate::report::{Bound, Report};
use crate::summary::Summary;
use serde::Serialize;
use solo_model::{Experiment, Record};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes a run directory, record by record, and summarises on the way.
///
/// Dropped before [`RunWriter::finish`], it leaves a directory that says `complete: false` and that
/// [`Run::open`](super::Run::open) refuses.
#[must_use = "a run that is not finished stays incomplete"]
pub struct RunWriter {
    dir: PathBuf,
    manifest: Manifest,
    records: FrameWriter<BufWriter<File>>,
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
    /// Starts a run directory at `dir`, which is created with its parents.
    ///
    /// The manifest's schema and scenario hash are set here.
    ///
    /// # Errors
    /// [`RunError::Occupied`] where `dir` already holds a run, complete or not; [`RunError::Io`].
    pub fn create(
        dir: &Path,
        mut manifest: Manifest,
        experiment: &Experiment,
        scenario_source: &str,
    ) -> Result<Self, RunError> {
        fs::create_dir_all(dir).map_err(|error| RunError::io("create", dir, error))?;
        if dir.join(MANIFEST).exists() || dir.join(RECORDS).exists() {
            return Err(RunError::Occupied { path: dir.to_owned() });
        }
        manifest.schema = SCHEMA;
        manifest.scenario_hash = source_hash(scenario_source);
        manifest.complete = false;
        manifest.outcome = None;
        manifest.record_hash = None;
        write_json(&dir.join(MANIFEST), &manifest)?;
        write_file(&dir.join(SCENARIO), scenario_source.as_bytes())?;
        write_json(&dir.join(EXPERIMENT), experiment)?;
        let path = dir.join(RECORDS);
        let failed = |error| RunError::io("write", &path, error);
        let file = File::create_new(&path).map_err(|error| RunError::io("create", &path, error))?;
        let records = FrameWriter::new(BufWriter::new(file)).map_err(failed)?;
        let summary = Summary::new(experiment);
        let warnings = Box::new(|_: &Report| Vec::new());
        Ok(Self { dir: dir.to_owned(), manifest, records, summary, bounds: Vec::new(), warnings })
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
        let path = &self.dir;
        self.records.write(record).map_err(|error| RunError::io("write", &path.join(RECORDS), error))
    }

    /// Completes the directory: records, then the summary, then the manifest.
    ///
    /// # Errors
    /// [`RunError::Io`]; the directory stays incomplete.
    pub fn finish(self, outcome: Outcome) -> Result<FinishedRun, RunError> {
        let path = self.dir.join(RECORDS);
        let failed = |error| RunError::io("write", &path, error);
        let (buffered, records, record_hash) = self.records.finish().map_err(failed)?;
        let file = buffered.into_inner().map_err(|error| failed(error.into_error()))?;
        file.sync_all().map_err(failed)?;
        let summary = self.summary.finish(outcome.end).with_bounds(&self.bounds);
        let warnings = (self.warnings)(&summary);
        let summary = summary.with_warnings(warnings);
        write_json(&self.dir.join(REPORT), &summary)?;
        let manifest = Manifest {
            outcome: Some(outcome),
            records,
            record_hash: Some(record_hash.to_string()),
            complete: true,
            ..self.manifest
        };
        write_json(&self.dir.join(MANIFEST), &manifest)?;
        Ok(FinishedRun { summary, record_hash, manifest })
    }
}

/// Writes beside the file and renames, so that a reader sees the old content or the new, never a part.
fn write_file(path: &Path, content: &[u8]) -> Result<(), RunError> {
    let temporary = path.with_extension("new");
    let failed = |error| RunError::io("write", path, error);
    let mut file = File::create(&temporary).map_err(failed)?;
    file.write_all(content).and_then(|()| file.sync_all()).map_err(failed)?;
    fs::rename(&temporary, path).map_err(failed)
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<(), RunError> {
    let mut text =
        serde_json::to_vec_pretty(value).map_err(|error| RunError::io("write", path, error.into()))?;
    text.push(b'\n');
    write_file(path, &text)
}
