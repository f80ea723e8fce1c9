//! The laboratory as its callers have it: values in, values out.

use solo_lab::explore::{Exploration, Ranking, When};
use solo_lab::{Cancel, Control, LabError, Origin, Progress, Recordings, Simulation, compare, run};
use solo_model::{CoreId, Duration, Experiment, Instant, PerMille, TaskId};
use solo_report::{Early, Report, StopOn};
use solo_scenario::{Platforms, Scenario};
use solo_store::{Folder, Kind, Replace};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

const SCENARIO: &str = r#"
name = "two of them"
platform = "xeon-w3530"
jobs = 40
# Many records, so that progress is told.
sample = "10us"
[scheduler]
policy = "P-EDF"
[[task]]
name = "control"
class = "hard"
core = 0
period = "1ms"
work = [{ compute = "100us" }, { sweep = "64KiB" }]
[[task]]
name = "copy"
class = "best-effort"
core = 1
period = "1ms"
work = [{ sweep = "1MiB" }]
[[variant]]
name = "alone"
only = ["control"]
"#;

fn scenario() -> Scenario {
    solo_scenario::parse(SCENARIO, Path::new("two.toml"), &Platforms::builtin())
        .unwrap_or_else(|report| panic!("{report}"))
}

fn origin(scenario: &Scenario) -> Origin<'_> {
    let (path, source) = (&*scenario.path, &*scenario.source);
    let (command, host) = (vec!["a test".into()], "here".into());
    Origin { path, source, command, host, commit: None, started: None }
}

fn claim(path: &Path) -> Folder {
    Folder::claim(path, Kind::Run, Replace::Never).expect("it is free")
}

/// The hash of all records of the experiment under a criterion that is asked.
fn asked(experiment: &Experiment, ranking: Ranking) -> String {
    let mut hash = solo_report::RecordHasher::new();
    let (recordings, control) = (&Recordings::default(), &Control::silent());
    let ranking = Some((ranking, When::Preemptive));
    let exploration =
        Exploration { experiment, recordings, control, ranking, placement: None, monitor: None };
    exploration.report(|record| hash.add(record)).expect("it runs");
    hash.finish().to_string()
}

#[test]
fn a_criterion_that_is_asked_decides_as_the_kernels_own() {
    let mut experiment = scenario().base;
    // Both on one core, so that there is something to decide.
    experiment.tasks[1].core = Some(CoreId(0));
    let (recordings, control) = (&Recordings::default(), &Control::silent());
    let simulation = Simulation { experiment: &experiment, recordings, name: "own", control, stop_on: None };
    let own = simulation.record_hash().expect("it runs");
    let deadline = |sign: i64| -> Ranking {
        Box::new(move |job| job.deadline.map(|deadline| sign * deadline.get() as i64))
    };
    assert_eq!(asked(&experiment, deadline(1)), own);
    experiment.tasks[1].class = experiment.tasks[0].class;
    let same_class = asked(&experiment, deadline(1));
    assert_ne!(asked(&experiment, deadline(-1)), same_class, "nobody was asked");
}

#[test]
fn what_runs_in_memory_is_what_runs_into_a_folder() {
    let scenario = scenario();
    for per_replication in [None, Some(7)] {
        let experiment = Experiment { jobs_per_replication: per_replication, ..scenario.base.clone() };
        let control = Control::silent();
        let in_memory = run(&experiment, &control).expect("it runs");
        let folder = tempfile::tempdir().expect("a folder");
        let simulation = Simulation {
            experiment: &experiment,
            recordings: &Recordings::default(),
            name: "it",
            control: &control,
            stop_on: None,
        };
        let place = claim(&folder.path().join("run"));
        let kept = simulation.into_directory(&origin(&scenario), &place).expect("it runs");
        assert_eq!(in_memory, kept.summary);
        assert_eq!(simulation.record_hash().expect("it runs"), kept.record_hash.to_string());
    }
}

