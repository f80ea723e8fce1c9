//! Exit codes and what is left behind: held, not held, bad input, interrupted, full disk.

mod common;

use common::{CALM, LATE, scenario, solo};
use std::path::Path;
use std::process::{Command, Stdio};

fn run(folder: &Path, text: &str, more: &[&str]) -> std::process::Output {
    let file = scenario(folder, text);
    let mut command = solo();
    command.arg("run").arg(file).arg("--out").arg(folder.join("run")).args(more);
    command.output().expect("solo starts")
}

fn code(output: &std::process::Output) -> Option<i32> {
    output.status.code()
}

#[test]
fn deadlines_that_hold_give_0_and_those_that_do_not_give_1() {
    let folder = tempfile::tempdir().unwrap();
    let held = run(folder.path(), CALM, &[]);
    assert_eq!(code(&held), Some(0), "{}", String::from_utf8_lossy(&held.stderr));
    let folder = tempfile::tempdir().unwrap();
    let late = run(folder.path(), LATE, &[]);
    assert_eq!(code(&late), Some(1), "{}", String::from_utf8_lossy(&late.stderr));
    assert!(String::from_utf8_lossy(&late.stdout).contains("20 of 20"));
}

/// What an option says meets the limits of the file, and is pointed at where it stands.
#[test]
fn options_are_checked_as_the_file_is() {
    let folder = tempfile::tempdir().unwrap();
    let slow = CALM.replace("period = \"5ms\"", "period = \"10000s\"");
    assert_ne!(slow, CALM);
    for options in [["--jobs", "1000000000"], ["--seed", "18446744073709551615"]] {
        let refused = run(folder.path(), &slow, &options);
        let message = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(code(&refused), Some(2), "{message}");
        assert!(message.contains("command line") && message.contains(&options.join(" ")), "{message}");
        assert!(!folder.path().join("run").exists(), "nothing is written");
    }
}

#[test]
fn an_occupied_folder_is_refused_and_replaced_only_on_request() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(code(&run(folder.path(), CALM, &[])), Some(0));
    let again = run(folder.path(), CALM, &[]);
    assert_eq!(code(&again), Some(2));
    assert!(String::from_utf8_lossy(&again.stderr).contains("--force"));
    assert_eq!(code(&run(folder.path(), CALM, &["--force"])), Some(0));
}

#[test]
fn force_never_deletes_a_folder_that_holds_no_run() {
    let folder = tempfile::tempdir().unwrap();
    let precious = folder.path().join("run");
    std::fs::create_dir(&precious).unwrap();
    std::fs::write(precious.join("thesis.tex"), "years of work").unwrap();
    let refused = run(folder.path(), CALM, &["--force"]);
    assert_eq!(code(&refused), Some(2));
    let message = String::from_utf8_lossy(&refused.stderr);
    assert!(message.contains("--out") && !message.contains("overwrite"), "{message}");
    assert!(precious.join("thesis.tex").exists());
}

/// Without a folder the usual one is meant, not the next free one.
#[test]
fn force_alone_replaces_the_usual_folder() {
    let folder = tempfile::tempdir().unwrap();
    let file = scenario(folder.path(), CALM);
    let usual = folder.path().join("runs/calm");
    let run = |more: &[&str]| {
        let output = solo().current_dir(folder.path()).arg("run").arg(&file).args(more).output().unwrap();
        assert_eq!(code(&output), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::read_dir(folder.path().join("runs")).unwrap().count()
    };
    assert_eq!(run(&["--force"]), 1);
    let before = std::fs::read(usual.join("manifest.json")).unwrap();
    assert_eq!(run(&["--force"]), 1);
    assert!(std::fs::read(usual.join("manifest.json")).unwrap() != before, "it is another run");
    assert_eq!(run(&[]), 2, "without --force nothing is replaced");
}

/// Its runs are there, its own mark is not; a folder of other runs is nobody's to replace.
#[test]
fn a_stopped_comparison_can_be_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let file = scenario(folder.path(), CALM);
    let out = folder.path().join("compared");
    let compare = || {
        let mut command = solo();
        command.arg("compare").arg(&file).arg("--out").arg(&out).arg("--force");
        code(&command.output().unwrap())
    };
    assert_eq!(compare(), Some(0));
    std::fs::remove_file(out.join("comparison.json")).unwrap();
    std::fs::remove_file(out.join("report.html")).unwrap();
    assert_eq!(compare(), Some(0));
    std::fs::remove_file(out.join("comparison.json")).unwrap();
    std::fs::remove_file(out.join("report.html")).unwrap();
    std::fs::rename(out.join("scenario"), out.join("another")).unwrap();
    assert_eq!(compare(), Some(2));
    assert!(out.join("another/manifest.json").exists());
}

