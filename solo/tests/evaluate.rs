//! `solo evaluate`: rows with the thesis's numbers beside them, the same whatever stopped it.
#![allow(missing_docs)]

mod common;

use common::solo;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Output;

fn evaluate(chapter: &str, out: &Path, more: &[&str]) -> Output {
    let small = ["--scale", "1000", "--share", "color", "--out"];
    solo().arg("evaluate").arg(chapter).args(small).arg(out).args(more).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn rows(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", said(output));
    serde_json::from_slice::<Value>(&output.stdout).unwrap()["rows"].clone()
}

/// The thesis prints numbers for 32 KB and none for 4 KB. The table has the sentence that says what the numbers mean, and
/// a word on how many there are; the file has what `--json` prints.
#[test]
fn the_thesis_stands_beside_ours() {
    let folder = tempfile::tempdir().unwrap();
    let known =
        [("chapter-6", "missed_s3_per_mille"), ("chapter-7", "most_ppm"), ("chapter-8", "hard_late_ppm")];
    for (chapter, known) in known {
        let out = folder.path().join(chapter);
        let sizes = ["--sets", "1", "--wss-kib", "4,32"];
        let output = evaluate(chapter, &out, &[&sizes[..], &["--json"]].concat());
        let rows = rows(&output);
        for row in rows.as_array().unwrap() {
            let large = row["working_set_kib"] == 32;
            assert_eq!(row["paper"].is_object(), large, "{row}");
            // Under CAP-GS the thesis has no late hard job, with the monitor no late job at all.
            let some = chapter != "chapter-8" || row["approach"] == "bfd";
            assert!(!large || (row["paper"][known].as_u64().unwrap() > 0) == some, "{row}");
            assert_eq!(row["sets"], 1, "{row}");
        }
        assert_eq!(fs::read(out.join("evaluation.json")).unwrap(), output.stdout, "{chapter}");
        let text = evaluate(chapter, &out, &sizes);
        let text = String::from_utf8(text.stdout).unwrap();
        assert!(text.contains("doubts: 1 set in each row") && text.ends_with('\n'), "{text}");
    }
}

/// Two parts and a whole; fewer sets first; a journal that is cut off.
#[test]
fn what_was_stopped_goes_on_and_leaves_no_trace_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let two = ["--sets", "2", "--wss-kib", "4", "--json"];
    let with = |more: &[&'static str]| [&two[..], more].concat();
    let whole = rows(&evaluate("chapter-7", &at("whole"), &two));
    for part in ["1/2", "2/2"] {
        let output = evaluate("chapter-7", &at(&part.replace('/', "-")), &with(&["--shard", part]));
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        assert!(output.stdout.is_empty() && said(&output).contains("of 4 points in "), "{}", said(&output));
    }
    let (first, second) = (at("1-2"), at("2-2"));
    let from = ["--from", first.to_str().unwrap(), "--from", second.to_str().unwrap()];
    assert_eq!(rows(&evaluate("chapter-7", &at("put-together"), &[&two[..], &from].concat())), whole);

    let one = rows(&evaluate("chapter-7", &at("grown"), &["--sets", "1", "--wss-kib", "4", "--json"]));
    assert_ne!(one, whole);
    let journal = at("grown").join("journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, &text[..text.len() - 30]).unwrap();
    assert_eq!(rows(&evaluate("chapter-7", &at("grown"), &two)), whole);
    assert_eq!(rows(&evaluate("chapter-7", &at("grown"), &["--sets", "1", "--wss-kib", "4", "--json"])), one);

    // Of another evaluation; the other chapter, too.
    let later = evaluate("chapter-7", &at("whole"), &with(&["--seed", "2"]));
    assert!(later.status.code() == Some(2) && said(&later).contains("journal.jsonl"), "{}", said(&later));
    let other = evaluate("chapter-6", &at("whole"), &two);
    assert!(other.status.code() == Some(2) && said(&other).contains("journal.jsonl"), "{}", said(&other));
}

/// Before anything is run.
#[test]
fn sizes_that_mean_nothing_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    for wrong in [["--sets", "0"], ["--scale", "0"], ["--jobs", "0"], ["--wss-kib", "2"], ["--shard", "3/2"]]
    {
        let output = evaluate("chapter-6", &out, &wrong);
        assert_eq!(output.status.code(), Some(2), "{wrong:?}: {}", said(&output));
        assert!(said(&output).contains(wrong[0]), "{wrong:?}: {}", said(&output));
    }
    assert!(!out.exists());
}
