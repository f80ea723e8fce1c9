//! Tells a program which commit it is built from, for `--version`, the manifests of runs and the workers of a cluster.
//!
//! Only release builds know: a build for tests would be made anew with every commit, or tell an old one.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=SOLO_COMMIT");
    // From each package that this script serves.
    println!("cargo:rerun-if-changed=../solo/build.rs");
    let commit = commit();
    if let Some(commit) = &commit {
        println!("cargo:rustc-env=SOLO_COMMIT={commit}");
    }
    let number = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let version = commit.map_or_else(|| number.clone(), |commit| format!("{number} ({commit})"));
    println!("cargo:rustc-env=SOLO_VERSION={version}");
}

/// The commit that is told from outside, else the one that is checked out; a package of the sources, for example, has none.
fn commit() -> Option<String> {
    if let Ok(told) = std::env::var("SOLO_COMMIT") {
        return Some(told);
    }
    if std::env::var("PROFILE").as_deref() != Ok("release") {
        return None;
    }
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    let commit = git(&["describe", "--always", "--dirty", "--abbrev=12"])?;
    // What makes the answer another: a commit, and a change of any source.
    for path in
        [log.as_str(), "src", "../core", "../analysis", "../formats", "../machines", "../lab", "../platforms"]
    {
        if Path::new(path).exists() {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    Some(commit)
}

fn git(words: &[&str]) -> Option<String> {
    let output = Command::new("git").args(words).output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}
