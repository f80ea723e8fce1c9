//! `solo new` and `solo run FOLDER`, as a user types them. What runs on which machine is held by `lab/tests/programs`.

mod common;

use common::{solo, transcript};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Output;

fn new(place: &Path, name: &str) -> Output {
    solo().current_dir(place).args(["new", "--", name]).output().unwrap()
}

fn said(output: &Output) -> String {
    transcript(output, &[])
}

#[test]
fn a_new_program_is_written_once_and_nothing_is_replaced() {
    let place = tempfile::tempdir().unwrap();
    let first = new(place.path(), "robot");
    assert_eq!(first.status.code(), Some(0), "{}", said(&first));
    let main = std::fs::read_to_string(place.path().join("robot/src/main.rs")).unwrap();
    let code = main.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("//!")).count();
    assert!(code <= 32, "{code} lines of code");
    let manifest: toml::Table =
        std::fs::read_to_string(place.path().join("robot/Cargo.toml")).unwrap().parse().unwrap();
    let library = manifest["dependencies"]["solo-app"]["path"].as_str().unwrap();
    assert!(Path::new(library).join("Cargo.toml").is_file(), "{library}");
    std::fs::write(place.path().join("robot/src/main.rs"), "mine").unwrap();
    let second = new(place.path(), "robot");
    assert_eq!(second.status.code(), Some(2));
    assert!(said(&second).contains("robot is there already"), "{}", said(&second));
    assert_eq!(std::fs::read_to_string(place.path().join("robot/src/main.rs")).unwrap(), "mine");
}

#[test]
fn a_new_program_in_c_is_a_package_that_links_it() {
    let place = tempfile::tempdir().unwrap();
    let output = solo().current_dir(place.path()).args(["new", "robot", "--language", "c"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("robot/src/robot.c is a program of two threads"), "{}", said(&output));
    let read = |file: &str| std::fs::read_to_string(place.path().join("robot").join(file)).unwrap();
    let manifest: toml::Table = read("Cargo.toml").parse().unwrap();
    let library = manifest["dependencies"]["solo-app-c"]["path"].as_str().unwrap();
    assert!(Path::new(library).join("include/solo_app.h").is_file(), "{library}");
    assert!(
        read("src/robot.c").contains("solo_declare") && read("src/main.rs").contains("solo_app_c::program!")
    );
    assert!(read("build.rs").contains("clang"));
    let fortran =
        solo().current_dir(place.path()).args(["new", "other", "--language", "fortran"]).output().unwrap();
    assert_eq!(fortran.status.code(), Some(2), "{}", said(&fortran));
    assert!(!place.path().join("other").exists());
}

#[test]
fn files_and_links_of_that_name_stay_what_they_are() {
    let (place, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(place.path().join("file"), "mine").unwrap();
    symlink(elsewhere.path(), place.path().join("link")).unwrap();
    symlink(elsewhere.path().join("nothing"), place.path().join("dangling")).unwrap();
    for name in ["file", "link", "dangling"] {
        let output = new(place.path(), name);
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    }
    assert_eq!(std::fs::read_to_string(place.path().join("file")).unwrap(), "mine");
    assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

#[test]
fn hostile_names_are_refused_and_nothing_is_written() {
    let above = tempfile::tempdir().unwrap();
    let place = above.path().join("here");
    std::fs::create_dir(&place).unwrap();
    for name in [
        "",
        "..",
        ".",
        "../robot",
        "/tmp/solo-new-robot",
        "a/b",
        "-q",
        "Robot",
        "ro\nbot",
        "ro\u{1b}[2Jbot",
        "test",
        "con",
    ] {
        let output = new(&place, name);
        assert_eq!(output.status.code(), Some(2), "{name:?}: {}", said(&output));
        assert!(!said(&output).contains('\u{1b}'), "{name:?}");
    }
    assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0);
    assert_eq!(std::fs::read_dir(above.path()).unwrap().count(), 1);
}

#[test]
fn what_programs_do_not_know_is_said() {
    let place = tempfile::tempdir().unwrap();
    let run = |more: &[&str]| {
        let output = solo().current_dir(place.path()).args(["run", "."]).args(more).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        said(&output)
    };
    assert!(run(&[]).contains("has no Cargo.toml"));
    assert!(run(&["--on", "linux", "--scheduler", "hosted"]).contains("--scheduler"));
    assert!(run(&["--on", "linux", "--count", "cycles"]).contains("--count"));
    assert!(run(&["--on", "rtos", "--jobs", "3"]).contains("program.jobs"));
    assert!(run(&["--on", "linux", "--variant", "x"]).contains("for scenarios"));
    assert!(run(&["--on", "linux"]).contains("has no Cargo.toml"));
}

/// A run is one of a program where its threads' notes lie.
#[test]
fn the_run_of_a_program_is_not_repeated_without_the_program() {
    let place = tempfile::tempdir().unwrap();
    let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios/control-and-vision.toml");
    let run = solo()
        .current_dir(place.path())
        .arg("run")
        .arg(scenario)
        .args(["--out", "run", "-q"])
        .output()
        .unwrap();
    assert!(place.path().join("run/manifest.json").is_file(), "{}", said(&run));
    let replay = || solo().current_dir(place.path()).args(["replay", "run"]).output().unwrap();
    assert_eq!(replay().status.code(), Some(0), "{}", said(&replay()));
    std::fs::write(place.path().join("run/notes.jsonl"), "").unwrap();
    let refused = replay();
    assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
    assert!(said(&refused).contains("is the run of a program"), "{}", said(&refused));
}
