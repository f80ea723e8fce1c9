//! Recordings of real programs, for `scenarios/recorded-neighbour.toml`.

use crate::{cargo, root, run, setup};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Accesses of each recording: enough to leave the caches of any platform here, small enough to keep.
const ACCESSES: &str = "300000";

/// Records gzip, sort and Python at work on this repository's own sources.
pub(crate) fn make() -> Result<i32> {
    setup::prepare()?;
    run(&mut cargo(&["build", "--release", "--package", "solo"]))?;
    let text = sources_as_one()?;
    let text = text.to_string_lossy().into_owned();
    record("gzip", &["gzip", "-6", "-c", &text])?;
    record("sort", &["sort", &text])?;
    let python = python()?;
    record(
        "python",
        &[&python, "-S", "-E", "-c", "print(sorted((i * 7919) % 1000003 for i in range(300000))[0])"],
    )?;
    Ok(0)
}

fn record(name: &str, command: &[&str]) -> Result<()> {
    let output = format!("scenarios/recordings/{name}.trace");
    let solo = root().join("target/release/solo");
    // A fixed environment: its size moves the stack, and with it the addresses.
    let mut record = Command::new(solo);
    record.current_dir(root()).env("LC_ALL", "C").env("PYTHONHASHSEED", "0");
    record.args(["record", "--limit", ACCESSES, "-o", &output, "--"]).args(command);
    run(&mut record)
}

/// All Rust sources of the libraries, one after the other.
fn sources_as_one() -> Result<PathBuf> {
    let mut files = Vec::new();
    let mut folders = ["core", "analysis", "formats"].map(|folder| root().join(folder)).to_vec();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))? {
            let path = entry?.path();
            match path.extension() {
                _ if path.is_dir() => folders.push(path),
                Some(extension) if extension == "rs" => files.push(path),
                _ => {}
            }
        }
    }
    files.sort();
    let mut text = Vec::new();
    for file in files {
        text.extend(fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?);
    }
    let path = root().join("target/recordings.txt");
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// The interpreter itself: a launcher in front of it would be recorded instead.
fn python() -> Result<String> {
    let output = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    let output = output.context("cannot start python3")?;
    let path = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if !Path::new(&path).exists() {
        bail!("python3 does not say where it is: {path:?}");
    }
    Ok(path)
}
