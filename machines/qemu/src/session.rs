//! One run of the emulator, within its time limit.

use crate::bound::bound;
use crate::error::{Missing, QemuError};
use crate::host::{Host, Image};
use crate::machine::{Accelerator, Board, Machine, Start};
use crate::medium::Medium;
use crate::needs::Needs;
use crate::pi;
use crate::report::{self, BootReport, refusal};
use command_fds::{CommandFdExt, FdMapping};
use solo_bare::module::{BootOptions, Module};
use solo_bare::outcome::ImageExit;
use solo_model::text::Printable;
use solo_model::{Experiment, Record};
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How much of the frames is taken: far above what the longest experiment sends.
const MOST_FRAMES: usize = 256 << 20;

/// How much of the console's text is taken.
const MOST_CONSOLE: usize = 16 << 20;

/// How often a caller is asked whether it wants to go on.
const GLANCE: Duration = Duration::from_millis(100);

/// The emulator's end of its monitor.
const MONITOR_FD: i32 = 3;

/// The boot module among the emulator's open files, and its path there.
const MODULE_FD: i32 = 4;
const MODULE: &str = "/proc/self/fd/4";

/// The same for the device tree of a board that has none of itself.
const TREE_FD: i32 = 5;
const TREE: &str = "/proc/self/fd/5";

impl Machine {
    /// Runs an experiment with the options that fit this machine.
    ///
    /// # Errors
    /// If the image doesn't come to its end.
    pub fn run(&self, image: &Image, experiment: &Experiment) -> Result<BootReport, QemuError> {
        self.run_unless(image, experiment, &|| false)
    }

    /// Runs an experiment as [`Machine::run`] does, until the caller wants it to stop.
    ///
    /// # Errors
    /// [`QemuError::Interrupted`] where `stop` said so; the emulator has ended then.
    pub fn run_unless(
        &self,
        image: &Image,
        experiment: &Experiment,
        stop: &dyn Fn() -> bool,
    ) -> Result<BootReport, QemuError> {
        let options = BootOptions {
            instruction_clock: self.accelerator == Accelerator::InstructionClock,
            ..BootOptions::default()
        };
        self.boot_module(image, &Module { options, experiment: Some(experiment.clone()) }, stop)
    }

    /// Runs a boot module.
    ///
    /// # Errors
    /// If the image doesn't come to its end.
    pub fn run_module(&self, image: &Image, module: &Module) -> Result<BootReport, QemuError> {
        self.run_bytes(image, &module.pack()?)
    }

    /// Runs a boot module until the caller wants it to stop.
    ///
    /// # Errors
    /// As for [`Self::run_unless`].
    pub(crate) fn boot_module(
        &self,
        image: &Image,
        module: &Module,
        stop: &dyn Fn() -> bool,
    ) -> Result<BootReport, QemuError> {
        let (stream, console) = self.boot_files(image, &module.pack()?, stop)?;
        report::last(BootReport::read_all(&stream, &console)?)
    }

    /// Runs several boot modules one after another in one boot; a report for each. The console's text of all of them
    /// is in the last.
    ///
    /// # Errors
    /// If the image doesn't come to the end of all.
    pub fn run_modules(&self, image: &Image, modules: &[Module]) -> Result<Vec<BootReport>, QemuError> {
        let packed = modules.iter().map(Module::pack).collect::<Result<Vec<_>, _>>()?;
        let (stream, console) = self.boot_files(image, &packed.concat(), &|| false)?;
        let reports = BootReport::read_all(&stream, &console)?;
        match reports.len() {
            found if found == modules.len() => Ok(reports),
            found => Err(QemuError::Reports { modules: modules.len(), found }),
        }
    }

    /// Boots the image with any bytes as its boot module.
    ///
    /// # Errors
    /// If the image doesn't come to its end.
    pub fn run_bytes(&self, image: &Image, module: &[u8]) -> Result<BootReport, QemuError> {
        let (stream, console) = self.boot_files(image, module, &|| false)?;
        report::last(BootReport::read_all(&stream, &console)?)
    }

    /// Boots from a medium, as a PC does: firmware, GRUB, image. A report for each of its modules. [`Board::Q35`] has the
    /// firmware and the drive for it.
    ///
    /// # Errors
    /// If the image doesn't come to the end of all.
    ///
    /// [`Board::Q35`]: crate::Board::Q35
    pub fn run_medium(&self, medium: &Medium) -> Result<Vec<BootReport>, QemuError> {
        let (_, heard) = self.boot(Start::Medium(medium.path()), None, &|| false)?;
        BootReport::heard(&heard)
    }

