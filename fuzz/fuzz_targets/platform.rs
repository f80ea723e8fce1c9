//! Any bytes as a platform or overhead file: never a panic, and what is accepted has derived values.
#![no_main]

use libfuzzer_sys::fuzz_target;
use solo_scenario::{Style, derived, parse_overheads, parse_platform};

fuzz_target!(|text: &str| {
    match parse_platform(text, "fuzz.toml") {
        Ok(platform) => assert!(!derived(&platform).is_empty()),
        Err(report) => {
            for problem in report.problems() {
                assert!(problem.file().text().get(problem.span()).is_some());
            }
            let _ = report.render(Style::Plain, 80);
        }
    }
    let _ = parse_overheads(text, "fuzz.toml");
});
