//! `solo plan` as a user sees it: from a scenario that assigns nothing to one that runs without a miss.

mod common;

use common::solo;
use serde_json::Value;
use std::path::Path;
use std::process::Output;

const EIGHT: &str = "scenarios/planned/eight-cores.toml";

fn plan(words: &[&str]) -> Output {
    solo().arg("plan").args(words).output().expect("solo starts")
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn word(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Planned, checked and run: deadlines and bounds hold.
#[test]
fn a_plan_is_a_scenario_that_checks_and_runs_without_a_miss() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("planned.toml");
    let planned = plan(&[EIGHT, "--write", word(&file)]);
    assert_eq!(planned.status.code(), Some(0), "{}", said(&planned));
    let checked = solo().args(["check", word(&file), "--json"]).output().unwrap();
    assert_eq!(checked.status.code(), Some(0), "{}", said(&checked));
    let verdict: Value = serde_json::from_slice(&checked.stdout).unwrap();
    assert_eq!(verdict["variants"][0]["verdict"], "proved");
    let out = folder.path().join("run");
    let run = solo().args(["run", word(&file), "--quiet", "--out", word(&out)]).output().unwrap();
    assert_eq!(run.status.code(), Some(0), "{}", said(&run));
    // What was written still stands there, line for line and in its order.
    let (text, source) = (
        std::fs::read_to_string(&file).unwrap(),
        std::fs::read_to_string(common::root().join(EIGHT)).unwrap(),
    );
    let mut lines = text.lines();
    let copied = ["name = \"camera\"", "name = \"display\"", "copies = 2"];
    for line in source.lines().filter(|line| !copied.contains(line)) {
        assert!(lines.any(|written| written == line), "`{line}` is gone:\n{text}");
    }
    // A plan leaves nothing open: planned again it is the same.
    let again = folder.path().join("again.toml");
    assert_eq!(plan(&[word(&file), "--write", word(&again)]).status.code(), Some(0));
    assert_eq!(std::fs::read_to_string(&again).unwrap(), text);
}

/// Two windows of one core only compute: a core without a budget slows nobody then.
#[test]
fn a_plan_leaves_nothing_to_warn_of() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("planned.toml");
    let partitions = "scenarios/planned/partitions.toml";
    for scenario in [EIGHT, partitions, "scenarios/planned/avionics.toml", "scenarios/planned/pages.toml"] {
        let planned = plan(&[scenario, "--write", word(&file), "--force"]);
        assert_eq!(planned.status.code(), Some(0), "{scenario}: {}", said(&planned));
        let checked = solo().args(["check", word(&file)]).output().unwrap();
        assert!(!said(&checked).contains("warning"), "{scenario}: {}", said(&checked));
    }
    // The task that computes alone on its core now goes through memory instead.
    assert_eq!(plan(&[partitions, "--write", word(&file), "--force"]).status.code(), Some(0));
    let computes = std::fs::read_to_string(&file).unwrap();
    let sweeps = computes.replacen("work = [{ compute = \"3ms\" }]", "work = [{ sweep = \"64KiB\" }]", 1);
    assert_ne!(computes, sweeps);
    std::fs::write(&file, sweeps).unwrap();
    let checked = solo().args(["check", word(&file)]).output().unwrap();
    assert!(said(&checked).contains("runs tasks and has no budget"), "{}", said(&checked));
}

/// What one file is to hold is not written over by the next, whatever its name is spelled like.
#[test]
fn two_outputs_of_one_name_are_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("both.toml");
    let also = folder.path().join(".").join("both.toml");
    let xen = format!("xen={}", word(&also));
    let output =
        plan(&["scenarios/planned/eight-cores.toml", "--force", "--write", word(&file), "--export", &xen]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("is named twice"), "{}", said(&output));
    assert!(!file.exists());
}

