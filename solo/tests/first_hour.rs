//! What a newcomer's first commands rest on.
#![allow(missing_docs)]

mod common;

use common::root;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// The README says `cargo run -- ...`: that works only while one of the packages cargo takes by default is a program.
#[test]
fn cargo_run_finds_one_program() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let default: Vec<&Value> = found["workspace_default_members"].as_array().unwrap().iter().collect();
    let packages =
        found["packages"].as_array().unwrap().iter().filter(|package| default.contains(&&package["id"]));
    let targets = packages.flat_map(|package| package["targets"].as_array().unwrap());
    let programs: Vec<&str> = targets
        .filter(|target| target["kind"].as_array().unwrap().iter().any(|kind| kind == "bin"))
        .map(|target| target["name"].as_str().unwrap())
        .collect();
    assert_eq!(programs, ["solo"]);
}

/// A minimal Debian has few programs. A test that starts another must say `skipped` where that is missing, so each is
/// looked at once and named here.
#[test]
fn tests_start_only_programs_that_are_there_or_skip() {
    // Essential packages of Debian, and what builds the tests.
    let there = [
        "sh", "/bin/sh", "true", "false", "mount", "umount", "id", "tar", "cp", "du", "cargo", "rustc",
        "rustup",
    ];
    // The test prints `skipped: REASON` without them.
    let skipped =
        ["valgrind", "qemu-system-x86_64", "grub-mkrescue", "objdump", "python3", "perf", "cc", "chromium"];
    let known: BTreeSet<&str> = there.into_iter().chain(skipped).collect();
    let mut strangers = Vec::new();
    let mut files = 0;
    tests_of(&root(), &mut |path, text| {
        files += 1;
        for after in text.split("Command::new(\"").skip(1) {
            let program = after.split('"').next().unwrap();
            if !known.contains(program) && program != "no-such-program" {
                strangers.push(format!("{}: {program}", path.display()));
            }
        }
    });
    assert!(files > 50, "only {files} files of tests were found");
    assert!(strangers.is_empty(), "{strangers:?}");
}

/// Every source file of tests.
fn tests_of(folder: &Path, each: &mut dyn FnMut(&Path, &str)) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !name.starts_with('.') && !["target", "runs", "peers", "fuzz"].contains(&&*name) {
            tests_of(&path, each);
        } else if name.ends_with(".rs") && path.components().any(|part| part.as_os_str() == "tests") {
            each(&path, &std::fs::read_to_string(&path).unwrap());
        }
    }
}
