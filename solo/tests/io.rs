//! `solo io`: offsets for partitions and their I/O, as a user asks for them.

mod common;

use common::{root, solo};
use std::fs;
use std::process::Output;

fn io(path: &std::path::Path, words: &[&str]) -> Output {
    solo().arg("io").arg(path).args(words).output().unwrap()
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn the_example_of_section_5_has_one_offset_only() {
    let text = fs::read_to_string(root().join("scenarios/io/section-5.toml")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("partitions.toml");
    for offset in [0, 5, 6, 7, 17] {
        let begins = format!("begins = {{ processing = \"{offset}ms\" }}");
        let (first, second) = text.rsplit_once("begins = { processing = \"6ms\" }").unwrap();
        fs::write(&path, format!("{first}{begins}{second}")).unwrap();
        let output = io(&path, &[]);
        assert_eq!(output.status.code(), Some(i32::from(offset != 6)), "{}", words(&output));
        if offset == 5 {
            let reason = "on core 1, the processing of `P2` begins 5ms after the processing of `P1` (modulo 18ms); \
                          they do not meet from 6ms to 6ms only";
            assert!(words(&output).contains(reason), "{}", words(&output));
        }
    }
}

#[test]
fn offsets_of_a_whole_machine_do_not_meet() {
    let output = io(&root().join("scenarios/io/eight-cores.toml"), &["--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = fs::read_to_string(root().join("scenarios/io/eight-cores.toml")).unwrap();
    let file: toml::Table = text.parse().unwrap();
    let partitions = file["partition"].as_array().unwrap();
    assert_eq!(partitions.len(), answer["partitions"].as_array().unwrap().len());
    // Ten hyperperiods of 40 ms in tenths of milliseconds, a line for each resource.
    let mut lines = std::collections::BTreeMap::new();
    for (row, partition) in answer["partitions"].as_array().unwrap().iter().zip(partitions) {
        let period = row["period_ns"].as_u64().unwrap() / 100_000;
        for slot in row["steps"].as_array().unwrap() {
            let resource = match slot["step"].as_str().unwrap() {
                "processing" => format!("core {}", row["core"]),
                "physical input" => partition["input"]["device"].to_string(),
                "physical output" => partition["output"]["device"].to_string(),
                _ => "I/O core".to_owned(),
            };
            let line = lines.entry(resource.clone()).or_insert_with(|| vec![false; 4000]);
            let (begin, length) = (slot["begin_ns"].as_u64().unwrap(), slot["length_ns"].as_u64().unwrap());
            assert_eq!((begin % 100_000, length % 100_000), (0, 0));
            for instance in 0..4000 / period {
                for at in 0..length / 100_000 {
                    let at = (begin / 100_000 + instance * period + at) % 4000;
                    assert!(!std::mem::replace(&mut line[at as usize], true), "{resource} at {at}: {row}");
                }
            }
        }
    }
    assert_eq!(lines.len(), 7 + 1 + 4);
}

#[test]
fn what_is_wrong_or_hostile_is_refused_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("partitions.toml");
    let one = |line: &str| {
        format!("name = \"x\"\n[[partition]]\nname = \"p\"\ncore = 0\nperiod = \"10ms\"\n{line}\n")
    };
    for (text, code) in [
        (String::new(), 2),
        ("name = \"x\"\npartition = 7\n".to_owned(), 2),
        (one("processing = \"0ms\""), 2),
        (one("processing = \"-1ms\""), 2),
        (one("processing = \"1ms\"\nlatency = \"9000000000s\""), 2),
        (one("processing = \"1ms\"\nbegins = { processing = \"10ms\" }"), 2),
        (one("processing = \"11ms\""), 1),
        (one("processing = \"18446744073709551615ns\""), 2),
        (one("processing = \"1ms\"").replace("\"p\"", "\"\\u001b[31mp\""), 2),
        (one("processing = \"10ms\""), 0),
    ] {
        fs::write(&path, &text).unwrap();
        let output = io(&path, &[]);
        assert_eq!(output.status.code(), Some(code), "{text}\n{}", words(&output));
        assert!(!words(&output).contains('\u{1b}'), "{text}\n{}", words(&output));
    }
    assert_eq!(io(std::path::Path::new("/dev/zero"), &[]).status.code(), Some(2));
    assert_eq!(io(&folder.path().join("none.toml"), &[]).status.code(), Some(2));
}
