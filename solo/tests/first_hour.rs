//! What a newcomer's first commands rest on.
#![allow(missing_docs)]

mod common;

use common::{CALM, root, scenario, solo};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// The README says `cargo run -- ...`: that works only while one of the packages cargo takes by default is a program.
#[test]
fn cargo_run_finds_one_program() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let default: Vec<&Value> = found["workspace_default_members"].as_array().unwrap().iter().collect();
    let packages =
        found["packages"].as_array().unwrap().iter().filter(|package| default.contains(&&package["id"]));
    let targets = packages.flat_map(|package| package["targets"].as_array().unwrap());
    let programs: Vec<&str> = targets
        .filter(|target| target["kind"].as_array().unwrap().iter().any(|kind| kind == "bin"))
        .map(|target| target["name"].as_str().unwrap())
        .collect();
    assert_eq!(programs, ["solo"]);
}

/// A minimal Debian has few programs. A test that starts another must say `skipped` where that is missing, so each is
/// looked at once and named here.
#[test]
fn tests_start_only_programs_that_are_there_or_skip() {
    // Essential packages of Debian, and what builds the tests.
    let there = [
        "sh", "/bin/sh", "true", "false", "mount", "umount", "id", "tar", "cp", "du", "mkfifo", "cargo",
        "rustc", "rustup", "setpriv", "sleep",
    ];
    // The test prints `skipped: REASON` without them.
    let skipped = [
        "valgrind",
        "qemu-system-x86_64",
        "qemu-system-aarch64",
        "grub-mkrescue",
        "objdump",
        "aarch64-linux-gnu-objdump",
        "nm",
        "python3",
        "perf",
        "cc",
        "chromium",
        "clang",
    ];
    let known: BTreeSet<&str> = there.into_iter().chain(skipped).collect();
    let mut strangers = Vec::new();
    let mut files = 0;
    tests_of(&root(), &mut |path, text| {
        files += 1;
        for after in text.split("Command::new(\"").skip(1) {
            let program = after.split('"').next().unwrap();
            if !known.contains(program) && program != "no-such-program" {
                strangers.push(format!("{}: {program}", path.display()));
            }
        }
    });
    assert!(files > 50, "only {files} files of tests were found");
    assert!(strangers.is_empty(), "{strangers:?}");
}

/// Every source file of tests.
fn tests_of(folder: &Path, each: &mut dyn FnMut(&Path, &str)) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !name.starts_with('.') && !["target", "runs", "peers", "fuzz"].contains(&&*name) {
            tests_of(&path, each);
        } else if name.ends_with(".rs") && path.components().any(|part| part.as_os_str() == "tests") {
            each(&path, &std::fs::read_to_string(&path).unwrap());
        }
    }
}

