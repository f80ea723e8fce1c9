//! Real programs and their references.
#![allow(dead_code, unreachable_pub, missing_docs)]

use solo_trace::{Reference, open};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Programs whose traces are short enough for a test, and varied.
pub const PROGRAMS: [&[&str]; 2] = [&["gzip", "-6", "-c"], &["sort"]];

/// `program` on `input` under a tool of valgrind; nothing but the path is in its environment, which would move the stack.
pub fn valgrind(tool: &[String], program: &[&str], input: &Path) -> bool {
    let status = Command::new("valgrind")
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .args(tool)
        .args(program)
        .arg(input)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

/// Whether there is valgrind; where not, says that `what` is skipped.
pub fn valgrind_is_here(what: &str) -> bool {
    let here = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !here {
        println!("skipped: {what}: valgrind is not installed");
    }
    here
}

/// What the programs work on.
pub fn input(folder: &Path) -> PathBuf {
    let path = folder.join("input");
    let line = |i: u64| format!("{} line {}\n", i * 2_654_435_761 % 100_003, i % 17);
    fs::write(&path, (0..120).map(line).collect::<String>()).unwrap();
    path
}

/// Every reference of a program, as lackey tells them.
pub fn references(program: &[&str], input: &Path, log: &Path) -> Vec<Reference> {
    let tool =
        ["--tool=lackey", "--trace-mem=yes", &format!("--log-file={}", log.display())].map(String::from);
    assert!(valgrind(&tool, program, input));
    let mut all = Vec::new();
    open(log).unwrap().for_each(|reference| all.push(*reference)).unwrap();
    all
}