    /// Boots the image with a module; what it sent and what it printed.
    fn boot_files(
        &self,
        image: &Image,
        module: &[u8],
        stop: &dyn Fn() -> bool,
    ) -> Result<(Vec<u8>, String), QemuError> {
        let file = unnamed(module).map_err(QemuError::io("cannot write the boot module"))?;
        let tree = (self.board == Board::RaspberryPi4).then_some(Path::new(TREE));
        let start = Start::Files { image: image.path(), module: Path::new(MODULE), tree };
        self.boot(start, Some(file), stop)
    }

    /// Starts the emulator; what the image sent and what it printed.
    fn boot(
        &self,
        start: Start<'_>,
        module: Option<File>,
        stop: &dyn Fn() -> bool,
    ) -> Result<(Vec<u8>, String), QemuError> {
        if self.accelerator == Accelerator::Kvm {
            Host::kvm()?;
        }
        let (monitor, theirs) = UnixStream::pair().map_err(QemuError::io("cannot make a socket"))?;
        let mut emulator = self.start(start, module, theirs)?;
        let (sender, streams) = mpsc::channel();
        let frames = Heard::new(emulator.0.stdout.take(), MOST_FRAMES, sender.clone());
        // From a medium the frames come as text on the console.
        let text = if matches!(start, Start::Medium(_)) { 2 * MOST_FRAMES } else { MOST_CONSOLE };
        let console = Heard::new(emulator.0.stderr.take(), text, sender);
        let patience = Patience::new(self.limit, emulator.0.id());
        let ended = wait_for(&streams, &patience, stop);
        let where_cores_are = match ended {
            Ended::Late => where_cores_are(monitor),
            _ => String::new(),
        };
        if !matches!(ended, Ended::Well) {
            // With the emulator its pipes end, and so do the threads that read them.
            drop(emulator.0.kill());
        }
        let status = emulator.0.wait().map_err(QemuError::io("cannot wait for the emulator"))?.code();
        let text = without_hubs(&String::from_utf8_lossy(&console.take()));
        match ended {
            Ended::Stopped => return Err(QemuError::Interrupted),
            Ended::TooMuch => return Err(QemuError::TooMuch { console: beginning(text) }),
            Ended::Late => {
                return Err(QemuError::TimeLimit { limit: self.limit, console: text + &where_cores_are });
            }
            Ended::Well => {}
        }
        match status.and_then(ImageExit::of_exit_status) {
            Some(ImageExit::Done) => Ok((frames.take(), text)),
            Some(ImageExit::Refused) => {
                Err(QemuError::Refused { console: text, refusal: refusal(&frames.take()) })
            }
            Some(ImageExit::Panicked | ImageExit::Faulted) => Err(QemuError::Failed { console: text }),
            None => Err(QemuError::Reset { status, console: text }),
        }
    }

