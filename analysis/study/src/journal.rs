//! What has been done, a line a block, so that a killed study goes on where it stopped.
//!
//! ```text
//!  {"format":"study-journal","schema":1,"study":"<hash>","shard":"3/64"}
//!  {"block":17,"cpu_us":1234,"rows":["99 1953412 TTF", ...],"crc":"8c1f..."}
//! ```
//!
//! A line is written as a whole behind the last; a kill can cut the last one only, which is then removed and its
//! block judged again. A cut line anywhere else is damage.

use crate::error::StudyError;
use crate::plan::Shard;
use crate::sets::judge::{Found, Row};
use serde::{Deserialize, Serialize};
use solo_store::{StoreError, read as files};
use std::collections::BTreeMap;
use std::path::Path;

/// A million sets of many curves take some hundred megabytes.
const LARGEST_JOURNAL: u64 = 8 << 30;

/// The version of journals that is written and read.
const SCHEMA: u32 = 1;

fn format() -> String {
    "study-journal".to_owned()
}

fn schema() -> u32 {
    SCHEMA
}

/// More processor time than a hundred thousand processors have in a year: no study takes so long, and sums of many journals don't overflow.
const LONGEST_US: u64 = 100_000 * 365 * 86_400 * 1_000_000;
/// More tasks than a set has.
const MOST_TASKS: u32 = 1 << 24;

/// A judged block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Done {
    pub(crate) cpu_us: u64,
    pub(crate) rows: Vec<Row>,
}

#[derive(Serialize, Deserialize)]
struct Header {
    #[serde(default = "format")]
    format: String,
    /// The version; journals that say none have the first.
    #[serde(default = "schema")]
    schema: u32,
    study: String,
    shard: String,
}

#[derive(Serialize, Deserialize)]
struct Line {
    block: u64,
    cpu_us: u64,
    rows: Vec<String>,
    crc: String,
}

impl Line {
    fn of(block: u64, done: &Done) -> Self {
        let rows = done.rows.iter().map(write_row).collect();
        let mut line = Self { block, cpu_us: done.cpu_us, rows, crc: String::new() };
        line.crc = line.crc();
        line
    }

    /// What it says; what is wrong with it where it is not as it was written.
    fn done(&self) -> Result<Done, String> {
        if self.crc() != self.crc {
            return Err("its checksum does not fit".into());
        }
        let rows = self.rows.iter().map(|row| read_row(row)).collect::<Option<Vec<_>>>();
        Ok(Done { cpu_us: self.cpu_us, rows: rows.ok_or("a row is no row")? })
    }

    fn crc(&self) -> String {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&self.block.to_le_bytes());
        for row in &self.rows {
            hasher.update(row.as_bytes());
            hasher.update(b"\n");
        }
        format!("{:08x}", hasher.finalize())
    }
}

/// A journal that is open for more.
pub(crate) struct Journal(solo_store::Journal);

/// The name of a shard's journal in a study's folder.
pub(crate) fn name(shard: Shard) -> String {
    match shard {
        Shard::WHOLE => "journal.jsonl".into(),
        Shard { index, of } => format!("journal-{index}-of-{of}.jsonl"),
    }
}

impl Journal {
    /// Opens the journal of a shard, or begins it; returns what it holds already.
    pub(crate) fn open(
        dir: &Path,
        study: &str,
        shard: Shard,
    ) -> Result<(Self, BTreeMap<u64, Done>), StudyError> {
        let path = dir.join(name(shard));
        let (journal, text) = solo_store::Journal::open(dir, &name(shard)).map_err(|error| match error {
            StoreError::Busy { path } => StudyError::Busy { path },
            other => other.into(),
        })?;
        let done = if text.is_empty() { BTreeMap::new() } else { read(&path, &text, study)? };
        let mut journal = Self(journal);
        if text.is_empty() {
            journal.0.add(&Header {
                format: format(),
                schema: SCHEMA,
                study: study.into(),
                shard: shard.to_string(),
            })?;
        }
        Ok((journal, done))
    }

    /// Adds a block.
    pub(crate) fn add(&mut self, block: u64, done: &Done) -> Result<(), StudyError> {
        Ok(self.0.add(&Line::of(block, done))?)
    }

    /// Brings what was written to the disk.
    pub(crate) fn sync(&self) -> Result<(), StudyError> {
        Ok(self.0.sync()?)
    }
}

/// Reads the whole lines of a journal. The last line without an end, which a kill leaves, is ignored.
pub(crate) fn read_file(path: &Path, study: &str) -> Result<BTreeMap<u64, Done>, StudyError> {
    let text = files::bytes(path, LARGEST_JOURNAL)?;
    let whole = text.rsplitn(2, |&byte| byte == b'\n').nth(1).unwrap_or_default();
    read(path, whole, study)
}

fn read(path: &Path, text: &[u8], study: &str) -> Result<BTreeMap<u64, Done>, StudyError> {
    let damaged = |line: usize, what: String| StudyError::Damaged { path: path.to_path_buf(), line, what };
    let mut lines = (1..).zip(text.split(|&byte| byte == b'\n')).filter(|(_, line)| !line.is_empty());
    let Some((_, header)) = lines.next() else { return Ok(BTreeMap::new()) };
    let header: Header = serde_json::from_slice(header).map_err(|error| damaged(1, error.to_string()))?;
    if header.schema != SCHEMA || header.format != format() {
        let Header { format, schema, .. } = header;
        return Err(damaged(
            1,
            format!("it is {format:?}, version {schema}; this program reads version {SCHEMA}"),
        ));
    }
    if header.study != study {
        let (path, expected) = (path.to_path_buf(), study.to_owned());
        return Err(StudyError::OtherStudy { path, expected, found: header.study });
    }
    let mut done = BTreeMap::new();
    let mut cpu_us = 0_u64;
    for (number, line) in lines {
        let line: Line = serde_json::from_slice(line).map_err(|error| damaged(number, error.to_string()))?;
        let read = line.done().map_err(|what| damaged(number, what))?;
        cpu_us = cpu_us
            .checked_add(line.cpu_us)
            .filter(|&sum| sum <= LONGEST_US)
            .ok_or_else(|| damaged(number, format!("{} us of processor time are impossible", line.cpu_us)))?;
        if done.insert(line.block, read).is_some() {
            return Err(damaged(number, format!("block {} is there twice", line.block)));
        }
    }
    Ok(done)
}

/// A block as a line for a journal that somebody else keeps.
pub(crate) fn line(block: u64, done: &Done) -> Result<String, StudyError> {
    let error = |error: serde_json::Error| StudyError::io("write", Path::new("a journal"))(error.into());
    serde_json::to_string(&Line::of(block, done)).map_err(error)
}

/// The block that a line of [`line`] tells of; what is wrong with it where it tells of none.
pub(crate) fn read_line(text: &[u8]) -> Result<(u64, Done), String> {
    let line: Line = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    if line.cpu_us > LONGEST_US {
        return Err(format!("{} us of processor time are impossible", line.cpu_us));
    }
    Ok((line.block, line.done()?))
}

fn write_row(row: &Row) -> String {
    let letters: String = row.found.iter().map(|found| found.letter()).collect();
    format!("{} {} {letters}", row.tasks, row.utilization_ppm)
}

fn read_row(text: &str) -> Option<Row> {
    let mut words = text.split(' ');
    let (tasks, utilization_ppm) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    if tasks > MOST_TASKS {
        return None;
    }
    let found = words.next()?.chars().map(Found::from_letter).collect::<Option<Vec<_>>>()?;
    words.next().is_none().then_some(Row { tasks, utilization_ppm, found })
}
