//! `solo guard` through the command line: what it refuses, what it holds, and what it leaves behind.
#![allow(missing_docs)]

mod common;

use common::solo;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Held by who starts a guard: another one beside it would be measured, and told of, too.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A guard with its state in `folder`.
fn guard(folder: &Path, words: &[&str]) -> Command {
    let mut command = solo();
    command.arg("guard").args(words).arg("--state").arg(folder.join("state"));
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The only guard's right, where this machine lets a guard act; where it does not, that is said.
fn can_guard(folder: &Path) -> Option<MutexGuard<'static, ()>> {
    let alone = alone();
    let words = ["-e", "page-faults", "--budget", "0=1000", "--time", "5ms", "--quiet"];
    let output = guard(folder, &words).output().unwrap();
    if output.status.code() == Some(3) {
        println!("skipped: solo guard: {}", said(&output).trim());
    }
    (output.status.code() != Some(3)).then_some(alone)
}

#[test]
fn what_can_not_be_held_is_refused_before_anything_happens() {
    let folder = tempfile::tempdir().unwrap();
    let faults = ["-e", "page-faults"];
    let wrong: [(&[&str], &str); 20] = [
        (&[], "expected a scenario, or an event and a budget"),
        (&faults, "expected a scenario, or an event and a budget"),
        (&["-e", "page-faults", "--budget", "0"], "expected WHO=EVENTS, with a CPU (1=200)"),
        (&["-e", "page-faults", "--budget", "0=-4"], "expected WHO=EVENTS"),
        (&["-e", "page-faults", "--budget", "0=4", "--budget", "0=5"], "core0 has two budgets"),
        (&["-e", "page-faults", "--budget", "0=0"], "core0 has a budget of 0 events"),
        (&["-e", "page-faults", "--budget", "60000=4"], "core60000 is none of the CPUs"),
        (&["-e", "page-faults", "--budget", "0=4", "--period", "10us"], "a period of"),
        (&["-e", "page-faults", "--budget", "0=4", "--period", "soon"], "--period: expected a time"),
        (&["-e", "page-faults", "--budget", "program=4"], "expected the program behind the guard's words"),
        (&["-e", "page-faults", "--budget", "/=4"], "the root of all groups can't be frozen"),
        (&["-e", "page-faults", "--budget", "/../x=4"], "expected WHO=EVENTS"),
        (&["-e", "page-faults", "--budget", "/a=0"], "/a has a budget of 0 events"),
        (&["-e", "page-faults", "--budget", "/a=4", "--budget", "/a=4"], "/a has two budgets"),
        (
            &["-e", "page-faults", "--budget", "/a=4", "--no-interrupts"],
            "keeps interrupts off CPUs with budgets",
        ),
        (&["-e", "page-faults", "--budget", "/no-such-group=4"], "there is no cgroup /no-such-group"),
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
    let Some(_alone) = can_guard(folder.path()) else { return };
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
    let Some(_alone) = can_guard(folder.path()) else { return };
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
        ("70000=5", "expected WHO=EVENTS"),
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
    let Some(_alone) = can_guard(folder.path()) else { return };
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

/// A program that does nothing but start others: page faults, and a storm of forks. It ends by itself, whatever becomes of its guard.
const STORM: [&str; 3] = ["sh", "-c", "i=0; while [ $i -lt 5000 ]; do i=$((i + 1)); (:) & (:) & wait; done"];

/// Sends a signal to a child.
fn signal(child: &Child, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, signal).unwrap();
}

/// `SOLO_HOTPLUG=1`: a CPU goes offline and comes back while the guard stands still, as where a machine sleeps. The kernel has taken the
/// counters of that CPU away and tells nobody.
#[test]
fn a_cpu_that_went_while_the_guard_stood_still_is_held_again() {
    use rustix::process::Signal;
    if std::env::var_os("SOLO_HOTPLUG").is_none() {
        println!("skipped: a CPU that goes offline: SOLO_HOTPLUG is not set, for it is this machine's");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(_alone) = can_guard(folder.path()) else { return };
    let switch = "/sys/devices/system/cpu/cpu1/online";
    if fs::write(switch, "1").is_err() {
        println!("skipped: a CPU that goes offline: {switch} can't be written");
        return;
    }
    let words = ["-e", "page-faults", "--budget", "1=20", "--period", "20ms", "--time", "4s", "--json"];
    let mut command = guard(folder.path(), &words);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(1));
    signal(&child, Signal::STOP);
    fs::write(switch, "0").unwrap();
    std::thread::sleep(Duration::from_millis(200));
    fs::write(switch, "1").unwrap();
    signal(&child, Signal::CONT);
    let output = child.wait_with_output().unwrap();
    let answer: serde_json::Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(&output)));
    assert_eq!(answer["cores"][0]["failure"], serde_json::Value::Null, "{answer}");
    assert!(answer["doubts"].to_string().contains("came back 1 time"), "{answer}");
    assert!(answer["cores"][0]["periods"].as_u64().unwrap() > 150, "{answer}");
}

