//! Run directories: whole, incomplete, damaged.

use crate::fabricate::{Stream, corun};
use solo_model::{Duration, EventId, Experiment, Instant, Record};
use solo_report::run::{Damage, SCHEMA};
use solo_report::{EndReason, Manifest, RecordHasher, Run, RunEnd, RunError, RunWriter, Shortfalls};
use std::fs;
use std::path::Path;

const SOURCE: &str = "name = \"video and screen\"\n";
const OUTCOME: RunEnd = RunEnd {
    end: Instant::new(1_000_000_000),
    reason: EndReason::TimeOver,
    stop_on: None,
    shortfalls: Shortfalls { unlocked_lines: 0, refused_counters: 0 },
    ended: Vec::new(),
    heard: Vec::new(),
    curves: Vec::new(),
};

fn records() -> Vec<Record> {
    Stream::new(&corun(), 1).until(Duration::from_secs(1)).collect()
}

fn start(dir: &Path) -> RunWriter {
    let (experiment, _) = corun();
    let manifest = Manifest::new(&experiment, "scenarios/video-and-screen.toml", SOURCE);
    let mut writer = RunWriter::create(dir, manifest, &experiment, SOURCE).unwrap();
    records().iter().for_each(|record| writer.write(record).unwrap());
    writer
}

#[test]
fn a_finished_run_reads_back_as_it_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let finished = start(&dir.path().join("a/b")).finish(OUTCOME).unwrap();
    let run = Run::open(&dir.path().join("a/b")).unwrap();
    let read: Vec<Record> = run.records().map(Result::unwrap).collect();
    assert_eq!(read, records());
    assert_eq!(run.source(), SOURCE);
    assert_eq!(run.experiment(), &corun().0);
    assert_eq!(run.manifest(), &finished.manifest);
    assert_eq!(run.report().unwrap(), finished.summary);
    run.verify().unwrap();

    let mut hasher = RecordHasher::new();
    read.iter().for_each(|record| hasher.add(record));
    assert_eq!(hasher.finish(), finished.record_hash);
    assert_eq!(run.manifest().record_hash.as_deref(), Some(finished.record_hash.to_string().as_str()));
    let stored: solo_report::Report =
        serde_json::from_slice(&fs::read(dir.path().join("a/b/report.json")).unwrap()).unwrap();
    assert_eq!(serde_json::to_string(&stored).unwrap(), serde_json::to_string(&finished.summary).unwrap());
}

#[test]
fn the_same_run_writes_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        start(&dir.path().join(name)).finish(OUTCOME).unwrap();
    }
    for file in ["manifest.json", "scenario.toml", "experiment.json", "records.solo", "report.json"] {
        let bytes = |name: &str| fs::read(dir.path().join(name).join(file)).unwrap();
        assert!(bytes("a") == bytes("b"), "{file} differs");
    }
}

#[test]
fn an_interrupted_run_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    drop(start(dir.path()));
    let error = Run::open(dir.path()).unwrap_err();
    assert!(matches!(error, RunError::Incomplete { .. }), "{error}");
}

#[test]
fn a_second_run_does_not_overwrite_the_first() {
    let dir = tempfile::tempdir().unwrap();
    drop(start(dir.path()));
    let (experiment, _) = corun();
    let manifest = Manifest::new(&experiment, "", SOURCE);
    let second = RunWriter::create(dir.path(), manifest, &experiment, SOURCE);
    assert!(matches!(second, Err(RunError::Occupied { .. })));
}

#[test]
fn damage_is_told_apart_and_located() {
    let whole = tempfile::tempdir().unwrap();
    start(&whole.path().join("run")).finish(OUTCOME).unwrap();
    let message = |name: &str, spoil: &dyn Fn(Vec<u8>) -> Vec<u8>| {
        let dir = tempfile::tempdir().unwrap();
        for entry in fs::read_dir(whole.path().join("run")).unwrap().map(Result::unwrap) {
            fs::copy(entry.path(), dir.path().join(entry.file_name())).unwrap();
        }
        let path = dir.path().join(name);
        fs::write(&path, spoil(fs::read(&path).unwrap())).unwrap();
        let error = Run::open(dir.path()).and_then(|run| run.verify()).unwrap_err();
        error.to_string().replace(&dir.path().display().to_string(), "DIR")
    };
    let flip = |mut bytes: Vec<u8>| {
        bytes[1000] ^= 4;
        bytes
    };
    let all = [
        message("records.solo", &flip),
        message("records.solo", &|bytes| bytes[..bytes.len() / 2].to_vec()),
        message("records.solo", &|_| b"text".to_vec()),
        message("scenario.toml", &|_| b"name = \"other\"".to_vec()),
        message("manifest.json", &|_| b"{".to_vec()),
        message("manifest.json", &|_| b"{\"schema\": 7}".to_vec()),
        message("experiment.json", &|bytes| bytes[..bytes.len() / 2].to_vec()),
    ];
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn records_of_another_run_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    start(&dir.path().join("a")).finish(OUTCOME).unwrap();
    let (experiment, _) = corun();
    let manifest = Manifest::new(&experiment, "", SOURCE);
    let other = RunWriter::create(&dir.path().join("b"), manifest, &experiment, SOURCE).unwrap();
    other.finish(OUTCOME).unwrap();
    fs::copy(dir.path().join("b/records.solo"), dir.path().join("a/records.solo")).unwrap();
    let error = Run::open(&dir.path().join("a")).unwrap().verify().unwrap_err();
    assert!(error.to_string().contains("0 records instead of"), "{error}");
}

