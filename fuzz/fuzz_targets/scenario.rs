//! Any bytes as a scenario: never a panic; a report points into the file, and what is accepted compiles.
#![no_main]

use libfuzzer_sys::fuzz_target;
use solo_model::TaskId;
use solo_scenario::{Platforms, Style, parse};
use solo_workload::Program;
use std::path::Path;
use std::sync::LazyLock;

static PLATFORMS: LazyLock<Platforms> = LazyLock::new(Platforms::builtin);

fuzz_target!(|text: &str| {
    match parse(text, Path::new("/nowhere/fuzz.toml"), &PLATFORMS) {
        Ok(scenario) => {
            for experiment in std::iter::once(&scenario.base).chain(&scenario.variants) {
                let line = experiment.platform.caches[0].line;
                for (index, task) in experiment.tasks.iter().take(4).enumerate() {
                    let id = TaskId(index as u32);
                    let program = Program::new(&task.work, id, &experiment.buffers, line, experiment.seed, &[]);
                    assert!(!experiment.traces.is_empty() || program.is_ok());
                }
            }
        }
        Err(report) => {
            assert!(!report.problems().is_empty());
            for problem in report.problems() {
                assert!(problem.file().text().get(problem.span()).is_some());
            }
            let _ = report.render(Style::Plain, 80);
            let _ = report.to_json();
        }
    }
});
