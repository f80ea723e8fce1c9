//! The Python package, tested by Python: the extension that cargo has just built beside the package's own sources.
//!
//! It takes a Python 3.11 or later with `venv`, and pip's index once: packages stay in `target`. What is missing is said and skipped.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Where cargo has put the extension: beside this test or one folder up.
fn extension() -> PathBuf {
    let program = std::env::current_exe().expect("a test program has a path");
    let near = program.ancestors().skip(1).take(2).map(|folder| folder.join("libsolocore.so"));
    near.into_iter().find(|path| path.exists()).expect("the extension was built with this test")
}

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of all builds of this checkout.
fn target() -> PathBuf {
    let extension = extension();
    let folder = extension.ancestors().find(|folder| folder.join("CACHEDIR.TAG").exists());
    folder.map_or_else(|| here().join("../target"), Path::to_owned)
}

fn text(output: &Output) -> String {
    let streams = [&output.stdout, &output.stderr].map(|stream| String::from_utf8_lossy(stream).into_owned());
    format!("{:?}\n{}", output.status, streams.concat())
}

/// Calls a program; its words where it fails or is not there.
fn call(command: &mut Command) -> Result<String, String> {
    let shown = format!("{:?}", command.get_program());
    match command.output() {
        Ok(output) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        Ok(output) => Err(text(&output)),
        Err(error) => Err(format!("{shown}: {error}")),
    }
}

/// A Python that is new enough and makes virtual environments.
fn interpreter() -> Result<String, String> {
    const NEW_ENOUGH: &str = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))";
    let names = ["python3", "python3.14", "python3.13", "python3.12", "python3.11"];
    let works = |name: &&str| call(Command::new(name).args(["-c", NEW_ENOUGH])).is_ok();
    let found = names.into_iter().find(works);
    found
        .map(str::to_owned)
        .ok_or_else(|| "no Python 3.11 or later with venv (Debian: python3-venv)".to_owned())
}

/// The Python of an environment with what the tests need; made once and kept as long as the requirements are the same.
fn environment() -> Result<PathBuf, String> {
    let python = interpreter()?;
    let requirements = here().join("tests/requirements.txt");
    let wanted = std::fs::read_to_string(&requirements).expect("the requirements lie beside the tests");
    let folder = target().join("python");
    let (inside, stamp) = (folder.join("bin/python"), folder.join("requirements.txt"));
    if std::fs::read_to_string(&stamp).is_ok_and(|made| made == wanted) && inside.exists() {
        return Ok(inside);
    }
    call(Command::new(&python).args(["-m", "venv", "--clear"]).arg(&folder))?;
    let mut pip = Command::new(&inside);
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-compile",
        "--disable-pip-version-check",
        "--only-binary",
        ":all:",
        "-r",
    ]);
    call(pip.arg(&requirements)).map_err(|said| {
        let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().to_owned();
        format!("pip can't install what the tests need: {last}")
    })?;
    std::fs::write(&stamp, wanted).map_err(|error| error.to_string())?;
    Ok(inside)
}

/// The package with the extension in it: the sources as they are, the extension as it was built.
fn package() -> PathBuf {
    let site = target().join("python-site");
    let folder = site.join("solocore");
    // A rest of an older source would be imported.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    for entry in std::fs::read_dir(here().join("solocore")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            std::fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
        }
    }
    // A file of its own, not written over: a process that still has the old one would break.
    std::fs::copy(extension(), folder.join("_native.abi3.so")).unwrap();
    site
}

/// The Python to call, and the package; or why there is none.
fn ready() -> &'static Result<(PathBuf, PathBuf), String> {
    static READY: OnceLock<Result<(PathBuf, PathBuf), String>> = OnceLock::new();
    READY.get_or_init(|| environment().map(|python| (python, package())))
}

/// Runs the tests of a file; each of them counts for one here.
fn pytest(files: &[&str]) {
    let (python, site) = match ready() {
        Ok(found) => found,
        Err(reason) => return println!("skipped: the Python package ({}): {reason}", files.join(", ")),
    };
    let mut command = Command::new(python);
    command.args(["-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "--rootdir"]).arg(here());
    command.args(files.iter().map(|file| here().join("tests").join(file)));
    command.current_dir(here().join("..")).env("PYTHONPATH", site).env("PYTHONDONTWRITEBYTECODE", "1");
    command.env("MPLCONFIGDIR", target().join("python-site/matplotlib"));
    let output = command.output().expect("the environment has a Python");
    for line in String::from_utf8_lossy(&output.stdout).lines().filter(|line| line.starts_with("SKIPPED")) {
        println!("skipped: {line}");
    }
    assert!(output.status.success(), "{}", text(&output));
}

#[test]
fn the_package_keeps_what_its_tests_say() {
    pytest(&[
        "test_scenarios.py",
        "test_runs.py",
        "test_proofs.py",
        "test_stubs.py",
        "test_types.py",
        "test_watches.py",
    ]);
}

#[test]
fn the_guide_runs() {
    pytest(&["test_guide.py"]);
}

#[test]
fn policies_in_python_decide_as_those_in_rust() {
    pytest(&["test_policies.py"]);
}

#[test]
fn models_are_trained_and_estimate_what_they_promise() {
    pytest(&["test_models.py"]);
}

#[test]
fn a_cluster_gives_the_bytes_of_one_machine() {
    pytest(&["test_cluster.py"]);
}
