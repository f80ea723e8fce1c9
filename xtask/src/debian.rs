//! A minimal Debian of its own, in which a stranger's steps are tried.

use crate::apart::MIRROR;
use crate::{beat, idle, root, setup};
use anyhow::{Context, Result};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const SUITE: &str = "bookworm";
/// Nothing may be silent for longer.
const LONGEST_SILENCE: Duration = Duration::from_secs(10);

/// The system, in a folder; what is mounted in it is unmounted in the end.
pub(crate) struct Debian {
    folder: PathBuf,
    mounts: Vec<PathBuf>,
}

/// What a command took.
pub(crate) struct Took {
    pub(crate) code: Option<i32>,
    pub(crate) wall: Duration,
    pub(crate) silence: Duration,
    pub(crate) lines: u64,
    /// Why the machine was not this command's alone, or nothing where it was.
    pub(crate) shared: Option<String>,
}

impl Debian {
    /// Why there can't be one here.
    pub(crate) fn impossible() -> Option<String> {
        if !setup::is_root() {
            return Some("a Debian of its own takes root's rights".to_owned());
        }
        (!setup::present("debootstrap")).then(|| "apt-get install debootstrap".to_owned())
    }

    /// A new one with a user, alice, who has no rights; what an earlier trial of this name left is removed.
    pub(crate) fn unpacked(name: &str) -> Result<Self> {
        let pristine = pristine()?;
        let folder = root().join("target").join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
        }
        fs::create_dir_all(&folder)?;
        tar(&["--extract", "--file"], &pristine, &folder)?;
        let mut debian = Self { folder, mounts: Vec::new() };
        debian.reach_the_network()?;
        for (kind, place) in [("proc", "proc"), ("sysfs", "sys"), ("devtmpfs", "dev")] {
            let at = debian.folder.join(place);
            beat::run("mount", Command::new("mount").args(["-t", kind, "none"]).arg(&at))?;
            debian.mounts.push(at);
        }
        debian.inside("root", "useradd --create-home alice")?;
        Ok(debian)
    }

    /// The folder that is its root.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Name servers and certificates as here: a minimal Debian has none.
    fn reach_the_network(&self) -> Result<()> {
        for file in ["etc/resolv.conf", "etc/hosts"] {
            let _ = fs::copy(Path::new("/").join(file), self.folder.join(file));
        }
        for folder in ["etc/ssl/certs", "usr/share/ca-certificates"] {
            let here = Path::new("/").join(folder);
            if here.exists() {
                copy(&here, &self.folder.join(folder))?;
            }
        }
        Ok(())
    }

    /// How many packages are installed.
    pub(crate) fn packages(&self) -> Result<usize> {
        let mut query = Command::new("chroot");
        Ok(said(query.arg(&self.folder).args(["dpkg-query", "-f", ".\n", "-W"]))?.lines().count())
    }

    /// Runs words of a shell there, in the user's sources where these are, and passes on what they say.
    pub(crate) fn inside(&self, user: &str, words: &str) -> Result<Took> {
        let script = format!(
            "export PATH=/opt/rust/bin:/usr/sbin:/usr/bin:/sbin:/bin; [ ! -d ~/solocore ] || cd ~/solocore; exec 2>&1; {words}"
        );
        let mut command = Command::new("chroot");
        command.arg(&self.folder).args(["su", "-s", "/bin/sh", "-c", &script, "-", user]);
        let (started, cores) = (Instant::now(), idle::Cores::look());
        let mut child = command.stdout(Stdio::piped()).spawn().context("cannot start chroot")?;
        let output = child.stdout.take().context("no output")?;
        let mut took =
            Took { code: None, wall: Duration::ZERO, silence: Duration::ZERO, lines: 0, shared: None };
        let mut last = started;
        for line in BufReader::new(output).split(b'\n') {
            let line = line.context("cannot read what was said")?;
            println!("    {user}: {}", String::from_utf8_lossy(&line));
            took.silence = took.silence.max(last.elapsed());
            took.lines += 1;
            last = Instant::now();
        }
        took.silence = took.silence.max(last.elapsed());
        took.code = child.wait()?.code();
        took.wall = started.elapsed();
        took.shared = idle::shared(cores, idle::Cores::look());
        Ok(took)
    }
}

impl Drop for Debian {
    fn drop(&mut self) {
        for at in self.mounts.iter().rev() {
            let _ = Command::new("umount").arg("--lazy").arg(at).status();
        }
    }
}

impl Took {
    /// Whether it ended with this code; says so.
    pub(crate) fn held(&self, what: &str, code: i32) -> bool {
        self.judged(what, code, Duration::MAX)
    }

    /// The same, and whether it was never silent for long.
    pub(crate) fn held_speaking(&self, what: &str, code: i32) -> bool {
        self.judged(what, code, LONGEST_SILENCE)
    }

    fn judged(&self, what: &str, code: i32, silence: Duration) -> bool {
        let held = self.code == Some(code) && self.silence <= silence;
        println!(
            "{}: {what}: exit code {:?}, {} s, {} lines, longest silence {} s",
            if held { "held" } else { "FAILED" },
            self.code,
            self.wall.as_secs(),
            self.lines,
            self.silence.as_secs(),
        );
        held
    }
}

/// The archive of a minimal Debian, made where there is none yet.
fn pristine() -> Result<PathBuf> {
    let archive = root().join("target/newcomer.tar");
    if !archive.exists() {
        let folder = archive.with_extension("new");
        let _ = fs::remove_dir_all(&folder);
        let mut debootstrap = Command::new("debootstrap");
        debootstrap.args(["--variant=minbase", SUITE]).arg(&folder).arg(MIRROR).stdout(Stdio::null());
        beat::run("unpacking a minimal Debian", &mut debootstrap)?;
        tar(&["--create", "--one-file-system", "--file"], &archive, &folder)?;
        fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    Ok(archive)
}

fn tar(what: &[&str], archive: &Path, folder: &Path) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.args(what).arg(archive).arg("--directory").arg(folder);
    if what[0] == "--create" {
        tar.arg(".");
    }
    beat::run("tar", &mut tar)
}

/// Copies a folder's content, links followed.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("cannot make {}", to.display()))?;
    let mut cp = Command::new("cp");
    beat::run("copying", cp.args(["-a", "--dereference"]).arg(from.join(".")).arg(to))
}

/// What a command prints.
pub(crate) fn said(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {:?}", command.get_program()))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