/// Two runs of the same are the same; with another load, the effect is what was added, and the first decision that
/// differs is named.
#[test]
fn a_difference_tells_effect_interval_and_first_decision() {
    let folder = tempfile::tempdir().unwrap();
    let run = |name: &str, text: &str| {
        let file = scenario(folder.path(), text);
        let out = folder.path().join(name);
        let output = solo().arg("run").arg(file).args(["--quiet", "--out"]).arg(&out).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        out
    };
    let (a, again) = (run("a", CALM), run("again", CALM));
    let longer = run("longer", &CALM.replace("compute = \"1ms\"", "compute = \"1500us\""));
    let diff = |b: &Path| -> Value {
        let output = solo().arg("diff").arg(&a).arg(b).arg("--json").output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let same = diff(&again);
    assert!(same["first_decision"].is_null() && same["settings"].as_array().unwrap().is_empty(), "{same}");
    assert_eq!(same["tasks"][0]["effect_ns"], 0);
    let other = diff(&longer);
    let number = |value: &Value| value.as_i64().unwrap();
    let task = &other["tasks"][0];
    let effect = number(&task["effect_ns"]);
    assert!((499_000..=501_000).contains(&effect), "{other}");
    assert!(
        number(&task["interval"]["from_ns"]) <= effect && effect <= number(&task["interval"]["to_ns"]),
        "{other}"
    );
    // The first job starts alike and ends later.
    assert!(number(&other["first_decision"]["after"]) >= 1, "{other}");
    assert!(
        number(&other["first_decision"]["a"]["at_ns"]) < number(&other["first_decision"]["b"]["at_ns"]),
        "{other}"
    );
    let output = solo().arg("diff").arg(&a).arg(folder.path().join("nothing")).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

/// `solo demo` needs no file and no place in the sources, and ends with 0 although deadlines are missed.
#[test]
fn a_demonstration_runs_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = solo();
    let output = command
        .current_dir(folder.path())
        .args(["demo", "--jobs", "3", "--json", "--quiet"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let names: Vec<&Value> = found["runs"].as_array().unwrap().iter().map(|run| &run["variant"]).collect();
    assert_eq!(names, ["solo", "corun"]);
    let page = std::fs::read_to_string(folder.path().join("runs/demo/report.html")).unwrap();
    assert!(
        page.contains("solo report runs/demo --format perfetto") && page.contains("id=\"data\""),
        "{page}"
    );
}

/// The schedule of a stretch that is asked for lies in the page.
#[test]
fn a_page_of_any_stretch_can_be_had() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let file = scenario(folder.path(), CALM);
    let output = solo().arg("run").arg(file).args(["--quiet", "--out"]).arg(&out).output().unwrap();
    assert!(output.status.success());
    let report = |window: &str| {
        let output =
            solo().arg("report").arg(&out).args(["--format", "html", "--window", window]).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(report("50ms..60ms").0, Some(0));
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    let spans = page.split("\"spans\":[").nth(1).unwrap().split(",\"cores\"").next().unwrap();
    assert!(spans.contains("[50000000,60000000]"), "{spans}");
    for wrong in ["60ms..50ms", "50ms", "a..b", "50ms..50ms"] {
        let (code, said) = report(wrong);
        assert!(code == Some(2) && said.contains("--window"), "{wrong}: {said}");
    }
}

/// One variant asks for more bandwidth than memory guarantees, one orders jobs by what they do not declare: both are told,
/// the others run, and what is left opens like any comparison.
#[test]
fn a_variant_that_is_refused_does_not_end_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let refused = "[[variant]]\nname = \"solo\"\n[[variant]]\nname = \"greedy\"\n\
                   isolation.bandwidth.cores = { 0 = \"100GiB/s\" }\n[[variant]]\nname = \"greedier\"\n\
                   isolation.bandwidth.cores = { 0 = \"100GiB/s\" }\n[[variant]]\nname = \"last\"\nseed = 2\n";
    let path = scenario(folder.path(), &format!("{CALM}{refused}"));
    let out = folder.path().join("out");
    let compare = |more: &[&str]| {
        let output = solo().arg("compare").arg(&path).arg("--out").arg(&out).args(more).output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, text, told) = compare(&[]);
    assert_eq!(code, Some(2), "{text}{told}");
    for name in ["greedy", "greedier"] {
        assert!(text.contains(&format!("{name}\n  refused: reservations of")), "{text}");
        assert!(told.contains(&format!("(in variant `{name}`)")), "{told}");
        assert!(!out.join(name).exists());
    }
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("greedier") && page.contains("refused: reservations"), "{page}");
    let report = solo().arg("report").arg(&out).args(["--format", "json"]).output().unwrap();
    assert_eq!(report.status.code(), Some(2));
    let found: Value = serde_json::from_slice(&report.stdout).unwrap();
    let names = |of: &Value| -> Vec<String> {
        of.as_array().unwrap().iter().map(|one| one["variant"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(
        (names(&found["runs"]), names(&found["refused"])),
        (vec!["solo".to_owned(), "last".to_owned()], vec!["greedy".to_owned(), "greedier".to_owned()])
    );
    let replay = solo().arg("replay").arg(&out).output().unwrap();
    assert_eq!(replay.status.code(), Some(0), "{}", String::from_utf8_lossy(&replay.stderr));
    // Nothing but what is refused is an error like any other; so is a wrong word, which stops all of them.
    let (code, ..) = compare(&["--variants", "greedy", "--force"]);
    assert_eq!(code, Some(2));
    let typo = format!("{CALM}[[variant]]\nname = \"solo\"\n[[variant]]\nname = \"typo\"\nseeed = 1\n");
    std::fs::write(&path, typo).unwrap();
    let (code, text, told) = compare(&["--force"]);
    assert!(code == Some(2) && text.is_empty() && told.contains("unknown_key"), "{text}{told}");
}

/// What is to be held against all variants stands once under the table, and what against one of them with its name.
#[test]
fn doubts_that_variants_share_are_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let text = CALM.to_owned()
        + "[[variant]]\nname = \"one\"\n[[variant]]\nname = \"two\"\nseed = 2\n[[variant]]\nname = \"many\"\njobs = 150\n";
    let file = scenario(folder.path(), &text);
    let out = folder.path().join("out");
    let output = solo().arg("compare").arg(&file).arg("--out").arg(&out).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    let times = |doubt: &str| said.matches(doubt).count();
    assert_eq!((times("not validated"), times("0 dropped")), (1, 1), "{said}");
    // Those of 20 jobs have no p99 of their own; that of 150 has.
    assert_eq!(times("p99 is the maximum"), 2, "{said}");
    assert!(said.contains("one: doubts:") && said.contains("many: doubts:"), "{said}");
    // Each run by itself says all of it.
    for run in ["one", "two", "many"] {
        let output = solo().arg("report").arg(out.join(run)).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(said.matches("not validated").count(), 1, "{run}: {said}");
    }
}
