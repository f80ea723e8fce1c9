//! Any text as a file of rt-app: never a panic; what is read as a scenario is written and read again as the same tasks.
#![no_main]

use libfuzzer_sys::fuzz_target;
use solo_scenario::{Platforms, Style, export_rt_app, parse, parse_rt_app};
use std::path::Path;

fuzz_target!(|text: &str| {
    let platforms = Platforms::builtin();
    let read = |text: &str| parse_rt_app(text, Path::new("fuzzed.json"), "ideal-8", &platforms);
    match read(text) {
        Ok(imported) => {
            let experiment = |text: &str| parse(text, Path::new("fuzzed.toml"), &platforms).expect("it was read").base;
            let first = experiment(&imported.scenario);
            // Linux's own classes and priorities come back as others of the same order.
            if let Ok(written) = export_rt_app(&first) {
                let again = experiment(&read(&written).expect("it is ours").scenario);
                assert_eq!(first.tasks.len(), again.tasks.len());
                let work = |one: &solo_model::Experiment| -> Vec<_> {
                    one.tasks.iter().map(|task| (task.name.clone(), task.release)).collect()
                };
                assert_eq!(work(&first), work(&again));
            }
        }
        Err(report) => {
            let _ = report.render(Style::Plain, 80);
        }
    }
});
