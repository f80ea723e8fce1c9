//! The first minutes of a newcomer: `./x demo` in a Debian that has nothing but a Rust toolchain.
//!
//! A minimal Debian is unpacked under `target/newcomer`, the toolchain of this host and a copy of what git knows of the
//! working tree are put into it, and `./x demo` runs there: first by a user without rights, who must be told what is
//! missing, then as root, which installs it, then by the user again. What it took is printed: time, processor time,
//! packages, disk, the longest silence. The first report has three minutes on a machine that does nothing else; where others
//! used its processors meanwhile, that limit is not judged, and it says so.

use crate::{beat, idle, root, setup};
use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const SUITE: &str = "bookworm";
const MIRROR: &str = "http://deb.debian.org/debian";
/// Nothing may be silent for longer.
const LONGEST_SILENCE: Duration = Duration::from_secs(10);

/// The first report, from nothing but a clone, on two cores that do nothing else.
const FIRST_REPORT: Duration = Duration::from_secs(180);

/// What a command took.
struct Took {
    code: Option<i32>,
    wall: Duration,
    silence: Duration,
    lines: u64,
    /// Why the machine was not this command's alone, or nothing where it was.
    shared: Option<String>,
}

/// Tries it; the code to exit with.
pub(crate) fn run() -> Result<i32> {
    if let Some(reason) = impossible() {
        println!("skipped: a newcomer's first minutes: {reason}");
        return Ok(0);
    }
    let debian = root().join("target/newcomer");
    unpack(&debian)?;
    furnish(&debian)?;
    let mounts = Mounts::make(&debian)?;
    let outcome = try_out(&debian);
    drop(mounts);
    outcome
}

/// Why it can't be tried here.
fn impossible() -> Option<String> {
    if !setup::is_root() {
        return Some("a Debian of its own takes root's rights".to_owned());
    }
    (!setup::present("debootstrap")).then(|| "apt-get install debootstrap".to_owned())
}

/// A minimal Debian, made anew where none is there; an earlier trial's is cleaned.
fn unpack(debian: &Path) -> Result<()> {
    let pristine = debian.with_extension("tar");
    if !pristine.exists() {
        let folder = debian.with_extension("new");
        let _ = fs::remove_dir_all(&folder);
        let mut debootstrap = Command::new("debootstrap");
        debootstrap.args(["--variant=minbase", SUITE]).arg(&folder).arg(MIRROR).stdout(Stdio::null());
        beat::run("unpacking a minimal Debian", &mut debootstrap)?;
        tar(&["--create", "--one-file-system", "--file"], &pristine, &folder)?;
        fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    if debian.exists() {
        fs::remove_dir_all(debian).with_context(|| format!("cannot remove {}", debian.display()))?;
    }
    fs::create_dir_all(debian)?;
    tar(&["--extract", "--file"], &pristine, debian)
}

fn tar(what: &[&str], archive: &Path, folder: &Path) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.args(what).arg(archive).arg("--directory").arg(folder);
    if what[0] == "--create" {
        tar.arg(".");
    }
    beat::run("tar", &mut tar)
}

/// A Rust toolchain, certificates and name servers as here, a user, and the sources as git knows them.
fn furnish(debian: &Path) -> Result<()> {
    let sysroot = said(Command::new("rustc").args(["--print", "sysroot"]))?;
    copy(Path::new(&sysroot), &debian.join("opt/rust"))?;
    for file in ["etc/resolv.conf", "etc/hosts"] {
        let _ = fs::copy(Path::new("/").join(file), debian.join(file));
    }
    // A minimal Debian has no certificates; cargo brings its own way of reading them, but not the files.
    if Path::new("/etc/ssl/certs").exists() {
        copy(Path::new("/etc/ssl/certs"), &debian.join("etc/ssl/certs"))?;
        let certificates = Path::new("/usr/share/ca-certificates");
        if certificates.exists() {
            copy(certificates, &debian.join("usr/share/ca-certificates"))?;
        }
    }
    inside(debian, "root", "useradd --create-home alice")?;
    for home in ["root", "home/alice"] {
        let tree = debian.join(home).join("solocore");
        fs::create_dir_all(&tree)?;
        let mut archive = Command::new("git");
        archive.current_dir(root()).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
        let mut listing = archive.stdout(Stdio::piped()).spawn().context("cannot start git")?;
        let files = listing.stdout.take().context("no list of files")?;
        let mut cpio = Command::new("tar");
        cpio.current_dir(root()).args(["--create", "--null", "--files-from=-", "--ignore-failed-read"]);
        let mut packed = cpio.stdin(files).stdout(Stdio::piped()).spawn().context("cannot start tar")?;
        let stream = packed.stdout.take().context("no archive")?;
        let mut unpack = Command::new("tar");
        beat::run("copying the sources", unpack.args(["--extract", "--directory"]).arg(&tree).stdin(stream))?;
        let (listed, packed) = (listing.wait()?, packed.wait()?);
        if !listed.success() || !packed.success() {
            bail!("the sources could not be copied");
        }
    }
    inside(debian, "root", "chown -R alice /home/alice")?;
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("cannot make {}", to.display()))?;
    let mut source = from.as_os_str().to_owned();
    source.push("/.");
    beat::run(
        "copying",
        Command::new("cp").args(["-a", "--dereference"]).args([source.as_os_str(), to.as_os_str()]),
    )
}

