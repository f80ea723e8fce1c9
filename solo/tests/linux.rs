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
        (SCENARIO.replace("P-RM", "P-EDF"), "EDF and SJF run with --scheduler ranks or sched-ext"),
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
    let slice = said(&turns.replace("P-RR", "P-RR\"\nquantum = \"7ms"), "linux", "fifo", 3);
    assert!(slice.contains("RR has a quantum of 7ms, and SCHED_RR"), "{slice}");
    assert!(said(&turns, "linux", "sched-ext", 3).contains("RR gives jobs no rank that stays"));
    assert!(said(&edf, "sim", "sched-ext", 2).contains("it needs --on linux"));
}

/// All nine criteria, in the kernel that the other machines have: tier B, with what Linux made of its decisions, and a schedule that is the
/// kernel's own.
#[test]
fn any_criterion_runs_under_a_kernel_of_this_process() {
    let folder = tempfile::tempdir().unwrap();
    let run = |text: &str, more: &[&str]| {
        let file = common::scenario(folder.path(), text);
        let words = ["--on", "linux", "--scheduler", "hosted"];
        solo().arg("run").arg(&file).args(words).args(more).current_dir(folder.path()).output().unwrap()
    };
    for policy in ["RM", "DM", "FP", "EDF", "SJF", "LLF", "FCFS", "RR", "AFFINITY"] {
        let quantum = if ["LLF", "RR"].contains(&policy) { "\"\nquantum = \"2ms" } else { "" };
        let text = SCENARIO.replace("P-RM", &format!("P-{policy}{quantum}"));
        let text = text.replace("class = \"hard\"", "class = \"hard\"\nwcet = \"4ms\"\npriority = 1");
        let text = text.replace("class = \"soft\"", "class = \"soft\"\nwcet = \"9ms\"\npriority = 2");
        let output = run(&text, &["--json"]);
        let notes = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.code() == Some(3) && notes.contains("SCHED_FIFO") {
            return println!("skipped: a kernel of this process: {}", notes.trim());
        }
        assert!(matches!(output.status.code(), Some(0 | 1)), "{policy}: {notes}");
        assert!(
            notes.contains("tier B: the kernel of the other machines decided, in this process; "),
            "{notes}"
        );
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(answer["manifest"]["tier"], "B", "{policy}");
        // What was said stays with the run, with its figures.
        let carried = &answer["manifest"]["carried_out"];
        assert!(carried["by"] == "threads" && carried["chosen"].as_u64() >= Some(8), "{policy}: {carried}");
        let jobs = |task: usize| answer["report"]["tasks"][task]["jobs"].as_u64().unwrap();
        assert!(jobs(0) >= 4 && jobs(1) >= 4, "{policy}: {} {}", jobs(0), jobs(1));
        assert!(answer["report"]["cores"][0]["switches"].as_u64().unwrap() >= 8, "{policy}");
    }
    for (more, why) in [
        ("[isolation.bandwidth]\ncores = { 5 = \"100MB/s\" }\n", "budgets need counters that interrupt"),
        (WINDOWS, "windows"),
        ("[isolation.ways]\ncontrol = \"0-3\"\n", "ways of the cache"),
    ] {
        let output = run(&format!("{SCENARIO}{more}"), &[]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains("Linux cannot run `two`") && said.contains(why), "{said}");
    }
    let lacking = run(&SCENARIO.replace("P-RM", "P-FP"), &[]);
    let said = String::from_utf8_lossy(&lacking.stderr).into_owned();
    assert_eq!(lacking.status.code(), Some(2), "{said}");
}

/// Each change of the order was decided again by the criterion, and alike: more than `least` of them.
fn decided_alike(answer: &serde_json::Value, least: u64) {
    let repeated = &answer["manifest"]["repeated"];
    let changes = &answer["manifest"]["carried_out"]["changes"];
    let decisions = repeated["decisions"].as_u64().unwrap();
    assert_eq!((&repeated["disagreements"], &repeated["lost"]), (&0.into(), &0.into()), "{repeated}");
    // Each of the tasks may change its place once more after the end.
    assert!(decisions > least && decisions + 4 >= changes.as_u64().unwrap(), "{repeated}, {changes}");
    let warnings = answer["report"]["warnings"].to_string();
    assert!(!warnings.contains("repeated"), "{warnings}");
}

