//! `solo prove --jsonl --peer`: agreement with another program, and what is said where there is none.

mod common;

use common::solo;
use std::io::Write;
use std::process::{Output, Stdio};

const SETS: &str = concat!(
    r#"{"m":2,"tasks":[{"c":1000,"t":10000,"d":10000},{"c":3000,"t":10000,"d":10000}]}"#,
    "\n",
    r#"{"m":2,"tasks":[{"c":6,"t":10},{"c":6,"t":10},{"c":6,"t":10}]}"#,
    "\n"
);

fn prove(more: &[&str]) -> Output {
    let mut command = solo();
    command.args(["prove", "--jsonl", "--threads", "1"]).args(more);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("solo starts");
    // Who refuses its words may have ended before it reads.
    let written = child.stdin.take().expect("piped").write_all(SETS.as_bytes());
    assert!(written.is_ok() || child.wait().is_ok_and(|status| status.code() == Some(2)));
    child.wait_with_output().expect("solo ends")
}

#[test]
fn it_agrees_with_itself() {
    let peer = format!("{} prove --jsonl --threads 1", env!("CARGO_BIN_EXE_solo"));
    let output = prove(&["--peer", &peer, "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((&found["sets"], &found["differing_sets"]), (&2.into(), &0.into()));
    assert_eq!(found["tests"]["gfb"]["both_accept"], 1);
    assert_eq!(found["tests"]["gfb"]["neither"], 1);
}

#[test]
fn verdicts_that_differ_give_1_and_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("differences.jsonl");
    let peer = "f() { while read -r line; do echo '{\"verdicts\":{\"gfb\":true}}'; done; }; f";
    let file_name = file.to_string_lossy();
    let output = prove(&["--peer", peer, "--tests", "gfb,rta", "--differences", &file_name]);
    assert_eq!(output.status.code(), Some(1));
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(table.contains("2 sets; verdicts differ on 1"), "{table}");
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(written.starts_with(r#"{"line":2,"differs":{"gfb":{"here":false,"peer":true}},"#), "{written}");
}

#[test]
fn a_silent_peer_and_a_file_that_cannot_be_written_give_2() {
    let output = prove(&["--peer", "true"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("left 2 of 2 sets unanswered"));
    let output = prove(&["--peer", "true", "--differences", "/no/such/folder/file"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("/no/such/folder"));
}
