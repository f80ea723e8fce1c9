//! Every example in `docs/scenario.md` is read.

use crate::sound::assert_sound;
use solo_scenario::{Platforms, parse};
use std::path::Path;

/// What an example that shows a part stands in.
const FRAME: &str = "name = \"example\"\nplatform = \"i7-2600\"\njobs = 10\n";
const SCHEDULER: &str = "[scheduler]\npolicy = \"P-EDF\"\n";
const TASK: &str = "[[task]]\nname = \"example\"\nclass = \"hard\"\ncore = 0\nperiod = \"1s\"\nwork = []\n";

/// The fenced blocks of a language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut open: Option<String> = None;
    for line in text.lines() {
        match &mut open {
            Some(block) if line == "```" => {
                blocks.push(std::mem::take(block));
                open = None;
            }
            Some(block) => {
                block.push_str(line);
                block.push('\n');
            }
            None if line == format!("```{language}") => open = Some(String::new()),
            None => {}
        }
    }
    blocks
}

#[test]
fn every_example_of_the_reference_is_a_scenario() {
    let text = std::fs::read_to_string("../../docs/scenario.md").expect("the reference is there");
    let examples = blocks(&text, "toml");
    assert!(examples.len() >= 8, "{} examples", examples.len());
    for example in examples {
        let whole = if example.contains("platform =") && example.contains("[scheduler]") {
            example.clone()
        } else {
            let scheduler = if example.contains("[scheduler]") { "" } else { SCHEDULER };
            let task = if example.contains("[[task]]") { "" } else { TASK };
            format!("{FRAME}{scheduler}{task}{example}")
        };
        let path = Path::new("docs/example.toml");
        match parse(&whole, path, &Platforms::builtin()) {
            Ok(scenario) => {
                assert_sound(&scenario);
                assert!(scenario.warnings.is_empty(), "{example}");
            }
            Err(report) => panic!("an example is wrong:\n{report}"),
        }
    }
}

#[test]
fn the_reference_names_every_code_that_is_used() {
    let text = std::fs::read_to_string("../../docs/scenario.md").expect("the reference is there");
    let mut sources = vec![std::path::PathBuf::from("src")];
    let mut missing = Vec::new();
    while let Some(path) = sources.pop() {
        if path.is_dir() {
            sources.extend(
                std::fs::read_dir(&path).expect("readable").map(|entry| entry.expect("readable").path()),
            );
            continue;
        }
        let source = std::fs::read_to_string(&path).expect("a text");
        for code in source.split('"').filter(|word| word.starts_with("solo::")) {
            if !text.contains(&format!("`{code}`")) {
                missing.push(code.to_owned());
            }
        }
    }
    missing.sort();
    missing.dedup();
    assert!(missing.is_empty(), "docs/scenario.md does not explain {missing:?}");
}