/// EDF by SCHED_FIFO's priorities: the criterion ran outside the kernel, decides again after the run, and the report says so.
#[test]
fn priorities_follow_the_ranks_of_jobs() {
    let folder = tempfile::tempdir().unwrap();
    let run = |text: &str| {
        let file = common::scenario(folder.path(), text);
        let words = ["--on", "linux", "--scheduler", "ranks", "--json"];
        solo().arg("run").arg(&file).args(words).current_dir(folder.path()).output().unwrap()
    };
    let plain = SCENARIO.replace("P-RM", "P-EDF").replace("inheritance", "plain");
    let output = run(&plain);
    let notes = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.code() == Some(3) {
        return println!("skipped: EDF by priorities: {}", notes.trim());
    }
    assert!(matches!(output.status.code(), Some(0 | 1)), "{notes}");
    assert!(notes.contains("tier B: priorities followed the ranks of jobs; "), "{notes}");
    assert!(notes.contains("tier B: the criterion decided again, from the records of the run: "), "{notes}");
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    decided_alike(&answer, 10);
    assert_eq!(answer["manifest"]["tier"], "B");
    let carried = &answer["manifest"]["carried_out"];
    assert!(carried["by"] == "priorities" && carried["changes"].as_u64().is_some(), "{carried}");
    assert!(answer["manifest"]["host"].as_str().unwrap().contains("threads whose priorities follow ranks"));
    // Shortest first, whatever the periods say.
    let task = |name: &str, period: &str, wcet: &str| {
        format!(
            "[[task]]\nname = \"{name}\"\nclass = \"hard\"\ncore = 0\nperiod = \"{period}\"\nwcet = \"{wcet}\"\nwork = [{{ compute = \"{wcet}\" }}]\n"
        )
    };
    let head = "name = \"shortest\"\nplatform = \"p4080\"\njobs = 4\n[scheduler]\npolicy = \"P-SJF\"\n";
    let output = run(&format!("{head}{}{}", task("long", "40ms", "12ms"), task("short", "80ms", "1ms")));
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let response = |task: usize, of: &str| answer["report"]["tasks"][task]["response"][of].as_u64().unwrap();
    let (long, short) = (response(0, "max_ns"), response(1, "p50_ns"));
    assert!(long >= 13_000_000 && short < 6_000_000, "{long} {short}");
    decided_alike(&answer, 10);
    // Linux inherits its own priorities; a ceiling is a place in the order.
    for protocol in ["inheritance", "ceiling"] {
        let raised = run(&SCENARIO.replace("P-RM", "P-EDF").replace("inheritance", protocol));
        assert!(matches!(raised.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&raised.stderr));
        let answer = serde_json::from_slice(&raised.stdout).unwrap();
        // A section is two changes more.
        decided_alike(&answer, if protocol == "ceiling" { 25 } else { 10 });
    }
}

/// A platform of so many cores, `./here.toml`.
fn here(folder: &Path, cpus: usize) {
    let ideal = std::fs::read_to_string(common::root().join("platforms/ideal-8.toml")).unwrap();
    let here = ideal.replace("\"8 @D\"\nsmt", &format!("\"{cpus} @D\"\nsmt")).replace("ideal-8", "here");
    std::fs::write(folder.join("here.toml"), here).unwrap();
}

