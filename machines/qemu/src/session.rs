//! One run of the emulator, within its time limit.

use crate::error::{Missing, QemuError};
use crate::host::{Host, Image};
use crate::machine::{Accelerator, Machine, Start};
use crate::medium::Medium;
use crate::report::Report;
use solo_model::{Experiment, Record};
use solo_x86_64::module::{Module, Options};
use solo_x86_64::outcome::Outcome;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

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

    /// Runs several boot modules one after another in one boot; a report for each. The console's text of all of them
    /// is in the last.
    ///
    /// # Errors
    /// If the image doesn't come to the end of all.
    pub fn run_modules(&self, image: &Image, modules: &[Module]) -> Result<Vec<Report>, QemuError> {
        let packed = modules.iter().map(Module::pack).collect::<Result<Vec<_>, _>>()?;
        let (stream, console) = self.boot_files(image, &packed.concat())?;
        let reports = Report::read_all(&stream, &console)?;
        let missing = reports.len() != modules.len();
        if missing { Err(QemuError::Incomplete("last")) } else { Ok(reports) }
    }

    /// Boots the image with any bytes as its boot module.
    ///
    /// # Errors
    /// If the image doesn't come to its end.
    pub fn run_bytes(&self, image: &Image, module: &[u8]) -> Result<Report, QemuError> {
        let (stream, console) = self.boot_files(image, module)?;
        Report::read_all(&stream, &console)?.pop().ok_or(QemuError::Incomplete("last"))
    }

    /// Boots from a medium, as a PC does: firmware, GRUB, image. A report for each of its modules. [`Board::Q35`] has the
    /// firmware and the drive for it.
    ///
    /// # Errors
    /// If the image doesn't come to the end of all.
    ///
    /// [`Board::Q35`]: crate::Board::Q35
    pub fn run_medium(&self, medium: &Medium) -> Result<Vec<Report>, QemuError> {
        let (_, heard) = self.boot(Start::Medium(medium.path()), &ModuleFile::name())?;
        Report::heard(&heard)
    }

    /// Boots the image with a module; what it sent and what it printed.
    fn boot_files(&self, image: &Image, module: &[u8]) -> Result<(Vec<u8>, String), QemuError> {
        let file = ModuleFile::write(module)?;
        self.boot(Start::Files { image: image.path(), module: &file.0 }, &file.0)
    }

    /// Starts the emulator; what the image sent and what it printed. The monitor's socket lies beside `name`.
    fn boot(&self, start: Start<'_>, name: &Path) -> Result<(Vec<u8>, String), QemuError> {
        if self.accelerator == Accelerator::Kvm {
            Host::kvm()?;
        }
        let monitor = Monitor(name.with_extension("monitor"));
        let mut emulator = self.start(start, &monitor.0)?;
        let frames = stream_of(emulator.0.stdout.take());
        let console = stream_of(emulator.0.stderr.take());
        let patience = Patience::new(self.limit, emulator.0.id());
        let frames = collect(&frames, &patience);
        let text = collect(&console, &patience);
        let text = String::from_utf8_lossy(&text.unwrap_or_else(|partial| partial)).into_owned();
        let Ok(bytes) = frames else {
            let console = text + &monitor.where_cores_are();
            return Err(QemuError::TimeLimit { limit: self.limit, console });
        };
        let status = emulator.0.wait().map_err(QemuError::io("cannot wait for the emulator"))?.code();
        match status.and_then(Outcome::of_exit_status) {
            Some(Outcome::Done) => Ok((bytes, text)),
            Some(Outcome::Refused) => Err(QemuError::Refused { console: text }),
            Some(Outcome::Panicked | Outcome::Faulted) => Err(QemuError::Failed { console: text }),
            None => Err(QemuError::Reset { status, console: text }),
        }
    }

    fn start(&self, start: Start<'_>, monitor: &Path) -> Result<Emulator, QemuError> {
        let mut command = Command::new("qemu-system-x86_64");
        command.args(self.arguments(start));
        command.arg("-monitor").arg(format!("unix:{},server=on,wait=off", monitor.display()));
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
    /// A path of its own for each boot.
    fn name() -> PathBuf {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!("solo-module-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        std::env::temp_dir().join(name)
    }

    fn write(bytes: &[u8]) -> Result<Self, QemuError> {
        let path = Self::name();
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

/// The emulator's monitor: asked where the cores are, should the machine not come to its end.
struct Monitor(PathBuf);

impl Monitor {
    /// The instruction and flags of each core as the emulator tells them; empty where it no longer answers.
    fn where_cores_are(&self) -> String {
        let ask = || -> std::io::Result<String> {
            let mut stream = UnixStream::connect(&self.0)?;
            stream.set_read_timeout(Some(Duration::from_secs(2)))?;
            stream.write_all(b"info registers -a\n")?;
            let (mut answer, mut buffer) = (Vec::new(), [0; 4096]);
            // The monitor keeps the line open: what it says ends with silence.
            while let Ok(length @ 1..) = stream.read(&mut buffer) {
                answer.extend_from_slice(&buffer[..length]);
            }
            Ok(String::from_utf8_lossy(&answer).into_owned())
        };
        let answer = ask().unwrap_or_default();
        let tells =
            |line: &&str| line.starts_with("CPU#") || line.starts_with("RIP=") || line.contains("RSP=");
        answer.lines().filter(tells).map(|line| format!("{}\n", line.trim())).collect()
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        // The emulator usually removes its socket itself.
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

/// How long an emulator may take. The time for which the host lets it wait for a processor does not count: on a busy
/// host everything lasts longer, and nothing hangs.
struct Patience {
    begin: Instant,
    limit: Duration,
    process: u32,
}

impl Patience {
    /// A host that is busier than this many emulators at once is no place to wait for one.
    const MOST: u32 = 12;

    fn new(limit: Duration, process: u32) -> Self {
        Self { begin: Instant::now(), limit, process }
    }

    /// What is left.
    fn left(&self) -> Duration {
        let granted = (self.limit + self.waited()).min(self.limit * Self::MOST);
        granted.saturating_sub(self.begin.elapsed())
    }

    /// The longest that one of the emulator's threads has been ready and had no processor, as Linux counts it (the
    /// second number of `schedstat`); zero where nobody counts.
    fn waited(&self) -> Duration {
        let threads =
            std::fs::read_dir(format!("/proc/{}/task", self.process)).into_iter().flatten().flatten();
        let waited = |thread: std::fs::DirEntry| {
            let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
            text.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
        };
        threads.filter_map(waited).max().unwrap_or_default()
    }
}

/// Everything until the stream ends; what has come until then where patience ends earlier.
fn collect(stream: &Receiver<Vec<u8>>, patience: &Patience) -> Result<Vec<u8>, Vec<u8>> {
    let mut all = Vec::new();
    loop {
        match stream.recv_timeout(patience.left()) {
            Ok(piece) => all.extend(piece),
            Err(RecvTimeoutError::Disconnected) => return Ok(all),
            Err(RecvTimeoutError::Timeout) if patience.left().is_zero() => return Err(all),
            // The host had let the emulator wait.
            Err(RecvTimeoutError::Timeout) => {}
        }
        if all.len() > MOST_BYTES {
            return Err(all);
        }
    }
}
