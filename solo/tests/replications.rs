//! Many jobs as several independent runs that are told as one.

mod common;

use common::solo;
use serde_json::Value;
use std::path::Path;

const SCENARIO: &str = r#"name = "replicated"
platform = "xeon-w3530"
jobs = 7
jobs-per-replication = 3

[scheduler]
policy = "P-EDF"

[[task]]
name = "walker"
class = "hard"
core = 0
period = "1ms"
work = [{ compute = ["100us", "400us"] }, { random = "4MiB", accesses = 500 }]

[[task]]
name = "neighbour"
class = "best-effort"
core = 1
work = [{ stream = "4MiB", stride = "64B" }]
"#;

/// Runs the scenario in `dir`; its report, and the hash of its records.
fn run(dir: &Path, out: &str, threads: &str, more: &[&str]) -> (Value, String) {
    let file = dir.join("scenario.toml");
    std::fs::write(&file, SCENARIO).unwrap();
    let mut command = solo();
    command.env("RAYON_NUM_THREADS", threads).arg("run").arg(&file).args(["--json", "--quiet"]).args(more);
    let output = command.arg("--out").arg(dir.join(out)).output().expect("solo starts");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let shown: Value = serde_json::from_slice(&output.stdout).expect("stdout is JSON");
    let hash = shown["manifest"]["record_hash"].as_str().expect("a hash").to_owned();
    (shown["report"].clone(), hash)
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn the_whole_is_its_parts_whatever_the_number_of_threads() {
    let dir = tempfile::tempdir().unwrap();
    let (whole, hash) = run(dir.path(), "whole", "1", &[]);
    assert_eq!(run(dir.path(), "again", "5", &[]).1, hash, "threads make no difference");
    assert_eq!((number(&whole["replications"]), number(&whole["doubts"]["out_of_order"])), (3, 0));
    let parts: Vec<Value> = [("1", "3"), ("2", "3"), ("3", "1")]
        .map(|(seed, jobs)| run(dir.path(), &format!("part{seed}"), "1", &["--seed", seed, "--jobs", jobs]).0)
        .into();
    assert!(parts.iter().all(|part| part.get("replications").is_none()));
    for figure in ["/end_ns", "/tasks/0/jobs", "/tasks/1/jobs", "/doubts/records", "/doubts/unfinished"] {
        let sum: u64 = parts.iter().map(|part| number(part.pointer(figure).expect(figure))).sum();
        assert_eq!(number(whole.pointer(figure).expect(figure)), sum, "{figure}");
    }
    assert_eq!(number(&whole["tasks"][0]["jobs"]), 7);
}

#[test]
fn a_replicated_run_is_replayed() {
    let dir = tempfile::tempdir().unwrap();
    let (_, hash) = run(dir.path(), "run", "2", &[]);
    let output = solo().arg("replay").arg(dir.path().join("run")).output().expect("solo starts");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains(&hash));
}
