//! Running a user's program that stands on `solo-app`: built by Cargo, booted with the kernel it is linked with, run as a process
//! of this Linux or on the simulated machine, into a run directory.

mod cargo;
mod process;
mod simulated;

pub use crate::program_error::{ProgramError, Timeless};
use crate::{Control, LabError, Origin, Step, simulate};
use cargo::Wanted;
use process::{LIMIT, Process};
use serde::Serialize;
use solo_model::experiment::End;
use solo_model::text::{Printable, Unnumbered};
use solo_model::{Duration, Experiment, Instant, Record, TaskId};
use solo_qemu::{
    Decoder, Host, ImageMessage, InstructionSet, Killed, Note, QemuError, REPORT_VARIABLE, refusal,
};
use solo_report::run::Tier;
use solo_report::{EndReason, EndedTask, FinishedRun, Manifest, RunEnd, RunWriter, Shortfalls};
use solo_store::{Folder, read};
use std::path::Path;

/// The file with what threads noted, a line each.
pub const NOTES: &str = "notes.jsonl";
/// Far above what the longest program tells.
const LARGEST_REPORT: u64 = 1 << 30;

/// What the times of a simulated program are.
const TOLD: &str =
    "jobs cost what the program says that they cost; its instructions and its memory are not simulated";

/// What runs a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProgramMachine {
    /// The kernel that it is linked with, under QEMU.
    Metal(InstructionSet),
    /// This Linux, as a process.
    Linux,
    /// The simulated machine, beside a process whose threads tell what they cost.
    Simulated,
}

/// A thread that made a mistake and ended, while the others went on.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct EndedThread {
    /// The thread.
    pub thread: String,
    /// When.
    pub at_ns: u64,
    /// What it did.
    pub fault: String,
    /// Where: the function or the address, if an instruction did it.
    pub place: Option<String>,
}

/// What threads noted under one name.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct NoteSummary {
    /// The thread.
    pub thread: String,
    /// What it is, in the program's words.
    pub name: String,
    /// How many values.
    pub count: u64,
    /// The least.
    pub least: u64,
    /// The one in the middle; of two the lower.
    pub median: u64,
    /// The greatest.
    pub greatest: u64,
}

/// A program that came to its end, before anything is written.
#[derive(Debug)]
pub struct ProgramRun {
    machine: ProgramMachine,
    host: String,
    experiment: Experiment,
    records: Vec<Record>,
    end: Instant,
    reason: EndReason,
    /// Threads that ended because of a mistake.
    pub ended: Vec<EndedThread>,
    notes: Vec<Note>,
    /// Notes that found no place and are lost.
    pub notes_dropped: u64,
    /// Records that found no place and are lost.
    pub dropped: u64,
}

impl ProgramRun {
    /// Builds the program in `folder` and runs it to its end.
    ///
    /// # Errors
    /// [`LabError::Metal`] where this host lacks an emulator or a target, or the machine failed; [`LabError::Program`] where it
    /// does not build or run.
    pub fn run(folder: &Path, machine: ProgramMachine, control: &Control<'_>) -> Result<Self, LabError> {
        match machine {
            ProgramMachine::Metal(set) => Self::boot(folder, set, control),
            ProgramMachine::Linux => Self::process(folder, control),
            ProgramMachine::Simulated => Self::simulated(folder, control),
        }
    }

    fn boot(folder: &Path, set: InstructionSet, control: &Control<'_>) -> Result<Self, LabError> {
        let look = Host::look_for_programs(set).map_err(QemuError::from)?;
        control.progress.step(Step::Boot { builds: true });
        let build = look.program_build();
        let linked = cargo::build(folder, &Wanted { target: Some(build.target), flags: &build.flags })?;
        let image = look.program_image(&linked)?;
        let report = image.run(LIMIT, &|| control.cancel.requested()).map_err(|error| match error {
            QemuError::Interrupted => LabError::Interrupted,
            QemuError::Refused { refusal: Some(refusal), .. } => ProgramError::from(refusal).into(),
            other => other.into(),
        })?;
        let nothing = || ProgramError::Report("it does not say what it ran".to_owned());
        let experiment = report.program.ok_or_else(nothing)?;
        let place = |killed: &Killed| {
            let address = Some(killed.instruction).filter(|instruction| *instruction != 0)?;
            Some(
                image
                    .function_at(address)
                    .map_or_else(|| format!("{address:#x}"), |name| format!("{name} ({address:#x})")),
            )
        };
        let ended = report.killed.iter().map(|killed| thread(&experiment, killed, place(killed))).collect();
        let mut records = report.records;
        records.sort_by_key(Record::at);
        Ok(Self {
            machine: ProgramMachine::Metal(set),
            host: format!("{}, {}", look.emulator, simulate::host()),
            reason: declared_end(&experiment),
            experiment,
            records,
            end: report.end.at,
            ended,
            notes: report.notes,
            notes_dropped: report.notes_dropped,
            dropped: report.end.dropped,
        })
    }

