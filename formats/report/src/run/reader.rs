//! Reading a run directory back, and refusing what is not whole.

use super::codec::{FrameReader, ReadError};
use super::hashed::Hashed;
use super::{
    COMPARISON, Damage, EXPERIMENT, Instead, MANIFEST, Manifest, RECORDS, RunError, SCENARIO, SCHEMA,
    bytes_hash, source_hash,
};
use crate::report::Report;
use crate::summary::Summary;
use serde::de::DeserializeOwned;
use solo_model::{Experiment, Record};
use solo_store::{Dir, Folder, Kind, read};
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

/// The records' file, hashed as it is read.
type Input = FrameReader<Hashed<BufReader<File>>>;

/// A complete run directory.
#[derive(Debug)]
pub struct Run {
    dir: Dir,
    manifest: Manifest,
    experiment: Experiment,
    source: String,
}

impl Run {
    /// Opens a run directory: the manifest by its seal, scenario and experiment by their hashes in the manifest.
    ///
    /// The records themselves are checked while they are read: each frame by its checksum, all of them by
    /// count and hash at the end. [`Run::verify`] reads them all at once.
    ///
    /// # Errors
    /// [`RunError::Missing`], [`RunError::NotARun`], [`RunError::Incomplete`], [`RunError::Schema`],
    /// [`RunError::Damaged`], [`RunError::Io`] and [`RunError::Store`].
    pub fn open(path: &Path) -> Result<Self, RunError> {
        let dir = Dir::open(path).map_err(|error| match error.is_not_found() {
            true => RunError::Missing { path: path.to_owned() },
            false => error.into(),
        })?;
        let manifest = manifest(&dir)?;
        let at = dir.path_of(SCENARIO);
        let source = dir.text(SCENARIO, read::TEXT)?;
        same(&at, &manifest.scenario_hash, source_hash(&source))?;
        let at = dir.path_of(EXPERIMENT);
        let text = dir.bytes(EXPERIMENT, read::TEXT)?;
        same(&at, manifest.files.get(EXPERIMENT).map_or("", String::as_str), bytes_hash(&text))?;
        let experiment: Experiment = parse(&at, &text)?;
        if let Some(event) = experiment.unknown_event() {
            return Err(RunError::damaged(&at, Damage::UnknownEvent { event }));
        }
        experiment.check().map_err(|wrong| RunError::damaged(&at, Damage::Experiment(wrong)))?;
        let run = Self { experiment, dir, manifest, source };
        run.reader()?;
        Ok(run)
    }

    /// What the run was.
    pub const fn manifest(&self) -> &Manifest {
        &self.manifest
    }
    /// The resolved scenario.
    pub const fn experiment(&self) -> &Experiment {
        &self.experiment
    }
    /// The scenario's source.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The records, in the order of their times. Ends after the first error.
    pub fn records(&self) -> Records {
        Records {
            path: self.dir.path_of(RECORDS),
            manifest_file: self.manifest.files.get(RECORDS).cloned().unwrap_or_default(),
            manifest_count: self.manifest.records,
            manifest_hash: self.manifest.record_hash.clone(),
            state: match self.reader() {
                Ok(reader) => State::Reading(Box::new(reader)),
                Err(error) => State::Failed(error),
            },
        }
    }

    /// Reads all records and forgets them.
    ///
    /// # Errors
    /// What is wrong with the records.
    pub fn verify(&self) -> Result<(), RunError> {
        self.records().try_for_each(|record| record.map(drop))
    }

    /// The report, computed anew from the records.
    ///
    /// # Errors
    /// What is wrong with the records, or [`RunError::Incomplete`] without an outcome.
    pub fn report(&self) -> Result<Report, RunError> {
        self.report_between(solo_model::Instant::ZERO, solo_model::Instant::MAX)
    }

    /// The same; the schedule that a page shows is that between two times.
    ///
    /// # Errors
    /// As [`Run::report`].
    pub fn report_between(
        &self,
        from: solo_model::Instant,
        to: solo_model::Instant,
    ) -> Result<Report, RunError> {
        let mut summary = Summary::new(&self.experiment).with_schedule(from, to);
        for record in self.records() {
            summary.add(&record?);
        }
        match &self.manifest.outcome {
            Some(outcome) => Ok(summary.finish(outcome.end).with_outcome(outcome)),
            None => Err(RunError::Incomplete { path: self.dir.path().to_owned() }),
        }
    }

    fn reader(&self) -> Result<Input, RunError> {
        let file = Hashed::new(BufReader::new(self.dir.file(RECORDS)?));
        FrameReader::new(file, self.experiment.platform.events.set())
            .map_err(|error| translate(&self.dir.path_of(RECORDS), error))
    }
}

