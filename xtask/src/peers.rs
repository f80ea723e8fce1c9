//! Other people's DRAM simulators, built from their packages, and `solo trace dram` beside them.

use crate::{cargo, run, setup};
use anyhow::{Context, Result};

/// Tools beside Rust that the packages are built with, and the Debian packages that bring them.
const TOOLS: [(&str, &str); 2] = [("cmake", "cmake"), ("c++", "g++")];

/// Builds them where that has not been done, compares and prints a table; the code to exit with.
pub(crate) fn compare() -> Result<i32> {
    let missing: Vec<_> = TOOLS.iter().filter(|(program, _)| !setup::present(program)).collect();
    if !missing.is_empty() {
        let packages: Vec<_> = missing.iter().map(|(_, package)| *package).collect();
        setup::install(&packages).with_context(|| format!("apt-get install {}", packages.join(" ")))?;
    }
    // Their own folder, whatever cargo is told elsewhere: the tests look there.
    run(&mut cargo(&[
        "build",
        "--release",
        "--locked",
        "--manifest-path",
        "peers/Cargo.toml",
        "--target-dir",
        "peers/target",
    ]))?;
    run(&mut cargo(&[
        "test",
        "--package",
        "solo",
        "--test",
        "trace_dram_peers",
        "--",
        "--nocapture",
        "--test-threads=1",
    ]))?;
    Ok(0)
}
