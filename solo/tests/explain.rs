//! `solo explain`: every code that a message shows can be looked up.

mod common;

use common::{CALM, scenario, solo};
use std::process::Output;

fn explain(arguments: &[&str]) -> Output {
    solo().arg("explain").args(arguments).output().unwrap()
}

fn said(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn the_code_of_a_message_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let file = scenario(folder.path(), &CALM.replace("period", "perioud"));
    let (_, _, message) = said(&solo().arg("run").arg(file).output().unwrap());
    let codes: Vec<&str> = message.lines().filter(|line| line.starts_with("solo::")).collect();
    assert!(codes.contains(&"solo::unknown_key"), "{message}");
    for code in codes {
        let (exit, text, _) = said(&explain(&[code]));
        assert_eq!(exit, Some(0));
        assert!(text.starts_with(&format!("{code}: ")), "{text}");
        assert!(text.contains("wrong:\n    ") && text.contains("right:\n    "), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}

#[test]
fn an_unknown_code_is_refused_with_the_nearest() {
    let (exit, out, error) = said(&explain(&["solo::unkown_key"]));
    assert_eq!((exit, out.as_str()), (Some(2), ""));
    assert!(error.contains("did you mean solo::unknown_key?"), "{error}");
    let (exit, _, error) = said(&explain(&["\u{1b}[31m"]));
    assert_eq!(exit, Some(2));
    assert!(!error.contains('\u{1b}'), "escapes don't reach a terminal");
}

#[test]
fn all_codes_are_listed_for_people_and_for_programs() {
    let (_, text, _) = said(&explain(&[]));
    let (exit, json, _) = said(&explain(&["--json"]));
    assert_eq!(exit, Some(0));
    let all: serde_json::Value = serde_json::from_str(&json).unwrap();
    let all = all["codes"].as_array().unwrap();
    assert!(all.len() >= 60);
    for code in all {
        let name = code["code"].as_str().unwrap().strip_prefix("solo::").unwrap();
        assert!(text.lines().any(|line| line.starts_with(&format!("{name} "))), "{name} is not listed");
        assert!(code["explanation"].is_string() && code["wrong"].is_string() && code["right"].is_string());
    }
}

#[test]
fn what_a_scenario_leaves_open_is_told_with_its_rule() {
    let folder = tempfile::tempdir().unwrap();
    let task = |name: &str, wcet: &str| {
        format!(
            "[[task]]\nname = \"{name}\"\nclass = \"hard\"\nperiod = \"10ms\"\nwork = [{{ compute = \"{wcet}\" }}]\n"
        )
    };
    let text = format!(
        "name = \"two\"\nplatform = \"ideal-8\"\njobs = 1\nseed = 7\n[scheduler]\npolicy = \"P-EDF\"\npartition = \"ffd\"\n{}{}",
        task("small", "5ms"),
        task("large", "6ms")
    );
    let file = scenario(folder.path(), &text);
    let (exit, out, error) = said(&explain(&[file.to_str().unwrap()]));
    assert_eq!((exit, error.as_str()), (Some(0), ""));
    assert!(out.starts_with("two\n"), "{out}");
    assert!(out.contains("task `large`: it runs on core0 (by ffd)"), "{out}");
    assert!(out.contains("task `small`: it runs on core1 (by ffd)"), "{out}");
    assert!(out.contains("counters are sampled each 1ms (the default)"), "{out}");
    assert!(!out.contains("seed"), "it is said: {out}");
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    let (exit, _, error) = said(&explain(&["no-such-file.toml"]));
    assert_eq!(exit, Some(2), "{error}");
}
