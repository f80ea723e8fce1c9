//! Any text as a table of overheads, both forms of it: never a panic; a report points into the file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use solo_prove::overhead::parse_table;
use solo_scenario::{Style, parse_overheads};

fuzz_target!(|text: &str| {
    if let Err(report) = parse_overheads(text, "fuzz.toml") {
        assert!(!report.problems().is_empty());
        for problem in report.problems() {
            assert!(problem.file().text().get(problem.span()).is_some());
        }
        let _ = report.render(Style::Plain, 80);
        let _ = report.to_json();
    }
    if let Err(reason) = parse_table(text) {
        assert!(!reason.is_empty());
    }
});