/// The only guard's right, where this machine lets a guard make cgroups and freeze them; where it does not, that is said.
fn can_freeze(folder: &Path) -> Option<MutexGuard<'static, ()>> {
    let alone = alone();
    let words = ["-e", "page-faults", "--budget", "program=1000", "--time", "5ms", "--quiet"];
    let output = with_program(folder, &words, &["true"]).output().unwrap();
    if output.status.code() == Some(3) {
        println!("skipped: budgets of cgroups: {}", said(&output).trim());
    }
    (output.status.code() != Some(3)).then_some(alone)
}

fn with_program(folder: &Path, words: &[&str], program: &[&str]) -> Command {
    let mut command = solo();
    command.arg("guard").args(words).arg("--state").arg(folder.join("state")).arg("--").args(program);
    command
}

/// The folder of the cgroup that the guard of this process made.
fn group_of(guard: u32) -> std::path::PathBuf {
    let own = std::fs::read_to_string("/proc/self/cgroup").unwrap();
    let above = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default().to_owned();
    let unified = Path::new("/sys/fs/cgroup/unified");
    let root = if unified.exists() { unified } else { Path::new("/sys/fs/cgroup") };
    root.join(above).join(format!("solo-guard-{guard}"))
}

#[test]
fn a_program_has_a_budget_wherever_it_runs() {
    let folder = tempfile::tempdir().unwrap();
    let Some(_alone) = can_freeze(folder.path()) else { return };
    let held = |budgets: &[&str]| {
        let mut words = vec!["-e", "page-faults", "--period", "10ms", "--time", "700ms", "--json", "--quiet"];
        budgets.iter().for_each(|budget| words.extend(["--budget", budget]));
        let output = with_program(folder.path(), &words, &STORM).output().unwrap();
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", said(&output));
        let answer = serde_json::from_slice::<Value>(&output.stdout).unwrap();
        for setting in answer["settings"].as_array().unwrap() {
            let fate = setting["fate"].as_str().unwrap();
            assert!(["put back", "as it was found", "gone"].contains(&fate), "{setting}");
            let place = setting["setting"].as_str().unwrap();
            let folder = place.strip_prefix("the cgroup /").map(|name| group_of(0).with_file_name(name));
            assert!(folder.is_none_or(|folder| !folder.exists()), "{setting}");
        }
        answer
    };
    let answer = held(&["program=60"]);
    let group = &answer["groups"][0];
    let number = |name: &str| group[name].as_u64().unwrap();
    assert_eq!((&answer["back_end"], &answer["cores"]), (&"freezer".into(), &Value::Array(Vec::new())));
    assert_eq!(answer["decisions"]["disagreements"], 0, "{answer}");
    // On a busy machine the storm has a CPU for a part of the time only.
    assert!(number("stopped_periods") * 3 > number("periods"), "{group}");
    let mean = number("events") / number("periods");
    assert!((20..100).contains(&mean), "{mean} of 60: {group}");
    // Who is frozen causes nothing; on a busy machine a task takes more than 5 ms until it is.
    assert!(number("leaked_events") * 50 <= number("events"), "{group}");
    let freely = held(&["program=100000000"]);
    let freely = &freely["groups"][0];
    assert!(freely["events"].as_u64() > Some(2 * number("events")), "{freely}");
    let missing = ["-e", "page-faults", "--budget", "program=60", "--quiet"];
    let output = with_program(folder.path(), &missing, &["no such program"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("cannot start no such program"), "{}", said(&output));
    // Beside it a CPU has one, too.
    let both = held(&["program=60", "0=100000000"]);
    assert_eq!((both["groups"].as_array().unwrap().len(), both["cores"].as_array().unwrap().len()), (1, 1));
    assert!(both["back_end"].as_str().unwrap().ends_with(", freezer"), "{both}");
}

#[test]
fn a_guard_of_groups_that_is_killed_leaves_nobody_frozen() {
    let folder = tempfile::tempdir().unwrap();
    let Some(_alone) = can_freeze(folder.path()) else { return };
    let asked = std::env::var("SOLO_GUARD_KILLS").ok().and_then(|text| text.parse::<u64>().ok());
    for round in 0..asked.unwrap_or(5) {
        // A budget that is used up at once, and a long period: mostly it is frozen.
        let words = ["-e", "page-faults", "--budget", "program=5", "--period", "500ms", "--quiet"];
        let mut command = with_program(folder.path(), &words, &STORM);
        let notes = folder.path().join("notes");
        command.stdout(Stdio::null()).stderr(std::fs::File::create(&notes).unwrap());
        let mut child = command.spawn().unwrap();
        let group = group_of(child.id());
        let moment = (round + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        if round % 2 == 0 {
            // As soon as there is anything to leave behind.
            let begun = std::time::Instant::now();
            while !group.exists() && begun.elapsed() < Duration::from_secs(5) {
                std::hint::spin_loop();
            }
        } else {
            std::thread::sleep(Duration::from_micros(20_000 + moment % 300_000));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // Nobody is asked to: its minder does it.
        let begun = std::time::Instant::now();
        while group.exists() && begun.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(1));
        }
        let frozen = std::fs::read_to_string(group.join("cgroup.freeze"));
        let told = std::fs::read_to_string(&notes).unwrap_or_default();
        assert!(!group.exists(), "round {round}: frozen {frozen:?}; {told}");
        let restored = guard(folder.path(), &["--restore"]).output().unwrap();
        assert_eq!(restored.status.code(), Some(0), "round {round}: {}", said(&restored));
    }
}

#[test]
fn a_guard_of_groups_that_stands_still_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let Some(_alone) = can_freeze(folder.path()) else { return };
    let words = ["-e", "page-faults", "--budget", "program=5", "--period", "500ms", "--quiet"];
    let mut command = with_program(folder.path(), &words, &["sleep", "60"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let group = group_of(child.id());
    std::thread::sleep(Duration::from_millis(300));
    assert!(group.exists(), "it is at work");
    signal(&child, rustix::process::Signal::STOP);
    let begun = std::time::Instant::now();
    while child.try_wait().unwrap().is_none() && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let ended = begun.elapsed();
    assert!(ended > Duration::from_secs(4) && ended < Duration::from_secs(15), "{ended:?}");
    while group.exists() && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(!group.exists());
}

#[test]
fn budgets_of_groups_are_changed_while_they_are_held() {
    let folder = tempfile::tempdir().unwrap();
    let Some(_alone) = can_freeze(folder.path()) else { return };
    let words = ["-e", "page-faults", "--budget", "program=60", "--period", "10ms", "--json"];
    let mut command = with_program(folder.path(), &words, &STORM);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let ask = |budget: &str| {
        let mut command = solo();
        command.args(["guard", "set", budget, "--state"]).arg(folder.path().join("state"));
        command.output().unwrap()
    };
    std::thread::sleep(Duration::from_millis(500));
    for (budget, status, expected) in [
        ("program=1000", 0, "program has 1000 events from its next period on"),
        ("program=0", 2, "a budget of 0 events"),
        ("/nobody=5", 2, "/nobody has no budget"),
        ("0=5", 2, "core0 has no budget: program is held"),
    ] {
        let output = ask(budget);
        assert_eq!(output.status.code(), Some(status), "{budget}: {}", said(&output));
        assert!(said(&output).contains(expected), "{budget}: {}", said(&output));
    }
    std::thread::sleep(Duration::from_millis(500));
    signal(&child, rustix::process::Signal::INT);
    let output = child.wait_with_output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let group = &answer["groups"][0];
    assert!(group["period_max_events"].as_u64() > Some(200), "the larger budget was used: {group}");
    assert!(group["reserved_events"].as_u64() > Some(20_000), "{group}");
}

/// The numbers that watches show are those of the guard, while it is at work and no longer.
/// The process beside the guard hears nothing from a thread that freezes nobody any more, and is not to end the guard for that.
#[test]
fn cpus_are_held_when_the_only_group_is_taken_away() {
    let folder = tempfile::tempdir().unwrap();
    let Some(_alone) = can_freeze(folder.path()) else { return };
    let group = group_of(std::process::id()).with_file_name(format!("solo-test-{}", std::process::id()));
    std::fs::create_dir(&group).unwrap();
    let budget = format!("/{}=100", group.file_name().unwrap().to_str().unwrap());
    let words = ["-e", "page-faults", "--budget", "0=100000", "--budget", &budget, "--period", "100ms"];
    let mut at_work = AtWork::start(folder.path(), &words);
    std::fs::remove_dir(&group).unwrap();
    std::thread::sleep(Duration::from_millis(5500));
    assert_eq!(at_work.0.try_wait().unwrap(), None, "it has ended");
    let mut command = solo();
    command.args(["guard", "set", "0=200000", "--state"]).arg(folder.path().join("state"));
    let set = command.output().unwrap();
    assert_eq!(set.status.code(), Some(0), "{}", said(&set));
}

#[test]
fn a_watch_shows_how_far_budgets_have_come() {
    let folder = tempfile::tempdir().unwrap();
    let Some(_alone) = can_freeze(folder.path()) else { return };
    let state = Path::new("/run/solo-guard");
    if state.join("live").exists() {
        println!("skipped: a watch over a guard: one is at work already in /run/solo-guard");
        return;
    }
    let words = [
        "guard",
        "-e",
        "page-faults",
        "-b",
        "program=60",
        "-b",
        "0=100000000",
        "--period",
        "10ms",
        "--quiet",
        "--",
    ];
    let mut command = solo();
    let mut child =
        command.args(words).args(STORM).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(400));
    let watch = ["watch", "-V", "guard", "--every", "200ms", "-n", "4", "-e", "page-faults", "--all"];
    let watched = solo().args(watch).output().unwrap();
    signal(&child, rustix::process::Signal::INT);
    child.wait().unwrap();
    assert!(!state.join("live").exists(), "a guard that has ended shows nothing");
    let text = format!("{}{}", String::from_utf8_lossy(&watched.stdout), said(&watched));
    assert_eq!(watched.status.code(), Some(0), "{}", said(&watched));
    for whose in ["program", "cpu0"] {
        for what in ["budget_events", "events", "stopped_ns", "exceeded_periods"] {
            let column = format!("guard_{whose}_{what}");
            assert!(text.contains(&column), "{column}: {text}");
        }
    }
}

/// The minder works in another folder than the guard; where the journal is, it has to know all the same.
#[test]
fn a_relative_folder_is_put_back_from() {
    let folder = tempfile::tempdir().unwrap();
    let Some(_alone) = can_freeze(folder.path()) else { return };
    let words =
        ["guard", "--state", "state", "-e", "page-faults", "--budget", "program=5", "--period", "500ms"];
    let mut command = solo();
    command.args(words).args(["--quiet", "--"]).args(STORM).current_dir(folder.path());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let group = group_of(child.id());
    let waited = |until: &dyn Fn() -> bool| {
        let begun = std::time::Instant::now();
        while !until() && begun.elapsed() < Duration::from_secs(5) {
            std::thread::sleep(Duration::from_millis(1));
        }
        until()
    };
    let frozen = || std::fs::read_to_string(group.join("cgroup.freeze")).is_ok_and(|text| text.trim() == "1");
    assert!(waited(&frozen), "its budget is used up at once");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(waited(&|| !group.exists()), "{:?}", std::fs::read_to_string(group.join("cgroup.freeze")));
}

/// Each of two guards counts what the other's threads do on a CPU: that is told, whoever's the state is.
#[test]
fn the_second_guard_of_a_cpu_is_told() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let Some(_alone) = can_guard(first.path()) else { return };
    let words = ["-e", "page-faults", "--budget", "0=100000", "--period", "100ms"];
    let at_work = AtWork::start(first.path(), &words);
    let of_second = || {
        let mut command = guard(second.path(), &words);
        let output = command.args(["--time", "50ms", "--json", "--quiet"]).output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["doubts"].to_string()
    };
    let doubts = of_second();
    assert!(doubts.contains("another guard held a budget of this CPU"), "{doubts}");
    drop(at_work);
    let doubts = of_second();
    assert!(!doubts.contains("another guard"), "{doubts}");
}

