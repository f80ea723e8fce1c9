//! A guest machine whose processor counters are emulated: `solo watch` checked against bare `perf_event_open`.
//!
//! QEMU's arm64 machine has a PMU with true overflow interrupts; instructions are counted where QEMU itself counts
//! them (`-icount`). The kernel is Debian's, fetched once with apt into a folder of its own: nothing of this
//! machine's package system is touched. What is missing is a reason to skip.

use super::{initrd, verdicts};
use crate::apart::{Apart, find};
use crate::{cargo, run, setup, target};
use anyhow::{Context, Result};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

const TARGET: &str = "aarch64-unknown-linux-gnu";
const KERNEL: &str = "linux-image-cloud-arm64";
const SUITE: &str = "bookworm";
const PATIENCE: Duration = Duration::from_secs(300);

/// Tools beside Rust and the Debian packages that bring them.
const TOOLS: [(&str, &str); 3] = [
    ("qemu-system-aarch64", "qemu-system-arm"),
    ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
    ("fdtput", "device-tree-compiler"),
];

/// What the device tree says each CPU gets done beside others: two kinds, though both execute alike.
const CAPACITIES: [(&str, &str); 2] = [("/cpus/cpu@0", "1024"), ("/cpus/cpu@1", "446")];

fn folder() -> PathBuf {
    target().join("guest-arm64")
}

/// True where everything that has to be fetched is there.
pub(super) fn prepared() -> bool {
    folder().join("vmlinuz").exists() && TOOLS.iter().all(|(program, _)| setup::present(program))
}

/// Builds, boots and reads the verdicts; the code to exit with.
pub(super) fn check() -> Result<i32> {
    if let Err(error) = prepare() {
        println!("skipped: arm64 guest: {error:#}");
        return Ok(0);
    }
    build()?;
    boot()
}

fn prepare() -> Result<()> {
    fs::create_dir_all(folder())?;
    let missing: Vec<_> = TOOLS.iter().filter(|(program, _)| !setup::present(program)).collect();
    if !missing.is_empty() {
        let packages: Vec<_> = missing.iter().map(|(_, package)| *package).collect();
        setup::install(&packages).with_context(|| format!("apt-get install {}", packages.join(" ")))?;
    }
    run(Command::new("rustup").args(["target", "add", TARGET])).context("the guest's Rust target")?;
    if !folder().join("vmlinuz").exists() {
        kernel().context("the guest's kernel")?;
    }
    Ok(())
}

/// Fetches Debian's arm64 kernel.
fn kernel() -> Result<()> {
    let apart = Apart::list(&folder(), SUITE, "arm64")?;
    let depends = apart.depends(KERNEL)?;
    let package = depends.split([' ', ',']).next().filter(|name| name.starts_with("linux-image"));
    let package = package.with_context(|| format!("{KERNEL} of {SUITE} names no kernel"))?;
    apart.unpack(package, "kernel")?;
    let image = find(&folder().join("kernel/boot"), |name| name.starts_with("vmlinuz"))?;
    fs::copy(image, folder().join("vmlinuz"))?;
    Ok(())
}

/// The program and its checker for the guest, in an initial file system.
fn build() -> Result<()> {
    for words in [&["--package", "solo"][..], &["--package", "solo-watch", "--example", "guest_init"]] {
        let mut build = cargo(&["build", "--target", TARGET]);
        build
            .args(words)
            .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc")
            .env("RUSTFLAGS", "-C target-feature=+crt-static");
        run(&mut build)?;
    }
    let built = target().join(TARGET).join("debug");
    let mut files = Vec::new();
    for (name, from) in [("init", built.join("examples/guest_init")), ("solo", built.join("solo"))] {
        let stripped = folder().join(name);
        run(Command::new("aarch64-linux-gnu-strip").arg("-o").arg(&stripped).arg(from))?;
        files.push((name, stripped));
    }
    initrd(&folder().join("initrd"), &files)
}

/// The machine, with more to say of its board.
fn machine(board: &str) -> Command {
    let mut guest = Command::new("qemu-system-aarch64");
    guest.args([
        "-M",
        board,
        "-cpu",
        "max",
        "-smp",
        "2",
        "-m",
        "512",
        "-nographic",
        "-no-reboot",
        "-nic",
        "none",
    ]);
    guest
}

/// The machine's own device tree, with capacities.
fn device_tree() -> Result<PathBuf> {
    let path = folder().join("tree.dtb");
    run(machine(&format!("virt,dumpdtb={}", path.display())).stdout(Stdio::null()).stderr(Stdio::null()))?;
    for (node, capacity) in CAPACITIES {
        let mut put = Command::new("fdtput");
        run(put.args(["-t", "u"]).arg(&path).args([node, "capacity-dmips-mhz", capacity]))?;
    }
    Ok(path)
}

fn boot() -> Result<i32> {
    let mut guest = machine("virt");
    guest
        .arg("-dtb")
        .arg(device_tree()?)
        .args(["-accel", "tcg,thread=single", "-icount", "shift=3,sleep=off", "-kernel"])
        .arg(folder().join("vmlinuz"))
        .arg("-initrd")
        .arg(folder().join("initrd"))
        .args(["-append", "console=ttyAMA0 quiet panic=-1 rdinit=/init"]);
    Ok(verdicts("arm64 guest", guest, PATIENCE)?.code())
}
