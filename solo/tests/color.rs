//! `solo color` through the command line: what it refuses, what it tells, and what is left when it is killed.
#![allow(missing_docs)]

mod common;

use common::solo;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

fn color(words: &[&str]) -> Output {
    solo().arg("color").args(words).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Whether this machine lets solo choose page frames; where it does not, that is said.
fn can_color() -> bool {
    let output = color(&["--platform", "xeon-w3530", "--quiet", "--", "true"]);
    if output.status.code() == Some(3) {
        println!("skipped: solo color: {}", said(&output).trim());
    }
    output.status.code() != Some(3)
}

#[test]
fn what_can_not_be_colored_is_refused_before_anything_starts() {
    let chip = ["--platform", "xeon-w3530"];
    let wrong: [(&[&str], &str); 9] = [
        (&["--colors", "0"], "expected a program"),
        (&["--colors", "", "--", "true"], "expected numbers and ranges such as 0-3,8, found ``"),
        (&["--colors", "3-1", "--", "true"], "expected numbers and ranges such as 0-3,8, found `3-1`"),
        (&["--colors", "70000", "--", "true"], "expected numbers and ranges such as 0-3,8, found `70000`"),
        (
            &["--colors", "128", "--", "true"],
            "there is no color128: the map tells 128 colors apart, numbered from 0",
        ),
        (
            &["--banks", "16", "--", "true"],
            "there is no bank16: the map tells 16 banks apart, numbered from 0",
        ),
        (&["--banks", "1-\u{1b}[31m", "--", "true"], "found `1-\\u{1b}[31m`"),
        (&["--map", "x", "--", "true"], "cannot be used with"),
        (&["--", "/nowhere/at/all"], "/nowhere/at/all cannot be executed: no such file or folder"),
    ];
    for (words, expected) in wrong {
        let output = color(&[&chip[..], words].concat());
        if output.status.code() == Some(3) {
            println!("skipped: solo color: {}", said(&output).trim());
            continue;
        }
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", said(&output));
        assert!(said(&output).contains(expected), "{words:?}: {}", said(&output));
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_program_keeps_its_output_and_its_status() {
    if !can_color() {
        return;
    }
    let script =
        ["--platform", "xeon-w3530", "--colors", "3-40", "--", "sh", "-c", "echo out; echo err >&2; exit 5"];
    let output = color(&script);
    assert_eq!(output.status.code(), Some(5), "{}", said(&output));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "out\n");
    assert!(said(&output).starts_with("err\n"), "{}", said(&output));
    assert!(said(&output).contains("38 of 128 colors: 3-40"), "{}", said(&output));
}

#[test]
fn every_page_is_told_by_color() {
    if !can_color() {
        return;
    }
    let output = color(&["--platform", "xeon-w3530", "--colors", "5", "--json", "--", "true"]);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let program = &answer["programs"][0];
    assert_eq!(program["name"], "true");
    assert!(program["right_pages"].as_u64().unwrap() > 50, "{answer}");
    // What is wrong was misplaced by somebody's interrupt, and the status says so.
    assert_eq!(answer["right"], program["wrong_pages"] == 0, "{answer}");
    assert_eq!(output.status.code(), Some(i32::from(answer["right"] == false)), "{answer}");
    // One color of 128: of the frames that were looked at about so many are right.
    let (right, all) =
        (answer["frames_right"].as_f64().unwrap(), answer["frames_searched"].as_f64().unwrap());
    assert!(right >= 1.0 && all >= 4096.0, "{answer}");
}

#[test]
fn without_a_program_the_colors_are_shown() {
    if !can_color() {
        return;
    }
    let output = color(&["--platform", "xeon-w3530", "--colors", "0-63", "--dry-run", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["right"], Value::Null);
    assert_eq!(answer["wanted"]["colors_of_map"], 128);
    assert_eq!(answer["programs"].as_array().map(Vec::len), Some(0));
}

#[test]
fn a_program_ends_with_the_one_that_colors_it() {
    if !can_color() {
        return;
    }
    let mut command = solo();
    command.args(["color", "--platform", "xeon-w3530", "--", "sh", "-c", "echo $$; exec sleep 1000"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let process = format!("/proc/{}", line.trim());
    assert!(Path::new(&process).exists());
    child.kill().unwrap();
    child.wait().unwrap();
    let begun = Instant::now();
    let runs =
        || std::fs::read_to_string(format!("{process}/cmdline")).is_ok_and(|text| text.contains("sleep"));
    while runs() {
        assert!(begun.elapsed() < Duration::from_secs(10), "{process} lives on");
        std::thread::sleep(Duration::from_millis(10));
    }
}