#[test]
fn wrong_files_give_2_and_leave_no_run() {
    let wrong = [
        ("empty", ""),
        ("unknown key", &CALM.replace("period", "perioud")),
        ("zero period", &CALM.replace("5ms", "0ms")),
        ("negative period", &CALM.replace("5ms", "-5ms")),
        ("no such core", &CALM.replace("core = 0", "core = 99")),
        ("bare number", &CALM.replace("\"5ms\"", "5")),
        (
            "a deadline that EDF lacks",
            &CALM.replace("P-RM", "P-EDF").replace("period = \"5ms\"\n", "release = \"once\"\n"),
        ),
    ];
    for (what, text) in wrong {
        let folder = tempfile::tempdir().unwrap();
        let output = run(folder.path(), text, &[]);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(code(&output), Some(2), "{what}: {message}");
        assert!(message.contains("scenario.toml"), "{what} does not name the file: {message}");
        assert!(!folder.path().join("run").exists(), "{what} left a run behind");
        assert!(output.stdout.is_empty(), "{what} printed results");
    }
}

/// Isolation that can't be had is refused before anything runs, with the numbers; best effort is the user's to ask for.
#[test]
fn isolation_that_cannot_be_had_is_refused() {
    let two = "name = \"two\"\nplatform = \"xeon-w3530\"\njobs = 2\n[scheduler]\npolicy = \"P-RM\"\n\
               [[task]]\nname = \"a\"\nclass = \"hard\"\ncore = 0\nperiod = \"5ms\"\nwork = [{ sweep = \"64KiB\" }]\n\
               [[task]]\nname = \"b\"\nclass = \"hard\"\ncore = 1\nperiod = \"5ms\"\nwork = [{ sweep = \"64KiB\" }]\n";
    let budgets = "[isolation.bandwidth]\ncores = { 0 = \"900MiB/s\", 1 = \"400MiB/s\" }\n";
    let cases = [
        (budgets.to_owned(), 2, &["reservations of 1300MiB/s", "1204.49MiB/s", "best-effort"][..]),
        (format!("{budgets}best-effort = \"yes\"\n"), 0, &[]),
        ("[isolation.bandwidth]\nperiod = \"0ms\"\ncores = { 0 = 100 }\n".into(), 2, &["zero"]),
        ("[isolation.bandwidth]\ncores = { 0 = 0 }\n".into(), 2, &["1"]),
        ("[isolation.bandwidth]\ncores = { 9 = 100 }\n".into(), 2, &["no core `9`", "0 to 3"]),
        ("[isolation.colors]\na = \"127-128\"\n".into(), 2, &["128", "0 to 127"]),
        ("[isolation.banks]\na = \"16\"\n".into(), 2, &["16", "0 to 15"]),
        ("[isolation.colors]\na = \"0-7\"\nb = \"7-9\"\n".into(), 2, &["`a`", "`b`", "hard", "shared"]),
        (
            "[isolation.colors]\na = \"0-7\"\nb = \"7-9\"\n[isolation.memory]\nshared = \"yes\"\n".into(),
            0,
            &[],
        ),
        (
            "[isolation.lockdown]\na = 16\n[isolation.colors]\na = \"5\"\n".into(),
            2,
            &["15", "one way of each stays free"],
        ),
        ("[isolation.lockdown]\na = 15\n[isolation.colors]\na = \"5\"\n".into(), 0, &[]),
        ("[isolation.lockdown]\na = 17\n".into(), 2, &["profile has 16"]),
        ("[isolation.ways]\na = \"14-16\"\n".into(), 2, &["0 to 15"]),
    ];
    for (isolation, expected, words) in cases {
        let folder = tempfile::tempdir().unwrap();
        let output = run(folder.path(), &format!("{two}{isolation}"), &[]);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(code(&output), Some(expected), "{isolation}: {message}");
        for word in words {
            assert!(message.contains(word), "{isolation}: {word} is missing in {message}");
        }
        assert_eq!(folder.path().join("run").exists(), expected == 0, "{isolation}");
    }
}

