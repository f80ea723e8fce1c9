//! Scenarios as threads of this Linux, through the command line.
#![allow(missing_docs)]

mod common;

use common::solo;
use std::path::Path;
use std::process::Output;

const SCENARIO: &str = "name = \"two\"\nplatform = \"p4080\"\njobs = 4\n\
    [[lock]]\nname = \"bus\"\nprotocol = \"inheritance\"\n\
    [scheduler]\npolicy = \"P-RM\"\n\
    [[task]]\nname = \"control\"\nclass = \"hard\"\ncore = 5\nperiod = \"20ms\"\n\
    work = [{ compute = \"500us\" }, { lock = \"bus\" }, { sweep = \"64KiB\" }, { unlock = \"bus\" }]\n\
    [[task]]\nname = \"logger\"\nclass = \"soft\"\ncore = 5\nperiod = \"40ms\"\n\
    work = [{ lock = \"bus\" }, { compute = \"1ms\" }, { unlock = \"bus\" }, { sleep = \"1ms\" }, { stream = \"32KiB\" }]\n";

fn run(folder: &Path, text: &str) -> Output {
    let file = folder.join("scenario.toml");
    std::fs::write(&file, text).unwrap();
    let out = folder.join("run");
    solo().arg("run").arg(file).args(["--on", "linux", "--quiet", "--out"]).arg(out).output().unwrap()
}

#[test]
fn a_run_of_threads_is_a_run_like_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), SCENARIO);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.code() == Some(3) && said.contains("SCHED_FIFO") {
        println!("skipped: a scenario as threads: {said}");
        return;
    }
    // Deadlines may be missed on a busy machine; that is an answer, too.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{said}");
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(table.contains("control") && table.contains("logger"), "{table}");
    let dir = folder.path().join("run");
    let manifest: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(dir.join("manifest.json")).unwrap()).unwrap();
    assert_eq!((&manifest["machine"], &manifest["tier"]), (&"linux".into(), &"none".into()));
    let page = std::fs::read_to_string(dir.join("report.html")).unwrap();
    assert!(page.contains("no tier: Linux's own scheduler took every decision"));
    let report = solo().arg("report").arg(&dir).args(["--format", "json"]).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&report.stdout).unwrap();
    let text = report.to_string();
    assert!(text.contains("control"), "{text}");
    let exported = solo().arg("report").arg(&dir).args(["--format", "perfetto"]).output().unwrap();
    assert_eq!(exported.status.code(), Some(0));
    let replayed = solo().arg("replay").arg(&dir).output().unwrap();
    let said = String::from_utf8_lossy(&replayed.stderr).into_owned();
    assert!(replayed.status.code() == Some(2) && said.contains("`linux`"), "{said}");
}

/// What Linux can't do is refused by name, with exit 3, and leaves no run.
/// All of a core's time for one partition.
const WINDOWS: &str = "[isolation.partitions]\nall = [\"control\"]\n[[isolation.cycle]]\ncore = 5\nlength = \"10ms\"\n\
    windows = [{ partition = \"all\", begin = \"0ms\", length = \"10ms\" }]\n";

#[test]
fn what_linux_cannot_do_is_refused_by_name() {
    let budgets = "[isolation.bandwidth]\ncores = { 5 = \"100MB/s\" }\n";
    let cases = [
        (SCENARIO.replace("P-RM", "P-EDF"), "EDF runs by sched_ext, with --scheduler sched-ext"),
        (SCENARIO.replace("P-RM", "G-FCFS"), "FCFS has no counterpart"),
        (format!("{SCENARIO}{budgets}"), "budgets need counters that interrupt"),
        (format!("{SCENARIO}{WINDOWS}"), "windows"),
        (format!("{SCENARIO}[isolation.ways]\ncontrol = \"0-3\"\n"), "ways of the cache"),
        (format!("{SCENARIO}[isolation.colors]\ncontrol = \"0-3\"\n"), "color"),
    ];
    for (text, why) in cases {
        let folder = tempfile::tempdir().unwrap();
        let output = run(folder.path(), &text);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{why}: {said}");
        assert!(said.contains("Linux cannot run `two`") && said.contains(why), "{said}");
        assert!(output.stdout.is_empty());
        assert!(!folder.path().join("run").join("manifest.json").exists(), "{why}");
    }
}

#[test]
fn who_schedules_threads_is_asked_for_linux_alone_and_told_what_it_lacks() {
    let folder = tempfile::tempdir().unwrap();
    let said = |text: &str, on: &str, who: &str, status: i32| {
        let file = common::scenario(folder.path(), text);
        let words = ["--on", on, "--scheduler", who];
        let output = solo().arg("run").arg(&file).args(words).current_dir(folder.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{on} {who}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let edf = SCENARIO.replace("P-RM", "P-EDF");
    assert!(said(&edf, "linux", "fifo", 3).contains("EDF has no counterpart in stock Linux"));
    assert!(said(&edf, "linux", "sched-ext", 3).contains("`bus` raises who holds it"));
    let turns = SCENARIO.replace("P-RM", "P-RR").replace("inheritance", "plain");
    assert!(said(&turns, "linux", "sched-ext", 3).contains("RR gives jobs no rank that stays"));
    assert!(said(&edf, "sim", "sched-ext", 2).contains("it needs --on linux"));
}
