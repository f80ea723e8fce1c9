//! What users see: help, errors and tables, pinned. `cargo insta review` shows what changed.

mod common;

use common::{CALM, LATE, scenario, solo, transcript};

#[test]
fn help() {
    for command in [
        &["--help"][..],
        &["run", "--help"],
        &["compare", "--help"],
        &["report", "--help"],
        &["replay", "--help"],
        &["record", "--help"],
        &["platforms", "--help"],
        &["doctor", "--help"],
        &["check", "--help"],
        &["study", "--help"],
    ] {
        let output = solo().args(command).output().unwrap();
        let name = format!("help_{}", command[0].trim_start_matches('-'));
        insta::assert_snapshot!(name, transcript(&output, &[]));
    }
}

#[test]
fn tables() {
    for (name, text) in [("calm", CALM), ("late", LATE)] {
        let folder = tempfile::tempdir().unwrap();
        let file = scenario(folder.path(), text);
        let out = folder.path().join("run");
        let output = solo().args(["run", "--quiet"]).arg(file).arg("--out").arg(out).output().unwrap();
        insta::assert_snapshot!(format!("table_{name}"), transcript(&output, &[(folder.path(), "FOLDER")]));
    }
}

#[test]
fn errors() {
    for (name, text) in [
        ("unknown_key", CALM.replace("period", "perioud")),
        ("no_such_core", CALM.replace("core = 0", "core = 99")),
        ("bare_number", CALM.replace("\"5ms\"", "5")),
        ("empty", String::new()),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let file = scenario(folder.path(), &text);
        let output = solo().arg("run").arg(file).output().unwrap();
        insta::assert_snapshot!(format!("error_{name}"), transcript(&output, &[(folder.path(), "FOLDER")]));
    }
}

#[test]
fn platforms() {
    let output = solo().arg("platforms").output().unwrap();
    insta::assert_snapshot!(transcript(&output, &[]));
}

#[test]
fn completions_and_manual_pages_come_from_the_one_definition() {
    for shell in ["bash", "zsh", "fish"] {
        let output = solo().args(["completions", shell]).output().unwrap();
        let script = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && script.contains("compare"), "{shell}: {script}");
    }
    let folder = tempfile::tempdir().unwrap();
    assert!(solo().arg("man").arg(folder.path()).status().unwrap().success());
    let page = std::fs::read_to_string(folder.path().join("solo-compare.1")).unwrap();
    assert!(page.contains("side by side"));
}
