//! The first minutes of a newcomer: `./x demo` in a Debian that has nothing but a Rust toolchain.
//!
//! A minimal Debian is unpacked under `target/newcomer`, the toolchain of this host and a copy of what git knows of the
//! working tree are put into it, and `./x demo` runs there: first by a user without rights, who must be told what is
//! missing, then as root, which installs it, then by the user again. What it took is printed: time, processor time,
//! packages, disk, the longest silence. The first report has three minutes on a machine that does nothing else; where others
//! used its processors meanwhile, that limit is not judged, and it says so.

use crate::debian::{Debian, Took, copy, said};
use crate::{beat, root};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The first report, from nothing but a clone, on two cores that do nothing else.
const FIRST_REPORT: Duration = Duration::from_secs(180);

/// Tries it; the code to exit with.
pub(crate) fn run() -> Result<i32> {
    if let Some(reason) = Debian::impossible() {
        println!("skipped: a newcomer's first minutes: {reason}");
        return Ok(0);
    }
    let debian = Debian::unpacked("newcomer")?;
    furnish(&debian)?;
    try_out(&debian)
}

/// A Rust toolchain as here, and the sources as git knows them.
fn furnish(debian: &Debian) -> Result<()> {
    let sysroot = said(Command::new("rustc").args(["--print", "sysroot"]))?;
    copy(Path::new(&sysroot), &debian.folder().join("opt/rust"))?;
    for home in ["root", "home/alice"] {
        let tree = debian.folder().join(home).join("solocore");
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
    debian.inside("root", "chown -R alice /home/alice")?;
    Ok(())
}

/// The trial itself.
fn try_out(debian: &Debian) -> Result<i32> {
    let mut failed = 0;
    let before = debian.packages()?;
    let told = debian.inside("alice", "./x demo")?;
    failed += u32::from(!told.held_speaking("alice, without a C compiler, is told what is missing", 3));
    for user in ["root", "alice"] {
        let took = debian.inside(user, "./x demo")?;
        failed += u32::from(!took.held_speaking(&format!("{user}: ./x demo from nothing"), 0));
        failed += in_time(&format!("{user}: the first report"), &took);
        let again = debian.inside(user, "./x demo")?;
        failed += u32::from(!again.held_speaking(&format!("{user}: ./x demo again"), 0));
    }
    let home = debian.folder().join("root");
    println!("packages installed: {}", debian.packages()? - before);
    for folder in ["solocore/target", ".cargo"] {
        println!("disk of {folder}: {}", said(Command::new("du").arg("-sh").arg(home.join(folder)))?);
    }
    Ok(i32::from(failed > 0))
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
