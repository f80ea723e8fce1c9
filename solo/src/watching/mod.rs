//! Where the rows of `solo watch` go: PMCTrack's table, data files, recordings, Perfetto.

mod detach;
mod pmctrack;
mod recording;
mod sheet;
mod summary;
mod sums;
mod trace;
mod writer;

pub(crate) use recording::{MANIFEST, Manifest, ROWS, SCHEMA as RECORDING_SCHEMA};
pub(crate) use summary::{DoubtsSummary, Summary, text as summary_text};
pub(crate) use trace::Trace;
pub(crate) use writer::Writer;

use clap::ValueEnum;
use solo_model::text::Printable;
use solo_observe::{MonitoringModule, Subject};
use solo_perf::files::Files;
use solo_scenario::{FileKind, Platforms};
use solo_watch::Maker;
use solo_watch::modules::{self, described};
use solo_watch::rights::{self, Rights};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// How rows are written.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// PMCTrack's columns
    Pmctrack,
    /// Comma-separated values
    Csv,
    /// One JSON object a row
    Jsonl,
    /// Apache Parquet
    Parquet,
    /// A trace for ui.perfetto.dev: when threads ran, by the sampling period, and a counter track a column
    Perfetto,
    /// JSON lines with header, names and ticks, as `solo top` reads them; the program's own output goes to
    /// standard error, and the watch ends when its standard input is closed
    Stream,
}

/// Where rows go.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    /// How they are written.
    pub(crate) form: Form,
    /// Into this file; standard output without.
    pub(crate) file: Option<PathBuf>,
    /// Into this folder, as a recording.
    pub(crate) folder: Option<PathBuf>,
    /// With PMCTrack's column of elapsed times.
    pub(crate) etime: bool,
    /// Without PMCTrack's mapping of events to counters.
    pub(crate) legacy: bool,
    /// With the times of the program.
    pub(crate) times: bool,
    /// Nothing on standard output.
    pub(crate) silent: bool,
    /// The rows come from another machine, which alone knows who its threads are.
    pub(crate) elsewhere: bool,
}

impl Output {
    /// What a watch that writes there does with its rights: a folder that is writable to this user only by right takes it
    /// once more when the file is moved to its place.
    pub(crate) fn rights(&self) -> Rights {
        let above = self.file.as_ref().map(|file| match file.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        });
        match self.folder.as_deref().or(above) {
            Some(folder) if rights::writes_by_right(folder) => Rights::LeastAndWriting,
            _ => Rights::Least,
        }
    }
}

/// The largest description of a module.
const DESCRIPTION_MAX: u64 = 1 << 20;

/// A monitoring module by name, or by the path of a file that describes one.
pub(crate) fn module(
    name: &str,
    files: &dyn Files,
) -> Result<(Box<dyn MonitoringModule>, Option<Maker>), String> {
    if name.contains('/') || name.ends_with(".toml") {
        let text =
            solo_store::read::text(Path::new(name), DESCRIPTION_MAX).map_err(|error| error.to_string())?;
        if FileKind::of(&text) == Some(FileKind::Scenario) {
            let (module, maker) = of_scenario(Path::new(name))?;
            return Ok((module, Some(maker)));
        }
        let described = described::parse(&text).map_err(|error| format!("{name}: {error}"))?;
        return Ok((described, None));
    }
    let Some(entry) = modules::entries().find(|entry| entry.name == name) else {
        let known: Vec<&str> = modules::entries().map(|entry| entry.name).collect();
        return Err(format!(
            "there is no monitoring module `{name}`; there are {}, and any FILE.toml that describes one",
            known.join(", ")
        ));
    };
    let module = (entry.find)(files).ok_or_else(|| {
        format!("module `{name}`: this machine has no {} (`solo doctor` says why)", entry.meaning)
    })?;
    Ok((module, Some(Rc::new(entry.find))))
}

/// What the scheduler of a scenario listens to.
fn of_scenario(path: &Path) -> Result<(Box<dyn MonitoringModule>, Maker), String> {
    let named = Printable(path.display());
    let scenario = solo_scenario::load(path, &Platforms::builtin()).map_err(|report| report.to_string())?;
    let listening = scenario.base.listening.as_ref();
    let listening = listening
        .ok_or_else(|| format!("{named} has no [scheduler.monitor]: there is nothing to listen to"))?;
    modules::listened(&listening.observed, &scenario.base.platform.events)
        .map_err(|error| format!("{named}: {error}"))
}

/// The subject's number: a thread, a process or a core.
pub(crate) fn subject_number(subject: Subject) -> Option<u32> {
    match subject {
        Subject::Thread { thread, .. } => Some(thread),
        Subject::Tree { process } => Some(process),
        Subject::Core(core) => Some(u32::from(core.0)),
        Subject::Machine => None,
        Subject::Task(task) => Some(task.0),
    }
}

/// The kind of the subject in a word.
pub(crate) const fn subject_kind(subject: Subject) -> &'static str {
    match subject {
        Subject::Thread { .. } => "thread",
        Subject::Tree { .. } => "process",
        Subject::Core(_) => "core",
        Subject::Machine => "machine",
        Subject::Task(_) => "task",
    }
}
