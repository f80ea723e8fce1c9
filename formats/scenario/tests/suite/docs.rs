//! Every example in `docs/scenario.md` is read.

use crate::sound::assert_sound;
use solo_scenario::{Code, Platforms, parse};
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
fn the_reference_names_every_code_and_no_other() {
    let text = std::fs::read_to_string("../../docs/scenario.md").expect("the reference is there");
    let missing: Vec<_> = Code::ALL.iter().filter(|code| !text.contains(&format!("`{code}`"))).collect();
    assert!(missing.is_empty(), "docs/scenario.md does not name {missing:?}");
    let named = text.split('`').filter(|word| word.starts_with("solo::"));
    let unknown: Vec<_> = named.filter(|word| Code::named(word).is_none()).collect();
    assert!(unknown.is_empty(), "docs/scenario.md names {unknown:?}, which do not exist");
}

/// The page on models shows one that its own chip counts for.
#[test]
fn the_example_of_a_model_is_accepted_on_its_platform() {
    let text = std::fs::read_to_string("../../docs/models.md").expect("the page is there");
    let folder = tempfile::tempdir().unwrap();
    let [model] = &blocks(&text, "toml")[..] else { panic!("one example") };
    std::fs::write(folder.path().join("model.toml"), model).unwrap();
    let scenario = "name = \"example\"\nplatform = \"quickia\"\nduration = \"20ms\"\n[scheduler]\npolicy = \"P-RR\"\n\
         [scheduler.monitor]\nmonitor = \"estimate\"\nmodel = \"model.toml\"\nperiod = \"2ms\"\nclasses = [\"best-effort\"]\n\
         action = \"hsp\"\n[[task]]\nname = \"one\"\nclass = \"best-effort\"\ncore = 0\nwork = [{ compute = \"1ms\" }]\n";
    match parse(scenario, &folder.path().join("scenario.toml"), &Platforms::builtin()) {
        Ok(scenario) => assert_eq!(scenario.warnings, []),
        Err(report) => panic!("the example is refused:\n{report}"),
    }
}