#[test]
fn a_file_is_replaced_only_on_request_and_not_written_without_a_plan() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kept.toml");
    std::fs::write(&file, "precious").unwrap();
    let refused = plan(&[EIGHT, "--write", word(&file)]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(said(&refused).contains("--force"), "{}", said(&refused));
    let impossible = plan(&["scenarios/planned/impossible.toml", "--write", word(&file), "--force"]);
    assert_eq!(impossible.status.code(), Some(1));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "precious");
    assert_eq!(plan(&[EIGHT, "--write", word(&file), "--force"]).status.code(), Some(0));
    assert_ne!(std::fs::read_to_string(&file).unwrap(), "precious");
    let nowhere = folder.path().join("no/such/folder.toml");
    assert_eq!(plan(&[EIGHT, "--write", word(&nowhere)]).status.code(), Some(2));
}

#[test]
fn what_lacks_is_told_with_numbers_and_exit_1() {
    let told = plan(&["scenarios/planned/impossible.toml"]);
    let text = said(&told);
    assert_eq!(told.status.code(), Some(1), "{text}");
    assert!(text.contains("misses of 1.024GB/s, 591.5MB/s can be reserved, 432.5MB/s too little"), "{text}");
    let json = plan(&["scenarios/planned/impossible.toml", "--json"]);
    let answer: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(answer["planned"], false);
    assert_eq!(answer["lack"]["resource"], "bandwidth");
    assert_eq!(
        (&answer["lack"]["needed"], &answer["lack"]["there"]),
        (&1_024_000_000.into(), &591_500_000.into())
    );
}

/// An execution time that nobody knows is not a lack of anything: the scenario says too little.
#[test]
fn a_task_of_which_nothing_says_how_long_it_runs_is_exit_2() {
    let folder = tempfile::tempdir().unwrap();
    let text = "name = \"open\"\nplatform = \"ideal-8\"\nduration = \"1ms\"\n[scheduler]\npolicy = \"P-EDF\"\n\
                [[task]]\nname = \"a\"\nclass = \"hard\"\nperiod = \"10ms\"\nwork = [{ sweep = \"4KiB\" }]\n";
    let output = plan(&[word(&common::scenario(folder.path(), text))]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("declare wcet"), "{}", said(&output));
}

/// Two of these need 6 ms in 5, and ask for no more than 0.6 of a core.
#[test]
fn a_core_that_is_too_full_before_deadlines_alone_is_not_told_as_one_without_time() {
    let folder = tempfile::tempdir().unwrap();
    let text = "name = \"open\"\nplatform = \"ideal-8\"\nduration = \"1ms\"\n[scheduler]\npolicy = \"P-EDF\"\n\
                [[task]]\nname = \"a\"\nclass = \"hard\"\ncopies = 9\nperiod = \"10ms\"\ndeadline = \"5ms\"\nwork = [{ compute = \"3ms\" }]\n";
    let output = plan(&[word(&common::scenario(folder.path(), text))]);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let told =
        "asked for 0.600 of its time, and in some interval for more than there is before the deadlines in it";
    assert!(said(&output).contains(told), "{}", said(&output));
}

#[test]
fn explained_are_rules_numbers_and_what_was_tried() {
    let told = said(&plan(&[EIGHT, "--explain"]));
    for part in [
        "partition = \"wfd\"",
        "by largest remainders",
        "Memory guarantees 1.183GB/s",
        "  1. cores by",
        "too much",
    ] {
        assert!(told.contains(part), "{part}:\n{told}");
    }
    assert_eq!(told, said(&plan(&[EIGHT, "--explain"])));
}

