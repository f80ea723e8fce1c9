//! A commit, built at a place of its own.

use crate::{beat, root};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A program that is timed.
pub(super) struct Job {
    pub(super) name: &'static str,
    /// Below the folder of release builds.
    pub(super) program: &'static str,
    pub(super) words: &'static [&'static str],
    /// Whether the last word names a folder for what it writes.
    pub(super) writes: bool,
}

/// A line of a table: its words and its numbers.
type Row = (String, Vec<u64>);

/// A commit's programs.
pub(super) struct Built {
    tree: PathBuf,
    pub(super) commit: String,
    /// Processor time of its build.
    pub(super) seconds: f64,
}

impl Built {
    pub(super) fn make(name: &str, commit: &str) -> Result<Self> {
        let tree = root().join("target/perf").join(name);
        if tree.exists() {
            git(&["worktree", "remove", "--force", &tree.to_string_lossy()])?;
        }
        git(&["worktree", "add", "--force", "--detach", &tree.to_string_lossy(), commit])?;
        let said =
            Command::new("git").current_dir(&tree).args(["rev-parse", "--short=12", "HEAD"]).output()?;
        let commit = String::from_utf8_lossy(&said.stdout).trim().to_owned();
        let mut built = Self { tree, commit, seconds: 0.0 };
        let before = processor_seconds()?;
        for words in [
            ["--package", "solo", "--bin", "solo"],
            ["--package", "solo-sim", "--example", "memory_speed"],
            ["--package", "solo-prove", "--example", "bench_prove"],
        ] {
            let mut cargo = built.cargo(&["build", "--release", "--locked"]);
            beat::run(&format!("building {}", built.commit), cargo.args(words))?;
        }
        built.seconds = processor_seconds()? - before;
        Ok(built)
    }

    fn cargo(&self, words: &[&str]) -> Command {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.current_dir(&self.tree).args(words).arg("--target-dir").arg(self.tree.join("target"));
        cargo
    }

    /// Runs a job to its end: the seconds of processor time that it took.
    pub(super) fn run(&self, job: &Job) -> Result<f64> {
        let mut command = Command::new(self.tree.join("target/release").join(job.program));
        command.current_dir(&self.tree).args(job.words).stdout(Stdio::null()).stderr(Stdio::piped());
        let folder = self.tree.join("target/perf-run");
        if job.writes {
            let _ = fs::remove_dir_all(&folder);
            command.arg(&folder);
        }
        let before = processor_seconds()?;
        let output = command.output().with_context(|| format!("cannot start {}", job.program))?;
        // 1: a deadline was missed, which is what some of them are about.
        if !matches!(output.status.code(), Some(0 | 1)) {
            bail!("{}: {}: {}", self.commit, output.status, String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(processor_seconds()? - before)
    }

    /// Rows of path lengths, by name; nothing where they can't be counted here.
    pub(super) fn paths(&self) -> Result<Option<Vec<Row>>> {
        if !crate::setup::present("qemu-system-x86_64") {
            return Ok(None);
        }
        let mut cargo = self.cargo(&[
            "run",
            "--release",
            "--quiet",
            "--package",
            "solo-qemu",
            "--example",
            "path-lengths",
        ]);
        let output = cargo.stderr(Stdio::inherit()).output().context("cannot start cargo")?;
        if !output.status.success() {
            bail!("{}: path lengths: {}", self.commit, output.status);
        }
        Ok(Some(rows(&String::from_utf8_lossy(&output.stdout))))
    }
}

/// Lines with numbers, split into words and numbers.
fn rows(text: &str) -> Vec<Row> {
    let split = |line: &str| {
        let (numbers, words): (Vec<&str>, Vec<&str>) =
            line.split_whitespace().partition(|word| word.replace(',', "").parse::<u64>().is_ok());
        let numbers = numbers.iter().filter_map(|word| word.replace(',', "").parse().ok()).collect();
        (words.join(" "), numbers)
    };
    text.lines().map(split).filter(|(_, numbers): &Row| !numbers.is_empty()).collect()
}

/// Processor time of all programs that this one has waited for, and of theirs.
fn processor_seconds() -> Result<f64> {
    const TICKS_A_SECOND: f64 = 100.0;
    let about = fs::read_to_string("/proc/self/stat").context("no /proc")?;
    // Behind the name, which may hold blanks: cutime and cstime are the fourteenth and fifteenth.
    let behind = about.rsplit(") ").next().unwrap_or_default();
    let ticks: f64 = behind.split(' ').skip(13).take(2).filter_map(|word| word.parse::<f64>().ok()).sum();
    Ok(ticks / TICKS_A_SECOND)
}

fn git(words: &[&str]) -> Result<()> {
    let output = Command::new("git").current_dir(root()).args(words).output().context("cannot start git")?;
    if !output.status.success() {
        bail!("git {words:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_told_by_their_words() {
        let text = "switch   15  1,204\nnothing here\ntick 46 47\n";
        assert_eq!(rows(text), [("switch".to_owned(), vec![15, 1204]), ("tick".to_owned(), vec![46, 47])]);
    }
}