/// Interrupts go elsewhere while the guard is at work, and back.
#[test]
fn interrupts_are_kept_off_and_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let Some(_alone) = can_guard(folder.path()) else { return };
    let every = ["-e", "page-faults", "--no-interrupts", "--dry-run", "--budget", "0=5", "--budget", "1=5"];
    let refused = guard(folder.path(), &every).output().unwrap();
    if std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() == 2) {
        assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
        assert!(said(&refused).contains("every CPU has a budget"), "{}", said(&refused));
    }
    let lists = || {
        let entries = std::fs::read_dir("/proc/irq").unwrap().flatten();
        let one = |entry: std::fs::DirEntry| {
            let list = std::fs::read_to_string(entry.path().join("smp_affinity_list")).ok()?;
            Some((entry.file_name().into_string().ok()?, list.trim().to_owned()))
        };
        let mut lists: Vec<(String, String)> = entries.filter_map(one).collect();
        lists.sort();
        lists
    };
    let before = lists();
    let movable = before.iter().filter(|(_, list)| list.starts_with("0-")).count();
    if movable == 0 {
        return println!("skipped: interrupts: none may come to several CPUs here");
    }
    let words = ["-e", "page-faults", "--no-interrupts", "--budget", "0=100000", "--period", "100ms"];
    let at_work = AtWork::start(folder.path(), &words);
    let during = lists();
    let moved =
        before.iter().zip(&during).filter(|(was, is)| was.1.starts_with("0-") && !is.1.starts_with('0'));
    let moved = moved.count();
    // Killed: the process beside it puts them back, and nobody has to ask for it.
    drop(at_work);
    let begun = std::time::Instant::now();
    while lists() != before && begun.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(lists(), before);
    let restored = guard(folder.path(), &["--restore"]).output().unwrap();
    assert_eq!(restored.status.code(), Some(0), "{}", said(&restored));
    assert_eq!(lists(), before);
    println!("{moved} of {movable} interrupts could be moved");
    assert!(moved > 0, "{during:?}");
}

