//! `solo guard` through the command line: what it refuses, what it holds, and what it leaves behind.
#![allow(missing_docs)]

mod common;

use common::solo;
use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// A guard with its state in `folder`.
fn guard(folder: &Path, words: &[&str]) -> Command {
    let mut command = solo();
    command.arg("guard").args(words).arg("--state").arg(folder.join("state"));
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Whether this machine lets a guard act; where it does not, that is said.
fn can_guard(folder: &Path) -> bool {
    let words = ["-e", "page-faults", "--budget", "0=1000", "--time", "5ms", "--quiet"];
    let output = guard(folder, &words).output().unwrap();
    if output.status.code() == Some(3) {
        println!("skipped: solo guard: {}", said(&output).trim());
    }
    output.status.code() != Some(3)
}

#[test]
fn what_can_not_be_held_is_refused_before_anything_happens() {
    let folder = tempfile::tempdir().unwrap();
    let faults = ["-e", "page-faults"];
    let wrong: [(&[&str], &str); 13] = [
        (&[], "expected a scenario, or an event and a budget"),
        (&faults, "expected a scenario, or an event and a budget"),
        (&["-e", "page-faults", "--budget", "0"], "expected CPU=EVENTS such as 1=200, found `0`"),
        (&["-e", "page-faults", "--budget", "0=-4"], "expected CPU=EVENTS"),
        (&["-e", "page-faults", "--budget", "0=4", "--budget", "0=5"], "core0 has two budgets"),
        (&["-e", "page-faults", "--budget", "0=0"], "core0 has a budget of 0 events"),
        (&["-e", "page-faults", "--budget", "60000=4"], "core60000 is none of the CPUs"),
        (&["-e", "page-faults", "--budget", "0=4", "--period", "10us"], "a period of"),
        (&["-e", "page-faults", "--budget", "0=4", "--period", "soon"], "--period: expected a time"),
        (&["-e", "page-faults,cpu-migrations", "--budget", "0=4"], "expected one event"),
        (&["-e", "no-such-event", "--budget", "0=4"], "no event is called `no-such-event`"),
        (&["scenarios/first-steps.toml"], "has no [isolation.bandwidth] to hold\n"),
        (&["scenarios/papers/memguard/case-study.toml"], "to hold; with --variant it has: "),
    ];
    for (words, expected) in wrong {
        let output = guard(folder.path(), words).current_dir(common::root()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", said(&output));
        assert!(said(&output).contains(expected), "{words:?}: {}", said(&output));
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_rehearsal_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = common::root().join("scenarios/bounded-by-budgets.toml");
    let words = ["--dry-run", "--all-real-time", scenario.to_str().unwrap()];
    let output = guard(folder.path(), &words).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(text.contains("would hold CPU 0 to") && text.contains("sched_rt_runtime_us"), "{text}");
    assert!(!folder.path().join("state").exists());
}

#[test]
fn a_program_is_held_and_its_status_is_the_guards() {
    let folder = tempfile::tempdir().unwrap();
    if !can_guard(folder.path()) {
        return;
    }
    let words = ["-e", "page-faults", "--budget", "0=50", "--json", "--quiet", "--", "sh", "-c", "exit 7"];
    // The program's words come behind the guard's own.
    let output =
        solo().arg("guard").arg("--state").arg(folder.path().join("state")).args(words).output().unwrap();
    assert_eq!(output.status.code(), Some(7), "{}", said(&output));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&answer["format"], &answer["tier"]), (&"guard".into(), &"B".into()));
    assert_eq!(answer["decisions"]["disagreements"], 0, "{answer}");
    assert!(answer["decisions"]["compared"].as_u64().unwrap() > 0, "{answer}");
    let core = &answer["cores"][0];
    assert_eq!((&core["core"], &core["budget_events"]), (&0.into(), &50.into()));
    // Whatever ran there, and whenever it could be stopped: no period had both room and somebody stopped for want of it.
    let number = |name: &str| core[name].as_u64().unwrap();
    assert!(number("stopped_periods") <= number("periods"));
    let text = output.stdout.clone();
    assert!(!String::from_utf8_lossy(&text).contains("not put back"));
    let missing = ["-e", "page-faults", "--budget", "0=50", "--quiet", "--", "no such program"];
    let output =
        solo().arg("guard").arg("--state").arg(folder.path().join("state")).args(missing).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("cannot start no such program"), "{}", said(&output));
}

