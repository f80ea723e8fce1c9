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
