//! `solo sweep`: every combination is a point, whatever stopped it, and what can't be had is a row.
#![allow(missing_docs)]

mod common;

use common::{CALM, scenario, solo};
use serde_json::Value;
use std::path::Path;
use std::process::Output;

const AXES: [&str; 4] = ["--set", "task.control.period=4ms,5ms,500us", "--set", "seed=1..2"];

fn sweep(scenario: &Path, out: &Path, more: &[&str]) -> Output {
    solo().arg("sweep").arg(scenario).args(AXES).arg("--out").arg(out).args(more).output().unwrap()
}

fn points(output: &Output) -> Vec<Value> {
    let found: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    found["points"].as_array().unwrap().clone()
}

/// Six points: at 4 and 5 ms the deadlines hold, at 500 us the work of a millisecond can't.
#[test]
fn every_combination_is_a_row_and_files_hold_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (scenario(folder.path(), CALM), folder.path().join("out"));
    let output = sweep(&path, &out, &["--json"]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let points = points(&output);
    let seen: Vec<(&str, &str, bool)> = points
        .iter()
        .map(|point| {
            let value = |at: usize| point["settings"][at]["value"].as_str().unwrap();
            (value(0), value(1), point["held"].as_bool().unwrap())
        })
        .collect();
    let expected = [
        ("4ms", "1", true),
        ("4ms", "2", true),
        ("5ms", "1", true),
        ("5ms", "2", true),
        ("500us", "1", false),
        ("500us", "2", false),
    ];
    assert_eq!(seen, expected);
    // A run by itself is the reference.
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("period = \"5ms\"", "period = \"4ms\"")).unwrap();
    let words = ["--seed", "2", "--json", "--out"];
    let run = solo().arg("run").arg(&path).args(words).arg(folder.path().join("run")).output().unwrap();
    let run: Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(run["report"]["tasks"][0]["response"]["max_ns"], points[1]["tasks"][0]["max_ns"]);
    let csv = std::fs::read_to_string(out.join("sweep.csv")).unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    assert!(
        lines[0].starts_with("# solo sweep, version 1")
            && lines[1].starts_with("point,task.control.period,seed,")
    );
    assert_eq!(lines.len(), 2 + 6, "{csv}");
}

/// Cut in the middle of a line after two points, then gone on with: the answer is the same as without.
#[test]
fn a_sweep_that_was_killed_goes_on_and_leaves_no_trace_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let (path, whole) = (scenario(folder.path(), CALM), folder.path().join("whole"));
    let expected = points(&sweep(&path, &whole, &["--json"]));
    let journal = std::fs::read_to_string(whole.join("journal.jsonl")).unwrap();
    let cut = folder.path().join("cut");
    std::fs::create_dir(&cut).unwrap();
    let lines: Vec<&str> = journal.lines().collect();
    assert_eq!(lines.len(), 1 + 6);
    let rest = format!("{}\n{}\n{}\n{}", lines[0], lines[1], lines[2], &lines[3][..20]);
    std::fs::write(cut.join("journal.jsonl"), rest).unwrap();
    assert_eq!(points(&sweep(&path, &cut, &["--json"])), expected);
    let resumed = std::fs::read_to_string(cut.join("journal.jsonl")).unwrap();
    assert!(resumed.starts_with(&format!("{}\n{}\n{}\n", lines[0], lines[1], lines[2])), "done twice");
    // A changed figure, another scenario and another version are told apart.
    let forged = journal.replacen("\"jobs\":20", "\"jobs\":21", 1);
    assert_ne!(forged, journal);
    for (text, said) in [
        (forged, "not as it was written"),
        (journal.replacen("\"schema\":1", "\"schema\":7", 1), "version 7; this program reads version 1"),
    ] {
        std::fs::write(cut.join("journal.jsonl"), text).unwrap();
        let output = sweep(&path, &cut, &[]);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{error}");
        assert!(error.contains(said), "{error}");
    }
    let output = sweep(&path, &whole, &["--jobs", "5"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("it is of another sweep"));
}

#[test]
fn shards_in_folders_of_their_own_are_put_together() {
    let folder = tempfile::tempdir().unwrap();
    let (path, whole) = (scenario(folder.path(), CALM), folder.path().join("whole"));
    let expected = points(&sweep(&path, &whole, &["--json"]));
    let (a, b, all) = (folder.path().join("a"), folder.path().join("b"), folder.path().join("all"));
    for (out, shard) in [(&a, "1/2"), (&b, "2/2")] {
        let output = sweep(&path, out, &["--shard", shard]);
        assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let from = ["--json", "--from", a.to_str().unwrap(), "--from", b.to_str().unwrap()];
    assert_eq!(points(&sweep(&path, &all, &from)), expected);
    let journal = std::fs::read_to_string(all.join("journal.jsonl")).unwrap();
    assert_eq!(journal.lines().count(), 1, "nothing ran again");
}

#[test]
fn what_cannot_be_had_is_a_row_and_what_nothing_reads_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = scenario(folder.path(), CALM);
    let with = |axis: &str, out: &str| {
        let output = solo()
            .arg("sweep")
            .arg(&path)
            .args(["--set", axis, "--out"])
            .arg(folder.path().join(out))
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (code, text, _) =
        with("isolation.bandwidth.cores={ 0 = \"100MiB/s\" },{ 0 = \"100GiB/s\" }", "budgets");
    assert_eq!(code, Some(2));
    assert!(text.contains("refused: reservations of") && !text.contains("in variant"), "{text}");
    assert!(text.contains("doubts: 2 points, 1 refused"), "{text}");
    let (code, _, error) = with("task.control.perod=1ms", "typo");
    assert!(code == Some(2) && error.contains("unknown_key") && error.contains("period"), "{error}");
    let (code, _, error) = with("task.control.period", "form");
    assert!(code == Some(2) && error.contains("KEY=VALUE"), "{error}");
}
