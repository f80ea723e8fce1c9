//! `solo watch` as a user types it: exit statuses, forms of output, closed pipes and full disks.

mod common;

use common::solo;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn watch(arguments: &[&str]) -> Output {
    solo().arg("watch").args(arguments).output().expect("solo starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// False, and says so, where this machine lets nobody count.
fn allowed() -> bool {
    let output = watch(&["-e", "page-faults", "--", "true"]);
    if output.status.code() == Some(0) {
        return true;
    }
    println!("skipped: solo watch: {}", text(&output.stderr).trim());
    false
}

#[test]
fn the_programs_exit_status_is_passed_on() {
    if !allowed() {
        return;
    }
    for (script, code) in [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137)] {
        let output = watch(&["-e", "page-faults", "--", "sh", "-c", script]);
        assert_eq!(output.status.code(), Some(code), "{script}: {}", text(&output.stderr));
        let table = text(&output.stdout);
        assert!(table.contains("nsample    pid      event          pmc0"), "{table}");
        assert!(table.contains("0 samples lost") && table.contains("no multiplexing"), "{table}");
    }
}

#[test]
fn wrong_input_is_2_and_what_the_machine_has_not_is_3() {
    for wrong in [
        &["-e", "frobs", "--", "true"][..],
        &["-e", "page-faults", "--every", "5", "--", "true"],
        &["-e", "page-faults", "--every", "10us", "--", "true"],
        &["-m", "x=1/", "--", "true"],
        &["-m", "x=frobs", "--", "true"],
        &["-V", "frobs", "--", "true"],
        &["--", "/nonexistent/program"],
        &[],
    ] {
        let output = watch(wrong);
        assert_eq!(output.status.code(), Some(2), "{wrong:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).starts_with("error: "), "{wrong:?}");
    }
}

#[test]
fn every_form_holds_the_same_rows() {
    if !allowed() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for form in ["pmctrack", "csv", "jsonl", "parquet", "perfetto"] {
        let file = folder.path().join(form);
        let path = file.to_string_lossy().into_owned();
        let script = "i=0; while [ $i -lt 20 ]; do /bin/true; i=$((i+1)); done";
        let output = watch(&["-e", "page-faults", "--format", form, "-o", &path, "--", "sh", "-c", script]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let bytes = std::fs::read(&file).unwrap();
        match form {
            // One thread, 20 children, each with an exit.
            "csv" => {
                assert!(text(&bytes).starts_with(
                    "# solo rows, version 1\nrow,at_ns,span_ns,subject,process,id,event,set,page_faults\n"
                ));
                assert!(text(&bytes).lines().count() >= 22);
            }
            "jsonl" => {
                let rows: Vec<serde_json::Value> =
                    text(&bytes).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
                assert_eq!(rows[0], serde_json::json!({ "format": "rows", "schema": 1 }));
                assert!(rows.iter().filter(|row| row["event"] == "exit").count() == 21);
            }
            "pmctrack" => assert!(text(&bytes).contains("doubts: ")),
            "parquet" => assert_eq!(&bytes[..4], b"PAR1"),
            _ => assert!(!solo_report::perfetto::decode(&bytes).unwrap().is_empty()),
        }
        assert!(!folder.path().join(format!("{form}.partial")).exists());
    }
}

#[test]
fn a_recording_says_whether_it_is_complete() {
    if !allowed() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("recording").to_string_lossy().into_owned();
    let output = watch(&["-e", "page-faults", "--out", &path, "--", "true"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let manifest = std::fs::read_to_string(folder.path().join("recording/watch.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&manifest).unwrap();
    assert_eq!(manifest["complete"], true);
    assert_eq!(manifest["summary"]["exit_status"], 0);
    let again = watch(&["-e", "page-faults", "--out", &path, "--", "true"]);
    assert_eq!(again.status.code(), Some(2), "an occupied folder is refused");
}

#[test]
fn a_full_disk_is_an_error_and_the_program_still_ends() {
    if !allowed() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let done = folder.path().join("done");
    let script = format!("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo > {}", done.display());
    let output = watch(&["-e", "task-clock", "--every", "1ms", "-o", "/dev/full", "--", "sh", "-c", &script]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("cannot write the rows"), "{}", text(&output.stderr));
    assert!(done.exists());
}

#[test]
fn a_closed_pipe_does_not_harm_the_program() {
    if !allowed() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let done = folder.path().join("done");
    let script =
        format!("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo > {}; exit 5", done.display());
    let mut child = Command::new(env!("CARGO_BIN_EXE_solo"))
        .args(["watch", "-e", "task-clock", "--every", "1ms", "--", "sh", "-c", &script])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("whoever read the rows is gone"), "{}", text(&output.stderr));
    assert!(done.exists());
}

#[test]
fn events_are_explained_and_translated() {
    let output = solo().args(["events", "cs", "instr"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let said = text(&output.stdout);
    assert!(said.contains("context_switches") && said.contains("instructions"), "{said}");
    let output =
        solo().args(["events", "--translate", "pmc0,pmc3=0x2e,umask3=0x41,os3", "--json"]).output().unwrap();
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    if cfg!(target_arch = "x86_64") {
        assert_eq!(said["events"][1]["config"], "0x412e", "{said}");
        assert_eq!(
            (&said["events"][0]["kernel"], &said["events"][1]["kernel"]),
            (&false.into(), &true.into()),
            "{said}"
        );
    }
    let output = solo().args(["events", "frobs"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let output = solo().args(["events", "--validate"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
}

#[test]
fn virtual_counters_stand_beside_the_sums_of_a_tick() {
    if !allowed() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("level");
    std::fs::write(&file, "42\n").unwrap();
    let description = folder.path().join("mine.toml");
    let toml = format!(
        "name = \"mine\"\n[[counter]]\nname = \"level_mdeg\"\nfile = {:?}\nkind = \"level\"\n",
        file.to_string_lossy()
    );
    std::fs::write(&description, toml).unwrap();
    let rows = folder.path().join("rows.jsonl");
    let (description, rows_name) = (description.to_string_lossy(), rows.to_string_lossy());
    let script = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
    let output = watch(&[
        "-e",
        "task-clock",
        "--every",
        "5ms",
        "-V",
        &description,
        "-m",
        "per_ms=level_mdeg/task_clock",
        "--format",
        "jsonl",
        "-o",
        &rows_name,
        "--",
        "sh",
        "-c",
        script,
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let rows: Vec<serde_json::Value> = std::fs::read_to_string(&rows)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let machine: Vec<_> = rows.iter().filter(|row| row["subject"] == "machine").collect();
    assert!(!machine.is_empty());
    assert!(machine.iter().all(|row| row["level_mdeg"] == 42), "{machine:?}");
    assert!(machine.iter().any(|row| row["per_ms"].is_number()), "{machine:?}");
    // Each thread's rows have it, too.
    let threads: Vec<_> = rows.iter().filter(|row| row["subject"] == "thread").collect();
    assert!(!threads.is_empty() && threads.iter().all(|row| row["level_mdeg"] == 42), "{threads:?}");
}

#[test]
fn virtual_counters_stand_in_the_rows_of_samples() {
    if !allowed() {
        return;
    }
    let script = "i=0; while [ $i -lt 40 ]; do true & i=$((i+1)); done; wait";
    let rows = ["-e", "page-faults:ebs=20", "-V", "faults", "--format", "jsonl", "--", "sh", "-c", script];
    let output = watch(&rows);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let rows: Vec<serde_json::Value> =
        text(&output.stdout).lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let samples: Vec<_> = rows.iter().filter(|row| row["event"] == "ebs").collect();
    let known = samples.iter().filter(|row| row["machine_page_faults"].is_number()).count();
    assert!(samples.len() > 20 && known * 3 > samples.len(), "{known} of {}", samples.len());
}

/// The rows of PMCTrack's table as words, without its head and what stands below.
fn table(output: &Output) -> Vec<Vec<String>> {
    let text = text(&output.stdout);
    let rows = text.lines().skip_while(|line| !line.trim_start().starts_with("nsample")).skip(1);
    let rows = rows.take_while(|line| !line.starts_with('['));
    rows.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}

#[test]
fn the_options_of_pmctracks_own_tool_mean_what_they_mean_there() {
    if !allowed() {
        return;
    }
    let busy = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; true | true";
    let faults = ["-e", "page-faults", "-e", "minor-faults", "--every", "5ms"];
    // -A: a row a thread and set; how many rows it sums up stands in front, and the sums are those of the totals.
    let output = watch(&[&faults[..], &["-A", "--", "sh", "-c", busy]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let rows = table(&output);
    let mut subjects: Vec<_> = rows.iter().map(|row| (row[1].clone(), row[3].clone())).collect();
    let length = subjects.len();
    subjects.sort();
    subjects.dedup();
    assert_eq!(subjects.len(), length, "one row each: {rows:?}");
    let sum: u64 = rows.iter().filter(|row| row[3] == "0").map(|row| row[5].parse::<u64>().unwrap()).sum();
    let totals = text(&output.stdout);
    let total = totals.lines().find(|line| line.starts_with("page_faults")).unwrap();
    assert_eq!(total.split_whitespace().nth(1), Some(sum.to_string().as_str()), "{totals}");
    // -n: so many rows, and the program is ended.
    let output =
        watch(&["-e", "page-faults", "--every", "2ms", "-n", "2", "--", "sh", "-c", "while :; do :; done"]);
    let ticks = table(&output).iter().filter(|row| row[2] == "tick").count();
    assert_eq!((output.status.code(), ticks), (Some(0), 2), "{}", text(&output.stdout));
    // -K: so many samples of a thread.
    let touch = "while :; do true & wait; done";
    let output = watch(&["-e", "page-faults:ebs=5", "-K", "7", "--", "sh", "-c", touch]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let rows = table(&output);
    let of = |pid: &str| rows.iter().filter(|row| row[1] == pid && row[2] == "ebs").count();
    assert_eq!(rows.iter().map(|row| of(&row[1])).max(), Some(7), "{rows:?}");
    let output = watch(&["-e", "page-faults", "-K", "7", "--", "true"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("an event needs :ebs=N"), "{}", text(&output.stderr));
    // -L: no mappings; -t: the times of the program.
    let output = watch(&["-e", "page-faults", "-L", "-t", "--", "sh", "-c", busy]);
    let said = text(&output.stdout);
    assert!(said.starts_with("nsample") && !said.contains("[Event"), "{said}");
    let times: Vec<&str> =
        said.lines().skip_while(|line| *line != "[Process times]").skip(1).take(3).collect();
    assert!(
        times.len() == 3
            && times[0].starts_with("real\t0:")
            && times[1].starts_with("user\t")
            && times[2].starts_with("sys\t"),
        "{said}"
    );
    let user: f64 = times[1].trim_start_matches("user\t").parse().unwrap();
    assert!(user > 0.0, "{said}");
}

#[test]
fn event_strings_are_translated_for_any_model_both_ways() {
    let events = |words: &[&str]| {
        let output = solo().arg("events").args(words).output().unwrap();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    // The pair of the paper.
    let there = events(&["--raw", "instr,llc_misses", "--model", "haswell"]);
    assert_eq!(there, (Some(0), "pmc0,pmc3=0x2e,umask3=0x41\n".into(), String::new()));
    let back = events(&["--raw", "pmc0,pmc3=0x2e,umask3=0x41", "--model", "x86_intel-core.haswell"]);
    assert_eq!(back, (Some(0), "instr,llc_misses\n".into(), String::new()));
    let (code, models, _) = events(&["--model", "list"]);
    assert_eq!((code, models.lines().count()), (Some(0), 18), "{models}");
    let (code, names, _) = events(&["--model", "skylake"]);
    assert!(
        code == Some(0)
            && names.contains("cycle_activity_stalls.l3_miss")
            && names.contains("pmc3=0xa3,umask3=0x6"),
        "{names}"
    );
    for (words, part) in [
        (
            &["--raw", "instr", "--model", "frobs"][..],
            "processor model `frobs` does not exist; known: core2, atom",
        ),
        (&["--raw", "frobs", "--model", "haswell"], "item 1: haswell has no event `frobs`"),
        (&["--raw", "llc_misses:pmc=9", "--model", "haswell"], "programmable counters 3 to 6"),
        (&["--raw", "pmc9=0x2e", "--model", "haswell"], "counter 9 is none"),
    ] {
        let (code, _, said) = events(words);
        assert!(code == Some(2) && said.contains(part), "{words:?}: {said}");
    }
}

#[test]
fn the_doctor_answers_in_json_with_a_self_test() {
    let output = solo().args(["doctor", "--json"]).output().unwrap();
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(said["findings"].as_array().is_some_and(|findings| findings.len() > 15), "{said}");
    let tests = said["self_test"].as_array().unwrap();
    assert!(tests.iter().any(|test| test["event"] == "page_faults"), "{said}");
    // 3 where a counter counts something else than its name says.
    let wrong = tests.iter().any(|test| test["follows"] == false);
    assert_eq!(output.status.code(), Some(if wrong { 3 } else { 0 }), "{said}");
}

/// The program has the rights of whoever started the watch; every thread of the watch has kept, of its own, those to count
/// and to end the program, and can gain none.
#[test]
fn the_watch_gives_up_its_rights_and_the_program_keeps_its_own() {
    if !allowed() {
        return;
    }
    let script = "grep -h -e ^CapEff -e ^CapPrm -e ^NoNewPrivs /proc/$PPID/task/*/status; \
                  echo; grep -h -e ^CapEff -e ^NoNewPrivs /proc/$$/status";
    let output = watch(&["-e", "page-faults", "-o", "/dev/null", "--", "sh", "-c", script]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let told = text(&output.stdout);
    let (of_watch, of_program) = told.split_once("\n\n").unwrap();
    let sets = |told: &str, name: &str| -> Vec<u64> {
        let values = told.lines().filter_map(|line| line.strip_prefix(name));
        values.map(|value| u64::from_str_radix(value.trim(), 16).unwrap()).collect()
    };
    // CAP_KILL, CAP_SYS_PTRACE (older kernels, hidden processes), CAP_SYS_ADMIN (before CAP_PERFMON) and CAP_PERFMON.
    let old = std::path::Path::new("/proc/sys/kernel/cap_last_cap");
    let old =
        std::fs::read_to_string(old).is_ok_and(|last| last.trim().parse::<u32>().is_ok_and(|it| it < 38));
    let wanted = 1 << 5 | 1 << 19 | 1 << if old { 21 } else { 38 };
    for held in [sets(of_watch, "CapEff:"), sets(of_watch, "CapPrm:")] {
        assert!(!held.is_empty() && held.iter().all(|held| held & !wanted == 0), "{told}");
    }
    assert!(of_watch.contains("NoNewPrivs:\t1"), "{told}");
    let own = std::fs::read_to_string("/proc/self/status").unwrap();
    assert_eq!(sets(of_program, "CapEff:"), sets(&own, "CapEff:"));
    let line = |told: &str| told.lines().find(|line| line.starts_with("NoNewPrivs")).map(str::to_owned);
    assert_eq!(line(of_program), line(&own));
}

/// A module and the files that it names may be anything: nothing is read without end, and nothing is waited for.
#[test]
fn modules_that_are_no_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.toml");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let huge = folder.path().join("huge.toml");
    std::fs::File::create(&huge).unwrap().set_len(1 << 40).unwrap();
    for module in [Path::new("/dev/zero"), &pipe, &huge, folder.path(), Path::new("/nonexistent.toml")] {
        let output = watch(&["-V", &module.to_string_lossy(), "--", "true"]);
        assert_eq!(output.status.code(), Some(2), "{}: {}", module.display(), text(&output.stderr));
        assert!(text(&output.stderr).contains(&*module.to_string_lossy()), "{}", text(&output.stderr));
    }
    if !allowed() {
        return;
    }
    let describe = |file: &Path| {
        let description = folder.path().join("mine.toml");
        let toml =
            format!("name = \"mine\"\n[[counter]]\nname = \"level\"\nfile = {file:?}\nkind = \"level\"\n");
        std::fs::write(&description, toml).unwrap();
        description
    };
    for file in [Path::new("/dev/zero"), &pipe, &huge] {
        let description = describe(file);
        let words = ["-V", &description.to_string_lossy(), "--every", "5ms", "--json", "--", "sleep", "0.05"];
        let output = watch(&words);
        assert_eq!(output.status.code(), Some(0), "{}: {}", file.display(), text(&output.stderr));
    }
}

#[test]
fn metrics_without_end_are_refused() {
    for metric in [
        format!("x=1{}", "+1".repeat(30_000)),
        format!("x={}1", "(".repeat(60_000)),
        format!("x={}1", "-".repeat(2000)),
        format!("x=1{}", "*2".repeat(101)),
    ] {
        let output = watch(&["-m", &metric, "--", "true"]);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        assert!(output.stderr.len() < 1000, "the metric is not printed back: {} bytes", output.stderr.len());
    }
}

/// `-V SCENARIO`: a column of what its scheduler listens to; a scenario whose scheduler listens to nothing, or to more than counts, is refused.
#[test]
fn what_a_scenario_listens_to_is_a_column() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = |name: &str, monitor: &str| {
        let path = folder.path().join(name);
        let text = format!(
            "name = \"listens\"\nplatform = \"xeon-e5-2695v3\"\nduration = \"10ms\"\n[scheduler]\npolicy = \"P-RM\"\n{monitor}\n\
             [[task]]\nname = \"a\"\nclass = \"best-effort\"\ncore = 0\nrelease = \"continuous\"\nwork = [{{ compute = \"1ms\" }}]\n"
        );
        std::fs::write(&path, text).unwrap();
        path.to_string_lossy().into_owned()
    };
    let said = |what: &str| {
        format!(
            "[scheduler.monitor]\n{what}\nperiod = \"5ms\"\nclasses = [\"best-effort\"]\naction = \"report\""
        )
    };
    let rate = scenario("rate.toml", &said("event = \"1000 * llc_misses / instructions\""));
    let output = watch(&["-e", "page-faults", "-V", &rate, "--", "true"]);
    if output.status.code() == Some(3) {
        println!("skipped: solo watch: {}", String::from_utf8_lossy(&output.stderr).trim());
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(table.contains("rate_per_mille"), "{table}");
    for (file, part) in [
        (scenario("deaf.toml", ""), "has no [scheduler.monitor]"),
        (scenario("held.toml", &said("monitor = \"occupancy\"")), "`occupancy` takes more than counts"),
        (scenario("wrong.toml", &said("evnt = \"cycles\"")), "evnt"),
    ] {
        let output = watch(&["-e", "page-faults", "-V", &file, "--", "true"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(part), "{said}");
    }
}
