//! Reading a run directory back, and refusing what is not whole.

use super::codec::{FrameReader, ReadError};
use super::{Damage, EXPERIMENT, MANIFEST, Manifest, RECORDS, RunError, SCENARIO, SCHEMA, source_hash};
use crate::report::Report;
use crate::summary::Summary;
use serde::de::DeserializeOwned;
use solo_model::{Experiment, Record};
use std::fs::{self, File};
use std::io::{BufReader, ErrorKind};
use std::path::{Path, PathBuf};

/// A complete run directory.
#[derive(Debug)]
pub struct Run {
    dir: PathBuf,
    manifest: Manifest,
    experiment: Experiment,
    source: String,
}

impl Run {
    /// Opens a run directory.
    ///
    /// The records themselves are checked while they are read: each frame by its checksum, all of them by
    /// count and hash at the end. [`Run::verify`] reads them all at once.
    ///
    /// # Errors
    /// [`RunError::NotARun`], [`RunError::Incomplete`], [`RunError::Schema`], [`RunError::Damaged`] and
    /// [`RunError::Io`].
    pub fn open(dir: &Path) -> Result<Self, RunError> {
        let path = dir.join(MANIFEST);
        let manifest = match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(RunError::NotARun { path: dir.to_owned() });
            }
            Err(error) => return Err(RunError::io("read", &path, error)),
            Ok(text) => parse::<serde_json::Value>(&path, &text)?,
        };
        let found = manifest.get("schema").and_then(serde_json::Value::as_u64).unwrap_or(0);
        if found != u64::from(SCHEMA) {
            let found = u32::try_from(found).unwrap_or(u32::MAX);
            return Err(RunError::Schema { path: dir.to_owned(), found, known: SCHEMA });
        }
        let manifest: Manifest = serde_json::from_value(manifest)
            .map_err(|error| RunError::damaged(&path, Damage::Json(error)))?;
        if !manifest.complete {
            return Err(RunError::Incomplete { path: dir.to_owned() });
        }
        let path = dir.join(SCENARIO);
        let source = fs::read_to_string(&path).map_err(|error| RunError::io("read", &path, error))?;
        let found = source_hash(&source);
        if found != manifest.scenario_hash {
            let what = Damage::Hash { expected: manifest.scenario_hash, found };
            return Err(RunError::damaged(&path, what));
        }
        let path = dir.join(EXPERIMENT);
        let text = fs::read(&path).map_err(|error| RunError::io("read", &path, error))?;
        let run = Self { dir: dir.to_owned(), manifest, experiment: parse(&path, &text)?, source };
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
            path: self.dir.join(RECORDS),
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
        let mut summary = Summary::new(&self.experiment);
        for record in self.records() {
            summary.add(&record?);
        }
        match self.manifest.outcome {
            Some(outcome) => Ok(summary.finish(outcome.end)),
            None => Err(RunError::Incomplete { path: self.dir.clone() }),
        }
    }

    fn reader(&self) -> Result<FrameReader<BufReader<File>>, RunError> {
        let path = self.dir.join(RECORDS);
        let file = File::open(&path).map_err(|error| RunError::io("read", &path, error))?;
        FrameReader::new(BufReader::new(file)).map_err(|error| translate(&path, error))
    }
}

enum State {
    Reading(Box<FrameReader<BufReader<File>>>),
    Failed(RunError),
    Over,
}

/// The records of a run directory, read one after the other.
pub struct Records {
    path: PathBuf,
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
    fn check_end(&self, reader: &FrameReader<BufReader<File>>) -> Result<(), RunError> {
        let Some((found, hash)) = reader.end() else { return Ok(()) };
        let expected = self.manifest_count;
        if found != expected {
            return Err(RunError::damaged(&self.path, Damage::Count { expected, found }));
        }
        let (expected, found) = (self.manifest_hash.clone().unwrap_or_default(), hash.to_string());
        if found != expected {
            return Err(RunError::damaged(&self.path, Damage::Hash { expected, found }));
        }
        Ok(())
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
