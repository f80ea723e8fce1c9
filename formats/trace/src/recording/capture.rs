//! Recording a program through valgrind's lackey.

use crate::error::TraceError;
use crate::file::Header;
use crate::recording::writer::{TraceWriter, WriterOptions};
use crate::text::TextReader;
use command_fds::{CommandFdExt, FdMapping};
use serde::Serialize;
use solo_model::text::Printable;
use solo_store::Output;
use solo_workload::image::TraceKind;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{self, PipeReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use thiserror::Error;

/// The file descriptor through which valgrind sends the trace.
const LOG_FD: i32 = 3;

/// How a program is recorded.
#[derive(Clone, Debug)]
pub struct RecordOptions {
    /// The compact file to write; an older one is replaced when the recording is complete.
    pub output: PathBuf,
    /// Records instruction fetches too; else they are only counted. Makes the file about three times as
    /// large.
    pub instructions: bool,
    /// Leaves out the first so many references to data (or references, if instructions are recorded): the program's start.
    pub skip: u64,
    /// Stops the program after this many recorded references, counted in the same way.
    pub limit: Option<u64>,
    /// Where the program's standard output goes; nowhere if not given. It reads the caller's standard input
    /// and writes to the caller's standard error.
    pub stdout: Option<PathBuf>,
    /// Set by the caller, for example on Ctrl-C, to abandon the recording.
    pub cancel: Arc<AtomicBool>,
}

/// How far a recording is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Instructions executed.
    pub instructions: u64,
    /// References to data.
    pub references: u64,
    /// Bytes of the file so far.
    pub bytes: u64,
}

/// What was recorded.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct RecordSummary {
    /// The file.
    pub output: PathBuf,
    /// What the file says about the program.
    pub header: Header,
    /// The size of the file in bytes.
    pub bytes: u64,
    /// The program's exit code; none if it was stopped at the limit.
    pub exit_code: Option<i32>,
    /// The number of instructions that valgrind itself counted, where the program ran to its end: that of the
    /// header, unless lines of the trace were lost.
    pub announced_instructions: Option<u64>,
    /// The program ran another one in its place (`exec`), as the launchers of some tools do, and the other
    /// one is not in the recording.
    pub replaced: bool,
}

/// Why nothing was recorded.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecordError {
    /// No command was given.
    #[error("no program to record was given")]
    NoCommand,
    /// Valgrind isn't installed.
    #[error("recording needs valgrind, which is not installed (`apt-get install valgrind`)")]
    ValgrindMissing,
    /// Valgrind can't be started.
    #[error("cannot start valgrind: {}", solo_store::system_reason(.0))]
    Spawn(#[source] io::Error),
    /// There is no such program.
    #[error("no program `{}`: {why}", Printable(command.display()))]
    NotFound {
        /// The first word of the command.
        command: PathBuf,
        /// What was looked for.
        why: &'static str,
    },
    /// The file for the program's output can't be made.
    #[error("{0}")]
    Stdout(#[from] solo_store::StoreError),
    /// The recording can't be written.
    #[error("cannot write the recording {}: {}", Printable(path.display()), solo_store::system_reason(source))]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// What valgrind sent is no trace.
    #[error("valgrind sent something unexpected: {0}")]
    Trace(#[from] TraceError),
    /// The program ended without a single reference to memory.
    #[error("valgrind ended ({status}) without a trace of the program")]
    Nothing {
        /// How valgrind ended.
        status: ExitStatus,
    },
    /// The program ended before anything was to be recorded.
    #[error(
        "the program ended after {references} accesses, and the first {skip} were to be left out: nothing was recorded; skip fewer"
    )]
    Skipped {
        /// How many it made.
        references: u64,
        /// How many were left out.
        skip: u64,
    },
    /// A signal killed the program.
    #[error("the program was killed by signal {signal}; nothing was recorded")]
    Killed {
        /// The signal.
        signal: i32,
    },
    /// The caller abandoned the recording.
    #[error("interrupted; nothing was recorded")]
    Cancelled,
}

