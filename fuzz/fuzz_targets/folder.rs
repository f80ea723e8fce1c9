//! Any bytes as a file of a run's folder: never a panic in what opens, lists, judges or sums up a folder; damage is told.
#![no_main]

use libfuzzer_sys::fuzz_target;
use solo_model::Instant;
use solo_report::run::Opened;
use solo_report::{EndReason, Manifest, Outcome, RunWriter, Shortfalls};
use solo_scenario::{Platforms, parse};
use solo_store::{Folder, Kind, Replace, folders_in};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

const SCENARIO: &str = r#"
name = "fuzz"
platform = "ideal-8"
jobs = 1
[scheduler]
policy = "P-RM"
[[task]]
name = "a"
class = "hard"
core = 0
period = "1ms"
work = [{ compute = "100us" }]
"#;

const FILES: [&str; 7] =
    ["manifest.json", "experiment.json", "records.solo", "report.json", "comparison.json", ".solo", "watch.json"];

/// The files of a sound run.
static SOUND: LazyLock<Vec<(String, Vec<u8>)>> = LazyLock::new(|| {
    let home = tempfile::tempdir_in("/dev/shm").expect("a folder");
    let scenario = parse(SCENARIO, Path::new("/nowhere/fuzz.toml"), &Platforms::builtin());
    let experiment = scenario.unwrap_or_else(|report| panic!("{}", report.to_json())).base;
    let run = home.path().join("run");
    let writer = RunWriter::create(&run, Manifest::new(&experiment, "fuzz.toml", SCENARIO), &experiment, SCENARIO);
    let outcome = Outcome {
        end: Instant::new(1_000),
        reason: EndReason::TimeOver,
        stop_on: None,
        shortfalls: Shortfalls::default(),
        heard: Vec::new(),
    };
    writer.expect("a run").finish(outcome).expect("a whole run");
    let entries = fs::read_dir(&run).expect("a folder").map(|entry| entry.expect("a file").path());
    let named = |path: std::path::PathBuf| {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        (name, fs::read(&path).expect("a file"))
    };
    entries.map(named).collect()
});

fuzz_target!(|bytes: &[u8]| {
    let Some((&which, content)) = bytes.split_first() else { return };
    let Ok(home) = tempfile::tempdir_in("/dev/shm") else { return };
    let run = home.path().join("run");
    fs::create_dir(&run).expect("a folder");
    SOUND.iter().for_each(|(name, sound)| fs::write(run.join(name), sound).expect("a file"));
    let name = FILES[usize::from(which) % FILES.len()];
    fs::write(run.join(name), content).expect("a file");
    match Opened::open(&run) {
        Ok(Opened::Run(run)) => {
            let _ = run.report();
        }
        Ok(Opened::Comparison { runs, .. }) => runs.iter().for_each(|part| {
            let _ = part.run.report();
        }),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    let _ = folders_in(home.path());
    // What is not listed stays, whatever the list says.
    fs::write(run.join("thesis.tex"), b"mine").expect("a file");
    let _ = Folder::claim(&run, Kind::Run, Replace::Ours);
    assert_eq!(fs::read(run.join("thesis.tex")).expect("it stays"), b"mine");
});