/// The manifest of a complete run.
fn manifest(dir: &Dir) -> Result<Manifest, RunError> {
    let path = dir.path_of(MANIFEST);
    let text = match dir.bytes(MANIFEST, read::TEXT) {
        // A run's list is begun before its manifest, and on Linux its tasks run in between.
        Err(error) if error.is_not_found() && Folder::kind_of(dir) == Some(Kind::Run) => {
            return Err(RunError::Incomplete { path: dir.path().to_owned() });
        }
        Err(error) if error.is_not_found() => {
            return Err(RunError::NotARun { path: dir.path().to_owned(), what: instead(dir) });
        }
        other => other?,
    };
    let value: serde_json::Value = parse(&path, &text)?;
    let found = value.get("schema").and_then(serde_json::Value::as_u64).unwrap_or(0);
    if found != u64::from(SCHEMA) {
        let found = u32::try_from(found).unwrap_or(u32::MAX);
        return Err(RunError::Schema { path: dir.path().to_owned(), found, known: SCHEMA });
    }
    let manifest: Manifest =
        serde_json::from_value(value).map_err(|error| RunError::damaged(&path, Damage::Json(error)))?;
    same(&path, &manifest.seal, manifest.seal_of())?;
    if !manifest.complete {
        return Err(RunError::Incomplete { path: dir.path().to_owned() });
    }
    Ok(manifest)
}

/// What a folder without a manifest is.
fn instead(dir: &Dir) -> Instead {
    match Folder::kind_of(dir) {
        // A run's list is begun before its manifest.
        Some(Kind::Comparison) if !dir.has(COMPARISON).unwrap_or(false) => Instead::StoppedComparison,
        Some(Kind::Recording) => Instead::Recording,
        Some(Kind::Study) => Instead::Study,
        Some(Kind::Measurement) => Instead::Measurement,
        Some(Kind::Figures) => Instead::Figures,
        _ if dir.has("watch.json").unwrap_or(false) => Instead::Recording,
        _ if has_journal(dir) => Instead::Study,
        _ => Instead::Unknown,
    }
}

/// True for a study's folder, which several shards may fill at a time.
fn has_journal(dir: &Dir) -> bool {
    let journal = |name: &String| name.starts_with("journal") && name.ends_with(".jsonl");
    dir.names().is_ok_and(|names| names.iter().any(journal))
}

/// Refuses a file whose hash differs from the one written down.
fn same(path: &Path, expected: &str, found: String) -> Result<(), RunError> {
    if expected == found {
        return Ok(());
    }
    Err(RunError::damaged(path, Damage::Hash { expected: expected.to_owned(), found }))
}

enum State {
    Reading(Box<Input>),
    Failed(RunError),
    Over,
}

/// The records of a run directory, read one after the other.
pub struct Records {
    path: PathBuf,
    manifest_file: String,
    manifest_count: u64,
    manifest_hash: Option<String>,
    state: State,
}

impl Iterator for Records {
    type Item = Result<Record, RunError>;

    fn next(&mut self) -> Option<Self::Item> {
        match std::mem::replace(&mut self.state, State::Over) {
            State::Over => None,
            State::Failed(error) => Some(Err(error)),
            State::Reading(mut reader) => match reader.next() {
                Ok(Some(record)) => {
                    self.state = State::Reading(reader);
                    Some(Ok(record))
                }
                Ok(None) => self.check_end(&reader).err().map(Err),
                Err(error) => Some(Err(translate(&self.path, error))),
            },
        }
    }
}

impl Records {
    /// The file may be whole and yet not the one that the manifest describes.
    fn check_end(&self, reader: &Input) -> Result<(), RunError> {
        let Some((found, hash)) = reader.end() else { return Ok(()) };
        let expected = self.manifest_count;
        if found != expected {
            return Err(RunError::damaged(&self.path, Damage::Count { expected, found }));
        }
        let (expected, found) = (self.manifest_hash.clone().unwrap_or_default(), hash.to_string());
        if found != expected {
            return Err(RunError::damaged(&self.path, Damage::Hash { expected, found }));
        }
        same(&self.path, &self.manifest_file, reader.input().hash())
    }
}

fn translate(path: &Path, error: ReadError) -> RunError {
    match error {
        ReadError::Io(error) => RunError::io("read", path, error),
        ReadError::Damage(what) => RunError::damaged(path, what),
    }
}

fn parse<T: DeserializeOwned>(path: &Path, text: &[u8]) -> Result<T, RunError> {
    serde_json::from_slice(text).map_err(|error| RunError::damaged(path, Damage::Json(error)))
}
