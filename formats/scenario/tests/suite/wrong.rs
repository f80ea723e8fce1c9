//! Golden messages: each wrong file in `tests/wrong` with what is said about it.
//!
//! After a change of the messages, run with `INSTA_UPDATE=always` and read the difference.

use solo_scenario::{Diagnostics, Platforms, Style, parse, parse_platform};
use std::path::{Path, PathBuf};

const WIDTH: usize = 100;

/// The files of a folder in the order of their names. Tests run in the folder of the package.
pub(crate) fn files(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("the folder is readable").path());
    let mut files: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|e| e == "toml")).collect();
    files.sort();
    files
}

fn stem(path: &Path) -> String {
    path.file_stem().expect("a file").to_string_lossy().into_owned()
}

/// What every report promises: an error, spans inside their files, the same for programs as for people.
fn keeps_its_promises(report: &Diagnostics) {
    assert!(!report.problems().is_empty());
    let json = report.to_json();
    for (problem, object) in report.problems().iter().zip(json.as_array().expect("a list")) {
        let text = problem.file().text();
        assert!(text.get(problem.span()).is_some(), "{:?} lies outside the file", problem.span());
        assert_eq!(object["code"], problem.code().to_string());
        assert_eq!(object["file"], problem.file().name());
        let line = object["line"].as_u64().expect("a line") as usize;
        assert_eq!(line, text[..problem.span().start].matches('\n').count() + 1);
    }
}

#[test]
fn wrong_scenarios_are_answered_as_recorded() {
    let files = files("tests/wrong");
    assert!(files.len() >= 80, "{} files", files.len());
    let platforms = Platforms::builtin();
    for path in files {
        let text = std::fs::read_to_string(&path).expect("a text");
        let report = match parse(&text, &path, &platforms) {
            Err(report) => report,
            // Variants that can't be had are refused by themselves.
            Ok(scenario) => match scenario.refused.first() {
                Some(refused) => refused.report.clone(),
                None => panic!("{} is accepted", path.display()),
            },
        };
        keeps_its_promises(&report);
        insta::assert_snapshot!(format!("scenario__{}", stem(&path)), report.render(Style::Plain, WIDTH));
    }
}

#[test]
fn wrong_platforms_are_answered_as_recorded() {
    let files = files("tests/wrong/platforms");
    assert!(files.len() >= 11, "{} files", files.len());
    for path in files {
        let text = std::fs::read_to_string(&path).expect("a text");
        let Err(report) = parse_platform(&text, &path.display().to_string()) else {
            panic!("{} is accepted", path.display());
        };
        keeps_its_promises(&report);
        insta::assert_snapshot!(format!("platform__{}", stem(&path)), report.render(Style::Plain, WIDTH));
    }
}

#[test]
fn a_report_for_programs_has_every_field() {
    let path = Path::new("tests/wrong/unknown-key.toml");
    let text = std::fs::read_to_string(path).expect("a text");
    let report = parse(&text, path, &Platforms::builtin()).expect_err("it is wrong");
    insta::assert_snapshot!("json", serde_json::to_string_pretty(&report.to_json()).expect("JSON"));
}
