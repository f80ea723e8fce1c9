//! The kernel's unsafe code under Miri, Rust's interpreter that knows what is undefined: page tables, heaps, locks, queues of devices and
//! the boot module, over an instruction set of the host.

use crate::{beat, root};
use anyhow::Result;
use std::process::{Command, Stdio};

/// How to get what interprets. The tests need its sources of the standard library, too.
const INSTALL: &str = "rustup toolchain install nightly --profile minimal --component miri,rust-src";

/// What stands on pointers that come from numbers: page tables hold addresses. Some tests leave memory for good, as the kernel does.
const FLAGS: &str = "-Zmiri-disable-isolation -Zmiri-permissive-provenance -Zmiri-ignore-leaks";

/// Targets of `solo-bare`, and the beginnings of the tests' names in them that execute unsafe code; all where there are none.
const TESTS: [(&[&str], &[&str]); 2] =
    [(&["--test", "memory"], &[]), (&["--lib"], &["queue::", "regions::", "devicetree::"])];

/// Interprets them; the code to exit with.
pub(crate) fn run() -> Result<i32> {
    let mut asked = cargo();
    asked.args(["miri", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    if !asked.status().is_ok_and(|status| status.success()) {
        println!("skipped: unsafe code under Miri: it is not installed (`{INSTALL}`)");
        return Ok(0);
    }
    for (targets, names) in TESTS {
        let mut miri = cargo();
        miri.args(["miri", "test", "-p", "solo-bare"]).args(targets).arg("--").args(names);
        miri.env("MIRIFLAGS", FLAGS).current_dir(root());
        beat::run("interpreting the kernel's unsafe code", &mut miri)?;
    }
    println!("miri: nothing undefined was found");
    Ok(0)
}

/// Cargo of the toolchain that has Miri, which that of this tree has not.
fn cargo() -> Command {
    let mut cargo = Command::new("rustup");
    cargo.args(["run", "nightly", "cargo"]);
    cargo
}
