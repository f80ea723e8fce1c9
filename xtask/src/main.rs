//! Chores: `./x demo`, `./x test`, `./x check`, `./x soak`.
//!
//! Each command sets up what it needs: as root on Debian it installs missing packages, else it names them.

mod guest;
mod peers;
mod recordings;
mod setup;
mod testing;
mod tidy;

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Parser)]
#[command(name = "x", about = "Solocore's chores", version)]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Run the main job: the video task alone and beside its neighbour, and write the report
    Demo,
    /// Run every check and every test, and close with one summary line
    Test {
        /// Stop after the first package whose tests fail
        #[arg(long)]
        fail_fast: bool,
    },
    /// Formatting, lints (of the boot image, too) and house rules only
    Check,
    /// House rules only: floors, circles, lengths, unused public items, citations, words (seconds)
    Tidy,
    /// Boot a machine with emulated counters and check solo watch there
    Guest {
        /// The machine
        #[arg(value_parser = ["arm64"])]
        machine: String,
    },
    /// Boot the bare-metal image many times in a row on changing machines: does none of the boots hang?
    Soak {
        /// How often
        #[arg(default_value_t = 1000)]
        boots: u32,
    },
    /// Build other people's DRAM simulators from their packages and compare `solo trace dram` with them
    Peers,
    /// Record the programs that scenarios/recorded-neighbour.toml replays
    Recordings,
}

fn main() {
    let outcome = match Cli::parse().chore {
        Chore::Demo => demo(),
        Chore::Test { fail_fast } => testing::run(fail_fast),
        Chore::Check => check(&mut |reason| println!("skipped: {reason}")),
        Chore::Tidy => house_rules(),
        Chore::Guest { .. } => guest::arm64(),
        Chore::Soak { boots } => soak(boots),
        Chore::Peers => peers::compare(),
        Chore::Recordings => recordings::make(),
    };
    match outcome {
        Ok(code) => std::process::exit(code),
        Err(error) => {
            eprintln!("error: {error:#}");
            std::process::exit(1);
        }
    }
}

/// The root of the repository.
fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_path_buf()
}

/// A cargo that builds this workspace.
fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).args(arguments);
    command
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {:?}", command.get_program()))?;
    if !status.success() {
        bail!("{:?} ended with {status}", command);
    }
    Ok(())
}

/// Runs the comparison and leaves its exit code: 1 is the expected verdict, since the corun case misses.
fn demo() -> Result<i32> {
    run(&mut cargo(&["build", "--release", "--package", "solo"]))?;
    let solo = root().join("target/release/solo");
    let status = Command::new(&solo)
        .current_dir(root())
        // Its own folder, which a second demonstration replaces.
        .args(["compare", "scenarios/video-and-screen.toml", "--out", "runs/demo", "--force"])
        .status()
        .with_context(|| format!("cannot start {}", solo.display()))?;
    match status.code() {
        Some(1) => {
            eprintln!("exit code 1: a deadline did not hold, which is what this demonstration is about");
            Ok(0)
        }
        Some(code) => Ok(code),
        None => bail!("solo was ended by a signal"),
    }
}

fn soak(boots: u32) -> Result<i32> {
    setup::prepare()?;
    let mut soak =
        cargo(&["run", "--quiet", "--release", "--package", "solo-qemu", "--example", "soak", "--"]);
    run(soak.arg(boots.to_string()))?;
    Ok(0)
}

/// Checks without running anything; `skip` hears why a check can't be made here.
fn check(skip: &mut dyn FnMut(String)) -> Result<i32> {
    run(&mut cargo(&["fmt", "--all", "--check"]))?;
    run(&mut cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]))?;
    // What only the boot image compiles is not part of the workspace's targets.
    let target = setup::BARE_METAL;
    if setup::compiles_for(target) {
        let image = ["--package", "solo-x86_64", "--bin", "solo-rtos", "--target", target];
        run(cargo(&["clippy", "--quiet"]).args(image).args(["--", "-D", "warnings"]))?;
    } else {
        skip(format!("lints of the boot image: rustup target add {target}"));
    }
    house_rules()
}

/// House rules that a machine can check: 1 where one is broken.
fn house_rules() -> Result<i32> {
    let findings = tidy::findings(&root())?;
    for finding in &findings {
        eprintln!("tidy: {finding}");
    }
    Ok(i32::from(!findings.is_empty()))
}