/// A guard of limits of bandwidth.
fn limits(folder: &Path, words: &[&str]) -> Output {
    guard(folder, &[&["--back-end", "mba"], words].concat()).current_dir(common::root()).output().unwrap()
}

/// What only an enforcer does is refused wherever the command is tried, and before anything is looked at.
#[test]
fn limits_of_bandwidth_are_rates_of_cpus_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let done = "is asked for, and MBA does nothing of the kind: it delays what a CPU asks of memory";
    let wrong: [(&[&str], String); 16] = [
        (&[], "expected a scenario, or the limit of a CPU: solo guard --back-end mba --budget 1=800MiB/s".into()),
        (
            &["-b", "1=800"],
            "core1 has a budget of events, and MBA limits bandwidth only: give it as a rate, such as \"800MiB/s\"".into(),
        ),
        (&["-b", "1=800MiB"], "--budget 1=800MiB: --back-end mba limits CPUs, by rates such as 1=800MiB/s; units: B/s, ".into()),
        (&["-b", "/batch.slice=800MiB/s"], "--budget /batch.slice=800MiB/s: --back-end mba limits CPUs".into()),
        (&["-b", "program=800MiB/s"], "--budget program=800MiB/s: --back-end mba limits CPUs".into()),
        (&["-b", "1\u{1b}[2J"], "--budget 1\\u{1b}[2J: --back-end mba limits CPUs".into()),
        (&["-b", "1=800MiB/s", "-e", "page-faults"], "--event page-faults: MBA limits bandwidth only, and counts no event".into()),
        (&["-b", "1=800MiB/s", "--reclaim", "pool"], format!("--reclaim {done}; the back ends occupier and sched-ext reclaim")),
        (&["-b", "1=800MiB/s", "--share", "spare"], format!("--share {done}; the back ends occupier and sched-ext share")),
        (&["-b", "1=800MiB/s", "--period", "1ms"], format!("--period {done}; the kernel looks once a second")),
        (&["-b", "1=800MiB/s", "--all-real-time"], format!("--all-real-time {done}; no thread of the guard holds a CPU")),
        (&["-b", "1=800MiB/s", "--no-interrupts"], format!("--no-interrupts {done}; what interrupts do")),
        (
            &["scenarios/bounded-by-budgets.toml"],
            "scenarios/bounded-by-budgets.toml: core0 has a part of what memory guarantees, which nobody knows of this machine: give it \
             as a rate"
                .into(),
        ),
        (
            &["scenarios/papers/memguard/changed-budgets.toml"],
            format!("changing budgets during the run {done}; hold each step by itself"),
        ),
        (&["scenarios/first-steps.toml"], "has no [isolation.bandwidth] to hold".into()),
        (&["-b", "1=800MiB/s", "-b", "1=900MiB/s", "--dry-run"], "core1 has two limits of bandwidth: give it one".into()),
    ];
    for (words, expected) in wrong {
        let output = limits(folder.path(), words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", said(&output));
        assert!(said(&output).contains(&expected), "{words:?}: {}", said(&output));
        assert!(output.stdout.is_empty());
    }
    assert!(!folder.path().join("state").exists());
}