#[test]
fn a_scenario_that_contradicts_itself_is_answered_where_it_does() {
    let folder = tempfile::tempdir().unwrap();
    let source = std::fs::read_to_string(common::root().join(EIGHT)).unwrap();
    for (from, to, what) in [
        ("class = \"hard\"", "class = \"hardest\"", "solo::unknown_word"),
        ("wcet = \"600us\"", "wcet = \"6ms\"", "solo::wcet"),
        ("period = \"5ms\"", "period = \"5ms\"\ncolors = \"99\"", "solo::isolation"),
    ] {
        let file = common::scenario(folder.path(), &source.replacen(from, to, 1));
        let output = plan(&[word(&file)]);
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(said(&output).contains(what), "{what}: {}", said(&output));
    }
}

/// What enforces a plan elsewhere is written, or refused with the reason; nothing is half written.
#[test]
fn exports_are_written_or_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let both = plan(&[
        EIGHT,
        "--export",
        &format!("palloc={}", at("palloc")),
        "--export",
        &format!("xen={}", at("xen")),
    ]);
    assert_eq!(both.status.code(), Some(0), "{}", said(&both));
    assert!(std::fs::read_to_string(at("palloc")).unwrap().contains("palloc.bins"));
    assert!(std::fs::read_to_string(at("xen")).unwrap().contains("llc_colors"));
    let shown = plan(&[EIGHT, "--export", "chrt"]);
    assert!(shown.stdout.starts_with(b"chrt --fifo"), "{}", said(&shown));
    let again = plan(&[EIGHT, "--export", &format!("xen={}", at("xen"))]);
    assert!(again.status.code() == Some(2) && said(&again).contains("--force"), "{}", said(&again));
    let unknown = plan(&[EIGHT, "--export", "docker"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(
        said(&unknown).contains("known: resctrl, pqos, palloc, memguard, xen, bao, cpuset, chrt"),
        "{}",
        said(&unknown)
    );
    let colors = plan(&[EIGHT, "--write", &at("plan"), "--export", &format!("resctrl={}", at("resctrl"))]);
    assert_eq!(colors.status.code(), Some(2));
    assert!(
        said(&colors).contains("divides the cache by ways, and this plan divides it by colors"),
        "{}",
        said(&colors)
    );
    assert!(!Path::new(&at("plan")).exists() && !Path::new(&at("resctrl")).exists());
}

const PARTITIONS: &str = "scenarios/planned/partitions.toml";

/// Sixteen partitions on eight cores: windows, colors and budgets are planned, what runs keeps its deadlines and its bounds, and without
/// all that the same tasks on the same cores miss.
#[test]
fn partitions_are_planned_into_windows_and_miss_without_the_plan() {
    let folder = tempfile::tempdir().unwrap();
    let source = std::fs::read_to_string(common::root().join(PARTITIONS)).unwrap();
    let short = common::scenario(folder.path(), &source.replace("duration = \"1s\"", "duration = \"80ms\""));
    let file = folder.path().join("planned.toml");
    let planned = plan(&[word(&short), "--write", word(&file), "--json"]);
    assert_eq!(planned.status.code(), Some(0), "{}", said(&planned));
    let answer: Value = serde_json::from_slice(&planned.stdout).unwrap();
    let cycles = answer["cycles"].as_array().unwrap();
    assert_eq!(cycles.len(), 8, "{answer}");
    let two = |cycle: &&Value| cycle["partitions"].as_array().unwrap().len() == 2;
    assert_eq!(cycles.iter().filter(two).count(), 8, "two partitions a core: {cycles:?}");
    // What is written is what was found: windows within their cycle, one after the other, as long as the proof needs.
    for cycle in cycles {
        let mut end = 0;
        for window in cycle["windows"].as_array().unwrap() {
            let (begin, length) =
                (window["begin_ns"].as_u64().unwrap(), window["length_ns"].as_u64().unwrap());
            assert!(begin >= end && length > 0, "{cycle}");
            end = begin + length;
        }
        assert!(end <= cycle["length_ns"].as_u64().unwrap(), "{cycle}");
    }
    let checked = solo().args(["check", word(&file), "--json"]).output().unwrap();
    let verdict: Value = serde_json::from_slice(&checked.stdout).unwrap();
    let found = |at: usize| {
        (verdict["variants"][at]["variant"].as_str(), verdict["variants"][at]["verdict"].as_str())
    };
    assert_eq!(found(0), (Some("planned"), Some("proved")), "{}", said(&checked));
    assert_eq!(found(1), (Some("unplanned"), Some("conditional")), "{}", said(&checked));
    let run = |out: &str, more: &[&str]| {
        let out = folder.path().join(out);
        let words = ["run", word(&file), "--quiet", "--out", word(&out)];
        solo().args(words).args(more).output().unwrap()
    };
    let held = run("planned", &[]);
    assert_eq!(held.status.code(), Some(0), "{}", said(&held));
    assert!(said(&held).contains("pessimism"), "{}", said(&held));
    let unplanned = run("unplanned", &["--variant", "unplanned"]);
    assert_eq!(unplanned.status.code(), Some(1), "{}", said(&unplanned));
    assert!(said(&unplanned).contains("elevation"), "{}", said(&unplanned));
    let again = folder.path().join("again.toml");
    assert_eq!(plan(&[word(&file), "--write", word(&again)]).status.code(), Some(0));
    assert_eq!(std::fs::read_to_string(&again).unwrap(), std::fs::read_to_string(&file).unwrap());
}

/// With --banks each core that uses memory has banks of its own, and what is written is read back as that.
#[test]
fn banks_are_planned_on_request_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("planned.toml");
    let planned = plan(&[EIGHT, "--banks", "--write", word(&file), "--json"]);
    assert_eq!(planned.status.code(), Some(0), "{}", said(&planned));
    let answer: Value = serde_json::from_slice(&planned.stdout).unwrap();
    let mut owners: Vec<(u64, u64)> = Vec::new();
    for task in answer["tasks"].as_array().unwrap() {
        let core = task["core"].as_u64().unwrap();
        assert_eq!(task["banks"].is_null(), task["colors"].is_null(), "{task}");
        let banks = task["banks"].as_array().into_iter().flatten().map(|bank| bank.as_u64().unwrap());
        owners.extend(banks.map(|bank| (bank, core)));
    }
    owners.sort_unstable();
    owners.dedup();
    assert!(!owners.is_empty() && owners.windows(2).all(|pair| pair[0].0 != pair[1].0), "{owners:?}");
    let again = folder.path().join("again.toml");
    assert_eq!(plan(&[word(&file), "--write", word(&again)]).status.code(), Some(0));
    assert_eq!(std::fs::read_to_string(&again).unwrap(), std::fs::read_to_string(&file).unwrap());
    let palloc = plan(&[word(&file), "--export", "palloc"]);
    assert!(
        palloc.status.code() == Some(2) && said(&palloc).contains("both colors and banks"),
        "{}",
        said(&palloc)
    );
}

