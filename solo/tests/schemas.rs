//! Every JSON document that commands write fits the schema that `solo schema` prints.
//!
//! Schemas lie in `solo/schema`. Where a document has grown, `SOLO_BLESS=1 cargo test --test schemas` widens its schema to
//! what is written now; where a field is gone, renamed or means something else, its version in `solo/src/document.rs`
//! grows too.
#![allow(missing_docs)]

mod common;
mod samples;
mod shape;

use common::solo;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;

/// What some machines can't show: they let nobody count or hold budgets, limit no bandwidth, or lack valgrind. The test says `skipped` then.
const UNSEEN: [&str; 8] =
    ["watch", "stream", "recorded", "guard", "guard-limits", "place", "place-replay", "color"];

fn schema_of(name: &str) -> Value {
    let output = solo().args(["schema", name]).output().unwrap();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn documents() -> BTreeMap<String, u64> {
    let output = solo().args(["schema", "--json"]).output().unwrap();
    let all: Value = serde_json::from_slice(&output.stdout).unwrap();
    let one = |of: &Value| (of["name"].as_str().unwrap().to_owned(), of["version"].as_u64().unwrap());
    all["documents"].as_array().unwrap().iter().map(one).collect()
}

#[test]
fn what_commands_write_fits_its_schema() {
    let folder = tempfile::tempdir().unwrap();
    let samples = samples::all(folder.path());
    let bless = std::env::var_os("SOLO_BLESS").is_some();
    let mut faults = Vec::new();
    for (name, version) in documents() {
        let seen = samples.get(name.as_str()).map_or(&[][..], Vec::as_slice);
        if seen.is_empty() && !UNSEEN.contains(&name.as_str()) {
            faults.push(format!("{name}: no test writes one"));
        }
        if bless {
            shape::bless(&common::root().join(format!("solo/schema/{name}.json")), &name, version, seen);
            continue;
        }
        let schema = schema_of(&name);
        shape::examine(&schema, &name, &mut faults);
        for (at, sample) in seen.iter().enumerate() {
            shape::fits(&schema, sample, &format!("{name}[{at}]"), &mut faults);
        }
    }
    for name in samples.keys() {
        assert!(documents().contains_key(*name), "{name} has no schema");
    }
    assert!(
        faults.is_empty(),
        "{} faults; SOLO_BLESS=1 widens schemas:\n{}",
        faults.len(),
        faults.join("\n")
    );
}

/// Answers say what they are: name and version stand in them, and they are those of the list.
#[test]
fn answers_carry_their_name_and_version() {
    let folder = tempfile::tempdir().unwrap();
    let versions = documents();
    let mut seen = 0;
    for (name, answers) in samples::answers(folder.path()) {
        for answer in answers {
            assert_eq!(answer["format"], *name, "{name}");
            assert_eq!(answer["schema"], versions[name], "{name}");
            seen += 1;
        }
    }
    assert!(seen >= 30, "{seen} answers");
}

/// A schema that any document fits would make the other test pass: each is broken in each of three ways and refused.
#[test]
fn a_document_that_has_lost_or_gained_or_changed_a_field_does_not_fit() {
    let folder = tempfile::tempdir().unwrap();
    for (name, answers) in samples::answers(folder.path()) {
        let schema = schema_of(name);
        let Some(Value::Object(answer)) = answers.first() else { panic!("{name} is no object") };
        let fits = |document: Value| {
            let mut faults = Vec::new();
            shape::fits(&schema, &document, name, &mut faults);
            faults.is_empty()
        };
        assert!(fits(Value::Object(answer.clone())), "{name}");
        let mut more = answer.clone();
        more.insert("a_new_field".to_owned(), Value::Null);
        assert!(!fits(Value::Object(more)), "{name} takes any field");
        for required in schema["required"].as_array().unwrap() {
            let key = required.as_str().unwrap();
            let (mut less, mut other) = (answer.clone(), answer.clone());
            less.remove(key);
            assert!(!fits(Value::Object(less)), "{name} does without {key}");
            other.insert(key.to_owned(), Value::from(vec![vec![0.5]]));
            // Nothing was ever seen of some.
            assert!(
                schema["properties"][key].get("$comment").is_some() || !fits(Value::Object(other)),
                "{name} takes anything for {key}"
            );
        }
        let mut later = answer.clone();
        later.insert("schema".to_owned(), Value::from(99));
        assert!(!fits(Value::Object(later)), "{name} of any version");
    }
}

/// What applications gained comes from other runs than those that are kept: a report of the folder still tells it, in numbers, words and picture.
#[test]
fn a_report_of_a_comparison_tells_what_applications_gained() {
    let folder = tempfile::tempdir().unwrap();
    let (out, page) = (folder.path().join("out"), folder.path().join("page"));
    let file = common::scenario(folder.path(), include_str!("samples/believed.toml"));
    let told = |words: &[&OsStr]| {
        let output = solo().args(words).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code().is_some_and(|code| code < 2), "{error}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let word = OsStr::new;
    let compared = told(&[word("compare"), file.as_os_str(), word("--json"), word("--out"), out.as_os_str()]);
    let report = |format: &str, more: &[&OsStr]| {
        let words = [word("report"), out.as_os_str(), word("--format"), word(format)];
        told(&[&words[..], more].concat())
    };
    let gains = |text: &str| serde_json::from_str::<Value>(text).unwrap()["gains"].clone();
    assert_eq!(gains(&compared), gains(&report("json", &[])));
    assert_eq!(gains(&compared)[0]["factors"].as_array().map(Vec::len), Some(4));
    let text = report("table", &[]);
    assert!(text.contains("speedup factor of changing: ") && text.contains("aggregate speedup"), "{text}");
    report("html", &[word("--to"), page.as_os_str()]);
    let pages = [&out, &page].map(|place| std::fs::read_to_string(place.join("report.html")).unwrap());
    for page in pages {
        assert!(page.contains("What applications gain on big cores") && page.contains("stroke-dasharray"));
    }
}

#[test]
fn an_unknown_document_is_told_which_there_are() {
    let output = solo().args(["schema", "nothing"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("document `nothing` does not exist; known: run, comparison"), "{said}");
}
