//! `solo place` through the command line: what it refuses, what it moves and holds, and what it leaves behind.
#![allow(missing_docs)]

mod common;

use common::solo;
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// A placement with its journal in `folder`. What follows `--` comes last.
fn place(folder: &Path, words: &[&str]) -> Command {
    let mut command = solo();
    command.arg("place").arg("--state").arg(folder.join("state")).args(words);
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Whether this machine lets somebody be held; where it does not, that is said.
fn can_hold(folder: &Path) -> bool {
    let words = [
        "-e",
        "page-faults",
        "--above",
        "1000000",
        "--action",
        "yield",
        "--time",
        "20ms",
        "-q",
        "--",
        "sleep",
        "1",
    ];
    let output = place(folder, &words).output().unwrap();
    if output.status.code() == Some(3) {
        println!("skipped: solo place: {}", said(&output).trim());
    }
    output.status.code() != Some(3)
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_happens() {
    let folder = tempfile::tempdir().unwrap();
    let faults = ["-e", "page-faults", "--above", "5"];
    let with = |more: &[&'static str]| [&faults[..], more].concat();
    let mut wrong: Vec<(Vec<&str>, &str)> = vec![
        (vec![], "expected a program or a process to place"),
        (vec!["--", "true"], "expected what to listen to"),
        (vec!["--monitor", "frobs", "--", "true"], "no monitor gives `frobs` by itself; there are "),
        (vec!["--monitor", "rate", "--", "true"], "this one has to be told what to count"),
        (vec!["-e", "frobs", "--", "true"], "no event is called `frobs`"),
        (vec!["-e", "page_faults / frobs", "--", "true"], "no event is called `frobs`"),
        (vec!["-e", "1000", "--", "true"], "this counts nothing"),
        (vec!["-e", "1 +", "--", "true"], "-e 1 +: "),
        (vec!["-e", "page-faults", "--action", "yield", "--", "true"], "expected --above NUMBER"),
        (vec!["-e", "page-faults", "--above=-3", "--", "true"], "--above: expected a number"),
        (with(&["--calm", "9", "--", "true"]), "expected --above 9 --calm 5"),
        (with(&["--action", "frobs", "--", "true"]), "policy `frobs` does not exist; known: report, yield"),
        (with(&["--every", "10us", "--", "true"]), "--every: 1 ms or more, found 10us"),
        (with(&["--every", "soon", "--", "true"]), "--every: expected a time"),
        (with(&["--time", "soon", "--", "true"]), "--time: expected a time"),
        (with(&["--set", "frobs=1", "--", "true"]), "setting `frobs` does not exist"),
        (with(&["--program", "a@x=true"]), "expected a CPU after @, found `x`"),
        (with(&["--program", "a="]), "expected a command"),
        (with(&["--program", "a=true", "--program", "a=false"]), "two programs are called `a`"),
        (with(&["--pid", "a=b"]), "expected the number of a process"),
        (with(&["--pid", "4194303"]), "there is no process 4194303"),
        (with(&["--pid", "a=1", "--pid", "b=1"]), "process 1 can't be two tasks, `a` and `b`"),
        (with(&["--program", "a@63=true"]), "none of the CPUs of this machine that are online"),
        (with(&["--", "/no/such/program"]), "cannot start /no/such/program"),
        (vec!["scenarios/first-steps.toml", "--program", "a=true"], "has no [scheduler.monitor]"),
        (vec!["corpus/no-such.toml", "--program", "a=true"], "corpus/no-such.toml"),
    ];
    let scenario = written(folder.path(), "yield");
    let scenario = scenario.to_str().unwrap();
    wrong.push((vec![scenario, "--program", "a=true"], "a is no task of "));
    wrong.push((vec![scenario, "--", "true"], "a program without a name is no task of "));
    wrong.push((vec![scenario, "--program", "left=true"], "task `right` of "));
    wrong.push((vec![scenario], "task `left` of "));
    wrong.push((
        vec![scenario, "--program", "left=true", "--pid", "left=1", "--program", "right=true"],
        "task `left` has two programs",
    ));
    for (words, expected) in &wrong {
        let output = place(folder.path(), words).current_dir(common::root()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", said(&output));
        assert!(said(&output).contains(expected), "{words:?}: {}", said(&output));
        assert!(output.stdout.is_empty(), "{words:?}");
    }
    // What this machine can't do: told at once, in the middle of a period; counters that it lacks, or has too few of.
    let overflow = place(folder.path(), &with(&["--action", "overflow", "--", "true"])).output().unwrap();
    assert_eq!(overflow.status.code(), Some(3), "{}", said(&overflow));
    assert!(said(&overflow).contains("`yield` does the same then"), "{}", said(&overflow));
    let misses = ["-e", "llc_misses", "--above", "5", "--time", "10ms", "--", "true"];
    let misses = place(folder.path(), &misses).output().unwrap();
    if misses.status.code() == Some(3) {
        assert!(
            said(&misses).contains("llc_misses: this machine has no counter for it"),
            "{}",
            said(&misses)
        );
    }
}

/// A scenario whose scheduler listens, for two tasks on two cores that write the same line again and again.
fn written(folder: &Path, action: &str) -> std::path::PathBuf {
    let work = "{ random = \"64B\", stride = \"4B\", writes = \"50%\", accesses = 2_000, buffer = \"line\" }";
    let text = format!(
        "name = \"written line\"\nplatform = \"xeon-w3530\"\nduration = \"100ms\"\n\
         [scheduler]\npolicy = \"P-RM\"\n\
         [scheduler.monitor]\nevent = \"snoop_hitm\"\nperiod = \"20ms\"\nthreshold = 1\nclasses = [\"best-effort\"]\naction = \"{action}\"\n\
         [[buffer]]\nname = \"line\"\nsize = \"64B\"\n\
         [[task]]\nname = \"left\"\nclass = \"best-effort\"\ncore = 0\nwork = [{work}]\n\
         [[task]]\nname = \"right\"\nclass = \"best-effort\"\ncore = 1\nwork = [{work}]\n"
    );
    let path = folder.join("written.toml");
    fs::write(&path, text).unwrap();
    path
}

/// Not a test: one of two programs that hand a byte to and fro, each waiting for the other. Both write the lines of the pipes.
#[test]
fn partner() {
    let Ok(pipes) = std::env::var("SOLO_PLACE_PARTNER") else { return };
    let (reads, writes) = pipes.split_once(':').unwrap();
    let both = |path: &str| fs::File::options().read(true).write(true).open(path).unwrap();
    let (mut reads, mut writes) = (both(reads), both(writes));
    let mut byte = [0];
    while writes.write_all(b"x").is_ok() && reads.read_exact(&mut byte).is_ok() {}
}

/// Shell commands of the two.
fn partners(folder: &Path) -> [String; 2] {
    let pipe = |name: &str| {
        let path = folder.join(name);
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        path.display().to_string()
    };
    let (there, back) = (pipe("there"), pipe("back"));
    let program = std::env::current_exe().unwrap();
    let command = |reads: &str, writes: &str| {
        format!(
            "SOLO_PLACE_PARTNER={reads}:{writes} exec {} --exact partner --nocapture >/dev/null 2>&1",
            program.display()
        )
    };
    [command(&there, &back), command(&back, &there)]
}

/// The answer, after the record was told again without a difference.
fn answered(folder: &Path, output: &Output) -> Value {
    let answer: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", said(output)));
    assert_eq!((&answer["format"], &answer["tier"]), (&"place".into(), &"B".into()));
    assert_eq!(answer["decisions"]["disagreements"], 0, "{answer}");
    let again = solo().args(["place", "--json", "--replay"]).arg(folder.join("record")).output().unwrap();
    assert_eq!(again.status.code(), Some(0), "{}", said(&again));
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!((&again["disagreements"], &again["observations"]), (&0.into(), &answer["periods"]["looks"]));
    assert!(
        answer["settings"].as_array().unwrap().iter().all(|put| put["fate"] != "not put back"),
        "{answer}"
    );
    answer
}

/// The same file in the simulated machine, where lines that are taken are counted: how often the scheduler held and moved on
/// each core.
fn simulated(folder: &Path, action: &str) -> Vec<(u64, u64)> {
    let (scenario, out) = (written(folder, action), folder.join("simulated"));
    let output =
        solo().arg("run").arg(&scenario).arg("--out").arg(&out).args(["--json", "-q"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let report: Value = serde_json::from_slice(&fs::read(out.join("report.json")).unwrap()).unwrap();
    let cores = report["listening"]["cores"].as_array().unwrap();
    cores.iter().map(|core| (core["held"].as_u64().unwrap(), core["moved"].as_u64().unwrap())).collect()
}

fn placed(folder: &Path, action: &str) -> Option<Value> {
    let [left, right] = partners(folder);
    let scenario = written(folder, action);
    let (left, right) = (format!("left={left}"), format!("right={right}"));
    let record = folder.join("record");
    let words = [
        scenario.to_str().unwrap(),
        "-e",
        "context-switches",
        "--program",
        &left,
        "--program",
        &right,
        "--time",
        "3s",
        "--record",
        record.to_str().unwrap(),
        "--json",
    ];
    let output = place(folder, &words).output().unwrap();
    if output.status.code() == Some(3) {
        println!("skipped: solo place: {}", said(&output).trim());
        return None;
    }
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    Some(answered(folder, &output))
}

/// Where all CPUs are alike nobody deserves a big one; a scenario's two kinds change nothing about that, and its model is of another chip.
#[test]
fn policies_by_kinds_are_refused_where_cpus_are_alike() {
    let folder = tempfile::tempdir().unwrap();
    let output = place(folder.path(), &["--action", "acfs", "--program", "true"]).output().unwrap();
    if output.status.code() != Some(3) {
        println!("skipped: CPUs that are alike: this machine has several kinds: {}", said(&output).trim());
        return;
    }
    let text = said(&output);
    assert!(
        text.contains("`ipc-sampling` tells kinds of cores apart, and all CPUs of this machine are alike"),
        "{text}"
    );
    let scenario = |name: &str, monitor: &str| {
        let path = folder.path().join(name);
        let text = format!(
            "name = \"kinds\"\nplatform = \"juno\"\nduration = \"10ms\"\n[scheduler]\npolicy = \"P-RR\"\nmonitor = {{ {monitor}, \
             period = \"1ms\", classes = [\"best-effort\"], action = \"hsp\" }}\n\
             [[task]]\nname = \"a\"\nclass = \"best-effort\"\ncore = 0\nrelease = \"continuous\"\nwork = [{{ compute = \"1ms\" }}]\n"
        );
        std::fs::write(&path, text).unwrap();
        path
    };
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../platforms/models/juno-speedup-factor.toml");
    let model = format!("monitor = \"estimate\", model = \"{}\"", model.display());
    let cases = [
        ("sampling.toml", "monitor = \"ipc-sampling\"", 3, "all CPUs of this machine are alike"),
        ("model.toml", &model, 2, "goes by a model of juno, and this machine is another"),
    ];
    for (name, monitor, status, part) in cases {
        let path = scenario(name, monitor);
        let words = [path.to_str().unwrap(), "--program", "a=true"];
        let output = place(folder.path(), &words).output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{}", said(&output));
        assert!(said(&output).contains(part), "{}", said(&output));
    }
}

#[test]
fn two_programs_that_wait_for_each_other_are_moved_together_by_the_policy_of_a_scenario() {
    if cpus() < 2 {
        println!("skipped: two programs on two CPUs: there is one CPU");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let moved = simulated(folder.path(), "gather").iter().map(|(_, moved)| moved).sum::<u64>();
    assert_eq!(moved, 1, "in the simulated machine one comes to the other once");
    let Some(answer) = placed(folder.path(), "gather") else { return };
    let tasks = answer["tasks"].as_array().unwrap();
    let moved: u64 = tasks.iter().map(|task| task["moved"].as_u64().unwrap()).sum();
    assert!(moved >= 1, "{answer}");
    assert_eq!(tasks[0]["last_core"], tasks[1]["last_core"], "{answer}");
    assert_eq!((&tasks[0]["first_core"], &tasks[1]["first_core"]), (&0.into(), &1.into()));
}

/// Its tasks can be programs by themselves; those that the command line names take their place.
#[test]
fn a_scenario_names_the_programs_of_its_tasks() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), "yield");
    let text = fs::read_to_string(&path).unwrap();
    let (head, _) = text.split_once("[[task]]").unwrap();
    let task = |name: &str, core: u16, says: &str| {
        format!(
            "[[task]]\nname = \"{name}\"\nclass = \"best-effort\"\ncore = {core}\ncommand = [\"./say\", \"{says}\"]\n"
        )
    };
    fs::write(&path, format!("{head}{}{}", task("left", 0, "one"), task("right", 1, "two"))).unwrap();
    let say = folder.path().join("say");
    fs::write(&say, format!("#!/bin/sh\necho $1 >> {}\n", folder.path().join("said").display())).unwrap();
    fs::set_permissions(&say, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let instead = format!("right=echo three >> {}", folder.path().join("said").display());
    let words = [path.to_str().unwrap(), "-e", "context-switches", "--program", &instead, "-q"];
    let output = place(folder.path(), &words).output().unwrap();
    if output.status.code() == Some(3) {
        return println!("skipped: solo place: {}", said(&output).trim());
    }
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let heard = fs::read_to_string(folder.path().join("said")).unwrap();
    let mut heard: Vec<&str> = heard.lines().collect();
    heard.sort_unstable();
    assert_eq!(heard, ["one", "three"]);
}

#[test]
fn the_same_two_are_kept_apart_in_time() {
    if cpus() < 2 {
        println!("skipped: two programs on two CPUs: there is one CPU");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let done = simulated(folder.path(), "serialize");
    assert!(done[..2].iter().all(|(held, moved)| *held > 0 && *moved == 0), "{done:?}");
    let Some(answer) = placed(folder.path(), "serialize") else { return };
    let tasks = answer["tasks"].as_array().unwrap();
    assert!(tasks.iter().all(|task| task["held"].as_u64().unwrap() > 0 && task["moved"] == 0), "{answer}");
}

#[test]
fn a_status_is_passed_on_and_a_rehearsal_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let faults = ["-e", "page-faults", "--above", "5", "--every", "5ms"];
    let status =
        place(folder.path(), &[&faults[..], &["-q", "--", "sh", "-c", "exit 7"]].concat()).output().unwrap();
    if status.status.code() != Some(3) {
        assert_eq!(status.status.code(), Some(7), "{}", said(&status));
        let text = String::from_utf8_lossy(&status.stdout).into_owned();
        assert!(
            text.contains("tier B: the placement outside the kernel")
                && text.contains("0 answered otherwise"),
            "{text}"
        );
    }
    let other = tempfile::tempdir().unwrap();
    let me = std::process::id().to_string();
    let dry = place(
        other.path(),
        &[&faults[..], &["--dry-run", "--action", "yield", "--pid", &me, "--", "true"]].concat(),
    )
    .output()
    .unwrap();
    let text = String::from_utf8_lossy(&dry.stdout).into_owned();
    assert_eq!(dry.status.code(), Some(0), "{}", said(&dry));
    assert!(text.contains("would place yield above 5") && text.contains("would start task"), "{text}");
    assert!(text.contains("it may run on "), "{text}");
    assert!(!other.path().join("state").exists());
}

#[test]
fn records_are_whole_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("record");
    let words =
        ["-e", "page-faults", "--every", "5ms", "--record", record.to_str().unwrap(), "-q", "--", "true"];
    let output = place(folder.path(), &words).output().unwrap();
    if output.status.code() == Some(3) {
        println!("skipped: solo place: {}", said(&output).trim());
        return;
    }
    let again = place(folder.path(), &words).output().unwrap();
    assert_eq!(again.status.code(), Some(2), "{}", said(&again));
    assert!(said(&again).contains("already holds something"), "{}", said(&again));
    let replay = |path: &Path| solo().args(["place", "--replay"]).arg(path).output().unwrap();
    let told = replay(&record);
    assert_eq!(told.status.code(), Some(0), "{}", said(&told));
    assert!(String::from_utf8_lossy(&told.stdout).contains("0 answered otherwise"));
    // What was decided is not what follows: an answer put in.
    let text = fs::read_to_string(&record).unwrap();
    let changed = text.replacen("\"decided\":[]", "\"decided\":[{\"go\":{\"task\":0}}]", 1);
    fs::write(&record, &changed).unwrap();
    let told = replay(&record);
    assert_eq!((told.status.code(), changed != text), (Some(1), true), "{}", said(&told));
    assert!(String::from_utf8_lossy(&told.stdout).contains("the first one is on line "));
    fs::write(&record, "{}\n").unwrap();
    let told = replay(&record);
    assert_eq!(told.status.code(), Some(2));
    assert!(said(&told).contains("line 1 is no line of a record"), "{}", said(&told));
}

#[test]
fn who_has_no_rights_changes_nothing_and_is_told_what_mends_it() {
    let folder = tempfile::tempdir().unwrap();
    let nobody = |words: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
        command
            .arg(env!("CARGO_BIN_EXE_solo"))
            .arg("place")
            .args(words)
            .env("XDG_RUNTIME_DIR", folder.path());
        command.stdin(Stdio::null()).output()
    };
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let marker = folder.path().join("ran");
    let touch = format!("touch {}", marker.display());
    let yields = ["-e", "page-faults", "--above", "5", "--action", "yield"];
    match nobody(&[&yields[..], &["--program", &touch]].concat()) {
        Ok(output) if output.status.code() == Some(3) => {
            assert!(said(&output).contains("systemd-run --user --scope"), "{}", said(&output));
            assert!(!marker.exists(), "it never ran");
        }
        other => {
            println!("skipped: solo place without rights: {other:?}");
            return;
        }
    }
    // Somebody else's process: its CPUs are not ours to change, nor are its counters to read.
    let mut victim = Command::new("sleep").arg("60").spawn().unwrap();
    let before = state(victim.id());
    let reports = ["-e", "page-faults", "--above", "5"];
    let output = nobody(&[&reports[..], &["--pid", &victim.id().to_string()]].concat()).unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(said(&output).to_lowercase().contains("cap_"), "{}", said(&output));
    assert_eq!(state(victim.id()), before);
    victim.kill().unwrap();
    victim.wait().unwrap();
}

/// All that can be moved, held or weighted of a process and of what came out of it: CPUs of every thread, groups, and what its
/// group says of its weight and of being frozen.
fn state(process: u32) -> Vec<String> {
    let read = |path: String| fs::read_to_string(path).unwrap_or_default();
    let mut found = Vec::new();
    let threads = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    for thread in threads {
        let status = read(thread.path().join("status").display().to_string());
        found.extend(status.lines().filter(|line| line.starts_with("Cpus_allowed_list")).map(str::to_owned));
    }
    let groups = read(format!("/proc/{process}/cgroup"));
    if let Some(path) = groups.lines().find_map(|line| line.strip_prefix("0::")) {
        for root in ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"] {
            found.extend(["cpu.weight", "cgroup.freeze"].map(|file| read(format!("{root}{path}/{file}"))));
        }
    }
    found.push(groups);
    found
}

/// Waits until a placement says that everybody is in place; after that it is killed within so many microseconds.
fn wait_until_placed(child: &mut Child) -> u64 {
    let mut stderr = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while std::io::BufRead::read_line(&mut stderr, &mut line).unwrap() > 0 && !line.contains("placed:") {}
    20_000
}

/// Groups that this placement has made, and that are not taken away.
fn groups(placement: u32) -> Vec<String> {
    let own = format!("solo-place-{placement}-");
    ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"]
        .iter()
        .filter_map(|root| fs::read_dir(root).ok())
        .flatten()
        .flatten()
        .map(|entry| entry.path().display().to_string())
        .filter(|path| path.contains(&own))
        .collect()
}

struct Victim(Child);

impl Victim {
    /// A shell that starts one child after the other, each of which touches memory.
    fn new() -> Self {
        let script = "while :; do sleep 0.002; done";
        Self(Command::new("sh").args(["-c", script]).stdout(Stdio::null()).spawn().unwrap())
    }

    /// Whether it goes on: it starts another child.
    fn goes_on(&self) -> bool {
        let ticks = || fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap_or_default();
        let before = ticks();
        (0..2000).any(|_| {
            std::thread::sleep(Duration::from_millis(1));
            ticks() != before
        })
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `SOLO_PLACE_KILLS`: so many times.
#[test]
fn one_that_is_killed_at_any_moment_leaves_nothing_moved_or_held() {
    let folder = tempfile::tempdir().unwrap();
    if !can_hold(folder.path()) {
        return;
    }
    let asked = std::env::var("SOLO_PLACE_KILLS").ok().and_then(|text| text.parse::<u64>().ok());
    let seed = std::env::var("SOLO_FIRST_SEED").ok().and_then(|text| text.parse::<u64>().ok()).unwrap_or(1);
    let victims = [Victim::new(), Victim::new()];
    let pids: Vec<String> = victims.iter().map(|victim| victim.0.id().to_string()).collect();
    let before: Vec<_> = victims.iter().map(|victim| state(victim.0.id())).collect();
    let mut found = [0; 2];
    for round in 0..asked.unwrap_or(10) {
        let action = ["yield", "serialize", "gather"][(round / 2 % 3) as usize];
        let words = [
            "-e",
            "page-faults",
            "--above",
            "0",
            "--action",
            action,
            "--every",
            "2ms",
            "--pid",
            &pids[0],
            "--pid",
            &pids[1],
        ];
        let mut command = place(folder.path(), &words);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let pid = child.id();
        // Every second one is killed while it starts, the others while they hold: where it is does not decide the outcome.
        let moment = (round + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let most = if round % 2 == 0 { 90_000 } else { wait_until_placed(&mut child) };
        std::thread::sleep(Duration::from_micros(moment % most));
        found[0] += u64::from(!groups(pid).is_empty());
        child.kill().unwrap();
        child.wait().unwrap();
        // Put back by its minder, which nobody has to ask, or is waited for by the next one that starts.
        if round % 3 == 2 {
            let begun = std::time::Instant::now();
            let is_back =
                || victims.iter().zip(&before).all(|(victim, before)| state(victim.0.id()) == *before);
            while !(groups(pid).is_empty() && is_back()) {
                let all = victims.iter().map(|victim| state(victim.0.id())).collect::<Vec<_>>();
                assert!(begun.elapsed() < Duration::from_secs(5), "round {round}: {:?} {all:?}", groups(pid));
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        let restored = match round % 3 {
            0 => place(folder.path(), &["-e", "page-faults", "--time", "4ms", "-q", "--", "sleep", "1"])
                .output(),
            _ => place(folder.path(), &["--restore"]).output(),
        };
        let restored = restored.unwrap();
        assert_eq!(restored.status.code(), Some(0), "round {round}: {}", said(&restored));
        assert_eq!(groups(pid), Vec::<String>::new(), "round {round}");
        for (victim, before) in victims.iter().zip(&before) {
            assert_eq!(&state(victim.0.id()), before, "round {round}");
            found[1] += u64::from(victim.goes_on());
        }
    }
    let rounds = asked.unwrap_or(10);
    assert_eq!(found[1], 2 * rounds, "everybody goes on");
    println!("{rounds} killed, of which {} had changed something", found[0]);
    assert!(found[0] >= rounds / 2, "{} of {rounds} had changed something", found[0]);
}

/// A build may replace the file while the old program is at work.
#[test]
fn who_has_no_file_any_more_has_its_minder_nevertheless() {
    let folder = tempfile::tempdir().unwrap();
    if !can_hold(folder.path()) {
        return;
    }
    let copy = folder.path().join("solo");
    fs::copy(solo().get_program(), &copy).unwrap();
    let open = fs::File::open(&copy).unwrap();
    fs::remove_file(&copy).unwrap();
    let held = format!("/proc/{}/fd/{}", std::process::id(), open.as_raw_fd());
    let mut command = Command::new(held);
    command.arg("place").arg("--state").arg(folder.path().join("state"));
    command.args(["-e", "page-faults", "--above", "1000000", "--action", "yield", "-q", "--", "true"]);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
}

#[test]
fn two_at_once_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    if !can_hold(folder.path()) {
        return;
    }
    let victim = Victim::new();
    let pid = victim.0.id().to_string();
    let words =
        ["-e", "page-faults", "--above", "1000000", "--action", "yield", "--every", "5ms", "--pid", &pid];
    let mut first =
        place(folder.path(), &words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until_placed(&mut first);
    let second = place(folder.path(), &words).output().unwrap();
    assert_eq!(second.status.code(), Some(3), "{}", said(&second));
    assert!(said(&second).contains("another guard is at work"), "{}", said(&second));
    let _ = first.kill();
    let _ = first.wait();
    let restored = place(folder.path(), &["--restore"]).output().unwrap();
    assert_eq!(restored.status.code(), Some(0), "{}", said(&restored));
    let nothing = place(folder.path(), &["--restore"]).output().unwrap();
    assert!(String::from_utf8_lossy(&nothing.stdout).contains("nothing is left to put back"));
}

#[test]
fn policies_about_caches_are_refused_where_nothing_divides_them() {
    if Path::new("/sys/fs/resctrl/info").exists() {
        println!("skipped: caches that nothing divides: resctrl is mounted here");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (words, status, part) in [
        (&["--action", "utility"][..], 3, "nothing is mounted at /sys/fs/resctrl"),
        (
            &["--monitor", "occupancy"],
            3,
            "`occupancy` takes counts of lines in the last-level cache by resctrl",
        ),
        (&["--action", "duty-cycle", "--monitor", "miss-rate-curve"], 3, "slows the clocks of cores"),
        (&["--action", "utility", "-e", "page-faults"], 2, "--action utility goes by miss-rate-curve only"),
    ] {
        let words = [words, &["--program", "true"]].concat();
        let output = place(folder.path(), &words).output().unwrap();
        let text = said(&output);
        assert_eq!(output.status.code(), Some(status), "{words:?}: {text}");
        assert!(text.contains(part), "{words:?}: {text}");
    }
    let output =
        place(folder.path(), &["--action", "utility", "--dry-run", "--program", "true"]).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("could not place utility"), "{output:?}");
}