/// The run ends with the record that says so, and a replay ends there too.
#[test]
fn a_run_stops_when_what_is_to_stop_it_happens() {
    let scenario = scenario();
    let folder = tempfile::tempdir().expect("a folder");
    let (control, recordings) = (Control::silent(), Recordings::default());
    for (case, per_replication) in [("one", None), ("seven", Some(7))] {
        let experiment = Experiment { jobs_per_replication: per_replication, ..scenario.base.clone() };
        let stopping = |stop_on| Simulation {
            experiment: &experiment,
            recordings: &recordings,
            name: case,
            control: &control,
            stop_on,
        };
        let whole = stopping(None).report().expect("it runs");
        let fastest = whole.tasks[0].response.min().expect("it ran");
        let on = |above| Some(StopOn::Response { task: TaskId(0), above });
        let never = stopping(on(whole.tasks[0].response.max().expect("it ran"))).report().expect("it runs");
        assert_eq!((never.early, &never.tasks), (None, &whole.tasks));
        let missed = stopping(Some(StopOn::Miss)).report().expect("it runs");
        assert_eq!(missed, Report { warnings: missed.warnings.clone(), ..whole.clone() }, "nothing misses");

        let above = fastest - Duration::new(1);
        let simulation = stopping(on(above));
        let place = claim(&folder.path().join(case));
        let kept = simulation.into_directory(&origin(&scenario), &place).expect("it runs");
        let report = &kept.summary;
        assert_eq!(report.early, on(above).map(Early::Stopped));
        assert!(report.end < whole.end && report.end.since(Instant::ZERO) > above, "{}", report.end);
        assert!(report.tasks[0].jobs <= 1 && report.doubts.vanished == 0, "{:?}", report.doubts);
        let lines = solo_report::verdict(report, None).lines;
        assert!(lines[0].contains("a job of control was not done"), "{lines:?}");
        assert_eq!(simulation.record_hash().expect("it runs"), kept.record_hash.to_string());
        let read = solo_report::Run::open(&folder.path().join(case)).expect("it is whole");
        assert_eq!(read.manifest().outcome.as_ref().expect("it ended").stop_on, on(above));
        assert_eq!(read.report().expect("it can be read").early, report.early);
    }
}

/// A job that never gets a core misses its deadline all the same: the run stops there, and is judged.
#[test]
fn who_starves_stops_a_run_that_is_to_stop_on_a_miss() {
    let starved = SCENARIO.replace("core = 1\nperiod", "core = 0\nperiod").replace("best-effort", "soft");
    let starved = starved.replace("P-EDF", "P-RM").replace("compute = \"100us\"", "compute = \"1100us\"");
    let starved = starved.replace(
        "class = \"soft\"\ncore = 0\nperiod = \"1ms\"",
        "class = \"soft\"\ncore = 0\nperiod = \"1500us\"",
    );
    let scenario = solo_scenario::parse(&starved, Path::new("two.toml"), &Platforms::builtin())
        .unwrap_or_else(|report| panic!("{report}"));
    let (control, recordings) = (Control::silent(), Recordings::default());
    let simulation = |stop_on| Simulation {
        experiment: &scenario.base,
        recordings: &recordings,
        name: "starved",
        control: &control,
        stop_on,
    };
    let response = StopOn::Response { task: TaskId(1), above: Duration::from_micros(1500) };
    for stop_on in [StopOn::Miss, response] {
        let report = simulation(Some(stop_on)).report().expect("it runs");
        assert_eq!(report.early, Some(Early::Stopped(stop_on)));
        assert_eq!((report.tasks[1].jobs, report.doubts.vanished), (0, 0), "{:?}", report.doubts);
        assert!(report.doubts.unfinished >= 2, "both are under way: {:?}", report.doubts);
        assert!(report.end >= Instant::ZERO + Duration::from_millis(1), "{}", report.end);
        assert!(report.end <= Instant::ZERO + Duration::from_micros(2100), "{}", report.end);
        let verdict = solo_report::verdict(&report, None);
        assert!(!verdict.held && verdict.misses >= 1, "{verdict:?}");
    }
}

/// Counts what it hears of each run, and may ask to stop when it hears of the first.
#[derive(Default)]
struct Heard {
    reached: Mutex<BTreeMap<String, (u64, u16)>>,
    ended: Mutex<Vec<String>>,
    stop: Option<Cancel>,
}

impl Progress for Heard {
    fn reached(&self, run: &str, _: Instant, share: PerMille) {
        let mut reached = self.reached.lock().expect("unharmed");
        let (times, last) = reached.entry(run.to_owned()).or_default();
        assert!(share.get() >= *last, "{run} went back from {last} to {share:?}");
        (*times, *last) = (*times + 1, share.get());
        self.stop.iter().for_each(Cancel::request);
    }

    fn ended(&self, run: &str) {
        self.ended.lock().expect("unharmed").push(run.to_owned());
    }
}

#[test]
fn progress_is_heard_by_name_and_each_run_ends_once() {
    let heard = Heard::default();
    let control = Control { progress: &heard, cancel: Cancel::new() };
    let scenario = scenario();
    let experiments = [scenario.base.clone(), scenario.variants[0].clone()];
    let compared = compare(&experiments, &Recordings::default(), &control).expect("they run");
    let names: Vec<&str> = compared.runs.iter().map(|run| run.name.as_str()).collect();
    assert_eq!(names, ["scenario", "alone"]);
    assert_eq!(heard.reached.lock().expect("unharmed").keys().collect::<Vec<_>>(), ["alone", "scenario"]);
    let mut ended = heard.ended.lock().expect("unharmed").clone();
    ended.sort();
    assert_eq!(ended, ["alone", "scenario"]);
}