    fn process(folder: &Path, control: &Control<'_>) -> Result<Self, LabError> {
        control.progress.step(Step::Program);
        let program = cargo::build(folder, &Wanted { target: None, flags: &[] })?;
        let place =
            tempfile::tempdir().map_err(|error| ProgramError::Cargo(Unnumbered(&error).to_string()))?;
        let path = place.path().join("report");
        run_process(&program, &path, control)?;
        let bytes = read::bytes(&path, LARGEST_REPORT)?;
        let host = format!("threads of a process; {}", simulate::host());
        Ok(decode(&bytes, host).map_err(ProgramError::Report)?)
    }

    fn simulated(folder: &Path, control: &Control<'_>) -> Result<Self, LabError> {
        control.progress.step(Step::Program);
        let program = cargo::build(folder, &Wanted { target: None, flags: &[] })?;
        let ran = simulated::run(&program, control)?;
        let ended = |(at, task, fault): (Instant, TaskId, String)| EndedThread {
            thread: name(&ran.experiment, task),
            at_ns: at.get(),
            fault,
            place: None,
        };
        Ok(Self {
            machine: ProgramMachine::Simulated,
            host: simulate::host(),
            ended: ran.ended.into_iter().map(ended).collect(),
            records: ran.records,
            end: ran.outcome.end,
            reason: simulate::end_reason(ran.outcome.stop).ok_or(LabError::Interrupted)?,
            experiment: ran.experiment,
            notes: ran.notes,
            notes_dropped: ran.notes_dropped,
            dropped: 0,
        })
    }

    /// What the program declared.
    pub const fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    /// What happened, in the order of time.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// What threads noted, by thread and name in the order in which they first came.
    pub fn notes(&self) -> Vec<NoteSummary> {
        let mut found: Vec<((TaskId, &str), Vec<u64>)> = Vec::new();
        for note in &self.notes {
            let key = (note.task, note.name.as_str());
            match found.iter_mut().find(|(known, _)| *known == key) {
                Some((_, values)) => values.push(note.value),
                None => found.push((key, vec![note.value])),
            }
        }
        let summary = |((task, name), mut values): ((TaskId, &str), Vec<u64>)| {
            values.sort_unstable();
            let (least, greatest) = (*values.first()?, *values.last()?);
            let median = values[(values.len() - 1) / 2];
            let (thread, name, count) = (self.name(task), name.to_owned(), values.len() as u64);
            Some(NoteSummary { thread, name, count, least, median, greatest })
        };
        found.into_iter().filter_map(summary).collect()
    }

    fn name(&self, task: TaskId) -> String {
        name(&self.experiment, task)
    }

    /// Keeps the records in a folder that was taken for them, and the notes beside them.
    ///
    /// # Errors
    /// Where the folder can't be written.
    pub fn into_directory(self, origin: &Origin<'_>, folder: &Folder) -> Result<FinishedRun, LabError> {
        let experiment = &self.experiment;
        let machine = match self.machine {
            ProgramMachine::Metal(InstructionSet::X86_64) => "rtos",
            ProgramMachine::Metal(InstructionSet::Arm64) => "rtos-arm64",
            ProgramMachine::Linux => "linux",
            ProgramMachine::Simulated => "sim",
        };
        let mut manifest =
            Manifest { host: self.host.clone(), machine: machine.into(), ..origin.manifest(experiment) };
        if self.machine == ProgramMachine::Linux {
            manifest.tier = Tier::Native;
        }
        let (ended, simulated) = (self.ended.clone(), self.machine == ProgramMachine::Simulated);
        let mut writer = RunWriter::create_in(folder.clone(), manifest, experiment, origin.source)?
            .with_warnings(move |_| {
                let told = simulated.then(|| TOLD.to_owned()).into_iter();
                told.chain(ended.iter().map(EndedThread::to_string)).collect()
            });
        self.records.iter().try_for_each(|record| writer.write(record))?;
        folder.write(NOTES, self.lines().as_bytes())?;
        let reason = self.reason;
        let (shortfalls, heard, curves) = (Shortfalls::default(), Vec::new(), Vec::new());
        Ok(writer.finish(RunEnd {
            end: self.end,
            reason,
            stop_on: None,
            shortfalls,
            ended: self.ended.iter().filter_map(|thread| thread.of(experiment)).collect(),
            heard,
            curves,
        })?)
    }