    /// Starts the emulator so that it leaves nothing behind, whatever becomes of this process: the module has no name, the
    /// monitor is a socket without one, and with this process the emulator dies.
    fn start(
        &self,
        start: Start<'_>,
        module: Option<File>,
        monitor: UnixStream,
    ) -> Result<Emulator, QemuError> {
        let instruction_set = self.board.instruction_set();
        let emulator = Needs::of(instruction_set).emulator;
        let mut command = bound(emulator);
        command.args(self.arguments(start));
        command.args(["-chardev", &format!("socket,id=monitor,fd={MONITOR_FD}"), "-mon", "chardev=monitor"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut passed = vec![FdMapping { parent_fd: OwnedFd::from(monitor), child_fd: MONITOR_FD }];
        passed.extend(module.map(|file| FdMapping { parent_fd: file.into(), child_fd: MODULE_FD }));
        if self.board == Board::RaspberryPi4 {
            let file = unnamed(&pi::tree()?).map_err(QemuError::io("cannot write the device tree"))?;
            passed.push(FdMapping { parent_fd: file.into(), child_fd: TREE_FD });
        }
        command
            .fd_mappings(passed)
            .map_err(|error| QemuError::io("cannot start the emulator")(std::io::Error::other(error)))?;
        match command.spawn() {
            Ok(child) => Ok(Emulator(child)),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(Missing::Qemu(instruction_set).into()),
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
    let image = Host::look_for(machine.board.instruction_set())?.build_image()?;
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

/// A file without a name: it vanishes with the last process that has it open.
fn unnamed(bytes: &[u8]) -> std::io::Result<File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}

/// The instruction and flags of each core as the emulator's monitor tells them; empty where it no longer answers.
fn where_cores_are(mut monitor: UnixStream) -> String {
    let mut ask = || -> std::io::Result<String> {
        monitor.set_read_timeout(Some(Duration::from_secs(2)))?;
        monitor.write_all(b"info registers -a\n")?;
        let (mut answer, mut buffer) = (Vec::new(), [0; 4096]);
        // The monitor keeps the line open: what it says ends with silence.
        while let Ok(length @ 1..) = monitor.read(&mut buffer) {
            answer.extend_from_slice(&buffer[..length]);
            if answer.len() > MOST_CONSOLE {
                break;
            }
        }
        Ok(String::from_utf8_lossy(&answer).into_owned())
    };
    let answer = ask().unwrap_or_default();
    let marks = ["CPU#", "RIP=", " PC=", "PSTATE="];
    let tells = |line: &&str| marks.iter().any(|mark| line.starts_with(mark)) || line.contains("RSP=");
    answer.lines().filter(tells).map(|line| format!("{}\n", line.trim())).collect()
}

/// What the image said, without the emulator's warnings that a wire leads to no network of the host: it is not meant to.
fn without_hubs(text: &str) -> String {
    let of_hub = |line: &&str| {
        line.starts_with("qemu-") && line.trim_end().ends_with("is not connected to host network")
    };
    text.split_inclusive('\n').filter(|line| !of_hub(line)).collect()
}

/// The first lines of a text that is far too long.
fn beginning(text: String) -> String {
    let lines: Vec<&str> = text.lines().take(20).collect();
    let short = |line: &&str| line.chars().take(200).collect::<String>();
    lines.iter().map(|line| format!("{}\n", Printable(&short(line)))).collect()
}

/// What a pipe delivers, taken in by a thread that ends with the pipe, or where it delivers too much.
struct Heard {
    kept: Arc<Mutex<Vec<u8>>>,
}

impl Heard {
    /// The thread tells `sender` at its end whether that was all.
    fn new(pipe: Option<impl Read + Send + 'static>, most: usize, sender: Sender<bool>) -> Self {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let taken = Arc::clone(&kept);
        thread::spawn(move || {
            let (Some(mut pipe), mut buffer) = (pipe, vec![0; 1 << 16]) else { return };
            loop {
                let length = match pipe.read(&mut buffer) {
                    Ok(length @ 1..) => length,
                    Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                    _ => break,
                };
                let mut kept = taken.lock().unwrap_or_else(PoisonError::into_inner);
                if kept.len() + length > most {
                    // Whoever waits may have gone.
                    let _ = sender.send(false);
                    return;
                }
                kept.extend_from_slice(&buffer[..length]);
            }
            let _ = sender.send(true);
        });
        Self { kept }
    }

    /// What was delivered.
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Why nobody waits for the emulator any longer.
enum Ended {
    /// It closed both streams.
    Well,
    /// It said more than any experiment has to say.
    TooMuch,
    /// Its time was over.
    Late,
    /// The caller wants no more.
    Stopped,
}

/// Waits until both streams have ended, or for a reason to wait no longer.
fn wait_for(ended: &Receiver<bool>, patience: &Patience, stop: &dyn Fn() -> bool) -> Ended {
    let mut open = 2;
    while open > 0 {
        match ended.recv_timeout(patience.left().min(GLANCE)) {
            Ok(true) => open -= 1,
            Ok(false) => return Ended::TooMuch,
            Err(RecvTimeoutError::Disconnected) => return Ended::Well,
            Err(RecvTimeoutError::Timeout) if stop() => return Ended::Stopped,
            Err(RecvTimeoutError::Timeout) if patience.left().is_zero() => return Ended::Late,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
    Ended::Well
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_warnings_of_wires_are_left_out() {
        let hub = "qemu-system-aarch64: warning: hub 1 is not connected to host network\n";
        let other = "qemu-system-aarch64: warning: another\nsolo: hub 1 is not connected to host network\nends without";
        assert_eq!(without_hubs(&format!("{hub}{other}")), other);
        assert_eq!(without_hubs(""), "");
    }
}
