//! What an emulator may do to us: say more than there is to say, never end, be left alone. A script stands in for QEMU here, so
//! that this is tried wherever there is a shell.

mod common;

use common::{CALM, interrupt, root, scenario, solo};
use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// A folder with an emulator that does what `script` says once it is asked to boot, and an empty one for temporary files.
struct Stage {
    home: tempfile::TempDir,
    scenario: PathBuf,
}

impl Stage {
    fn new(script: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        for folder in ["bin", "tmp"] {
            fs::create_dir(home.path().join(folder)).unwrap();
        }
        let emulator = home.path().join("bin/qemu-system-x86_64");
        let version = "[ \"$1\" = --version ] && { echo 'QEMU emulator version 7.2'; exit 0; }";
        fs::write(&emulator, format!("#!/bin/sh\n{version}\n{script}\n")).unwrap();
        fs::set_permissions(&emulator, fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(home.path().join("image.elf"), "no image").unwrap();
        let scenario = scenario(home.path(), &CALM.replace("xeon-w3530", "ideal-8"));
        Self { home, scenario }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// `solo run --on rtos` in 1.5 GiB of address space.
    fn command(&self) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -v 1500000; exec \"$@\"", "sh"]).arg(solo().get_program());
        command.args(["run", "--on", "rtos", "--quiet", "--out"]).arg(self.path("out")).arg(&self.scenario);
        let others = std::env::var_os("PATH").unwrap_or_default();
        let first = [self.path("bin")];
        let path = std::env::join_paths(first.into_iter().chain(std::env::split_paths(&others))).unwrap();
        command.env("PATH", path).env("TMPDIR", self.path("tmp")).env("SOLO_IMAGE", self.path("image.elf"));
        command.env("NO_COLOR", "1").current_dir(root());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// A pipe with a name, to hear of the emulator; `None` where none can be made.
    fn pipe(&self, name: &str) -> Option<PathBuf> {
        let path = self.path(name);
        let made = Command::new("mkfifo").arg(&path).status().is_ok_and(|status| status.success());
        if !made {
            println!("skipped: no pipe; mkfifo of coreutils makes one");
        }
        made.then_some(path)
    }
}

fn entries(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

/// Each stream by itself: refused in words, in bounded memory, and nothing of the run stays.
#[test]
fn an_emulator_that_writes_without_end_is_ended() {
    for script in ["exec yes", "exec yes >&2", "yes >&2 & exec yes", "exec cat /dev/zero"] {
        let stage = Stage::new(script);
        let output = stage.command().output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{script}: {said}");
        assert!(said.contains("more than"), "{script}: {said}");
        assert!(said.len() < 20_000, "{script}: {} bytes of words", said.len());
        assert_eq!(entries(&stage.path("tmp")), 0, "{script}");
        assert!(!stage.path("out/manifest.json").exists(), "{script}: no run came of it");
    }
}

/// An emulator that ends without a word, or with garbage, is no run.
#[test]
fn an_emulator_that_says_nothing_of_use_is_told() {
    for script in
        ["exit 0", "exit 1", "echo garbage; exit 33", "head -c 100000 /dev/urandom; exit 33", "kill -9 $$"]
    {
        let stage = Stage::new(script);
        let output = stage.command().output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{script}: {said}");
        assert!(!said.is_empty() && !stage.path("out/manifest.json").exists(), "{script}: {said}");
    }
}

/// What is heard through a pipe until all who hold it have ended; a minute is longer than any machine needs.
fn heard(pipe: PathBuf) -> mpsc::Receiver<Option<String>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut file = fs::File::open(pipe).unwrap();
        let mut first = [0; 1];
        // The emulator has begun; then it has ended.
        let begun = file.read_exact(&mut first).is_ok();
        let _ = sender.send(begun.then(String::new));
        let mut rest = String::new();
        let _ = sender.send(file.read_to_string(&mut rest).is_ok().then_some(rest));
    });
    receiver
}

const LONG: Duration = Duration::from_secs(60);

/// Ctrl-C, the request to end, and the end that cannot be caught: with `solo` the emulator ends, and nothing is left behind.
#[test]
fn with_solo_its_emulator_ends() {
    use rustix::process::{Pid, Signal, kill_process};
    type End = (&'static str, fn(&Child));
    let ends: [End; 3] = [
        ("Ctrl-C", |child| interrupt(child)),
        ("SIGTERM", |child| kill_process(Pid::from_child(child), Signal::TERM).unwrap()),
        ("SIGKILL", |child| kill_process(Pid::from_child(child), Signal::KILL).unwrap()),
    ];
    for (name, end) in ends {
        // It holds one pipe and waits for another, to which nobody writes.
        let stage = Stage::new("exec 9>\"${0%/bin/*}/alive\"; echo >&9; read never <\"${0%/bin/*}/never\"");
        let (Some(alive), Some(_)) = (stage.pipe("alive"), stage.pipe("never")) else { return };
        let bound = Command::new("setpriv").args(["--pdeathsig", "KILL", "--", "true"]).status();
        if name == "SIGKILL" && !bound.is_ok_and(|status| status.success()) {
            println!("skipped: an emulator outlives a killed solo here; setpriv of util-linux binds them");
            continue;
        }
        let mut child = stage.command().spawn().unwrap();
        let heard = heard(alive);
        assert_eq!(heard.recv_timeout(LONG), Ok(Some(String::new())), "{name}: the emulator begins");
        assert_eq!(entries(&stage.path("tmp")), 0, "{name}: the boot module has no name");
        end(&child);
        let status = child.wait().unwrap();
        assert_ne!(status.code(), Some(0), "{name}");
        assert!(heard.recv_timeout(LONG).is_ok_and(|end| end.is_some()), "{name}: the emulator lives on");
        assert_eq!(entries(&stage.path("tmp")), 0, "{name}");
        assert!(!stage.path("out/manifest.json").exists(), "{name}: no run came of it");
    }
}