    /// The notes, a line of JSON each.
    fn lines(&self) -> String {
        let line = |note: &Note| {
            let (thread, at_ns) = (self.name(note.task), note.at.get());
            format!(
                "{}\n",
                serde_json::json!({ "at_ns": at_ns, "thread": thread, "name": note.name, "value": note.value })
            )
        };
        self.notes.iter().map(line).collect()
    }
}

impl EndedThread {
    /// For the verdict: it names the task, and the warning the place in the program.
    fn of(&self, experiment: &Experiment) -> Option<EndedTask> {
        let task = experiment.tasks.iter().position(|task| task.name == self.thread)?;
        let (task, at) = (TaskId(task as u32), Instant::new(self.at_ns));
        Some(EndedTask { task, at, why: self.fault.clone() })
    }
}

impl std::fmt::Display for EndedThread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let at = Duration::new(self.at_ns);
        write!(f, "thread {} ended at {at}: {}", Printable(&self.thread), Printable(&self.fault))?;
        match &self.place {
            Some(place) => write!(f, " in {}", Printable(place)),
            None => Ok(()),
        }
    }
}

/// How a run ends that ends as it was declared to.
const fn declared_end(experiment: &Experiment) -> EndReason {
    match experiment.end {
        End::At(_) => EndReason::TimeOver,
        End::Jobs(_) => EndReason::JobsDone,
    }
}

fn name(experiment: &Experiment, task: TaskId) -> String {
    experiment.tasks.get(task.index()).map_or_else(|| "?".to_owned(), |task| task.name.clone())
}

fn thread(experiment: &Experiment, killed: &Killed, place: Option<String>) -> EndedThread {
    let fault = match killed.address {
        Some(address) => format!("{} at address {address:#x}", killed.fault),
        None => killed.fault.clone(),
    };
    EndedThread { thread: name(experiment, killed.task), at_ns: killed.at.get(), fault, place }
}

/// Runs a process to its end.
fn run_process(program: &Path, report: &Path, control: &Control<'_>) -> Result<(), LabError> {
    let mut process = Process::start(program, (REPORT_VARIABLE, report.as_os_str()))?;
    let status = process.wait(control, LIMIT)?;
    // A process that ends by itself before its run does so with success, and has no report.
    if status.success() && report.exists() {
        return Ok(());
    }
    let told = read::bytes(report, LARGEST_REPORT).ok().and_then(|bytes| refusal(&bytes));
    let ended = || ProgramError::Ended { status, console: process.said() };
    Err(told.map_or_else(ended, ProgramError::from).into())
}

/// What a process wrote down of its run.
fn decode(bytes: &[u8], host: String) -> Result<ProgramRun, String> {
    let (mut decoder, mut program, mut end) = (Decoder::default(), None, None);
    let (mut records, mut killed, mut notes, mut notes_dropped) = (Vec::new(), Vec::new(), Vec::new(), 0);
    decoder.feed(bytes);
    while let Some(frame) = decoder.next_frame().map_err(|error| error.to_string())? {
        match frame {
            ImageMessage::Program(experiment) => program = Some(*experiment),
            ImageMessage::Record(record) => records.push(record),
            ImageMessage::Killed(frame) => killed.push(frame),
            ImageMessage::Note(note) => notes.push(note),
            ImageMessage::NotesDropped(count) => notes_dropped = count,
            ImageMessage::End(frame) => end = Some(frame),
            ImageMessage::Hello(_)
            | ImageMessage::Memory(_)
            | ImageMessage::Entries(_)
            | ImageMessage::Pages(_)
            // Whoever ended with it has no run.
            | ImageMessage::Refused(_) => {}
        }
    }
    decoder.finish().map_err(|error| error.to_string())?;
    let (experiment, end) = program.zip(end).ok_or("it has no beginning or no end")?;
    let ended = killed.iter().map(|killed| thread(&experiment, killed, None)).collect();
    let machine = ProgramMachine::Linux;
    let (reason, end, dropped) = (declared_end(&experiment), end.at, end.dropped);
    Ok(ProgramRun { machine, host, experiment, records, end, reason, ended, notes, notes_dropped, dropped })
}