/// The rates of a scenario are limits, where it asks for nothing beside them.
#[test]
fn a_scenario_may_give_limits_and_nothing_beside_them() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(common::root().join("scenarios/bounded-by-budgets.toml")).unwrap();
    let rates =
        text.replace(r#"cores = { 0 = "20%", 1 = "25%" }"#, r#"cores = { 0 = "200MiB/s", 1 = "300MiB/s" }"#);
    assert_ne!(text, rates);
    let limits_of = |more: &str, instead: &str| {
        let file = folder.path().join("scenario.toml");
        std::fs::write(
            &file,
            rates
                .replace("period = \"100us\"", &format!("period = \"100us\"\n{more}"))
                .replace("\"200MiB/s\"", instead),
        )
        .unwrap();
        let output = limits(folder.path(), &["--dry-run", file.to_str().unwrap()]);
        (output.status.code(), said(&output) + &String::from_utf8_lossy(&output.stdout))
    };
    for (more, what) in [
        ("reclaim = \"pool\"", "reclaiming what others do not use is asked for"),
        ("sharing = \"spare\"", "sharing what is left is asked for"),
        ("carry-over = \"yes\"", "carrying what was used beyond a budget into the next period is asked for"),
        ("charge = \"50%\"", "charging a thread for the time that it was stopped is asked for"),
        ("counts = \"reads-and-writes\"", "limiting reads and writes apart is asked for"),
    ] {
        let (code, words) = limits_of(more, "\"200MiB/s\"");
        assert_eq!(code, Some(2), "{words}");
        assert!(words.contains(what), "{words}");
    }
    let monitor = "[scheduler.monitor]\nevent = \"llc_misses\"\nperiod = \"10ms\"\nthreshold = 4\nclasses = [\"hard\"]\naction = \"report\"\n";
    let (code, words) = limits_of("", &format!("\"200MiB/s\", 1 = \"300MiB/s\" }}\n\n{monitor}\n#"));
    assert_eq!(code, Some(2), "{words}");
    assert!(words.contains("listening to counters ([scheduler.monitor]) is asked for"), "{words}");
    let (code, words) = limits_of("", "100");
    assert_eq!(code, Some(2), "{words}");
    assert!(words.contains("core0 has a budget of events, and MBA limits bandwidth only"), "{words}");
    let (code, words) = limits_of("", "\"200MiB/s\"");
    match code {
        Some(0) => assert!(words.contains("MB:"), "{words}"),
        other => {
            assert_eq!(other, Some(3), "{words}");
            assert!(words.contains("resctrl"), "{words}");
        }
    }
}

