//! `solo check` as a user sees it, and its bounds beside what was observed.

mod common;

use common::{CALM, LATE, root, scenario, solo, transcript};
use std::path::Path;

/// Thesis 2.4.1.1 on a machine without overheads: late under RM, in time under EDF.
const THESIS: &str = r#"
name = "thesis"
platform = "ideal-8"
jobs = 60

[scheduler]
policy = "P-RM"

[[task]]
name = "first"
class = "hard"
core = 0
period = "10ms"
work = [{ compute = "2ms" }]

[[task]]
name = "second"
class = "hard"
core = 0
period = "15ms"
work = [{ compute = "5ms" }]

[[task]]
name = "third"
class = "soft"
core = 0
period = "25ms"
work = [{ compute = "10ms" }]
"#;

fn check(folder: &Path, text: &str, more: &[&str]) -> std::process::Output {
    let file = scenario(folder, text);
    solo().arg("check").arg(file).args(more).output().expect("solo starts")
}

#[test]
fn verdicts() {
    let edf = THESIS.replace("P-RM", "P-EDF");
    let costly = THESIS.replace("policy = \"P-RM\"", "policy = \"P-EDF\"\noverheads = \"epos-thesis\"");
    let llf = THESIS.replace("P-RM", "P-LLF").replace("core = 0\n", "core = 0\nwcet = \"2ms\"\n");
    let global = THESIS.replace("P-RM", "G-RM").replace("10ms\" }]", "24ms\" }]").replace("core = 0\n", "");
    let semaphore = THESIS
        .replacen("[[task]]", "[[lock]]\nname = \"slots\"\nprotocol = \"semaphore\"\n\n[[task]]", 1)
        .replacen(
            "{ compute = \"2ms\" }",
            "{ lock = \"slots\" }, { compute = \"2ms\" }, { unlock = \"slots\" }",
            1,
        )
        .replacen("core = 0", "core = 1", 1)
        .replacen(
            "{ compute = \"5ms\" }",
            "{ lock = \"slots\" }, { compute = \"5ms\" }, { unlock = \"slots\" }",
            1,
        )
        .replacen("core = 0", "core = 2", 1);
    for (name, text, code) in [
        ("refuted", THESIS, 1),
        ("some_proved", &semaphore, 3),
        ("one_class_above_the_other", &edf, 1),
        ("all_hard", &edf.replace("soft", "hard"), 0),
        ("with_overheads", &costly.replace("soft", "hard"), 0),
        ("global", &global, 0),
        ("no_wcet", CALM, 2),
        ("no_analysis", &llf, 3),
        ("declared_too_short", LATE, 1),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let output = check(folder.path(), text, &[]);
        assert_eq!(output.status.code(), Some(code), "{name}: {}", transcript(&output, &[]));
        insta::assert_snapshot!(format!("check_{name}"), transcript(&output, &[(folder.path(), "FOLDER")]));
    }
}

#[test]
fn json_carries_every_number() {
    let folder = tempfile::tempdir().unwrap();
    let output = check(folder.path(), THESIS, &["--json"]);
    insta::assert_snapshot!("check_json", transcript(&output, &[(folder.path(), "FOLDER")]));
}

#[test]
fn a_wrong_scenario_is_bad_input() {
    let folder = tempfile::tempdir().unwrap();
    let output = check(folder.path(), &THESIS.replace("period", "perioud"), &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("scenario.toml"));
}

/// Observations stay below the bounds that stand beside them.
#[test]
fn bounds_stand_beside_observations() {
    let folder = tempfile::tempdir().unwrap();
    let text = THESIS.replace("policy = \"P-RM\"", "policy = \"P-EDF\"\noverheads = \"epos-thesis\"");
    let file = scenario(folder.path(), &text.replace("soft", "hard"));
    let out = folder.path().join("run");
    let output = solo().args(["run", "--quiet"]).arg(file).arg("--out").arg(&out).output().unwrap();
    insta::assert_snapshot!("table_bounds", transcript(&output, &[(folder.path(), "FOLDER")]));
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(out.join("report.json")).unwrap()).unwrap();
    for task in report["tasks"].as_array().unwrap() {
        let (bound, seen) = (&task["bound"], task["executed_max_ns"].as_u64().unwrap());
        assert!(seen <= bound["occupied_ns"].as_u64().unwrap(), "{task}");
    }
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("<th scope=\"col\">bound</th>"));
    let again = solo().arg("report").arg(&out).output().unwrap();
    assert!(String::from_utf8_lossy(&again.stdout).contains(" bound"));
}

