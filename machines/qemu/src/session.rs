//! One run of the emulator, within its time limit.

use crate::error::{Missing, QemuError};
use crate::host::{Host, Image};
use crate::machine::{Accelerator, Machine};
use crate::report::Report;
use solo_model::{Experiment, Record};
use solo_x86_64::module::{Module, Options};
use solo_x86_64::outcome::Outcome;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Instant;

/// How much of a runaway stream is kept: far above what the longest experiment sends.
const MOST_BYTES: usize = 1 << 30;

impl Machine {
    /// Runs an experiment with the options that fit this machine.
    ///
    /// # Errors
    /// If the image doesn't come to its end.
    pub fn run(&self, image: &Image, experiment: &Experiment) -> Result<Report, QemuError> {
        let options = Options {
            instruction_clock: self.accelerator == Accelerator::InstructionClock,
            ..Options::default()
        };
        self.run_module(image, &Module { options, experiment: Some(experiment.clone()) })
    }

    /// Runs a boot module.
    ///
    /// # Errors
    /// If the image doesn't come to its end.
    pub fn run_module(&self, image: &Image, module: &Module) -> Result<Report, QemuError> {
        self.run_bytes(image, &module.pack()?)
    }

    /// Boots the image with any bytes as its boot module.
    ///
    /// # Errors
    /// If the image doesn't come to its end.
    pub fn run_bytes(&self, image: &Image, module: &[u8]) -> Result<Report, QemuError> {
        if self.accelerator == Accelerator::Kvm {
            Host::kvm()?;
        }
        let file = ModuleFile::write(module)?;
        let mut emulator = self.start(image.path(), &file.0)?;
        let frames = stream_of(emulator.0.stdout.take());
        let console = stream_of(emulator.0.stderr.take());
        let deadline = Instant::now() + self.limit;
        let frames = collect(&frames, deadline);
        let text = collect(&console, deadline);
        let text = String::from_utf8_lossy(&text.unwrap_or_else(|partial| partial)).into_owned();
        let Ok(bytes) = frames else {
            return Err(QemuError::TimeLimit { limit: self.limit, console: text });
        };
        let status = emulator.0.wait().map_err(QemuError::io("cannot wait for the emulator"))?.code();
        match status.and_then(Outcome::of_exit_status) {
            Some(Outcome::Done) => Report::read(&bytes, text),
            Some(Outcome::Refused) => Err(QemuError::Refused { console: text }),
            Some(Outcome::Panicked | Outcome::Faulted) => Err(QemuError::Failed { console: text }),
            None => Err(QemuError::Reset { status, console: text }),
        }
    }

    fn start(&self, image: &Path, module: &Path) -> Result<Emulator, QemuError> {
        let mut command = Command::new("qemu-system-x86_64");
        command.args(self.arguments(image, module));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        match command.spawn() {
            Ok(child) => Ok(Emulator(child)),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(Missing::Qemu.into()),
            Err(error) => Err(QemuError::io("cannot start the emulator")(error)),
        }
    }
}

/// Looks for an emulator, builds the image and runs `experiment` to its end: `solo run --on rtos`.
///
/// The records come when the run is over, because only then it is known to have ended well.
///
/// # Errors
/// [`QemuError::Missing`] where this host can't run the image, others where the run failed.
pub fn run(experiment: &Experiment, machine: &Machine) -> Result<impl Iterator<Item = Record>, QemuError> {
    let image = Host::look()?.build_image()?;
    machine.run(&image, experiment).map(|report| report.records.into_iter())
}

/// A running emulator; it doesn't outlive its owner.
struct Emulator(Child);

impl Drop for Emulator {
    fn drop(&mut self) {
        // Both fail where it has ended already, which is just as well.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The boot module as a file, for as long as the emulator needs it.
struct ModuleFile(PathBuf);

impl ModuleFile {
    fn write(bytes: &[u8]) -> Result<Self, QemuError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!("solo-module-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, bytes).map_err(QemuError::io(format!("cannot write {}", path.display())))?;
        Ok(Self(path))
    }
}

impl Drop for ModuleFile {
    fn drop(&mut self) {
        // A left-over file in the folder for temporary ones is no reason to fail.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// What a pipe delivers, piece by piece, from a thread that ends with the pipe.
fn stream_of(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let (Some(mut pipe), mut buffer) = (pipe, vec![0; 1 << 16]) else { return };
        while let Ok(length @ 1..) = pipe.read(&mut buffer) {
            if sender.send(buffer[..length].to_vec()).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Everything until the stream ends; what has come until then where the deadline is earlier.
fn collect(stream: &Receiver<Vec<u8>>, deadline: Instant) -> Result<Vec<u8>, Vec<u8>> {
    let mut all = Vec::new();
    loop {
        match stream.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(piece) => all.extend(piece),
            Err(RecvTimeoutError::Disconnected) => return Ok(all),
            Err(RecvTimeoutError::Timeout) => return Err(all),
        }
        if all.len() > MOST_BYTES {
            return Err(all);
        }
    }
}