#[test]
fn a_folder_without_a_run_is_named() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(Run::open(dir.path()), Err(RunError::NotARun { .. })));
    let error = Run::open(&dir.path().join("missing")).unwrap_err();
    assert!(matches!(error, RunError::Missing { .. }), "{error}");
}

#[test]
fn a_file_that_cannot_be_written_leaves_an_incomplete_run() {
    let dir = tempfile::tempdir().unwrap();
    let writer = start(dir.path());
    // What can't take its name is like what can't be written: the rest is not told as whole.
    fs::create_dir(dir.path().join("report.json")).unwrap();
    let error = writer.finish(OUTCOME).unwrap_err();
    assert!(error.to_string().contains("report.json"), "{error}");
    assert!(matches!(Run::open(dir.path()), Err(RunError::Incomplete { .. })));
}

/// A run that was stored before counts could be absent: what stands in `schema-1` was written by that version.
#[test]
fn a_run_of_the_first_format_is_refused_and_never_misread() {
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/schema-1");
    let error = Run::open(&old).unwrap_err();
    assert!(matches!(error, RunError::Schema { found: 1, known: SCHEMA, .. }), "{error}");
    assert!(error.to_string().ends_with("run the scenario in it again"), "{error}");

    // Without the number, too: the old experiment has no table of events.
    let text = fs::read(old.join("experiment.json")).unwrap();
    assert!(serde_json::from_slice::<Experiment>(&text).is_err());
}

/// An experiment whose table of events somebody has changed, hashes and all.
#[test]
fn forged_tables_and_events_beyond_the_table_are_refused() {
    let sound = serde_json::to_value(corun().0).unwrap();
    let forged = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut forged = sound.clone();
        change(&mut forged);
        serde_json::from_value::<Experiment>(forged)
    };
    let own = |name: &str| serde_json::json!({ "name": name, "unit": "times", "meaning": "M.", "signal": null, "code": null });
    let events = |own: Vec<serde_json::Value>| {
        let error =
            forged(&|forged| forged["platform"]["events"]["own"] = serde_json::Value::Array(own.clone()));
        error.expect_err("it is forged").to_string()
    };
    let twice = events(vec![own("mine"), own("mine")]);
    assert!(twice.contains("`mine` is defined twice"), "{twice}");
    let canonical = events(vec![own("cycles")]);
    assert!(canonical.contains("`cycles` is defined twice"), "{canonical}");
    let many = events((0..65_535).map(|n| own(&format!("e{n}"))).collect());
    assert!(many.contains("more than 128 events"), "{many}");
    let swapped =
        forged(&|forged| forged["platform"]["events"]["canonical"].as_array_mut().unwrap().swap(6, 7));
    let swapped = swapped.expect_err("it is forged").to_string();
    assert!(swapped.contains("event 6 is `llc_misses`"), "{swapped}");
    let cost = |event: u64| {
        forged(&|forged| forged["platform"]["kinds"][0]["energy"] = serde_json::json!([[event, 5]]))
    };
    let no_id = cost(300).expect_err("it is forged").to_string();
    assert!(no_id.contains("300 is no event's number"), "{no_id}");
    assert_eq!(cost(128).unwrap().unknown_event(), EventId::new(128), "a run of it is not opened");
    assert_eq!(cost(7).unwrap().unknown_event(), None);
}

/// Records that count what the experiment's table does not have: somebody else's records, or forged ones.
#[test]
fn records_of_events_beyond_the_table_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (experiment, _) = corun();
    let manifest = Manifest::new(&experiment, "", SOURCE);
    let mut writer = RunWriter::create(dir.path(), manifest, &experiment, SOURCE).unwrap();
    let mut record =
        records().into_iter().find(|record| matches!(record, Record::Job(_))).expect("jobs finish");
    if let Record::Job(job) = &mut record {
        job.counts.add(EventId::new(200).unwrap(), 7);
    }
    writer.write(&record).unwrap();
    writer.finish(OUTCOME).unwrap();
    let error = Run::open(dir.path()).unwrap().verify().unwrap_err();
    assert!(matches!(error, RunError::Damaged { what: Damage::Stranger { .. }, .. }), "{error}");
}
