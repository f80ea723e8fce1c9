//! Which kind of file something is, so that a file of another kind is named and not complained about key by key.
//!
//! A kind is recognized by what only its files have: keys at their top, the object on their first line, the bytes they begin with,
//! the ledger of a folder. A file that nothing of this is true of is nobody's, and its own reader says what is wrong with it.

use crate::code::Code;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::source::Source;
use crate::tree::{self, Table, Value};
use solo_model::Overhead;
use solo_model::text::Printable;
use solo_store::{Dir, Folder, Kind, read};
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};

/// What Solocore reads or writes.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FileKind {
    /// Tasks, and what is to become of them.
    Scenario,
    /// A chip.
    Platform,
    /// A DRAM device.
    Device,
    /// What a kernel's paths cost.
    Overheads,
    /// Avionics partitions and their I/O.
    IoTable,
    /// Distributions of task sets and tests.
    Study,
    /// Published curves, and tables of overheads to fit to them: `solo study fit`.
    Fit,
    /// Figures over the variants of a scenario.
    Figures,
    /// Virtual counters for a watch.
    Module,
    /// What estimates factors from counters.
    Model,
    /// Threads for rt-app.
    RtApp,
    /// A task set a line.
    TaskSets,
    /// The memory accesses of a program.
    Trace,
    /// The records of a run.
    Records,
    /// A JSON document of this program.
    Answer {
        /// Its name, as `solo schema` lists it; `None` where it does not say it.
        format: Option<String>,
    },
    /// Rows of a run as comma-separated values.
    Csv,
    /// Rows of a run as Apache Parquet.
    Parquet,
    /// A page for a browser.
    Page,
    /// A folder that a command has filled.
    Folder(Kind),
}

/// What of a file is looked at where its reader did not want it.
const LOOKED_AT: u64 = 4 << 20;

/// The bytes with which files begin that are no text.
const BEGINNINGS: [(&[u8], FileKind); 3] =
    [(b"SOLOREC", FileKind::Records), (b"\x89SOLOTR\n", FileKind::Trace), (b"PAR1", FileKind::Parquet)];

impl FileKind {
    /// What lies at `path`; `None` where it is nothing that is known, or can't be read.
    pub fn at(path: &Path) -> Option<Self> {
        if path.is_dir() {
            return Folder::kind_of(&Dir::open(path).ok()?).map(Self::Folder);
        }
        let mut begin = Vec::new();
        read::open(path).ok()?.take(LOOKED_AT).read_to_end(&mut begin).ok()?;
        let known = BEGINNINGS.into_iter().find(|(bytes, _)| begin.starts_with(bytes));
        known.map(|(_, kind)| kind).or_else(|| Self::of(std::str::from_utf8(&begin).ok()?))
    }

    /// What a text is.
    pub fn of(text: &str) -> Option<Self> {
        match text.trim_start().as_bytes() {
            [b'{', ..] => of_json(text),
            [b'/', b'/' | b'*', ..] => of_commented(text),
            [b'<', b'!', ..] => Some(Self::Page),
            [b'#', ..] if text.starts_with("# solo ") && text.contains(',') => Some(Self::Csv),
            _ => of_toml(&tree::read(&Source::new("", text)).ok()?),
        }
    }

    /// What people call it, with an article.
    pub fn name(&self) -> String {
        let name = match self {
            Self::Scenario => "a scenario",
            Self::Platform => "a platform file",
            Self::Device => "a DRAM device file",
            Self::Overheads => "an overhead file",
            Self::IoTable => "a file of avionics partitions",
            Self::Study => "a study file",
            Self::Fit => "a file of a fit",
            Self::Figures => "a file of figures",
            Self::Module => "a monitoring module",
            Self::Model => "a model file",
            Self::RtApp => "a file of rt-app",
            Self::TaskSets => "a file of task sets",
            Self::Trace => "a recorded program",
            Self::Records => "the record file of a run",
            Self::Answer { format: Some(format) } => {
                return format!("a JSON document of solo (`{}`)", Printable(format));
            }
            Self::Answer { format: None } => "a JSON document of solo",
            Self::Csv => "an exported table",
            Self::Parquet => "a Parquet file",
            Self::Page => "a page for a browser",
            Self::Folder(Kind::Run) => "the folder of a run",
            Self::Folder(Kind::Comparison) => "the folder of a comparison",
            Self::Folder(Kind::Study) => "the folder of a study",
            Self::Folder(Kind::Figures) => "a folder of figures",
            Self::Folder(Kind::Measurement) => "the folder of a measurement",
            Self::Folder(Kind::Recording) => "the recording of a watch",
            Self::Folder(Kind::Export) => "a folder of exported files",
        };
        name.to_owned()
    }