/// A device that nobody owns, or that meets another, is refused; one that is cut short by its slot is found by the run.
#[test]
fn devices_are_refused_run_or_found_wanting() {
    let task = "name = \"one\"\nplatform = \"xeon-w3530\"\njobs = 3\n[scheduler]\npolicy = \"P-RM\"\n\
                [[task]]\nname = \"a\"\nclass = \"hard\"\ncore = 0\nperiod = \"5ms\"\nwork = [{ sweep = \"64KiB\" }]\n";
    let device = |name: &str, more: &str| {
        format!(
            "[[device]]\nname = \"{name}\"\ndirection = \"output\"\nmoves = \"64KiB\"\nperiod = \"5ms\"\n{more}\n"
        )
    };
    let mine = "owner = \"a\"";
    let slot = |offset: u64| format!("{mine}\ncore = 3\nslot = \"2ms\"\noffset = \"{offset}ms\"");
    let both = |offset| device("disk", &slot(0)) + &device("net", &slot(offset));
    let cases = [
        (device("disk", mine), 0, &[][..]),
        (device("disk", ""), 2, &["nobody owns device `disk`", "owner = \"vision\""]),
        (device("disk", "owner = \"b\""), 2, &["nobody owns device `disk`", "task or partition `b`"]),
        (both(1), 2, &["slots of `disk` and `net` overlap on core3", "from 2ms to 3ms"]),
        (both(2), 0, &[]),
        (device("disk", &format!("{mine}\nslot = \"1us\"")), 1, &["over before all was moved"]),
        (
            device("disk", mine) + "[isolation.bandwidth]\ndma = { net = \"1MB/s\" }\n",
            2,
            &["reserved for `net`", "[[device]] of this name"],
        ),
    ];
    for (devices, expected, words) in cases {
        let folder = tempfile::tempdir().unwrap();
        let output = run(folder.path(), &format!("{task}{devices}"), &[]);
        let message = [output.stderr.as_slice(), &output.stdout].map(String::from_utf8_lossy).concat();
        assert_eq!(code(&output), Some(expected), "{devices}: {message}");
        for word in words {
            assert!(message.contains(word), "{devices}: {word} is missing in {message}");
        }
        assert_eq!(folder.path().join("run").exists(), expected != 2, "{devices}");
    }
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &format!("{task}{}", device("disk", mine)), &["--on", "linux"]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(code(&output), Some(3), "{message}");
    assert!(message.contains("device `disk` moves data by itself"), "{message}");
}

