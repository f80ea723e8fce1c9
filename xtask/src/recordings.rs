//! Recordings of real programs, for scenarios that replay them.

use crate::{beat, cargo, root, run, setup, target};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Accesses of each recording: enough to leave the caches of any platform here, small enough to keep.
const ACCESSES: &str = "300000";
/// Where recordings lie that are too large to be kept.
const LARGE: &str = "target/recordings";
/// The vision kernels, as the program of `apps/vision` names them.
const KERNELS: [Kernel; 7] = [
    Kernel { name: "disparity", pages: 173, footprint_kb: 7736 },
    Kernel { name: "localization", pages: 80, footprint_kb: 2988 },
    Kernel { name: "mser", pages: 115, footprint_kb: 3304 },
    Kernel { name: "tracking", pages: 217, footprint_kb: 3468 },
    Kernel { name: "multi-ncut", pages: 87, footprint_kb: 2996 },
    Kernel { name: "sift", pages: 930, footprint_kb: 6528 },
    Kernel { name: "texture", pages: 404, footprint_kb: 4616 },
];
/// The display of the recorded X server: one that nobody has.
const DISPLAY: u16 = 77;
/// Accesses of the X server's start: it makes about 30 million before it takes a client, and as many to open a font and a window.
const START: &str = "80000000";
/// Accesses that are recorded of it: lines are drawn, and the whole screen is scrolled.
const UPDATES: &str = "4000000";
/// The server's socket appears within seconds; valgrind on a busy machine takes longer.
const PATIENCE: Duration = Duration::from_secs(300);

/// A kernel as Table 1 of single-core equivalence has it.
struct Kernel {
    name: &'static str,
    /// The pages of its profile.
    pages: u64,
    /// The most virtual memory that it has.
    footprint_kb: u64,
}

/// What is recorded.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Which {
    /// gzip, sort and Python at work on this repository's own sources, into scenarios/recordings
    Programs,
    /// The seven vision kernels, into target/recordings
    Vision,
    /// An X server that updates a screen for a terminal, into target/recordings (needs xvfb and xterm)
    Screen,
}

/// Records what is asked for.
pub(crate) fn make(which: Which) -> Result<i32> {
    setup::prepare()?;
    run(&mut cargo(&["build", "--release", "--package", "solo"]))?;
    match which {
        Which::Programs => programs(),
        Which::Vision => vision(),
        Which::Screen => screen(),
    }
}

/// One run of each kernel, from its start to its end.
fn vision() -> Result<i32> {
    run(&mut cargo(&["build", "--release", "--package", "solo-vision"]))?;
    fs::create_dir_all(root().join(LARGE)).with_context(|| format!("cannot make {LARGE}"))?;
    // By its name from here where that is possible: the length of an argument moves the stack, and with it the addresses.
    let program = target().join("release/vision");
    let program = program.strip_prefix(root()).unwrap_or(&program).to_string_lossy().into_owned();
    for Kernel { name, .. } in KERNELS {
        run(&mut recorder(&format!("{LARGE}/{name}.trace"), &[], &[&program, name]))?;
    }
    let mut alike = 0;
    println!("kernel        pages, Table 1  here  footprint, Table 1 (KB)  here");
    for kernel in &KERNELS {
        let (pages, footprint_kb) = sizes(&program, kernel.name)?;
        let within =
            is_within_a_fifth(pages, kernel.pages) && is_within_a_fifth(footprint_kb, kernel.footprint_kb);
        alike += usize::from(within);
        let Kernel { name, pages: paper, footprint_kb: paper_kb } = kernel;
        let verdict = if within { "" } else { "  off by more than a fifth" };
        println!("{name:12}  {paper:14}  {pages:4}  {paper_kb:23}  {footprint_kb:4}{verdict}");
    }
    println!("{alike} of {} kernels are as large as in Table 1, within a fifth", KERNELS.len());
    Ok(i32::from(alike != KERNELS.len()))
}

