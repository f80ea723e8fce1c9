//! One of everything: no answer says "1 rows".

mod common;

use common::{scenario, solo};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

/// One core, one task, one job, one lock, one buffer.
const ONE: &str = r#"
name = "one"
platform = "one.toml"
jobs = 1

[scheduler]
policy = "P-RM"

[[lock]]
name = "bus"
protocol = "ceiling"

[[task]]
name = "only"
class = "hard"
core = 0
period = "5ms"
wcet = "2ms"
work = [{ compute = "1us" }, { lock = "bus" }, { stream = "64B", accesses = 1 }, { unlock = "bus" }]
"#;

/// What stands between a number and a word and makes it no count: `core 1 runs`, `99.1 ms`.
const NUMBERED: [&str; 12] =
    ["core", "CPU", "task", "line", "seed", "color", "level", "Fig.", "of", "about", "version", "page"];

/// Words that end in s and are no nouns in the plural.
const SINGULAR: [&str; 17] = [
    "yes", "is", "was", "has", "does", "ms", "us", "ns", "s", "its", "miss", "access", "as", "less", "bus",
    "this", "cores/s",
];

/// Counts of one whose noun stands in the plural.
fn wrong(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        for (at, pair) in words.windows(2).enumerate() {
            let noun = pair[1].trim_matches(|c: char| !c.is_ascii_alphanumeric());
            let counts = pair[0].trim_start_matches(['(', '"', '\'']) == "1"
                && !at.checked_sub(1).is_some_and(|before| NUMBERED.contains(&words[before]));
            let lower = noun.chars().all(|c| c.is_ascii_lowercase() || c == '-');
            if counts && lower && noun.ends_with('s') && !SINGULAR.contains(&noun) {
                found.push(line.trim().to_owned());
            }
        }
    }
    found
}

fn said(folder: &Path, words: &[&str], input: &str) -> String {
    let place = folder.to_string_lossy();
    let words = words.iter().map(|word| word.replace("TMP", &place));
    let mut command = solo();
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("solo starts");
    let written = child.stdin.take().map(|mut stdin| stdin.write_all(input.as_bytes()));
    drop(written);
    let output = child.wait_with_output().expect("it ends");
    assert!(matches!(output.status.code(), Some(0..=3)), "{:?}", output.status);
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn one_of_everything_is_counted_in_the_singular() {
    let folder = tempfile::tempdir().unwrap();
    let chip = std::fs::read_to_string(common::root().join("platforms/core2-q9550.toml")).unwrap();
    std::fs::write(folder.path().join("one.toml"), chip).unwrap();
    scenario(folder.path(), ONE);
    let late =
        ONE.replace("wcet = \"2ms\"", "deadline = \"1us\"").replace("name = \"one\"", "name = \"late\"");
    std::fs::write(folder.path().join("late.toml"), late).unwrap();
    std::fs::write(folder.path().join("one.din"), "0 1000\n").unwrap();
    std::fs::write(folder.path().join("one.dram"), "0x1000 READ 0\n").unwrap();
    std::fs::write(folder.path().join("bits.txt"), "6\n").unwrap();
    let sets = "{\"m\":1,\"tasks\":[{\"c\":1,\"t\":2}]}\n";
    let commands: &[(&[&str], &str)] = &[
        (&["run", "TMP/scenario.toml", "--out", "TMP/run"], ""),
        (&["run", "TMP/late.toml", "--out", "TMP/late"], ""),
        (&["report", "TMP/run"], ""),
        (&["report", "TMP/run", "--format", "json"], ""),
        (&["replay", "TMP/run"], ""),
        (&["diff", "TMP/run", "TMP/run"], ""),
        (&["diff", "TMP/run", "TMP/late"], ""),
        (&["list", "TMP"], ""),
        (&["check", "TMP/scenario.toml"], ""),
        (&["check", "TMP/late.toml"], ""),
        (&["plan", "TMP/scenario.toml", "--explain"], ""),
        (&["compare", "TMP/scenario.toml", "--out", "TMP/compared"], ""),
        (&["sweep", "TMP/scenario.toml", "--set", "seed=1", "--out", "TMP/swept"], ""),
        (
            &[
                "evaluate",
                "chapter-7",
                "--sets",
                "1",
                "--scale",
                "1000",
                "--wss-kib",
                "4",
                "--share",
                "color",
                "--out",
                "TMP/evaluated",
            ],
            "",
        ),
        (&["measure", "wcet", "TMP/scenario.toml", "--cores", "1", "--samples", "1"], ""),
        (&["measure", "lockdown", "TMP/scenario.toml", "--pages", "0,1", "--out", "TMP/locked"], ""),
        (&["measure", "counters", "TMP/scenario.toml", "--events", "cycles"], ""),
        (&["platforms"], ""),
        (&["platforms", "TMP/one.toml", "--map"], ""),
        (&["trace", "cache", "TMP/one.din", "--cache", "U=64B:1:64:lru"], ""),
        (&["trace", "coherence", "TMP/one.din", "--cores", "1", "--cache", "64B:1:64:lru"], ""),
        (&["trace", "dram", "TMP/one.dram"], ""),
        (&["trace", "profile", "TMP/one.din", "--window", "1"], ""),
        (&["prove", "--jsonl"], "no set\n"),
        (&["prove", "--table"], sets),
        (&["prove", "--table"], "no set\n"),
        (&["prove", "--jsonl", "--peer", "cat"], sets),
        (
            &[
                "study",
                "studies/thesis-fig-64.toml",
                "--sets",
                "1",
                "--caps-every",
                "100",
                "--out",
                "TMP/study",
            ],
            "",
        ),
        (&["watch", "--rows", "1", "--every", "10ms", "--", "sleep", "5"], ""),
        (&["watch", "--json", "--", "true"], ""),
        (&["doctor"], ""),
        (&["io", "scenarios/io/none.toml"], ""),
        (&["demo", "--jobs", "1", "--out", "TMP/demo"], ""),
        (&["guard", "--time", "1ms"], ""),
        (&["explain", "TMP/scenario.toml"], ""),
    ];
    let mut all = Vec::new();
    for (words, input) in commands {
        let text = said(folder.path(), words, input);
        assert!(!text.is_empty(), "{words:?} says nothing");
        all.extend(wrong(&text).into_iter().map(|line| format!("{words:?}: {line}")));
    }
    let page = std::fs::read_to_string(folder.path().join("run/report.html")).unwrap();
    let visible: String = page
        .split('<')
        .filter_map(|part| part.split_once('>'))
        .map(|(_, text)| format!("{text}\n"))
        .collect();
    all.extend(wrong(&visible).into_iter().map(|line| format!("report.html: {line}")));
    assert!(all.is_empty(), "{}", all.join("\n"));
}

#[test]
fn a_wrong_plural_is_found() {
    for text in ["1 rows", "took (1 jobs late)", "doubts: 0 lost, 1 stops of threads"] {
        assert_eq!(wrong(text).len(), 1, "{text}");
    }
    for text in ["1 row", "11 rows", "core 1 runs", "in 1 ms", "1 miss", "0.1 jobs"] {
        assert!(wrong(text).is_empty(), "{text}");
    }
}
