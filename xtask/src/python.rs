//! The Python package as users get it: a wheel, built by maturin, and what is tried with it.

use crate::{beat, root};
use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What builds the wheel.
const MATURIN: &str = "maturin==1.16.0";

/// Builds the wheel, optimised, into `target/wheels`, and tries it in an environment of its own that has nothing else.
pub(crate) fn wheel() -> Result<i32> {
    let wheel = build_wheel()?;
    let fresh = root().join("target/python-fresh");
    environment(&fresh, &[wheel.as_os_str()])?;
    let mut first = Command::new(fresh.join("bin/python"));
    first.current_dir(root()).args(["-c", TRY]);
    beat::run("a first run from the wheel alone", &mut first)?;
    println!("{}", wheel.display());
    Ok(0)
}

/// The wheel of these sources.
pub(crate) fn build_wheel() -> Result<PathBuf> {
    built().map(|(wheel, _)| wheel)
}

/// What a wheel without any other package does: the first page of the guide, but for its frames and figures.
pub(crate) const TRY: &str = "import solocore; run = solocore.load('scenarios/first-steps.toml').experiment().run(); \
                   assert run.held and len(run.jobs) == 100; print('solocore', solocore.build_id())";

/// Studies on worker processes, with what goes wrong with them; options go to `python/measure/cluster.py`.
pub(crate) fn cluster(options: &[String]) -> Result<i32> {
    let (wheel, tools) = built()?;
    let requirements = root().join("python/tests/requirements.txt");
    let mut install = pip(&tools);
    install.args(["--force-reinstall", "--no-deps"]).arg(&wheel);
    beat::run("installing the wheel", &mut install)?;
    beat::run("installing what the measurement needs", pip(&tools).arg("-r").arg(requirements))?;
    let mut measure = Command::new(tools.join("bin/python"));
    measure.current_dir(root()).arg("python/measure/cluster.py").args(options);
    measure.status().context("cannot start Python")?.code().context("Python was ended by a signal")
}

/// The wheel of these sources, and the environment that built it.
fn built() -> Result<(PathBuf, PathBuf)> {
    let tools = root().join("target/python-tools");
    environment(&tools, &[OsStr::new(MATURIN)])?;
    let folder = root().join("target/wheels");
    // One of an earlier version would be taken for this one.
    let _ = std::fs::remove_dir_all(&folder);
    let mut maturin = Command::new(tools.join("bin/maturin"));
    maturin.current_dir(root().join("python")).args(["build", "--release", "--locked", "--out"]).arg(&folder);
    beat::run("building the wheel", &mut maturin)?;
    let wheels = std::fs::read_dir(&folder).with_context(|| format!("no {}", folder.display()))?;
    let paths = wheels.filter_map(|entry| Some(entry.ok()?.path()));
    let wheel = paths.into_iter().find(|path| path.extension().is_some_and(|kind| kind == "whl"));
    Ok((wheel.context("maturin made no wheel")?, tools))
}

/// An environment with these packages; one that is there already is kept, and gets them anew.
fn environment(folder: &Path, packages: &[&OsStr]) -> Result<()> {
    const NEW_ENOUGH: &str = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))";
    if !folder.join("bin/python").exists() {
        let works = |name: &&str| {
            Command::new(name).args(["-c", NEW_ENOUGH]).output().is_ok_and(|output| output.status.success())
        };
        let names = ["python3", "python3.14", "python3.13", "python3.12", "python3.11"];
        let Some(python) = names.into_iter().find(works) else {
            bail!("no Python 3.11 or later with venv; on Debian: apt-get install python3-venv");
        };
        beat::run("making an environment", Command::new(python).args(["-m", "venv"]).arg(folder))?;
    }
    beat::run("installing packages", pip(folder).arg("--force-reinstall").args(packages))
}

fn pip(environment: &Path) -> Command {
    let mut pip = Command::new(environment.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    pip
}