/// The fewest pages that take 99 % of a recording's accesses to data, and the most virtual memory of the kernel itself.
fn sizes(program: &str, kernel: &str) -> Result<(u64, u64)> {
    let mut profile = Command::new(target().join("release/solo"));
    let profile = said(profile.args(["trace", "profile", &format!("{LARGE}/{kernel}.trace")]))?;
    let mut shares = profile.split([',', ':']);
    let pages = shares.find_map(|share| share.trim().strip_suffix("take 99 %")?.trim().parse().ok());
    let alone = said(Command::new(program).args([kernel, "--footprint"]))?;
    let footprint_kb =
        alone.lines().find_map(|line| line.strip_prefix("footprint: ")?.strip_suffix(" KB")?.parse().ok());
    Ok((
        pages.with_context(|| format!("the profile of {kernel} says nothing of 99 %"))?,
        footprint_kb.with_context(|| format!("{kernel} says no footprint: {alone}"))?,
    ))
}

/// What a command says.
fn said(command: &mut Command) -> Result<String> {
    let output = command.current_dir(root()).output().with_context(|| format!("cannot start {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn is_within_a_fifth(ours: u64, paper: u64) -> bool {
    ours.abs_diff(paper) * 5 <= paper
}

/// An X server without a screen of its own, while a terminal that fills it scrolls this repository's sources without end.
fn screen() -> Result<i32> {
    for (program, package) in [("Xvfb", "xvfb"), ("xterm", "xterm")] {
        if Command::new(program).arg("-version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err()
        {
            setup::install(&[package])?;
        }
    }
    let socket = PathBuf::from(format!("/tmp/.X11-unix/X{DISPLAY}"));
    if socket.exists() {
        bail!("display :{DISPLAY} is taken: {} exists", socket.display());
    }
    fs::create_dir_all(root().join(LARGE)).with_context(|| format!("cannot make {LARGE}"))?;
    let text = sources_as_one()?;
    let display = format!(":{DISPLAY}");
    let server = ["Xvfb", &display, "-screen", "0", "1920x1080x24", "-nolisten", "tcp"];
    let part = ["--skip", START, "--limit", UPDATES];
    let mut recording = recorder(&format!("{LARGE}/xserver.trace"), &part, &server);
    let mut recording = recording.spawn().context("cannot start solo")?;
    let began = Instant::now();
    while !socket.exists() && began.elapsed() < PATIENCE && recording.try_wait()?.is_none() {
        thread::sleep(Duration::from_millis(100));
    }
    let scroll = format!("while :; do cat {}; done", text.display());
    let mut terminal = Command::new("xterm");
    terminal.args([
        "-display",
        &display,
        "-geometry",
        "320x83+0+0",
        "-fn",
        "fixed",
        "-e",
        "sh",
        "-c",
        &scroll,
    ]);
    let _terminal = Ended(terminal.stderr(Stdio::null()).spawn().context("cannot start xterm")?);
    while recording.try_wait()?.is_none() {
        thread::sleep(beat::SILENCE);
        beat::say("the X server is recorded", began);
    }
    // The limit ends valgrind, which leaves the server's socket and lock.
    let _ = fs::remove_file(&socket);
    let _ = fs::remove_file(format!("/tmp/.X{DISPLAY}-lock"));
    Ok(recording.wait()?.code().unwrap_or(1))
}

/// A program that ends with us.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // Both fail only if it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn programs() -> Result<i32> {
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
    run(&mut recorder(&format!("scenarios/recordings/{name}.trace"), &["--limit", ACCESSES], command))
}

/// `solo record` of a command. A fixed environment: its size moves the stack, and with it the addresses.
fn recorder(output: &str, options: &[&str], command: &[&str]) -> Command {
    let mut record = Command::new(target().join("release/solo"));
    record.current_dir(root()).env("LC_ALL", "C").env("PYTHONHASHSEED", "0");
    record.arg("record").args(options).args(["-o", output, "--"]).args(command);
    record
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
