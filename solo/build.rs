//! Tells the program which commit it is built from, for the manifests of runs.
//!
//! Only release builds know: a build for tests would be made anew with every commit, or tell an old one.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=SOLO_COMMIT");
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var_os("SOLO_COMMIT").is_some() || std::env::var("PROFILE").as_deref() != Ok("release") {
        return;
    }
    // Outside of a checkout, from a package for example, nobody knows.
    let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) else { return };
    let Some(commit) = git(&["describe", "--always", "--dirty", "--abbrev=12"]) else { return };
    println!("cargo:rustc-env=SOLO_COMMIT={commit}");
    // What makes the answer another: a commit, and a change of any source.
    for path in [log.as_str(), "src", "../crates", "../machines", "../linux", "../lab", "../platforms"] {
        if Path::new(path).exists() {
            println!("cargo:rerun-if-changed={path}");
        }
    }
}

fn git(words: &[&str]) -> Option<String> {
    let output = Command::new("git").args(words).output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}
