//! Chores: `./x demo`, `./x test`, `./x check`, `./x soak`.
//!
//! Each command sets up what it needs: as root on Debian it installs missing packages, else it names them.

mod additions;
mod apart;
mod beat;
mod debian;
mod dependencies;
mod guest;
mod idle;
mod miri;
mod newcomer;
mod package;
mod peers;
mod perf;
mod pi;
mod python;
mod recordings;
mod setup;
mod soak;
mod statically;
mod testing;
mod tidy;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Parser)]
#[command(name = "./x", bin_name = "./x", about = "Solocore's chores", version)]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Show a video task miss its deadlines because of a neighbor on another core, and why; options go to `solo demo`
    Demo {
        /// What `solo demo` takes
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        options: Vec<String>,
    },
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
    /// Boot an emulated machine and check there what this one can't do: solo watch on counters, solo guard by sched_ext
    Guest {
        /// The machine
        #[arg(value_enum)]
        machine: guest::Guest,
        /// On x86: only the check of this name
        #[arg(long)]
        only: Option<String>,
        /// On x86: how long threads run under ranks inside the kernel
        #[arg(long)]
        seconds: Option<u64>,
    },
    /// The long campaigns: drawn scenarios against their proofs, budgets against what is delivered, boots of the bare-metal image
    Soak(soak::Soak),
    /// Make the additions of tests/additions in a copy of the tree, compile it and run their cases (minutes the first time)
    Additions {
        /// Only these
        names: Vec<String>,
    },
    /// Build solo as one static file for x86-64 Linux
    Static,
    /// Build the Debian package: the static program, boot images, manual pages, completions, units (minutes)
    Package {
        /// Then build it again from nothing: the bytes must be the same (twice the minutes)
        #[arg(long)]
        twice: bool,
        /// Then install it, and the Python wheel, in a minimal Debian of its own without these sources, and use both there; needs
        /// root, debootstrap and a network
        #[arg(long)]
        r#try: bool,
    },
    /// Build two commits and compare them in turns on this machine: main job, memory, proofs, studies, path lengths
    Perf(perf::Perf),
    /// Judge other people's crates: licenses, origins, known faults (cargo-deny, deny.toml)
    Dependencies,
    /// Interpret the kernel's unsafe code with Miri: page tables, heaps, locks, queues of devices (minutes)
    Miri,
    /// Boot the image for the Raspberry Pi 4 under a QEMU that has the board; Debian's backports have one
    Pi,
    /// Attack the program: hostile names, files, folders and runs, all of which must be refused in words (minutes, offline)
    Attack,
    /// Try the first minutes of a newcomer in a minimal Debian of its own; needs root, debootstrap and a network
    Newcomer,
    /// Build other people's DRAM simulators from their packages and compare `solo trace dram` with them
    Peers,
    /// Build the Python package's wheel and try it in an environment of its own (Python 3.11, pip's index, minutes)
    Wheel,
    /// Studies on worker processes of a Dask cluster on loopback, workers and scheduler killed: equal bytes, and what it took
    Cluster {
        /// What python/measure/cluster.py takes, such as --sets 100000 --workers 1,2
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        options: Vec<String>,
    },
    /// Record programs that scenarios replay
    Recordings {
        /// Those of scenarios/recorded-neighbour.toml, the kernels of scenarios/papers/sce/vision-p4080.toml, or the X server of
        /// scenarios/papers/memguard/recorded-server.toml
        #[arg(value_enum, default_value_t = recordings::Which::Programs)]
        which: recordings::Which,
    },
}

fn main() {
    let outcome = match Cli::parse().chore {
        Chore::Demo { options } => demo(&options),
        Chore::Additions { names } => additions::run(&root(), &names),
        Chore::Static => statically::build(),
        Chore::Package { twice, r#try } => package::run(twice, r#try),
        Chore::Perf(perf) => perf::run(&perf),
        Chore::Dependencies => dependencies::run(),
        Chore::Miri => miri::run(),
        Chore::Pi => pi::check(),
        Chore::Attack => attack(),
        Chore::Newcomer => newcomer::run(),
        Chore::Test { fail_fast } => testing::run(fail_fast),
        Chore::Check => check(&mut |reason| println!("skipped: {reason}")),
        Chore::Tidy => house_rules(),
        Chore::Guest { machine, only, seconds } => machine.check(&guest::words(only.as_deref(), seconds)),
        Chore::Soak(soak) => soak::run(&soak),
        Chore::Peers => peers::compare(),
        Chore::Wheel => python::wheel(),
        Chore::Cluster { options } => python::cluster(&options),
        Chore::Recordings { which } => recordings::make(which),
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

/// Where cargo builds.
fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// A cargo that builds this workspace.
fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).args(arguments);
    command
}

fn run(command: &mut Command) -> Result<()> {
    beat::run(&format!("{:?}", command.get_program()), command)
}

/// The script does it without xtask, so that a newcomer does not wait for two programs.
fn demo(options: &[String]) -> Result<i32> {
    let script = root().join("x");
    let status = Command::new(&script).arg("demo").args(options).status();
    let status = status.with_context(|| format!("cannot start {}", script.display()))?;
    status.code().context("solo was ended by a signal")
}

/// The attacks are ordinary tests, so that `./x test` makes them too; here they run alone, each with its name.
fn attack() -> Result<i32> {
    let programs = ["attacks", "mutations", "emulator", "endings", "hostile", "folders"];
    let mut tests = cargo(&["test", "--workspace", "--no-fail-fast"]);
    tests.args(programs.iter().flat_map(|program| ["--test", program]));
    let status = tests.status().context("cannot start cargo")?;
    let outcome =
        if status.success() { "all attacks were refused" } else { "some attacks had an effect, see above" };
    println!("attack: {outcome}");
    Ok(i32::from(!status.success()))
}

/// Checks without running anything; `skip` hears why a check can't be made here.
fn check(skip: &mut dyn FnMut(String)) -> Result<i32> {
    eprintln!("checking format, lints and house rules");
    run(&mut cargo(&["fmt", "--all", "--check"]))?;
    beat::run("lints", &mut cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    // What only boot images compile is not part of the workspace's targets.
    for setup::BootImage { package, program, target, .. } in &setup::BOOT_IMAGES {
        if setup::compiles_for(target) {
            let image = ["--package", package, "--bin", program, "--target", target];
            let lints = ["--", "-D", "warnings"];
            beat::run(&format!("lints of {program}"), cargo(&["clippy"]).args(image).args(lints))?;
        } else {
            skip(format!("lints of {program}: rustup target add {target}"));
        }
    }
    println!("{}", tidy::ports(&root())?);
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
