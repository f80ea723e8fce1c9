//! Address maps: shown, read and written, and found from the times of address pairs.

mod common;

use common::{solo, transcript};
use std::process::Output;

fn run(words: &[&str]) -> Output {
    solo().args(words).output().unwrap()
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", transcript(output, &[]));
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn a_platforms_map_is_shown() {
    let places = "0,0x1000,0x183fc0";
    let xeon = run(&["platforms", "xeon-w3530", "--map", "--address", places]);
    insta::assert_snapshot!("xeon", transcript(&xeon, &[]));
    insta::assert_snapshot!("i7", transcript(&run(&["platforms", "i7-2600", "--map"]), &[]));
    let json: serde_json::Value =
        serde_json::from_str(&text(&run(&["platforms", "i7-2600", "--map", "--json"]))).unwrap();
    assert_eq!(json["colors"], 32);
    assert_eq!(json["within_pages"][0], "6");
}

/// What is written in either public form is read back as the same banks, and another's banks are told from them.
#[test]
fn maps_are_written_and_read_back() {
    let folder = tempfile::tempdir().unwrap();
    for form in ["functions", "palloc"] {
        let map = text(&run(&["platforms", "i7-2600", "--map", "--as", form]));
        let file = folder.path().join(form);
        std::fs::write(&file, &map).unwrap();
        let file = file.to_str().unwrap();
        let back = text(&run(&["platforms", "i7-2600", "--map", "--banks", file]));
        assert!(back.contains("these are the banks of i7-2600's file"), "{map}{back}");
        let other = text(&run(&["platforms", "xeon-w3530", "--map", "--banks", file]));
        assert!(other.contains("these are not the banks of xeon-w3530's file"), "{other}");
    }
    assert_eq!(
        text(&run(&["platforms", "xeon-w3530", "--map", "--as", "palloc"])),
        "palloc_mask 0x00183000\n"
    );
    let colors = text(&run(&["platforms", "xeon-w3530", "--map", "--as", "functions", "--colors"]));
    assert_eq!(colors.lines().collect::<Vec<_>>(), ["12", "13", "14", "15", "16", "17", "18"]);
}

/// From times alone the banks of every platform come out as its file says.
#[test]
fn times_give_the_functions_of_every_platform() {
    let list: serde_json::Value = serde_json::from_str(&text(&run(&["platforms", "--json"]))).unwrap();
    for platform in list["platforms"].as_array().unwrap() {
        let name = platform["name"].as_str().unwrap();
        let output = run(&["measure", "map", name, "--json"]);
        let found: serde_json::Value = serde_json::from_str(&text(&output)).unwrap();
        assert_eq!(found["agrees"], true, "{name}: {found}");
    }
    insta::assert_snapshot!("measured_i7", transcript(&run(&["measure", "map", "i7-2600"]), &[]));
}

/// One measurement of each pair, some of which a refresh makes slower than any conflict, and every two hundredth answer
/// wrong: tolerated, reported.
#[test]
fn noisy_times_of_a_file_are_enough() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pairs.txt");
    let file = file.to_str().unwrap();
    let words = ["measure", "map", "xeon-w3530", "--repeats", "1", "--save", file, "--json"];
    let measured: serde_json::Value = serde_json::from_str(&text(&run(&words))).unwrap();
    assert_eq!(measured["agrees"], true, "{measured}");
    let cycles = |name: &str| measured[name].as_u64().unwrap();
    let saved = std::fs::read_to_string(file).unwrap();
    let spoil = |(at, line): (usize, &str)| {
        let (pair, time) = line.rsplit_once(' ').unwrap();
        let slow = time.parse::<u64>().unwrap() > cycles("threshold_cycles");
        let wrong = cycles(if slow { "fast_mean_cycles" } else { "slow_mean_cycles" });
        if at % 200 == 199 { format!("{pair} {wrong}\n") } else { format!("{line}\n") }
    };
    let noisy: String = saved.lines().skip(1).enumerate().map(spoil).collect();
    std::fs::write(file, noisy).unwrap();
    let output = run(&["measure", "map", "xeon-w3530", "--timings", file, "--json"]);
    let found: serde_json::Value = serde_json::from_str(&text(&output)).unwrap();
    assert_eq!(found["agrees"], true, "{found}");
    let noise = found["noise_per_mille"].as_u64().unwrap();
    assert!((4..=15).contains(&noise), "{noise}");
    // The functions alone, for PALLOC, without naming a platform.
    let palloc = text(&run(&["measure", "map", "--timings", file, "--as", "palloc"]));
    assert_eq!(palloc, "palloc_mask 0x00183000\n");
    // Another platform's file does not say the same: that is no success.
    let other = run(&["measure", "map", "i7-2600", "--timings", file]);
    let words = transcript(&other, &[]);
    assert_eq!(other.status.code(), Some(1), "{words}");
    for part in ["i7-2600's file says otherwise", "14^18", "The times are of another chip"] {
        assert!(words.contains(part), "{part}:\n{words}");
    }
}

#[test]
fn what_is_wrong_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).unwrap();
        folder.path().join(name).to_str().unwrap().to_owned()
    };
    let alike: String = (0..200).map(|at| format!("{:#x} {:#x} 100\n", at << 12, at << 20)).collect();
    let cases = [
        vec!["measure", "map"],
        vec!["measure", "map", "i7-2600", "--granule", "100B"],
        vec!["measure", "map", "i7-2600", "--pairs", "120"],
        vec!["platforms", "--map"],
        vec!["platforms", "i7-2600", "--map", "--address", "here"],
        vec!["platforms", "i7-2600", "--map", "--address", "0x7fffffffffff"],
    ];
    let mut all = String::new();
    for words in cases {
        all += &format!("$ solo {}\n{}\n", words.join(" "), transcript(&run(&words), &[]));
    }
    for (option, name, content) in [
        ("--timings", "bad.txt", "0x1000 0x2000 100\n0x1000 slow\n"),
        ("--timings", "none.txt", "# nothing\n"),
        ("--timings", "alike.txt", &alike),
        ("--banks", "bits.txt", "8\n99\n"),
        ("--banks", "mask.txt", "palloc_mask 0x1000\nxor 13 17\n"),
    ] {
        let file = write(name, content);
        let words = if option == "--timings" {
            vec!["measure", "map", option, &file]
        } else {
            vec!["platforms", "i7-2600", "--map", option, &file]
        };
        all += &format!("$ {option} {name}\n{}\n", transcript(&run(&words), &[(folder.path(), "FOLDER")]));
    }
    insta::assert_snapshot!("errors", all);
}
