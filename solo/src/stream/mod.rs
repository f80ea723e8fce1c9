//! A watch as a stream of JSON lines: what `solo top`, `solo serve` and `--remote` read.
//!
//! ```text
//! solo watch --format stream ──▶ {"begin":{...}}                          once, with schema and columns
//!   (here or over ssh)           {"name":{"process":7,"thread":7,...}}    before a thread's first row
//!                                {"row":{...}}                            each row
//!                                {"tick":{"at_ns":...,"doubts":{...}}}    after the rows of a tick
//!                                {"end":{...}} or {"refused":{...}}       once
//! ```
//! A reader takes one schema only: it says which versions don't fit instead of guessing. It believes nothing: see `check`.

mod check;
pub(crate) mod feed;
mod lines;
mod names;
pub(crate) mod recording;
pub(crate) mod remote;
pub(crate) mod start;
mod wire;
mod writer;

pub(crate) use names::Names;
pub(crate) use wire::RowLine;
pub(crate) use writer::StreamWriter;

use crate::watching::{DoubtsSummary, Summary};
use serde::{Deserialize, Serialize};
use solo_observe::Metric;
use solo_watch::Columns;
use solo_watch::{Per, Target, WatchOptions};

/// The schema that this program writes and reads.
pub(crate) const SCHEMA: &str = "solo-stream/1";

/// One line.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Message {
    /// What rows will mean.
    Begin(Begin),
    /// Who a thread is.
    Name(Name),
    /// A row.
    Row(RowLine),
    /// The rows of a tick are complete.
    Tick(Tick),
    /// The watch is over.
    End(Summary),
    /// There was nothing to watch.
    Refused(Refused),
}

/// The stream's beginning.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
pub(crate) struct Begin {
    /// See [`SCHEMA`].
    pub(crate) schema: String,
    /// The version of the program that writes.
    pub(crate) version: String,
    /// The machine's name.
    pub(crate) host: String,
    /// `thread`, `process` or `core`.
    pub(crate) per: String,
    /// What is watched, in words.
    pub(crate) target: String,
    /// The sampling period, where there is one.
    pub(crate) period_ns: Option<u64>,
    /// Counted events.
    pub(crate) counts: Vec<String>,
    /// For each event set, the places of its events in `counts`.
    pub(crate) sets: Vec<Vec<usize>>,
    /// Virtual counters.
    pub(crate) virtuals: Vec<String>,
    /// Metrics as `name=expression`.
    pub(crate) metrics: Vec<String>,
}

impl Begin {
    /// What is known before the columns are.
    pub(crate) fn new(target: &Target, options: &WatchOptions) -> Self {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let target = match target {
            Target::Command(words) => {
                words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
            }
            Target::Process(process) => format!("process {process}"),
            Target::Machine => "the whole machine".to_owned(),
        };
        let per = match options.per {
            Per::Thread => "thread",
            Per::Process => "process",
            Per::Core => "core",
        };
        Self {
            schema: SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            host: host.trim().to_owned(),
            per: per.to_owned(),
            target,
            period_ns: options.every.map(solo_model::Duration::get),
            counts: Vec::new(),
            sets: Vec::new(),
            virtuals: Vec::new(),
            metrics: options.metrics.iter().map(ToString::to_string).collect(),
        }
    }

    /// With the columns that the watch settled on.
    #[must_use]
    pub(crate) fn with(mut self, columns: &Columns) -> Self {
        self.counts.clone_from(&columns.counts);
        self.sets.clone_from(&columns.sets);
        self.virtuals.clone_from(&columns.virtuals);
        self
    }

    /// What rows mean. Nothing that a stream says makes a place outside its columns.
    pub(crate) fn columns(&self) -> Columns {
        let inside =
            |set: &Vec<usize>| set.iter().copied().filter(|place| *place < self.counts.len()).collect();
        Columns {
            counts: self.counts.clone(),
            sets: self.sets.iter().map(inside).collect(),
            virtuals: self.virtuals.clone(),
            metrics: self.metrics.iter().map(|text| name_of(text).to_owned()).collect(),
        }
    }

    /// The metrics, those left out that this version can't read.
    pub(crate) fn expressions(&self) -> Vec<Metric> {
        self.metrics.iter().filter_map(|text| Metric::parse(text).ok()).collect()
    }
}

fn name_of(metric: &str) -> &str {
    metric.split_once('=').map_or(metric, |(name, _)| name)
}

/// Who a thread is.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Name {
    /// Its process.
    pub(crate) process: u32,
    /// The thread.
    pub(crate) thread: u32,
    /// What the kernel calls it (15 characters).
    pub(crate) name: String,
    /// What the kernel calls its process's first thread.
    pub(crate) process_name: String,
    /// Its cgroup's path; empty where that can't be read.
    pub(crate) cgroup: String,
}

/// A tick's end.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
pub(crate) struct Tick {
    /// When, since the watch began.
    pub(crate) at_ns: u64,
    /// What there is to hold against the rows so far.
    pub(crate) doubts: DoubtsSummary,
}

/// Why there was nothing to watch.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Refused {
    /// The exit status that belongs to it.
    pub(crate) exit: u8,
    /// What was expected, found, and what to do.
    pub(crate) message: String,
}

#[cfg(test)]
mod tests;
