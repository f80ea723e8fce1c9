//! The image for the Raspberry Pi 4 on QEMU's model of it. Debian 12's QEMU has none: that of its backports is unpacked into a folder of its
//! own, and the tests find it there.

use crate::apart::Apart;
use crate::{cargo, run, setup, target};
use anyhow::{Context, Result};
use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const SUITE: &str = "bookworm-backports";
const PACKAGES: [&str; 3] = ["qemu-system-arm", "qemu-system-common", "qemu-system-data"];

/// The tests that boot it.
const TESTS: [&[&str]; 2] = [
    &["--package", "solo-qemu", "--test", "raspberry_pi_4"],
    &["--package", "solo", "--test", "metal", "what_a_board_said"],
];

/// Runs the tests that boot it; the code to exit with.
pub(crate) fn check() -> Result<i32> {
    let programs = match programs() {
        Ok(programs) => programs,
        Err(error) => {
            println!("skipped: the Raspberry Pi 4: {error:#}");
            return Ok(0);
        }
    };
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths(programs.into_iter().chain(env::split_paths(&path)))?;
    for words in TESTS {
        let mut test = cargo(&["test"]);
        run(test.args(words).env("PATH", &path))?;
    }
    Ok(0)
}

/// Where an emulator that has the board lies; `None` where it is this machine's own.
fn programs() -> Result<Option<PathBuf>> {
    if has_board("qemu-system-aarch64".into()) {
        return Ok(None);
    }
    let folder = target().join("pi");
    let programs = folder.join("root/usr/bin");
    let emulator = || programs.join("qemu-system-aarch64");
    if !has_board(emulator()) {
        // What it is linked with is what this machine's own needs, too.
        if !setup::present("qemu-system-aarch64") {
            setup::install(&["qemu-system-arm"]).context("apt-get install qemu-system-arm")?;
        }
        let apart = Apart::list(&folder, SUITE, "amd64")?;
        PACKAGES.iter().try_for_each(|package| apart.unpack(&format!("{package}/{SUITE}"), "root"))?;
    }
    anyhow::ensure!(has_board(emulator()), "{} does not start, or has no such board", emulator().display());
    Ok(Some(programs))
}

fn has_board(emulator: PathBuf) -> bool {
    let known = Command::new(emulator).args(["-machine", "help"]).stderr(Stdio::null()).output();
    known.is_ok_and(|known| String::from_utf8_lossy(&known.stdout).contains("raspi4b"))
}