/// What nobody can plan or run: what was found, where, what to do, and exit 2.
#[test]
fn wrong_input_is_told_with_what_was_found_where_and_what_to_do() {
    const HEAD: &str =
        "name = \"wrong\"\nplatform = \"p4080\"\nduration = \"10ms\"\n[scheduler]\npolicy = \"P-RM\"\n";
    let task = |name: &str| {
        format!(
            "[[task]]\nname = \"{name}\"\nclass = \"hard\"\ncore = 0\nperiod = \"10ms\"\nwork = [{{ compute = \"1ms\" }}]\n"
        )
    };
    let windows = |second: &str| {
        format!(
            "[isolation.partitions]\np = [\"a\"]\nq = [\"b\"]\n[[isolation.cycle]]\ncore = 0\nlength = \"10ms\"\n\
             windows = [{{ partition = \"p\", begin = \"0ms\", length = \"6ms\" }}, {{ partition = \"q\", {second} }}]\n"
        )
    };
    let device = |keys: &str| {
        format!(
            "[[device]]\nname = \"camera\"\ndirection = \"input\"\nmoves = \"1KiB\"\nperiod = \"10ms\"\n{keys}\n"
        )
    };
    let cases = [
        (
            windows("begin = \"5ms\", length = \"3ms\""),
            ["the window at 5ms begins before the one at 0ns ends", "expected 6ms or later"],
        ),
        (
            windows("begin = \"8ms\", length = \"3ms\""),
            ["is 3ms long and ends behind its cycle of 10ms", "expected at most 2ms"],
        ),
        (
            device(""),
            [
                "nobody owns device `camera`",
                "the name of a task or a partition, for example `owner = \"vision\"`",
            ],
        ),
        (device("owner = \"c\""), ["nobody owns device `camera`", "there is no task or partition `c`"]),
        (
            device("owner = \"a\"\nreleases = \"b\""),
            [
                "device `camera` releases task `b`, which is released otherwise",
                "write `release = \"sporadic\"`",
            ],
        ),
    ];
    let curve = |second: &str| {
        task("c").replace(
            "work = [",
            &format!("curve = [{{ pages = 0, wcet = \"5ms\", misses = 90 }}, {second}]\nwork = ["),
        )
    };
    let physical = |offset: &str| {
        format!(
            "owner = \"a\"\noffset = \"4ms\"\nslot = \"1ms\"\nphysical = \"2ms\"\nphysical-offset = \"{offset}\""
        )
    };
    let cases = cases.into_iter().chain([
        (
            curve("{ pages = 8, wcet = \"6ms\", misses = 9 }"),
            ["the curve rises from 0 to 8 pages", "with more pages no longer times and no more misses"],
        ),
        (
            device(&physical("3ms")),
            [
                "the input ends at 5ms, and the slot that moves it into memory begins at 4ms",
                "or a later `offset`",
            ],
        ),
    ]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("wrong.toml");
    for (text, parts) in cases {
        std::fs::write(&file, format!("{HEAD}{}{}{text}", task("a"), task("b"))).unwrap();
        for command in ["plan", "check", "run"] {
            let output = solo().args([command, word(&file)]).output().unwrap();
            // Lines are wrapped at the width of a terminal.
            let words = said(&output).split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(output.status.code(), Some(2), "{command}: {words}");
            assert!(words.contains("wrong.toml:"), "{command} says where:\n{words}");
            for part in parts {
                assert!(words.contains(part), "{command} lacks `{part}`:\n{words}");
            }
        }
    }
    // A target that nobody knows: all that are known.
    let output = plan(&[EIGHT, "--export", "xne=FILE"]);
    assert_eq!(output.status.code(), Some(2));
    let words = said(&output);
    for part in ["`xne` does not exist", "resctrl, pqos, palloc, memguard, xen, bao, cpuset, chrt"] {
        assert!(words.contains(part), "{words}");
    }
}

/// The same set with 10 % less of it each time, until it fits: what is said to lack shrinks as the set does.
#[test]
fn an_impossible_set_is_told_by_resource_and_by_how_much() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("set.toml");
    let lack = |tasks: u64, compute: u64| {
        let mut text =
            "name = \"set\"\nplatform = \"p4080\"\nduration = \"10ms\"\n[scheduler]\npolicy = \"P-RM\"\n"
                .to_owned();
        for at in 0..tasks {
            text += &format!(
                "[[task]]\nname = \"t{at}\"\nclass = \"hard\"\nperiod = \"10ms\"\nwork = [{{ compute = \"{compute}us\" }}]\n"
            );
        }
        std::fs::write(&file, text).unwrap();
        let output = plan(&[word(&file), "--json"]);
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code(), answer["lack"].clone(), said(&plan(&[word(&file)])))
    };
    // Nine tasks of 6 ms each 10 ms on eight cores: no two share a core, and 5.4 cores are asked for. Sixteen of 6 ms ask for 9.6.
    let (code, of_room, words) = lack(9, 6_000);
    assert_eq!(code, Some(1), "{words}");
    assert_eq!(of_room["resource"], "room", "{of_room}\n{words}");
    let (code, of_cores, words) = lack(16, 6_000);
    assert_eq!((code, of_cores["resource"].as_str()), (Some(1), Some("processors")), "{of_cores}\n{words}");
    assert_eq!(lack(8, 6_000).0, Some(0));
    assert_eq!(lack(16, 5_000).0, Some(0));
}