/// A task that executes for longer than it declares: no bug, but no bound either, and exit 1.
#[test]
fn a_bound_that_was_exceeded_is_told_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let text = LATE
        .replace("deadline = \"500us\"\n", "")
        .replace("{ compute = \"1ms\" }", "{ random = \"16MiB\", accesses = 20000 }");
    let file = scenario(folder.path(), &text);
    let out = folder.path().join("run");
    let output = solo().args(["run", "--quiet"]).arg(file).arg("--out").arg(out).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    insta::assert_snapshot!("table_exceeded", transcript(&output, &[(folder.path(), "FOLDER")]));
}

/// Control beside a decoder, both with budgets: bounded, then without what the bound needs.
#[test]
fn what_budgets_do_is_bounded_or_what_is_missing_is_named() {
    let text = include_str!("../../scenarios/bounded-by-budgets.toml").replace("\"1s\"", "\"50ms\"");
    let silent = text.replace("misses = 1900\n", "");
    let common = text.replace("colors = \"0-15\"\n", "");
    let shared = text.replace("cores = {", "sharing = \"spare\"\ncores = {");
    for (name, text, code) in
        [("budgets", &text, 0), ("no_misses", &silent, 3), ("no_colors", &common, 3), ("sharing", &shared, 3)]
    {
        let folder = tempfile::tempdir().unwrap();
        let output = check(folder.path(), text, &[]);
        assert_eq!(output.status.code(), Some(code), "{name}: {}", transcript(&output, &[]));
        insta::assert_snapshot!(format!("check_{name}"), transcript(&output, &[(folder.path(), "FOLDER")]));
    }
}

/// A task that misses the caches more often than it declares: the bounds suppose less, and are void.
#[test]
fn more_misses_than_declared_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let text = include_str!("../../scenarios/bounded-by-budgets.toml").replace("\"1s\"", "\"50ms\"");
    let run = |text: &str, out: &str| {
        let file = scenario(folder.path(), text);
        let out = folder.path().join(out);
        let output = solo().args(["run", "--quiet"]).arg(file).arg("--out").arg(out).output().unwrap();
        (output.status.code(), transcript(&output, &[(folder.path(), "FOLDER")]))
    };
    let (code, _) = run(&text, "declared");
    assert_eq!(code, Some(0));
    let (code, told) = run(&text.replace("misses = 1900", "misses = 1000"), "understated");
    assert!(told.contains("The bounds are void: a job of control missed the last-level cache"), "{told}");
    assert!(told.contains("times where 1000 were declared"), "{told}");
    assert_eq!(code, Some(0), "{told}");
}

/// Scenarios that were once proved and missed, and others of their kind: what `check` and `run` end with stands in each.
/// Where all is proved, nothing is late and no bound is exceeded.
#[test]
fn what_is_proved_of_the_cases_holds_when_they_run() {
    let cases = root().join("solo/tests/cases");
    let files = std::fs::read_dir(cases).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = files.filter(|file| file.extension().is_some_and(|end| end == "toml")).collect();
    assert!(files.len() > 20, "{} cases", files.len());
    let out = tempfile::tempdir().unwrap();
    for (number, file) in files.iter().enumerate() {
        let text = std::fs::read_to_string(file).unwrap();
        let expected =
            text.lines().nth(1).and_then(|line| line.strip_prefix("# check ")).expect("what is expected");
        let (codes, words) = expected.split_once(": ").expect("codes and words");
        let (check, run) = codes.split_once(", run ").expect("two codes");
        let end = |command: &mut std::process::Command| {
            let output = command.output().unwrap();
            let said = [&output.stdout[..], &output.stderr[..]].concat();
            (output.status.code().unwrap(), String::from_utf8_lossy(&said).into_owned())
        };
        let (checked, proof) = end(solo().arg("check").arg(file));
        let folder = out.path().join(number.to_string());
        let (ended, story) = end(solo().arg("run").arg(file).arg("--out").arg(folder));
        let name = file.display();
        assert_eq!(checked.to_string(), check, "{name}: {proof}");
        assert_eq!(ended.to_string(), run, "{name}: {story}");
        assert!(proof.contains(words) || story.contains(words), "{name}: no `{words}` in {proof}{story}");
        if checked == 0 {
            assert_eq!(ended, 0, "{name} is proved: {story}");
            assert!(!story.contains("above its bound"), "{name} is proved: {story}");
        }
    }
}
