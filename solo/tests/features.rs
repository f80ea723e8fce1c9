//! docs/features.md says what is there: each command in it ends as it says.
#![allow(missing_docs)]

mod common;

use common::{root, solo};

#[test]
fn every_command_of_the_table_ends_as_it_says() {
    let text = std::fs::read_to_string(root().join("docs/features.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let block = text.split("```").nth(1).expect("the commands stand in a box");
    let mut tried = 0;
    for line in block.lines().filter(|line| !line.is_empty()) {
        let (command, code) = line.rsplit_once(' ').expect("a command and its exit code");
        let words = command.split_whitespace().skip(1);
        let words = words.map(|word| word.replace("TMP", folder.path().to_str().unwrap()));
        let output = solo().args(words).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), code.trim().parse().ok(), "{command}: {said}");
        // What a command refuses, it says; what it answers, it prints.
        assert!(
            code != "0"
                || !output.stdout.is_empty()
                || command.contains(" man ")
                || command.contains(" export "),
            "{command} says nothing"
        );
        tried += 1;
    }
    assert!(tried >= 20, "{tried} commands");
}

/// The list is whole, and what is missing is said in the row.
#[test]
fn the_table_has_27_rows_and_counts_what_is_there() {
    let text = std::fs::read_to_string(root().join("docs/features.md")).unwrap();
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| #"))
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect();
    let numbers: Vec<String> = rows.iter().map(|row| row[0].to_owned()).collect();
    assert_eq!(numbers, (1..=27).map(|number| number.to_string()).collect::<Vec<_>>());
    assert!(rows.iter().all(|row| ["yes", "part", "no"].contains(&row[2])), "{rows:?}");
    let yes = rows.iter().filter(|row| row[2] == "yes").count();
    assert!(yes >= 25, "{yes} rows are there");
}