/// Mechanisms that would silently do nothing are named before a run or after it, with cause and remedy.
#[test]
fn what_is_without_effect_is_named_with_its_remedy() {
    let text = "name = \"a\"\nplatform = \"xeon-w3530\"\nduration = \"12ms\"\n[scheduler]\npolicy = \"P-RM\"\n\
                [[task]]\nname = \"a\"\nclass = \"best-effort\"\ncore = 1\nwork = [{ sweep = \"32MiB\" }]\n";
    let budget = |core: u8, rate: &str| {
        format!("{text}[isolation.bandwidth]\ncores = {{ {core} = \"{rate}\" }}\nbest-effort = \"yes\"\n")
    };
    let cases = [
        (budget(1, "12GiB/s"), ["above the 10.666GB/s", "lower the budget"]),
        (
            budget(1, "300MiB/s").replace("[scheduler]", "prefetcher = \"on\"\n[scheduler]"),
            ["prefetchers", "switch them off"],
        ),
        (
            budget(1, "9GiB/s").replace("sweep", "stream").replace("32MiB\"", "32MiB\", writes = \"100%\""),
            ["writes are not counted", "count reads and writes"],
        ),
        (budget(2, "300MiB/s"), ["no regulated core had anything to run", "budgets belong elsewhere"]),
        (budget(2, "300MiB/s"), ["core1 runs tasks and has no budget", "give it one"]),
        (
            text.replace("xeon-w3530", "i7-2600") + "[isolation.colors]\na = \"0-3\"\n",
            ["slice functions name bits of the color", "use way masks"],
        ),
        (
            text.replace(
                "[[task]]",
                "[scheduler.monitor]\nevent = \"snoop_hitm\"\nperiod = \"20ms\"\nthreshold = 4\n\
                 classes = [\"best-effort\"]\naction = \"yield\"\n[[task]]",
            ),
            ["its period of 20ms did not end within the run", "make the period shorter"],
        ),
    ];
    for (text, words) in cases {
        let folder = tempfile::tempdir().unwrap();
        let output = run(folder.path(), &text, &[]);
        let said = [&output.stdout[..], &output.stderr[..]].concat();
        let said = String::from_utf8_lossy(&said);
        assert_eq!(code(&output), Some(0), "{said}");
        for word in words {
            assert!(said.contains(word), "`{word}` is missing in\n{said}");
        }
    }
}

/// A machine that can't hold lines in its cache says so before anything changes.
#[test]
fn a_machine_that_cannot_lock_gives_3() {
    let folder = tempfile::tempdir().unwrap();
    let platform = std::fs::read_to_string(common::root().join("platforms/xeon-w3530.toml")).unwrap();
    let exclusive = platform.replace("inclusion = \"inclusive", "inclusion = \"exclusive");
    assert_ne!(platform, exclusive);
    std::fs::write(folder.path().join("exclusive.toml"), exclusive).unwrap();
    let text = CALM.replace("xeon-w3530", "exclusive.toml");
    let text = format!("{text}\n[isolation.lockdown]\ncontrol = 1\n");
    let output = run(folder.path(), &text, &[]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(code(&output), Some(3), "{message}");
    assert!(message.contains("pages can't be locked"), "{message}");
}

#[test]
fn a_hundred_thousand_tasks_are_answered() {
    let mut text = CALM.to_owned();
    for n in 0..100_000 {
        text.push_str(&format!(
            "[[task]]\nname=\"t{n}\"\nclass=\"hard\"\ncore=0\nperiod=\"1s\"\nwork=[{{compute=\"1us\"}}]\n"
        ));
    }
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &text, &[]);
    assert_eq!(code(&output), Some(2));
    assert!(output.stderr.len() < 20_000, "one screen, not {} bytes", output.stderr.len());
}

#[test]
fn control_c_gives_130_and_nothing_that_looks_whole() {
    let folder = tempfile::tempdir().unwrap();
    let file = scenario(folder.path(), &CALM.replace("jobs = 20", "jobs = 100000000"));
    let out = folder.path().join("run");
    let mut child = solo()
        .arg("run")
        .arg(file)
        .arg("--out")
        .arg(&out)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The manifest is the first thing a run writes.
    while !out.join("manifest.json").exists() {
        assert!(child.try_wait().unwrap().is_none(), "the run ended by itself");
        std::thread::yield_now();
    }
    common::interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(code(&output), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout.is_empty());
    let manifest = std::fs::read_to_string(out.join("manifest.json")).unwrap();
    assert!(manifest.contains("\"complete\": false"), "{manifest}");
    let shown = solo().arg("report").arg(&out).output().unwrap();
    assert_eq!(code(&shown), Some(2), "an interrupted run is not shown as a whole one");
}

