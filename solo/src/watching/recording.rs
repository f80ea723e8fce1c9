//! Recordings: a folder with the rows of a watch and what belongs to them.
//!
//! ```text
//! DIR/watch.json   the event sets, the totals, the doubts; "complete": false until all is written
//! DIR/rows.jsonl   one row a line
//! ```

use super::Summary;
use serde::Serialize;
use solo_linux::watch::{Options, Outcome};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The form of `watch.json`; a reader refuses others.
pub(super) const SCHEMA: &str = "solo-watch/1";

#[derive(Serialize)]
struct Manifest<'a> {
    schema: &'static str,
    complete: bool,
    version: &'static str,
    machine: Option<String>,
    sets: Vec<Vec<String>>,
    metrics: Vec<&'a str>,
    period_ns: Option<u64>,
    summary: Option<Summary>,
}

/// A recording in the making.
pub(super) struct Recording {
    folder: PathBuf,
}

impl Recording {
    /// Makes the folder and says in it that it is not complete.
    pub(super) fn create(folder: &Path, options: &Options) -> io::Result<(Self, File)> {
        fs::create_dir_all(folder)?;
        if fs::read_dir(folder)?.next().is_some() {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "the folder already holds something; name another with --out",
            ));
        }
        let recording = Self { folder: folder.to_owned() };
        recording.manifest(options, None)?;
        let rows = File::create(folder.join("rows.jsonl"))?;
        Ok((recording, rows))
    }

    /// Completes it.
    pub(super) fn finish(&self, options: &Options, outcome: &Outcome) -> io::Result<()> {
        self.manifest(options, Some(Summary::of(outcome)))
    }

    /// Written beside its place and moved there, so that half of it is never found.
    fn manifest(&self, options: &Options, summary: Option<Summary>) -> io::Result<()> {
        let set = |set: &solo_observe::EventSet| set.events.iter().map(|event| event.name.clone()).collect();
        let manifest = Manifest {
            schema: SCHEMA,
            complete: summary.is_some(),
            version: env!("CARGO_PKG_VERSION"),
            machine: fs::read_to_string("/proc/version").ok().map(|text| text.trim().to_owned()),
            sets: options.sets.iter().map(set).collect(),
            metrics: options.metrics.iter().map(|metric| metric.name.as_str()).collect(),
            period_ns: options.every.map(solo_model::Duration::get),
            summary,
        };
        let beside = self.folder.join("watch.json.new");
        let mut file = File::create(&beside)?;
        file.write_all(serde_json::to_string_pretty(&manifest)?.as_bytes())?;
        file.write_all(b"\n")?;
        file.sync_all()?;
        fs::rename(&beside, self.folder.join("watch.json"))
    }
}