const AVIONICS: &str = "scenarios/planned/avionics.toml";

/// Cameras and displays as devices: slots and windows are planned together, each slot holds, and without the plan deadlines are missed.
#[test]
fn slots_of_devices_are_planned_and_hold() {
    let folder = tempfile::tempdir().unwrap();
    let source = std::fs::read_to_string(common::root().join(AVIONICS)).unwrap();
    let short = common::scenario(folder.path(), &source.replace("duration = \"1s\"", "duration = \"90ms\""));
    let file = folder.path().join("planned.toml");
    let planned = plan(&[word(&short), "--write", word(&file), "--json"]);
    assert_eq!(planned.status.code(), Some(0), "{}", said(&planned));
    let answer: Value = serde_json::from_slice(&planned.stdout).unwrap();
    let slots = answer["io"]["slots"].as_array().unwrap();
    assert_eq!((slots.len(), answer["io"]["core"].as_u64()), (4, Some(7)), "{answer}");
    let two = |cycle: &&Value| cycle["partitions"].as_array().unwrap().len() == 2;
    assert_eq!(answer["cycles"].as_array().unwrap().iter().filter(two).count(), 7, "two partitions a core");
    assert!(
        answer["tasks"].as_array().unwrap().iter().all(|task| task["core"] != 7),
        "nothing beside the devices"
    );
    let told = said(&plan(&[word(&short), "--explain"]));
    for part in ["Slots on core7, the I/O core", "hierarchically ordered scheduling with seed 1"] {
        assert!(told.contains(part), "{part}:\n{told}");
    }
    let checked = solo().args(["check", word(&file), "--json"]).output().unwrap();
    let verdict: Value = serde_json::from_slice(&checked.stdout).unwrap();
    assert_eq!(verdict["variants"][0]["verdict"], "proved", "{}", said(&checked));
    let run = |out: &str, more: &[&str]| {
        let out = folder.path().join(out);
        solo().args(["run", word(&file), "--quiet", "--out", word(&out)]).args(more).output().unwrap()
    };
    let held = run("planned", &[]);
    assert_eq!(held.status.code(), Some(0), "{}", said(&held));
    assert!(said(&held).contains("pessimism") && said(&held).contains("terrain-in"), "{}", said(&held));
    let unplanned = run("unplanned", &["--variant", "unplanned"]);
    assert_eq!(unplanned.status.code(), Some(1), "{}", said(&unplanned));
    assert!(said(&unplanned).contains("elevation"), "{}", said(&unplanned));
    let again = folder.path().join("again.toml");
    assert_eq!(plan(&[word(&file), "--write", word(&again)]).status.code(), Some(0));
    assert_eq!(std::fs::read_to_string(&again).unwrap(), std::fs::read_to_string(&file).unwrap());
    // A slot that is moved onto another is found before the run: it is no table any more.
    let moved = std::fs::read_to_string(&file).unwrap();
    let first = slots[0]["offset_ns"].as_u64().unwrap() / 1_000;
    let other = slots[2]["offset_ns"].as_u64().unwrap() / 1_000;
    let text = moved.replace(&format!("offset = \"{other}us\""), &format!("offset = \"{}us\"", first + 100));
    assert_ne!(text, moved);
    std::fs::write(&file, text).unwrap();
    let refused = run("moved", &[]);
    assert!(refused.status.code() == Some(2) && said(&refused).contains("overlap"), "{}", said(&refused));
}