    /// What it is good for.
    pub(crate) const fn read_by(&self) -> &'static str {
        match self {
            Self::Scenario => "`solo run`, `solo check` and `solo compare` read scenarios",
            Self::Platform => {
                "`solo platforms` and `solo measure bandwidth` read platform files, and a scenario names one as its `platform`"
            }
            Self::Device => "`solo trace dram --device` reads DRAM device files",
            Self::Overheads => {
                "`solo run` and `solo check` read it where the `overheads` of a scenario name it"
            }
            Self::IoTable => "`solo io` reads files of avionics partitions",
            Self::Study => "`solo study` reads study files",
            Self::Fit => "`solo study fit` reads files of fits",
            Self::Figures => "`solo plot` reads files of figures",
            Self::Module => "`solo watch --with` reads monitoring modules",
            Self::Model => "a scenario names it as the `model` of its [scheduler.monitor]",
            Self::RtApp => "`solo import rt-app` reads files of rt-app",
            Self::TaskSets => "`solo prove --jsonl` reads task sets from its standard input",
            Self::Trace => {
                "`solo trace` reads recorded programs, and a task's work replays one: `{ replay = \"FILE\" }`"
            }
            Self::Records => "`solo report` and `solo replay` read the folder in which it lies",
            Self::Answer { .. } => "other programs read it; `solo schema` describes its fields",
            Self::Csv | Self::Parquet => "programs for tables read it",
            Self::Page => "a browser shows it",
            Self::Folder(Kind::Run | Kind::Comparison) => {
                "`solo report` and `solo replay` read the folders of runs and comparisons"
            }
            Self::Folder(Kind::Study) => {
                "the page in it is report.html, and `solo study FILE` goes on with it"
            }
            Self::Folder(Kind::Recording) => "`solo top --recording` and `solo report` read recordings",
            Self::Folder(Kind::Figures | Kind::Measurement | Kind::Export) => "the page in it shows it",
        }
    }
}

fn of_toml(tree: &Table) -> Option<FileKind> {
    let has = |key: &str| tree.get(key).is_some();
    let lists = |key: &str| tree.get(key).is_some_and(|entry| matches!(entry.node.value, Value::Array(_)));
    let opens = |key: &str| tree.get(key).is_some_and(|entry| matches!(entry.node.value, Value::Table(_)));
    Some(if lists("task") || opens("scheduler") {
        FileKind::Scenario
    } else if lists("figure") {
        FileKind::Figures
    } else if lists("target") && opens("studies") {
        FileKind::Fit
    } else if opens("caps") || lists("curve") {
        FileKind::Study
    } else if lists("side") && has("model") {
        FileKind::Model
    } else if lists("counter") {
        FileKind::Module
    } else if Overhead::ALL.into_iter().any(|overhead| lists(overhead.name())) {
        FileKind::Overheads
    } else if lists("cores") || (lists("cache") && has("page")) {
        FileKind::Platform
    } else if lists("partition") {
        FileKind::IoTable
    } else if opens("dram") {
        FileKind::Device
    } else {
        return None;
    })
}

/// What a JSON object on the first line, or over all lines, is.
fn of_json(text: &str) -> Option<FileKind> {
    let first = serde_json::Deserializer::from_str(text).into_iter::<serde_json::Value>().next();
    let Some(Ok(serde_json::Value::Object(keys))) = first else {
        return of_commented(text);
    };
    if keys.get("schema").is_some_and(serde_json::Value::is_u64) {
        let format = keys.get("format").and_then(|format| format.as_str());
        return Some(FileKind::Answer { format: format.map(str::to_owned) });
    }
    let tasks = keys.get("tasks")?;
    match () {
        () if tasks.is_array() && keys.contains_key("m") => Some(FileKind::TaskSets),
        () if tasks.is_object() => Some(FileKind::RtApp),
        () => None,
    }
}

/// What JSON with comments is: rt-app takes them.
fn of_commented(text: &str) -> Option<FileKind> {
    text.contains("\"tasks\"").then_some(FileKind::RtApp)
}

/// A file that is of a known kind, and not of the one that is wanted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OtherKind {
    /// The file.
    pub path: PathBuf,
    /// What it is.
    pub found: FileKind,
    /// What could be used, the usual first.
    pub wanted: &'static [FileKind],
}

impl OtherKind {
    /// What stands against using the file at `path` as one of `wanted`; `None` where its kind fits, or is not known.
    pub fn at(path: &Path, wanted: &'static [FileKind]) -> Option<Self> {
        let found = FileKind::at(path).filter(|found| !wanted.contains(found))?;
        Some(Self { path: path.to_owned(), found, wanted })
    }
}

impl fmt::Display for OtherKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wanted: Vec<String> = self.wanted.iter().map(FileKind::name).collect();
        let (path, found) = (Printable(self.path.display()), self.found.name());
        write!(f, "{path}: this is {found}; expected {}: {}", wanted.join(" or "), self.found.read_by())
    }
}

impl std::error::Error for OtherKind {}

/// What is wrong with a file that was wanted as one of `wanted`: its own faults, or that it is of another kind.
pub(crate) fn or_other(report: Diagnostics, source: &Source, wanted: &FileKind) -> Diagnostics {
    match FileKind::of(source.text()) {
        Some(found) if found != *wanted => other(source, &found, wanted).into(),
        _ => report,
    }
}

/// Says which kind the file is of.
fn other(source: &Source, found: &FileKind, wanted: &FileKind) -> Diagnostic {
    let headline = format!("this is {}; expected {}", found.name(), wanted.name());
    let begins = source.text().find(|c: char| !c.is_whitespace()).unwrap_or(0);
    let ends = source.text().get(begins..).and_then(|text| text.find('\n')).unwrap_or(0);
    Diagnostic::error(Code::OtherKind, headline, source, begins..begins.saturating_add(ends))
        .label("this file")
        .help(found.read_by())
}