/// A limit is set, told and put back, where the processor has any.
#[test]
fn a_limit_is_set_and_put_back_where_the_processor_has_one() {
    let folder = tempfile::tempdir().unwrap();
    let _alone = alone();
    let words = ["-b", "0=100000MiB/s", "--time", "300ms", "--json", "--quiet"];
    let output = limits(folder.path(), &words);
    if output.status.code() == Some(3) {
        let why = said(&output);
        assert!(why.contains("resctrl"), "{why}");
        println!("skipped: solo guard --back-end mba: {}", why.trim());
        return;
    }
    let answer: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(&output)));
    assert_eq!((&answer["format"], &answer["tier"]), (&"guard-limits".into(), &Value::Null));
    assert_eq!(answer["stood"], true, "{answer}");
    let group = answer["cores"][0]["group"].as_str().unwrap();
    assert!(!Path::new("/sys/fs/resctrl").join(&group[1..]).exists());
}

/// A minder, and the process whose guard it takes it for: one that says nothing.
struct Minded {
    silent: Child,
    minder: Child,
}

impl Minded {
    fn start(state: &Path, patience: &[&str]) -> Self {
        let silent = Command::new("sleep").arg("60").spawn().unwrap();
        let mut command = solo();
        command.args(["guard", "mind", &silent.id().to_string(), "--state"]).arg(state).args(patience);
        let minder = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Self { silent, minder }
    }

