//! Any text as avionics partitions or as functions of memory: never a panic; offsets that are found violate nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use solo_ima::hos::{Effort, solve};
use solo_scenario::{Style, address_map, load_io_table};
use std::io::Write;

fuzz_target!(|text: &str| {
    if let Ok(functions) = address_map::parse(text) {
        assert!(functions.len() <= 64);
    }
    let Ok(mut file) = tempfile::NamedTempFile::new_in("/dev/shm") else { return };
    file.write_all(text.as_bytes()).expect("a file");
    match load_io_table(file.path()) {
        Ok(table) => {
            let problem = &table.problem;
            let _ = (problem.impossible(), problem.utilization().count());
            if problem.partitions().len() <= 8 {
                let _ = solve(problem, 1, Effort::default());
            }
        }
        Err(report) => {
            let _ = report.render(Style::Plain, 80);
        }
    }
});
