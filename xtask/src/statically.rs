//! The program as one file that needs no library of the machine it runs on.

use crate::{beat, cargo, run, setup, target};
use anyhow::{Context, Result, bail};
use std::path::PathBuf;
use std::process::Command;

pub(crate) const TARGET: &str = "x86_64-unknown-linux-musl";
/// A file that is larger is no longer handy; without symbols it must stay below.
const MOST_MIB: u64 = 18;

/// Builds it, strips it, and says where it is and how large; the code to exit with.
pub(crate) fn build() -> Result<i32> {
    let program = program()?;
    let bytes = std::fs::metadata(&program).with_context(|| format!("no {}", program.display()))?.len();
    println!("{}: {:.1} MiB, static", program.display(), bytes as f64 / f64::from(1 << 20));
    Ok(i32::from(bytes > MOST_MIB << 20))
}

/// Builds it, sees that it runs, and says where it is.
pub(crate) fn program() -> Result<PathBuf> {
    if !setup::present("musl-gcc") {
        setup::install(&["musl-tools"]).context("compression libraries are compiled with musl-gcc")?;
    }
    if !setup::compiles_for(TARGET) {
        run(Command::new("rustup").args(["target", "add", TARGET]))
            .context("the standard library for musl")?;
    }
    let mut build = cargo(&["build", "--profile", "static", "--package", "solo", "--target", TARGET]);
    beat::run("building the static program", &mut build)?;
    let program = target().join(TARGET).join("static/solo");
    let said = Command::new(&program).arg("--version").output();
    if !said.is_ok_and(|said| said.status.success()) {
        bail!("{} does not run", program.display());
    }
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::root;

    /// The C library of static programs has other types, and lacks what means the process where Linux means the thread; another
    /// processor has other registers. Only what speaks to Linux itself is compiled: the rest would take minutes.
    #[test]
    fn what_speaks_to_linux_compiles_for_other_libraries_and_processors() {
        for target in [TARGET, "aarch64-unknown-linux-gnu"] {
            if !setup::compiles_for(target) {
                println!(
                    "skipped: what speaks to Linux: no standard library for {target} (`rustup target add {target}`)"
                );
                continue;
            }
            let mut check = cargo(&["check", "--quiet", "--target", target, "--target-dir"]);
            check.arg(root().join("target/static"));
            for entry in std::fs::read_dir(root().join("machines/linux")).expect("the machine").flatten() {
                check.arg("--package").arg(format!("solo-{}", entry.file_name().to_string_lossy()));
            }
            let said = check.output().expect("cargo");
            assert!(said.status.success(), "{target}: {}", String::from_utf8_lossy(&said.stderr));
        }
    }
}