/// A guard that is at work until it is killed.
struct AtWork(Child);

impl AtWork {
    fn start(folder: &Path, words: &[&str]) -> Self {
        let mut command = guard(folder, words);
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut at_work = Self(child);
        // It says so when all CPUs are held.
        let mut stderr = std::io::BufReader::new(at_work.0.stderr.take().unwrap());
        let mut line = String::new();
        while std::io::BufRead::read_line(&mut stderr, &mut line).unwrap() > 0 && !line.contains("held:") {}
        assert!(line.contains("held: page-faults"), "{line}");
        at_work
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn there_is_one_guard_and_its_budgets_can_be_changed() {
    let folder = tempfile::tempdir().unwrap();
    if !can_guard(folder.path()) {
        return;
    }
    let words = ["-e", "page-faults", "--budget", "0=100000", "--period", "100ms"];
    let at_work = AtWork::start(folder.path(), &words);
    let second = guard(folder.path(), &words).output().unwrap();
    assert_eq!(second.status.code(), Some(3), "{}", said(&second));
    assert!(said(&second).contains("another guard is at work"), "{}", said(&second));
    let ask = |budget: &str| {
        let mut command = solo();
        command.args(["guard", "set", budget, "--state"]).arg(folder.path().join("state"));
        command.output().unwrap()
    };
    let changed = ask("0=200000");
    assert_eq!(changed.status.code(), Some(0), "{}", said(&changed));
    for (budget, expected) in [
        ("0=0", "core0 has a budget of 0 events"),
        ("3=5", "core3 has no budget: CPU 0 is held"),
        ("70000=5", "expected CPU=EVENTS"),
    ] {
        let refused = ask(budget);
        assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
        assert!(said(&refused).contains(expected), "{}", said(&refused));
    }
    drop(at_work);
    let nobody = ask("0=5");
    assert_eq!(nobody.status.code(), Some(3), "{}", said(&nobody));
    assert!(said(&nobody).contains("no guard answers"), "{}", said(&nobody));
}

/// All that a guard could have changed: limits of real-time threads, fair servers, and who is above ordinary threads.
fn system() -> Vec<(String, String)> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let mut found = vec![
        ("runtime".to_owned(), read("/proc/sys/kernel/sched_rt_runtime_us")),
        ("period".to_owned(), read("/proc/sys/kernel/sched_rt_period_us")),
        ("perf".to_owned(), read("/proc/sys/kernel/perf_event_paranoid")),
    ];
    for cpu in 0..64 {
        found.push((
            format!("fair server {cpu}"),
            read(&format!("/sys/kernel/debug/sched/fair_server/cpu{cpu}/runtime")),
        ));
        found.push((format!("online {cpu}"), read(&format!("/sys/devices/system/cpu/cpu{cpu}/online"))));
    }
    found
}

/// How many occupiers there are on this machine that belong to this guard.
fn occupiers(guard: u32) -> usize {
    let tasks = std::fs::read_dir(format!("/proc/{guard}/task")).into_iter().flatten().flatten();
    let name =
        |entry: std::fs::DirEntry| std::fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
    tasks.map(name).filter(|name| name.starts_with("occupier")).count()
}

/// `SOLO_GUARD_KILLS`: so many times, and with settings of this machine changed, too.
#[test]
fn a_guard_that_is_killed_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    if !can_guard(folder.path()) {
        return;
    }
    let asked = std::env::var("SOLO_GUARD_KILLS").ok().and_then(|text| text.parse::<u64>().ok());
    let seed = std::env::var("SOLO_FIRST_SEED").ok().and_then(|text| text.parse::<u64>().ok()).unwrap_or(1);
    let before = system();
    for round in 0..asked.unwrap_or(5) {
        let mut words = vec!["-e", "page-faults", "--budget", "0=5", "--period", "5ms"];
        if asked.is_some() {
            words.push("--all-real-time");
        }
        let mut command = guard(folder.path(), &words);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let pid = child.id();
        // Some are killed while they start, some while they hold: where it is does not decide the outcome.
        let moment = (round + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        std::thread::sleep(Duration::from_micros(moment % 60_000));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(occupiers(pid), 0, "round {round}");
        let restored = guard(folder.path(), &["--restore"]).output().unwrap();
        assert_eq!(restored.status.code(), Some(0), "round {round}: {}", said(&restored));
        assert_eq!(system(), before, "round {round}");
    }
}