/// Runs `command` and records what it does to memory.
///
/// Forked children are not recorded, nor is a program that the command executes in its own place:
/// [`RecordSummary::replaced`] tells. `progress` is called every few thousand references.
///
/// # Errors
/// If the program can't be run or the recording can't be written: see [`RecordError`]. In every case the
/// program has ended and there is no partial file.
pub fn record(
    command: &[OsString],
    options: &RecordOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<RecordSummary, RecordError> {
    find_program(command.first().ok_or(RecordError::NoCommand)?)?;
    let (stdout, said) = match &options.stdout {
        None => (Stdio::null(), None),
        Some(path) => {
            let output = Output::create(path)?;
            (output.handle()?.into(), Some(output))
        }
    };
    let failed = |source| RecordError::Write { path: options.output.clone(), source };
    let writing = WriterOptions { command: command.to_vec(), fetches: options.instructions };
    let mut writer = TraceWriter::create(&options.output, writing).map_err(failed)?;
    let (mut child, log) = start(command, stdout)?;
    let mut text = TextReader::new(log);
    let (limited, skipped) = convert(&mut text, &mut writer, options, progress)?;
    let status = if limited { None } else { Some(child.wait()?) };
    drop(child);
    if options.cancel.load(Ordering::Relaxed) {
        return Err(RecordError::Cancelled);
    }
    if let Some(status) = status {
        if let Some(signal) = status.signal() {
            return Err(RecordError::Killed { signal });
        }
        if writer.header().records == 0 && skipped > 0 {
            return Err(RecordError::Skipped { references: skipped, skip: options.skip });
        }
        if writer.header().records == 0 {
            return Err(RecordError::Nothing { status });
        }
    }
    let announced_instructions = text.announced_instructions();
    let replaced = !limited && announced_instructions.is_none();
    let header = writer.finish(limited).map_err(failed)?;
    said.map(Output::commit).transpose()?;
    let bytes = options.output.metadata().map_err(failed)?.len();
    let exit_code = status.and_then(|status| status.code());
    let output = options.output.clone();
    Ok(RecordSummary { output, header, bytes, exit_code, announced_instructions, replaced })
}

/// Moves references from valgrind to the file; whether the limit was reached, and how many were left out.
fn convert(
    text: &mut TextReader<PipeReader>,
    writer: &mut TraceWriter,
    options: &RecordOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<(bool, u64), RecordError> {
    let failed = |source| RecordError::Write { path: options.output.clone(), source };
    let limit = options.limit.unwrap_or(u64::MAX);
    let (mut batch, mut skipped) = (Vec::new(), 0);
    loop {
        text.fill(&mut batch)?;
        if options.cancel.load(Ordering::Relaxed) {
            return Err(RecordError::Cancelled);
        }
        if batch.is_empty() {
            return Ok((false, skipped));
        }
        for reference in &batch {
            if skipped < options.skip {
                skipped += u64::from(options.instructions || reference.kind != TraceKind::Fetch);
                continue;
            }
            let counts = writer.header().counts;
            if counts.data() + if options.instructions { counts.fetches } else { 0 } >= limit {
                return Ok((true, skipped));
            }
            writer.push(reference).map_err(failed)?;
        }
        let header = writer.header();
        progress(Progress {
            instructions: header.instructions,
            references: header.counts.data(),
            bytes: writer.written(),
        });
    }
}

/// Starts valgrind and returns the pipe through which the trace comes.
fn start(command: &[OsString], stdout: Stdio) -> Result<(Running, PipeReader), RecordError> {
    let (reader, writer) = io::pipe().map_err(RecordError::Spawn)?;
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--tool=lackey", "--trace-mem=yes", "--child-silent-after-fork=yes"])
        .arg(format!("--log-fd={LOG_FD}"))
        .arg("--")
        .args(command)
        .stdout(stdout);
    valgrind
        .fd_mappings(vec![FdMapping { parent_fd: writer.into(), child_fd: LOG_FD }])
        .map_err(|error| RecordError::Spawn(io::Error::other(error)))?;
    // The command owns our copy of the pipe's other end; it must go for the trace to end.
    let child = valgrind.spawn();
    drop(valgrind);
    match child {
        Ok(child) => Ok((Running(child), reader)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(RecordError::ValgrindMissing),
        Err(error) => Err(RecordError::Spawn(error)),
    }
}

/// A child that does not outlive its recording.
struct Running(Child);

impl Running {
    fn wait(&mut self) -> Result<ExitStatus, RecordError> {
        self.0.wait().map_err(RecordError::Spawn)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Finds `command` as a shell would, so that what valgrind says about a program that isn't there needs no
/// interpretation.
fn find_program(command: &OsStr) -> Result<(), RecordError> {
    let path = Path::new(command);
    let missing = |why| Err(RecordError::NotFound { command: path.to_path_buf(), why });
    let runs = |path: &Path| {
        path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    if path.components().count() > 1 || path.is_absolute() {
        return if runs(path) { Ok(()) } else { missing("it does not exist or is not executable") };
    }
    let folders = env::var_os("PATH").unwrap_or_default();
    if env::split_paths(&folders).any(|folder| runs(&folder.join(path))) {
        return Ok(());
    }
    missing("no folder of PATH has it")
}
