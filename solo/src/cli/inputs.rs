//! Which files and folders a command reads, and of which kind each has to be.

use super::{Command, MeasureCommand, StudyCommand, TraceCommand};
use solo_scenario::FileKind;
use solo_store::Kind;
use std::path::{Path, PathBuf};

const SCENARIO: &[FileKind] = &[FileKind::Scenario];
const PLATFORM: &[FileKind] = &[FileKind::Platform];
const STUDY: &[FileKind] = &[FileKind::Study];
const FIT: &[FileKind] = &[FileKind::Fit];
const TRACE: &[FileKind] = &[FileKind::Trace];
const RUN: &[FileKind] = &[FileKind::Folder(Kind::Run)];
const RUNS: &[FileKind] = &[FileKind::Folder(Kind::Run), FileKind::Folder(Kind::Comparison)];
const RECORDING: &[FileKind] = &[FileKind::Folder(Kind::Recording)];
const REPORTED: &[FileKind] =
    &[FileKind::Folder(Kind::Run), FileKind::Folder(Kind::Comparison), FileKind::Folder(Kind::Recording)];

/// A path that was given, and what may lie there.
pub(crate) type Input = (PathBuf, &'static [FileKind]);

impl Command {
    /// The files and folders that it reads. Words that are a name as well, as of a platform, count where a file has that name.
    pub(crate) fn inputs(&self) -> Vec<Input> {
        let one = |path: &Path, wanted| vec![(path.to_owned(), wanted)];
        match self {
            // A folder of no known kind is a program.
            Self::Run(options) => one(&options.scenario, SCENARIO),
            Self::Pack(options) => one(&options.scenario, SCENARIO),
            Self::Compare(options) => one(&options.scenario, SCENARIO),
            Self::Sweep(options) => one(&options.scenario, SCENARIO),
            Self::Check(options) => one(&options.scenario, SCENARIO),
            Self::Plan(options) => one(&options.scenario, SCENARIO),
            Self::Export(options) => one(&options.scenario, SCENARIO),
            Self::Explain(options) => options.code.iter().map(|file| (file.into(), SCENARIO)).collect(),
            Self::Guard(options) => {
                options.hold.scenario.iter().map(|file| (file.clone(), SCENARIO)).collect()
            }
            Self::Place(options) => options.scenario.iter().map(|file| (file.clone(), SCENARIO)).collect(),
            Self::Plot(options) => one(&options.figures, &[FileKind::Figures]),
            Self::Io(options) => one(&options.partitions, &[FileKind::IoTable]),
            Self::Import(options) => {
                vec![(options.file.clone(), &[FileKind::RtApp]), ((&options.platform).into(), PLATFORM)]
            }
            Self::Study(options) => study(options.command.as_ref(), options.run.file.as_deref()),
            Self::Platforms(options) => options.name.iter().map(|name| (name.into(), PLATFORM)).collect(),
            Self::Measure(options) => measured(&options.command),
            Self::Trace(options) => traced(&options.command),
            Self::Report(options) => one(&options.run, REPORTED),
            Self::Replay(options) => one(&options.run, RUNS),
            Self::Diff(options) => vec![(options.a.clone(), RUN), (options.b.clone(), RUN)],
            Self::Top(options) => options.recording.iter().map(|path| (path.clone(), RECORDING)).collect(),
            Self::Serve(options) => options.recordings.iter().map(|path| (path.clone(), RECORDING)).collect(),
            Self::Color(options) => options.platform.iter().map(|name| (name.into(), PLATFORM)).collect(),
            Self::Watch(options) => {
                let either = &[FileKind::Module, FileKind::Scenario][..];
                options.what.modules.iter().map(|name| (name.into(), either)).collect()
            }
            Self::Demo(_)
            | Self::New(_)
            | Self::Evaluate(_)
            | Self::List(_)
            | Self::Record(_)
            | Self::Prove(_)
            | Self::Events(_)
            | Self::Doctor(_)
            | Self::Schema(_)
            | Self::Completions(_)
            | Self::Man(_) => Vec::new(),
        }
    }
}

fn study(command: Option<&StudyCommand>, file: Option<&Path>) -> Vec<Input> {
    let (given, wanted) = match command {
        Some(StudyCommand::Merge(merge)) => (merge.run.file.as_deref(), STUDY),
        Some(StudyCommand::Fit(fit)) => (Some(fit.file.as_path()), FIT),
        None => (file, STUDY),
    };
    given.map(|file| (file.to_owned(), wanted)).into_iter().collect()
}

fn measured(command: &MeasureCommand) -> Vec<Input> {
    match command {
        MeasureCommand::Bandwidth(options) => vec![((&options.platform).into(), PLATFORM)],
        MeasureCommand::Calibrate(options) => vec![((&options.platform).into(), PLATFORM)],
        MeasureCommand::Cpmd(options) => vec![((&options.platform).into(), PLATFORM)],
        MeasureCommand::Map(options) => options.platform.iter().map(|name| (name.into(), PLATFORM)).collect(),
        MeasureCommand::Counters(options) => vec![(options.scenario.clone(), SCENARIO)],
        MeasureCommand::Lockdown(options) => vec![(options.scenario.clone(), SCENARIO)],
        MeasureCommand::Wcet(options) => vec![(options.scenario.clone(), SCENARIO)],
        MeasureCommand::Overheads(_) => Vec::new(),
    }
}

fn traced(command: &TraceCommand) -> Vec<Input> {
    match command {
        TraceCommand::Cache(options) => vec![(options.file.clone(), TRACE)],
        TraceCommand::Coherence(options) => vec![(options.file.clone(), TRACE)],
        TraceCommand::Dram(options) => {
            vec![(options.file.clone(), TRACE), ((&options.device).into(), &[FileKind::Device])]
        }
        TraceCommand::Profile(options) => vec![(options.file.clone(), TRACE)],
    }
}
