//! Guest machines: what this machine can't do is checked in an emulated one.
//!
//! A guest has a kernel of Debian's and one program, its init, which prints a line that begins with `guest:` for each of its checks.

mod arm64;
mod x86;

use anyhow::{Context, Result, bail};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A guest machine.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Guest {
    /// 64-bit Arm with emulated counters: solo watch and guard
    Arm64,
    /// x86-64 with kernels that have sched_ext: solo guard
    X86,
}

impl Guest {
    /// All of them.
    pub(crate) const ALL: [Self; 2] = [Self::Arm64, Self::X86];

    /// Its name on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Arm64 => "arm64",
            Self::X86 => "x86",
        }
    }

    /// True where everything that has to be fetched is there.
    pub(crate) fn prepared(self) -> bool {
        match self {
            Self::Arm64 => arm64::prepared(),
            Self::X86 => x86::prepared(),
        }
    }

    /// Builds, boots with these words on the kernel's command line and reads the verdicts; the code to exit with. What can't be had is a reason to skip.
    pub(crate) fn check(self, words: &str) -> Result<i32> {
        match self {
            Self::Arm64 if !words.is_empty() => bail!("--only and --seconds are for the x86 guest"),
            Self::Arm64 => arm64::check(),
            Self::X86 => x86::check(words),
        }
    }
}

/// What a guest is told: the only check that is wanted, and for how long threads are to run.
pub(crate) fn words(only: Option<&str>, seconds: Option<u64>) -> String {
    let only = only.map(|only| format!(" solo.only={only}"));
    let seconds = seconds.map(|seconds| format!(" solo.seconds={seconds}"));
    only.into_iter().chain(seconds).collect()
}

/// An initial file system of these programs.
fn initrd(path: &Path, programs: &[(&str, PathBuf)]) -> Result<()> {
    let mut archive = fs::File::create(path)?;
    archive.write_all(&entry(1, "dev", &[], 0o040_755))?;
    for (i, (name, from)) in programs.iter().enumerate() {
        archive.write_all(&entry(i as u32 + 2, name, &fs::read(from)?, 0o100_755))?;
    }
    archive.write_all(&entry(0, "TRAILER!!!", &[], 0))?;
    Ok(())
}

/// An entry of a cpio archive in the form that the kernel reads (newc).
fn entry(number: u32, name: &str, content: &[u8], mode: u32) -> Vec<u8> {
    let fields = [number, mode, 0, 0, 1, 0, content.len() as u32, 0, 0, 0, 0, name.len() as u32 + 1, 0];
    let mut bytes = b"070701".to_vec();
    fields.iter().for_each(|field| bytes.extend(format!("{field:08x}").bytes()));
    bytes.extend(name.bytes());
    bytes.push(0);
    let pad = |bytes: &mut Vec<u8>| bytes.resize(bytes.len().next_multiple_of(4), 0);
    pad(&mut bytes);
    bytes.extend(content);
    pad(&mut bytes);
    bytes
}

/// What guests said of their checks.
#[derive(Clone, Copy, Default)]
struct Verdicts {
    held: u32,
    failed: u32,
}

impl Verdicts {
    /// The code to exit with: guests that checked nothing show nothing.
    fn code(self) -> i32 {
        i32::from(self.failed > 0 || self.held == 0)
    }
}

/// Boots a guest and reads its verdicts.
fn verdicts(name: &str, mut guest: Command, patience: Duration) -> Result<Verdicts> {
    let guest = guest.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut guest = guest.context("cannot start the emulator")?;
    let output = guest.stdout.take().context("no output")?;
    let (to, from) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
            let _ = to.send(String::from_utf8_lossy(&line).trim().to_owned());
        }
    });
    let deadline = Instant::now() + patience;
    let (mut passed, mut failed, mut asked, mut done) = (0, 0, true, false);
    while let Ok(line) = from.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        // The firmware's words come on the same line as the first one's.
        let line = line.rsplit_once('\u{1b}').map_or(&*line, |(_, rest)| rest.trim_start_matches("[2J"));
        println!("{line}");
        passed += u32::from(line.starts_with("guest: ok "));
        failed += u32::from(line.starts_with("guest: FAILED "));
        asked &= !line.starts_with("guest: none: ");
        if line == "guest: done" {
            done = true;
            break;
        }
    }
    let _ = guest.kill();
    let _ = guest.wait();
    println!("{name}: {passed} checks held, {failed} did not");
    if !done {
        bail!("the guest did not come to its end within {} s", patience.as_secs());
    }
    if passed + failed == 0 && asked {
        bail!("the guest came to its end and checked nothing");
    }
    Ok(Verdicts { held: passed, failed })
}

#[cfg(test)]
mod tests {
    use super::entry;

    #[test]
    fn entries_are_aligned_and_name_their_sizes() {
        let bytes = entry(1, "init", b"abcde", 0o100_755);
        assert_eq!(bytes.len() % 4, 0);
        assert!(bytes.starts_with(b"07070100000001000081ed"));
        assert_eq!(&bytes[54..62], b"00000005", "the content's size");
        assert_eq!(&bytes[110..115], b"init\0");
        assert_eq!(&bytes[116..121], b"abcde");
    }
}