#[test]
fn a_full_disk_gives_2_and_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let small = folder.path().join("small");
    std::fs::create_dir(&small).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "none"]).arg(&small).output();
    if !mounted.is_ok_and(|mounted| mounted.status.success()) {
        println!("skipped: no right to mount a small file system, so no full disk");
        return;
    }
    let file = scenario(folder.path(), &CALM.replace("jobs = 20", "jobs = 20000"));
    let output = solo().arg("run").arg(file).arg("--out").arg(small.join("run")).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    let unmounted = Command::new("umount").arg(&small).status().unwrap();
    assert!(unmounted.success());
    assert_eq!(code(&output), Some(2), "{message}");
    assert!(message.contains("records.solo") || message.contains("manifest"), "{message}");
    assert!(output.stdout.is_empty());
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let mut child = solo().arg("platforms").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_replay_gives_the_same_records() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(code(&run(folder.path(), CALM, &[])), Some(0));
    let replayed = solo().arg("replay").arg(folder.path().join("run")).output().unwrap();
    assert_eq!(code(&replayed), Some(0), "{}", String::from_utf8_lossy(&replayed.stderr));
}

/// An empty list of a folder that is not there would hide a mistyped name.
#[test]
fn a_folder_to_list_has_to_be_there() {
    let folder = tempfile::tempdir().unwrap();
    let list = |words: &[&str]| solo().current_dir(folder.path()).arg("list").args(words).output().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    for wrong in ["nowhere", "file", "file/below"] {
        for more in [&[][..], &["--json"], &["--clean"]] {
            let output = list(&[&[wrong], more].concat());
            let message = String::from_utf8_lossy(&output.stderr);
            assert_eq!(code(&output), Some(2), "{wrong}: {message}");
            assert!(message.contains(wrong) && output.stdout.is_empty(), "{wrong}: {message}");
        }
    }
    // Where nothing was named and nothing was run yet, that is said.
    let output = list(&[]);
    assert_eq!(code(&output), Some(0));
    assert!(String::from_utf8_lossy(&output.stdout).contains("runs"), "{output:?}");
    assert_eq!(code(&list(&["--json"])), Some(0));
}

/// Two tasks that wait for each other for ever miss nothing before their deadlines have passed: they do not hold either.
#[test]
fn a_deadlock_gives_1_however_far_off_deadlines_are() {
    let task = |name: &str, core: u32, priority: u32, offset: &str, [first, second]: [&str; 2]| {
        format!(
            "[[task]]\nname = \"{name}\"\nclass = \"hard\"\ncore = {core}\npriority = {priority}\noffset = \"{offset}\"\n\
             period = \"10s\"\nwork = [{{ lock = \"{first}\" }}, {{ compute = \"2ms\" }}, {{ lock = \"{second}\" }},\n\
             {{ unlock = \"{second}\" }}, {{ unlock = \"{first}\" }}]\n"
        )
    };
    let scenario = |second: [&str; 2]| {
        format!(
            "name = \"circle\"\nplatform = \"p4080\"\nduration = \"1s\"\n[scheduler]\npolicy = \"P-FP\"\n\
             [[lock]]\nname = \"a\"\nprotocol = \"plain\"\n[[lock]]\nname = \"b\"\nprotocol = \"plain\"\n{}{}\
             [[task]]\nname = \"z\"\nclass = \"hard\"\ncore = 1\npriority = 1\nperiod = \"10ms\"\nwork = [{{ compute = \"2ms\" }}]\n",
            task("x", 0, 0, "1ms", ["a", "b"]),
            task("y", 0, 1, "0ms", second)
        )
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("circle.toml");
    for (second, code) in [(["b", "a"], 1), (["a", "b"], 0)] {
        std::fs::write(&file, scenario(second)).unwrap();
        let out = folder.path().join(second[0]);
        let output = solo().arg("run").arg(&file).args(["--json", "-q", "--out"]).arg(&out).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        let shown: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let verdict = &shown["verdict"];
        assert_eq!(verdict["held"], code == 0, "{verdict}");
        assert_eq!(verdict["stuck_tasks"].as_u64().unwrap_or(0), if code == 1 { 2 } else { 0 }, "{verdict}");
    }
}