fn said(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {:?}", command.get_program()))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// What programs expect to find mounted; unmounted when dropped.
struct Mounts(Vec<PathBuf>);

impl Mounts {
    fn make(debian: &Path) -> Result<Self> {
        let mut mounts = Self(Vec::new());
        for (kind, place) in [("proc", "proc"), ("sysfs", "sys"), ("devtmpfs", "dev")] {
            let at = debian.join(place);
            let words = [OsStr::new("-t"), OsStr::new(kind), OsStr::new("none"), at.as_os_str()];
            beat::run("mount", Command::new("mount").args(words))?;
            mounts.0.push(at);
        }
        Ok(mounts)
    }
}

impl Drop for Mounts {
    fn drop(&mut self) {
        for at in self.0.iter().rev() {
            let _ = Command::new("umount").arg("--lazy").arg(at).status();
        }
    }
}

/// The trial itself.
fn try_out(debian: &Path) -> Result<i32> {
    let mut failed = 0;
    let packages = || said(Command::new("chroot").arg(debian).args(["dpkg-query", "-f", ".\n", "-W"]));
    let before = packages()?.lines().count();
    let told = inside(debian, "alice", "./x demo")?;
    failed += judge("alice, without a C compiler, is told what is missing", &told, 3);
    for user in ["root", "alice"] {
        let took = inside(debian, user, "./x demo")?;
        failed += judge(&format!("{user}: ./x demo from nothing"), &took, 0);
        failed += in_time(&format!("{user}: the first report"), &took);
        let again = inside(debian, user, "./x demo")?;
        failed += judge(&format!("{user}: ./x demo again"), &again, 0);
    }
    let home = debian.join("root");
    println!("packages installed: {}", packages()?.lines().count() - before);
    for folder in ["solocore/target", ".cargo"] {
        println!("disk of {folder}: {}", said(Command::new("du").arg("-sh").arg(home.join(folder)))?);
    }
    Ok(i32::from(failed > 0))
}

fn judge(what: &str, took: &Took, code: i32) -> u32 {
    let held = took.code == Some(code) && took.silence <= LONGEST_SILENCE;
    println!(
        "{}: {what}: exit code {:?}, {} s, {} lines, longest silence {} s",
        if held { "held" } else { "FAILED" },
        took.code,
        took.wall.as_secs(),
        took.lines,
        took.silence.as_secs(),
    );
    u32::from(!held)
}

/// Holds the first report to its limit, where the machine allows to.
fn in_time(what: &str, took: &Took) -> u32 {
    let (seconds, limit) = (took.wall.as_secs(), FIRST_REPORT.as_secs());
    match &took.shared {
        _ if took.wall <= FIRST_REPORT => println!("held: {what}: {seconds} s of {limit}"),
        Some(reason) => println!("skipped: {what} within {limit} s (it took {seconds}): {reason}"),
        None => {
            println!("FAILED: {what}: {seconds} s of {limit}");
            return 1;
        }
    }
    0
}

/// Runs words of a shell there, in the user's sources where these are, and passes on what they say.
fn inside(debian: &Path, user: &str, words: &str) -> Result<Took> {
    let script = format!(
        "export PATH=/opt/rust/bin:/usr/sbin:/usr/bin:/sbin:/bin; [ ! -d ~/solocore ] || cd ~/solocore; exec 2>&1; {words}"
    );
    let mut command = Command::new("chroot");
    command.arg(debian).args(["su", "-s", "/bin/sh", "-c", &script, "-", user]);
    let (started, cores) = (Instant::now(), idle::Cores::look());
    let mut child = command.stdout(Stdio::piped()).spawn().context("cannot start chroot")?;
    let output = child.stdout.take().context("no output")?;
    let mut took = Took { code: None, wall: Duration::ZERO, silence: Duration::ZERO, lines: 0, shared: None };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_report_has_three_minutes_on_an_idle_machine() {
        let took = |seconds, shared: Option<&str>| Took {
            code: Some(0),
            wall: Duration::from_secs(seconds),
            silence: Duration::ZERO,
            lines: 1,
            shared: shared.map(str::to_owned),
        };
        assert_eq!(in_time("in time", &took(180, None)), 0);
        assert_eq!(in_time("late", &took(181, None)), 1);
        assert_eq!(in_time("late beside others", &took(181, Some("others"))), 0);
    }
}
