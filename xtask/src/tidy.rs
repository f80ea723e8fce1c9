//! House rules that a machine can check.

use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// No source file is longer.
const LINES_MAX: usize = 1000;

/// Where `unsafe` may stand.
const UNSAFE_ROOMS: [&str; 2] = ["machines/x86_64", "linux"];

/// Crates whose code decides: no clock, no float, no hash order, no conditional compilation.
const POLICY_ROOMS: [&str; 2] = ["crates/schedule/src", "crates/isolate/src"];

/// What policies never mention, and why.
const POLICY_BANS: [(&str, &str); 6] = [
    ("f32", "policies use integers"),
    ("f64", "policies use integers"),
    ("HashMap", "policies never depend on hash order"),
    ("std::time", "policies are told the time"),
    ("Mutex", "policies hold no locks"),
    ("#[cfg(feature", "policies are the same code everywhere"),
];

/// Dependencies that would run upstairs: a crate and the rooms it may not know.
const FLOORS: &[(&str, &[&str])] = &[
    ("crates/model", &["solo-"]),
    ("crates/chart", &["solo-"]),
    (
        "crates/hal",
        &["solo-schedule", "solo-kernel", "solo-sim", "solo-workload", "solo-scenario", "solo-report"],
    ),
    (
        "crates/schedule",
        &["solo-hal", "solo-kernel", "solo-sim", "solo-workload", "solo-scenario", "solo-report"],
    ),
    (
        "crates/isolate",
        &["solo-hal", "solo-schedule", "solo-kernel", "solo-sim", "solo-workload", "solo-report"],
    ),
    (
        "crates/observe",
        &[
            "solo-kernel",
            "solo-schedule",
            "solo-sim",
            "solo-workload",
            "solo-scenario",
            "solo-report",
            "solo-linux",
        ],
    ),
    ("crates/workload", &["solo-hal", "solo-kernel", "solo-sim", "solo-scenario", "solo-report"]),
    ("crates/kernel", &["solo-sim", "solo-workload", "solo-scenario", "solo-report"]),
    ("crates/prove", &["solo-kernel", "solo-sim", "solo-scenario", "solo-report", "solo-study"]),
    ("crates/study", &["solo-kernel", "solo-sim", "solo-scenario", "solo-report"]),
];

/// All violations, as lines that say where and what.
pub(crate) fn findings(root: &Path) -> Result<Vec<String>> {
    let mut findings = Vec::new();
    for file in sources(root)? {
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let name = file.strip_prefix(root).unwrap_or(&file).to_string_lossy().into_owned();
        inspect(&name, &text, &mut findings);
    }
    for (room, forbidden) in FLOORS {
        let manifest = root.join(room).join("Cargo.toml");
        let Ok(text) = fs::read_to_string(&manifest) else { continue };
        let dependencies = text.split("[dependencies]").nth(1).unwrap_or("");
        let dependencies = dependencies.split("\n[").next().unwrap_or("");
        for line in dependencies.lines() {
            if forbidden.iter().any(|upstairs| line.starts_with(upstairs)) {
                findings.push(format!("{room}/Cargo.toml: an arrow runs up the house: {line}"));
            }
        }
    }
    for file in ["README.md", "ARCHITECTURE.md", "CAVEATS.md", "docs/reproduction.md"] {
        if !root.join(file).exists() {
            findings.push(format!("{file}: missing"));
        }
    }
    Ok(findings)
}

fn inspect(name: &str, text: &str, findings: &mut Vec<String>) {
    if name == "xtask/src/tidy.rs" {
        return;
    }
    let lines = text.lines().count();
    if lines > LINES_MAX {
        findings.push(format!("{name}: {lines} lines; the limit is {LINES_MAX}"));
    }
    let product = text.split("#[cfg(test)]").next().unwrap_or(text);
    let in_room = |rooms: &[&str]| rooms.iter().any(|room| name.starts_with(room));
    for (number, line) in product.lines().enumerate() {
        let code = line.split("//").next().unwrap_or(line);
        let at = format!("{name}:{}", number + 1);
        if (code.contains("unsafe {") || code.contains("unsafe fn") || code.contains("unsafe impl"))
            && !in_room(&UNSAFE_ROOMS)
            && !name.contains("/tests/")
        {
            findings.push(format!("{at}: unsafe outside {UNSAFE_ROOMS:?}"));
        }
        for mark in ["todo!(", "unimplemented!(", "dbg!("] {
            if code.contains(mark) {
                findings.push(format!("{at}: unfinished: {mark}...)"));
            }
        }
        if in_room(&POLICY_ROOMS) {
            for (ban, why) in POLICY_BANS {
                if code.contains(ban) {
                    findings.push(format!("{at}: {ban}: {why}"));
                }
            }
        }
    }
}

/// Every Rust source of the repository, in order.
fn sources(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() && !name.starts_with('.') && name != "target" && name != "runs" {
                folders.push(path);
            } else if name.ends_with(".rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::inspect;

    fn found(name: &str, text: &str) -> usize {
        let mut findings = Vec::new();
        inspect(name, text, &mut findings);
        findings.len()
    }

    #[test]
    fn each_rule_finds_its_violation() {
        assert_eq!(found("crates/a/src/lib.rs", "fn f() {}\n"), 0);
        assert_eq!(found("crates/a/src/lib.rs", "let x = unsafe { y() };\n"), 1);
        assert_eq!(found("machines/x86_64/src/a.rs", "let x = unsafe { y() };\n"), 0);
        assert_eq!(found("crates/schedule/src/a.rs", "fn f(x: f64) {}\n"), 1);
        assert_eq!(found("crates/a/src/a.rs", &"\n".repeat(1001)), 1);
        assert_eq!(found("crates/a/src/a.rs", "    todo!()\n"), 1);
    }
}