/// The page and the file of a run keep what came of deciding again, under a global order as well.
#[test]
fn what_the_criterion_decided_again_stays_with_the_run() {
    let folder = tempfile::tempdir().unwrap();
    here(folder.path(), 2);
    let text =
        SCENARIO.replace("P-RM", "G-EDF").replace("core = 5\n", "").replace("\"p4080\"", "\"./here.toml\"");
    let (file, out) = (common::scenario(folder.path(), &text), folder.path().join("run"));
    let words = ["--on", "linux", "--scheduler", "ranks", "--quiet", "--out"];
    let output = solo().arg("run").arg(&file).args(words).arg(&out).output().unwrap();
    let notes = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.code() == Some(3) {
        return println!("skipped: EDF by priorities on all CPUs: {}", notes.trim());
    }
    assert!(matches!(output.status.code(), Some(0 | 1)), "{notes}");
    let manifest = std::fs::read_to_string(out.join("manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    let decisions = manifest["repeated"]["decisions"].as_u64().unwrap();
    assert!(decisions > 10 && manifest["repeated"]["disagreements"] == 0, "{}", manifest["repeated"]);
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains(&format!("{decisions} decisions repeated, 0 answered otherwise")));
}

/// EDF over all CPUs by Linux itself, and what the kernel counted of each job.
#[test]
fn linux_itself_runs_edf_and_counts_jobs() {
    let folder = tempfile::tempdir().unwrap();
    let task = |name: &str| {
        format!(
            "[[task]]\nname = \"{name}\"\nclass = \"hard\"\nperiod = \"20ms\"\nwcet = \"2ms\"\nwork = [{{ compute = \"500us\" }}]\n"
        )
    };
    // A chip with as many cores as this machine has CPUs: SCHED_DEADLINE takes all of them.
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    let cpus: usize = online
        .trim()
        .split(',')
        .map(|range| {
            let (low, high) = range.split_once('-').unwrap_or((range, range));
            high.parse::<usize>().unwrap() - low.parse::<usize>().unwrap() + 1
        })
        .sum();
    here(folder.path(), cpus);
    let text = format!(
        "name = \"reserved\"\nplatform = \"./here.toml\"\njobs = 10\n[scheduler]\npolicy = \"G-EDF\"\n{}{}",
        task("left"),
        task("right")
    );
    let file = common::scenario(folder.path(), &text);
    let out = folder.path().join("run");
    let run = |words: &[&str]| {
        let mut command = solo();
        command.arg("run").arg(&file).args(["--on", "linux", "--quiet", "--force", "--out"]).arg(&out);
        command.args(words).output().unwrap()
    };
    let said = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    for (count, status, part) in [
        ("no-such-event", 2, "no event is called `no-such-event`"),
        ("page-faults:100", 2, "page-faults:100"),
    ] {
        let output = run(&["--scheduler", "deadline", "--count", count]);
        assert_eq!(output.status.code(), Some(status), "{count}: {}", said(&output));
        assert!(said(&output).contains(part), "{count}: {}", said(&output));
    }
    let output = run(&["--scheduler", "deadline", "--count", "task-clock,page-faults"]);
    if output.status.code() == Some(3) {
        let why = said(&output);
        assert!(
            ["SCHED_DEADLINE", "SCHED_FIFO", "does not count"].iter().any(|part| why.contains(part)),
            "{why}"
        );
        println!("skipped: EDF by Linux itself: {why}");
        return;
    }
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", said(&output));
    let manifest = std::fs::read_to_string(out.join("manifest.json")).unwrap();
    assert!(manifest.contains("SCHED_DEADLINE") && manifest.contains("\"none\""), "{manifest}");
    let exported = solo().arg("report").arg(&out).args(["--format", "csv"]).output().unwrap();
    assert_eq!(exported.status.code(), Some(0), "{}", said(&exported));
    let text = std::fs::read_to_string(out.join("jobs.csv")).unwrap();
    assert!(text.lines().nth(1).is_some_and(|line| line.ends_with("task_clock,page_faults")), "{text}");
}

/// A program beside a task that computes.
fn with_command(class: &str, words: &str) -> String {
    format!(
        "name = \"two\"\nplatform = \"p4080\"\nduration = \"300ms\"\n[scheduler]\npolicy = \"P-RM\"\n\
         [[task]]\nname = \"control\"\nclass = \"hard\"\ncore = 5\nperiod = \"50ms\"\nwork = [{{ compute = \"1ms\" }}]\n\
         [[task]]\nname = \"program\"\nclass = \"{class}\"\ncore = 5\nperiod = \"100ms\"\ncommand = {words}\n"
    )
}

fn can_run(output: &Output) -> bool {
    let said = String::from_utf8_lossy(&output.stderr);
    let refused = output.status.code() == Some(3) && said.contains("SCHED_FIFO");
    if refused {
        println!("skipped: programs as tasks: {said}");
    }
    !refused
}

/// True where there is a process of this number that has not ended.
fn lives(process: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"));
    stat.is_ok_and(|stat| !stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z')))
}

fn numbers(file: &Path) -> Vec<String> {
    std::fs::read_to_string(file).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// What programs say is not mixed into what `solo` says, they work in the scenario's folder, and one that leaves its group ends with the run.
#[test]
fn a_program_is_a_task_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script");
    std::fs::write(
        &script,
        "#!/bin/sh\necho said by a program\nsetsid sleep 1000 &\necho $! >> left\nexit 5\n",
    )
    .unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let output = run(folder.path(), &with_command("soft", "[\"./script\", \"-c\"]"));
    if !can_run(&output) {
        return;
    }
    let (table, said) = (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    );
    assert!(matches!(output.status.code(), Some(0 | 1)), "{said}");
    assert!(said.contains("said by a program") && !table.contains("said by a program"), "{table}{said}");
    let failed = "programs of task program failed, the first in job 0: it ended with status 5";
    assert!(table.contains(failed), "{table}");
    let left = numbers(&folder.path().join("left"));
    assert!(left.len() >= 3 && left.iter().all(|process| !lives(process)), "{left:?}");
    let page = std::fs::read_to_string(folder.path().join("run/report.html")).unwrap();
    assert!(page.contains(failed));
    let check = solo().arg("check").arg(folder.path().join("scenario.toml")).output().unwrap();
    let text = String::from_utf8_lossy(&check.stdout).into_owned();
    assert!(
        text.contains("it is a program (`command`), and how long it waits, and for what, is not known"),
        "{text}"
    );
}

/// Killed itself, it takes its programs with it, and what these have started: also those that never give their CPU away.
#[test]
fn programs_end_where_solo_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let hog =
        "[\"sh\", \"-c\", \"(while :; do :; done) & echo $! > one; echo $$ > two; while :; do :; done\"]";
    let text = with_command("soft", hog).replace("300ms", "100s");
    if !can_run(&run(folder.path(), &with_command("soft", "[\"true\"]"))) {
        return;
    }
    std::fs::write(folder.path().join("scenario.toml"), text).unwrap();
    let mut solo = solo();
    solo.arg("run").arg(folder.path().join("scenario.toml")).args(["--on", "linux", "--quiet", "--out"]);
    let null = std::process::Stdio::null;
    let mut running = solo.arg(folder.path().join("killed")).stdout(null()).stderr(null()).spawn().unwrap();
    let wait = |what: &dyn Fn() -> bool| {
        let began = std::time::Instant::now();
        while !what() && began.elapsed() < std::time::Duration::from_secs(30) {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        what()
    };
    let files = ["one", "two"].map(|name| folder.path().join(name));
    assert!(wait(&|| files.iter().all(|file| !numbers(file).is_empty())), "it does not begin");
    running.kill().unwrap();
    running.wait().unwrap();
    let gone = || files.iter().flat_map(|file| numbers(file)).all(|process| !lives(&process));
    assert!(wait(&gone), "a program lives on");
}

/// What can't be started, and who can't start it, is refused before anything is.
#[test]
fn programs_are_refused_by_name() {
    let probe = tempfile::tempdir().unwrap();
    let there = with_command("hard", "[\"true\"]");
    if !can_run(&run(probe.path(), &there)) {
        return;
    }
    let absent = with_command("soft", "[\"no-such-program-anywhere\"]");
    let edf = there.replace("P-RM", "P-EDF");
    for (text, on, why) in [
        (&absent, &["--on", "linux"][..], "which can't be started: it is in no folder of PATH"),
        (
            &edf,
            &["--on", "linux", "--scheduler", "ranks"],
            "`program` is a program (`command`), whose process has no rank",
        ),
        (&there, &["--on", "linux", "--scheduler", "hosted"], "nothing here starts programs"),
        (&there, &["--on", "sim"], "nothing here starts programs; threads of Linux do"),
    ] {
        let (output, out) = run_on(probe.path(), text, on);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{on:?}: {said}");
        assert!(said.contains(why) && !said.contains("--on sim can"), "{on:?}: {said}");
        assert!(!out.join("manifest.json").exists());
    }
    // One of best effort runs beside jobs with ranks.
    let text = with_command("best-effort", "[\"true\"]").replace("P-RM", "P-EDF");
    let (output, out) = run_on(probe.path(), &text, &["--on", "linux", "--scheduler", "ranks"]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(out.join("report.html").exists());
}

/// Whoever started `solo` may have told Linux to forget how children end: programs are waited for all the same, by every command that starts some.
#[test]
fn programs_are_waited_for_where_signals_of_children_are_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("scenario.toml");
    std::fs::write(
        &file,
        with_command("best-effort", "[\"sh\", \"-c\", \"exit 7\"]").replace("hard", "best-effort"),
    )
    .unwrap();
    let program = env!("CARGO_BIN_EXE_solo");
    let state = folder.path().join("state");
    let guard = format!(
        "guard -q -e page-faults --budget program=100000 --state {} -- sh -c 'exit 7'",
        state.display()
    );
    let run = format!("run {} --on linux -q --out {}", file.display(), folder.path().join("run").display());
    for (words, status) in [(run, 0), (guard, 7)] {
        let script = format!("exec timeout 30 env --ignore-signal=CHLD {program} {words}");
        let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        // Ordinary threads need no rights.
        if output.status.code() == Some(3) && words.starts_with("guard") {
            println!("skipped: a guard's program that is waited for: {said}");
            continue;
        }
        assert_eq!(output.status.code(), Some(status), "{words}: {said}");
    }
}

fn run_on(folder: &Path, text: &str, on: &[&str]) -> (Output, std::path::PathBuf) {
    let (file, out) = (folder.join("other.toml"), folder.join("other"));
    let _ = std::fs::remove_dir_all(&out);
    std::fs::write(&file, text).unwrap();
    (solo().arg("run").arg(file).args(on).args(["--quiet", "--out"]).arg(&out).output().unwrap(), out)
}
