//! Recordings: a folder with the rows of a watch and what belongs to them.
//!
//! ```text
//! DIR/watch.json    the event sets, the totals, the doubts; "complete": false until all is written
//! DIR/rows.jsonl    one row a line
//! DIR/names.jsonl   who the threads were, one a line: process, thread, name, cgroup
//! ```

use super::Summary;
use crate::stream::{Begin, Name, Names};
use serde::{Deserialize, Serialize};
use solo_perf::files::Host;
use solo_store::{Folder, Kind, Replace, StoreError};
use solo_watch::WatchOutcome;
use solo_watch::{Columns, Row};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// The file that says what the others hold.
pub(crate) const MANIFEST: &str = "watch.json";
/// The file with the rows.
pub(crate) const ROWS: &str = "rows.jsonl";
/// The file with the names of threads.
pub(crate) const NAMES: &str = "names.jsonl";

/// The form of `watch.json`; a reader refuses others.
pub(crate) const SCHEMA: &str = "solo-watch/2";

/// What `watch.json` says.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) struct Manifest {
    pub(crate) schema: String,
    pub(crate) complete: bool,
    pub(crate) version: String,
    pub(crate) host: String,
    pub(crate) machine: Option<String>,
    pub(crate) per: String,
    pub(crate) target: String,
    pub(crate) sets: Vec<Vec<String>>,
    pub(crate) virtuals: Vec<String>,
    pub(crate) metrics: Vec<String>,
    pub(crate) period_ns: Option<u64>,
    pub(crate) summary: Option<Summary>,
}

impl Manifest {
    fn new(begin: &Begin, elsewhere: bool) -> Self {
        let version = || fs::read_to_string("/proc/version").ok().map(|text| text.trim().to_owned());
        let name = |place: &usize| begin.counts.get(*place).cloned().unwrap_or_default();
        Self {
            schema: SCHEMA.to_owned(),
            complete: false,
            version: begin.version.clone(),
            host: begin.host.clone(),
            machine: if elsewhere { None } else { version() },
            per: begin.per.clone(),
            target: begin.target.clone(),
            sets: begin.sets.iter().map(|set| set.iter().map(name).collect()).collect(),
            virtuals: begin.virtuals.clone(),
            metrics: begin.metrics.clone(),
            period_ns: begin.period_ns,
            summary: None,
        }
    }

    /// What the rows' values mean.
    pub(crate) fn columns(&self) -> Columns {
        let mut columns = Columns { virtuals: self.virtuals.clone(), ..Columns::default() };
        for set in &self.sets {
            let mut places = Vec::new();
            for name in set {
                let known = columns.counts.iter().position(|known| known == name);
                places.push(known.unwrap_or(columns.counts.len()));
                if known.is_none() {
                    columns.counts.push(name.clone());
                }
            }
            columns.sets.push(places);
        }
        columns
    }
}

/// A recording in the making.
pub(super) struct Recording {
    folder: Folder,
    manifest: Manifest,
    /// Who threads of this machine are; none for another machine's.
    names: Option<Names>,
    told: BufWriter<File>,
    files: Host,
}

impl Recording {
    /// Makes the folder and says in it that it is not complete.
    pub(super) fn create(folder: &Path, begin: &Begin, elsewhere: bool) -> io::Result<(Self, File)> {
        let folder = Folder::claim(folder, Kind::Recording, Replace::Never).map_err(|error| match error {
            StoreError::Occupied { .. } => io::Error::new(
                io::ErrorKind::AlreadyExists,
                "the folder already holds something; name another with --out",
            ),
            other => io_error(other),
        })?;
        let rows = folder.grow(ROWS).map_err(io_error)?;
        let told = BufWriter::new(folder.grow(NAMES).map_err(io_error)?);
        let names = (!elsewhere).then(Names::default);
        let manifest = Manifest::new(begin, elsewhere);
        let recording = Self { folder, manifest, names, told, files: Host::new() };
        recording.write()?;
        Ok((recording, rows))
    }

    /// The columns are known.
    pub(super) fn begin(&mut self, begin: &Begin) -> io::Result<()> {
        self.manifest = Manifest::new(begin, self.names.is_none());
        self.write()
    }

    /// Keeps the name that belongs to a row of this machine, where it is new.
    pub(super) fn name(&mut self, row: &Row) -> io::Result<()> {
        match self.names.as_mut().and_then(|names| names.before(row, &self.files)) {
            Some(name) => self.told(&name),
            None => Ok(()),
        }
    }

    /// Keeps a name.
    pub(super) fn told(&mut self, name: &Name) -> io::Result<()> {
        serde_json::to_writer(&mut self.told, name)?;
        self.told.write_all(b"\n")
    }

    /// What is there is there.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.told.flush()
    }

    /// Completes it.
    pub(super) fn finish(mut self, outcome: &WatchOutcome) -> io::Result<()> {
        self.told.flush()?;
        self.manifest.complete = true;
        self.manifest.summary = Some(Summary::of(outcome));
        self.write()
    }

    /// Written beside its place and moved there, so that half of it is never found.
    fn write(&self) -> io::Result<()> {
        let text = serde_json::to_string_pretty(&self.manifest)? + "\n";
        self.folder.write(MANIFEST, text.as_bytes()).map_err(io_error)?;
        Ok(())
    }
}

/// The same for who takes errors of the system only.
pub(super) fn io_error(error: StoreError) -> io::Error {
    match error {
        StoreError::Io { source, .. } => source,
        other => io::Error::other(other.to_string()),
    }
}