    /// Closes its line, as the guard's end does; returns its status and words.
    fn hang_up(mut self) -> (Option<i32>, String) {
        drop(self.minder.stdin.take());
        let output = self.minder.wait_with_output().unwrap();
        let _ = self.silent.kill();
        self.silent.wait().unwrap();
        (output.status.code(), said(&output))
    }
}

/// Nobody waits for a guard of limits that stands still, so its minder waits for it; that of a guard that freezes ends it.
#[test]
fn a_patient_minder_ends_no_guard_that_is_silent() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let mut patient = Minded::start(folders[0].path(), &["--patient"]);
    let mut other = Minded::start(folders[1].path(), &[]);
    let begun = std::time::Instant::now();
    while other.silent.try_wait().unwrap().is_none() && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let ended = begun.elapsed();
    assert!(ended > Duration::from_secs(4) && ended < Duration::from_secs(15), "{ended:?}");
    // The patient one began to wait sooner, and has had two seconds more.
    std::thread::sleep(Duration::from_secs(2));
    assert!(patient.silent.try_wait().unwrap().is_none(), "who is silent goes on");
    assert!(patient.minder.try_wait().unwrap().is_none(), "and is minded");
    let (status, words) = other.hang_up();
    assert_eq!(status, Some(0), "{words}");
    assert!(words.contains("has stood still for five seconds: it is ended"), "{words}");
    let begun = std::time::Instant::now();
    assert_eq!(patient.hang_up(), (Some(0), String::new()));
    assert!(begun.elapsed() < Duration::from_secs(4), "it heard of the end at once");
}
