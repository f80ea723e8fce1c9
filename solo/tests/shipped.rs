//! The scenarios that come with the project show what their comments say, at a small number of jobs.

mod common;

use common::solo;
use serde_json::Value;
use std::path::Path;

/// Compares the variants of a shipped scenario; the results, and whether all deadlines held.
fn compare(name: &str, jobs: &str, more: &[&str]) -> (Value, bool) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios").join(name);
    let folder = tempfile::tempdir().unwrap();
    let mut command = solo();
    command.arg("compare").arg(file).args(["--quiet", "--json", "--jobs", jobs]).args(more);
    let output = command.arg("--out").arg(folder.path().join("runs")).output().expect("solo starts");
    let held = match output.status.code() {
        Some(0) => true,
        Some(1) => false,
        code => panic!("{name}: {code:?} {}", String::from_utf8_lossy(&output.stderr)),
    };
    (serde_json::from_slice(&output.stdout).expect("stdout is JSON"), held)
}

/// Whether a variant's deadlines held, and what is said about it.
fn verdict<'a>(results: &'a Value, variant: &str) -> &'a Value {
    let verdicts = results["runs"].as_array().unwrap();
    &verdicts.iter().find(|entry| entry["variant"] == variant).expect("the variant was run")["verdict"]
}

#[test]
fn the_frame_task_holds_alone_and_misses_beside_the_screen_because_of_dram() {
    let (results, held) = compare("video-and-screen.toml", "25", &[]);
    assert!(!held);
    assert_eq!(verdict(&results, "solo")["held"], true);
    let corun = verdict(&results, "corun");
    assert_eq!(corun["held"], false);
    assert!(corun.to_string().contains("waiting for DRAM behind other cores"), "{corun}");
}

#[test]
fn control_and_vision_runs_under_four_policies() {
    let (results, _) = compare("control-and-vision.toml", "1", &[]);
    for variant in ["P-EDF", "C-EDF", "G-EDF", "P-RM"] {
        assert!(verdict(&results, variant)["held"].is_boolean());
    }
}

#[test]
fn a_recorded_program_runs_beside_the_frame_task() {
    let (results, held) = compare("recorded-neighbour.toml", "1", &["--variants", "solo,gzip"]);
    assert!(held, "{results}");
}