#[test]
fn a_request_to_stop_is_heard_before_and_during_a_run_and_nothing_looks_whole() {
    let scenario = scenario();
    let folder = tempfile::tempdir().expect("a folder");
    let before = Cancel::new();
    before.request();
    let during = Heard { stop: Some(Cancel::new()), ..Heard::default() };
    let cancel = during.stop.clone().expect("one");
    let silent = Control { progress: &(), cancel: before };
    for (place, control) in [("before", silent), ("during", Control { progress: &during, cancel })] {
        for per_replication in [None, Some(7)] {
            let experiment = Experiment { jobs_per_replication: per_replication, ..scenario.base.clone() };
            let recordings = Recordings::default();
            let simulation = Simulation {
                experiment: &experiment,
                recordings: &recordings,
                name: place,
                control: &control,
                stop_on: None,
            };
            assert!(matches!(simulation.report(), Err(LabError::Interrupted)), "{place}");
            let dir = folder.path().join(format!("{place}-{}", per_replication.is_some()));
            let stopped = simulation.into_directory(&origin(&scenario), &claim(&dir));
            assert!(matches!(stopped, Err(LabError::Interrupted)), "{place}");
            assert!(solo_report::Run::open(&dir).is_err(), "{place}: it says that it is complete");
        }
    }
}

/// A name that looks like another task's number stays what it is, and everything that is refused has names.
#[test]
fn refusals_call_tasks_by_their_names() {
    let mut experiment = scenario().base;
    experiment.tasks[0].name = "task1".into();
    experiment.tasks[1].name = "two words".into();
    experiment.tasks[1].core = None;
    let refused = run(&experiment, &Control::silent()).expect_err("a task without a core").to_string();
    assert!(refused.contains("task `two words` is not assigned to a core"), "{refused}");

    experiment.tasks[1].core = Some(CoreId(1));
    let owner = solo_model::isolation::WayOwner::Task(solo_model::TaskId(0));
    experiment.isolation.ways = vec![solo_model::isolation::WayMask { owner, mask: 0 }];
    let refused = run(&experiment, &Control::silent()).expect_err("a mask of nothing").to_string();
    assert_eq!(refused, "isolation: task `task1`: a way mask must leave at least one way");
}

/// The recording is there while the scenario is read, and gone before it runs: nobody reads it again.
#[test]
fn a_recording_is_read_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("program.trace");
    let mut writer =
        solo_trace::TraceWriter::create(&file, solo_trace::WriterOptions::default()).expect("a file");
    for line in 0..1000 {
        let kind = solo_workload::image::TraceKind::Read;
        let reference = solo_trace::Reference { address: line * 64, size: 8, kind, core: CoreId(0) };
        writer.push(&reference).expect("written");
    }
    writer.finish(false).expect("whole");
    let text = SCENARIO.replace("{ sweep = \"64KiB\" }", "{ replay = \"program.trace\" }");
    let path = folder.path().join("two.toml");
    let scenario =
        solo_scenario::parse(&text, &path, &Platforms::builtin()).unwrap_or_else(|report| panic!("{report}"));
    assert_eq!(scenario.recordings.len(), 1, "one file for the scenario and its variant");
    let again = Recordings::load(scenario.variants.iter().chain([&scenario.base])).expect("unchanged");
    std::fs::remove_file(&file).expect("it was there");

    let experiments = [scenario.base.clone(), scenario.variants[0].clone()];
    for recordings in [Recordings::of_scenario(&scenario), again] {
        let compared = compare(&experiments, &recordings, &Control::silent()).expect("it is in memory");
        assert!(compared.runs.iter().all(|run| run.report.tasks[0].jobs > 0));
    }
    let gone = compare(&experiments, &Recordings::default(), &Control::silent()).expect_err("it is gone");
    assert!(matches!(gone, LabError::Store(_)) && gone.to_string().contains("program.trace"), "{gone}");

    // Another program under the same name is not taken for it.
    std::fs::write(&file, b"something else").expect("written");
    let changed = compare(&experiments, &Recordings::default(), &Control::silent()).expect_err("changed");
    assert!(matches!(changed, LabError::RecordingChanged { .. }), "{changed}");
}

const CHILD: &str = "SOLO_LAB_TEST_CHILD";

/// What `no_file_is_written_and_nothing_printed` starts.
#[test]
fn child_that_runs_twice() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let mut experiment = Experiment { jobs_per_replication: Some(7), ..scenario().base };
    run(&experiment, &Control::silent()).expect("it runs");
    experiment.tasks.truncate(1);
    run(&experiment, &Control::silent()).expect("it runs");
}

#[test]
fn no_file_is_written_and_nothing_printed() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = std::process::Command::new(std::env::current_exe().expect("this program"));
    child.args(["--exact", "child_that_runs_twice", "--nocapture", "-q"]).env(CHILD, "1");
    // There is no place for temporary files either.
    child.env("TMPDIR", folder.path().join("nowhere")).current_dir(folder.path());
    let output = child.output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    let own = ["running 1 test", ".", "test result: ok."];
    let foreign = said.lines().find(|line| !line.is_empty() && !own.iter().any(|own| line.starts_with(own)));
    assert_eq!(foreign, None);
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 0);
}
