//! `solo measure`: what a chip guarantees, and what locked pages are worth.

mod common;

use common::{root, solo};
use serde_json::Value;
use std::process::Output;

fn measure(arguments: &[&str]) -> Output {
    solo().arg("measure").args(arguments).output().expect("solo starts")
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("it is JSON")
}

#[test]
fn bandwidth_is_measured_with_its_counts() {
    let quick = ["bandwidth", "xeon-w3530", "--accesses", "200", "--span-ms", "1", "--json"];
    let found = json(&measure(&quick));
    let rate = |key: &str| found[key].as_u64().unwrap_or_else(|| panic!("{key}: {found}"));
    assert!(rate("bw_min_bytes_per_s") < rate("r_min_bytes_per_s"));
    assert!(rate("r_min_with_writes_bytes_per_s") < rate("r_min_bytes_per_s"));
    assert!(rate("r_min_bytes_per_s") < rate("peak_bytes_per_s"));
    assert!(rate("peak_bytes_per_s") <= rate("bus_bytes_per_s"));
    assert_eq!(found["latency"]["accesses"], 200);
    assert_eq!(found["loads"].as_array().map(Vec::len), Some(4));
}

#[test]
fn counters_are_held_against_known_walks() {
    let found = json(&measure(&["calibrate", "platforms/p4080.toml", "--json"]));
    let rows = found["rows"].as_array().expect("there are rows");
    assert!(rows.len() >= 8 && rows.iter().all(|row| row["holds"] == true), "{found}");
    let unknown = measure(&["calibrate", "platforms/p4080.toml", "--prefetcher", "on"]);
    assert_eq!(unknown.status.code(), Some(2), "it has none");
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("no prefetcher"));
}

/// A counter of fewer bits than a period's events: it counts, and not what its name says.
#[test]
fn a_counter_that_is_too_narrow_gives_1_and_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(root().join("platforms/p4080.toml")).unwrap();
    let line = text.lines().find(|line| line.starts_with("width")).expect("the counters have a width");
    let (key, source) = (line.split('=').next().unwrap(), line.split('@').nth(1).unwrap());
    let file = folder.path().join("narrow.toml");
    std::fs::write(&file, text.replace(line, &format!("{key}= \"10 @{source}"))).unwrap();
    let output = measure(&["calibrate", file.to_str().unwrap()]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("WRONG") && text.contains("choose another event"), "{text}");
}

#[test]
fn a_platform_that_promises_more_than_is_found_is_told_so() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(root().join("platforms/xeon-w3530.toml")).unwrap();
    let file = folder.path().join("boast.toml");
    std::fs::write(&file, text.replace("guaranteed = \"1263MB/s", "guaranteed = \"2GB/s")).unwrap();
    let output = measure(&["bandwidth", file.to_str().unwrap(), "--accesses", "100", "--span-ms", "1"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("more than was found"));
}

const SMALL: &str = r#"
name = "small"
platform = "PLATFORM"
jobs = 2

[scheduler]
policy = "P-RM"

[[task]]
name = "reader"
class = "hard"
core = 0
period = "1ms"
work = [{ random = "64KiB", accesses = 2000 }]

[[task]]
name = "stream"
class = "best-effort"
core = 1
work = [{ stream = "16MiB" }]
"#;

fn small(folder: &std::path::Path, platform: &str) -> String {
    let file = folder.join("small.toml");
    std::fs::write(&file, SMALL.replace("PLATFORM", platform)).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn a_lockdown_curve_falls_and_is_written_as_table_page_and_data() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = small(folder.path(), "xeon-w3530");
    let out = folder.path().join("curve");
    let run = |more: &[&str]| {
        let fixed = [
            "lockdown",
            &scenario,
            "--pages",
            "0,8,16",
            "--force",
            "--out",
            out.to_str().unwrap(),
            "--quiet",
        ];
        measure(&[&fixed, more].concat())
    };
    let found = json(&run(&["--json"]));
    let worst: Vec<u64> =
        found["points"].as_array().unwrap().iter().map(|point| point["worst_ns"].as_u64().unwrap()).collect();
    assert!(worst[0] > worst[1] && worst[1] > worst[2], "{worst:?}");
    assert_eq!(found["points"][2]["residual_misses"], 0);
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("locked pages"), "{page}");
    assert!(out.join("curve.json").exists());
    // What can't be reached is exit 1, with the reason.
    let output = run(&["--within", "1us"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("No number of pages"));
}

#[test]
fn what_cannot_be_locked_is_said_before_anything_changes() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(root().join("platforms/xeon-w3530.toml")).unwrap();
    let chip = folder.path().join("chip.toml");
    let exclusive = text.replace("inclusion = \"inclusive", "inclusion = \"exclusive");
    std::fs::write(&chip, exclusive).unwrap();
    let scenario = small(folder.path(), chip.to_str().unwrap());
    let out = folder.path().join("nothing");
    let output = measure(&["lockdown", &scenario, "--out", out.to_str().unwrap(), "--quiet"]);
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stderr).contains("nothing can be locked"));
    assert!(!out.exists());
    let scenario = small(folder.path(), "xeon-w3530");
    let wrong = |arguments: &[&str], expected: &str| {
        let output = measure(&[&["lockdown", &scenario, "--quiet"], arguments].concat());
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(expected), "{message}");
    };
    wrong(&["--pages", "17"], "17 pages can't be locked: the task's profile has 16");
    wrong(&["--task", "nobody"], "task `nobody` does not exist; known: reader, stream");
    wrong(&["--within", "soon"], "expected a time");
}

/// A task on a chip of one level, which reads and writes 16 pages at random.
const LOCKED: &str = r#"
name = "locked"
platform = "PLATFORM"
jobs = 2

[scheduler]
policy = "P-RM"

[[task]]
name = "t"
class = "hard"
core = 0
period = "20ms"
work = [{ random = "64KiB", accesses = 4000, writes = "30%" }]
"#;

/// SCE Fig. 12: with the level filled nothing but locked pages is kept, no point beside hogs is above its bound, and with all pages
/// locked hogs change nothing.
#[test]
fn points_beside_hogs_stay_below_their_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let chip = root().join("platforms/p4080-l3.toml");
    let file = folder.path().join("locked.toml");
    std::fs::write(&file, LOCKED.replace("PLATFORM", chip.to_str().unwrap())).unwrap();
    let (scenario, out) = (file.to_str().unwrap(), folder.path().join("curve"));
    let known =
        ["lockdown", scenario, "--fill", "--quiet", "--force", "--out", out.to_str().unwrap(), "--pages"];
    let found = json(&measure(&[&known[..], &["0,8,16", "--cores", "8", "--json"]].concat()));
    let points = found["points"].as_array().unwrap();
    assert_eq!(points[0]["residual_misses"], 4000, "something but locked pages was kept");
    for point in points {
        let beside = &point["beside"];
        let of = |time: &serde_json::Value| time.as_u64().unwrap();
        let (worst, bound) = (of(&beside["worst_ns"]), of(&beside["bound_ns"]));
        assert!(of(&point["worst_ns"]) <= worst && worst <= bound, "{point}");
        assert!(of(&beside["best_ns"]) <= worst, "{point}");
    }
    // Half of the budget of a period is not enough for none, and more than enough for all.
    assert!(points[0]["beside"]["worst_ns"].as_u64() > points[0]["worst_ns"].as_u64().map(|time| time * 2));
    assert_eq!(
        (&points[2]["beside"]["worst_ns"], &points[2]["residual_misses"]),
        (&points[2]["worst_ns"], &0.into())
    );
    assert!(found["whole_level"]["residual_misses"].as_u64().unwrap() <= 16 * 64);
    let text = measure(&[&known[..], &["0,16", "--cores", "2"]].concat());
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("beside hogs") && text.contains("times as fast as with 0 locked pages"), "{text}");
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("C_sce") && page.contains("stroke-dasharray=\"7 4\""));
    let refused = |words: &[&str], expected: &str| {
        let output = measure(&[&["lockdown", scenario, "--quiet"], words].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(expected), "{said}");
    };
    refused(&["--cores", "8"], "--fill");
    refused(&["--fill", "--cores", "9"], "9 active cores: p4080-l3 has 1 to 8");
    refused(&["--fill", "--cores", "0"], "0 is not in 1..");
    refused(&["--variant", "loud"], "loud");
}

/// SCE Fig. 11: half of the pages give most of the gain; with all of them the task is as fast as with the whole level
/// to itself, and best and worst case have come together.
#[test]
fn the_tracking_curve_of_the_p4080_has_the_papers_shape() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("curve");
    let scenario = "scenarios/papers/sce/fig11-tracking-p4080.toml";
    let found = json(&measure(&[
        "lockdown",
        scenario,
        "--fill",
        "--jobs",
        "2",
        "--pages",
        "0,64,110,217",
        "--json",
        "--quiet",
        "--out",
        out.to_str().unwrap(),
    ]));
    let column = |key: &str| -> Vec<u64> {
        found["points"].as_array().unwrap().iter().map(|point| point[key].as_u64().unwrap()).collect()
    };
    let (worst, best, misses) = (column("worst_ns"), column("best_ns"), column("residual_misses"));
    assert!(worst.windows(2).all(|pair| pair[0] > pair[1]), "{worst:?}");
    assert!(misses.windows(2).all(|pair| pair[0] > pair[1]) && misses[3] == 0, "{misses:?}");
    let gain = |at: usize| worst[0] - worst[at];
    assert!(gain(2) * 2 > gain(3), "{worst:?}");
    assert!(worst[3] - best[3] <= worst[1] - best[1], "{worst:?} {best:?}");
}

/// An instruction is a nanosecond there, on whatever chip.
#[test]
fn lengths_of_instructions_are_no_platforms() {
    let refused = measure(&["overheads", "--on", "rtos", "--platform", "p4080"]);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("--platform") && said.contains("no chip's"), "{said}");
}

#[test]
fn overheads_are_measured_and_their_files_are_read_by_scenario_and_study() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("overheads");
    let fixed = ["overheads", "--brief", "--without-linux", "--quiet", "--json", "--platform", "xeon-w3530"];
    let found = json(&measure(&[&fixed[..], &["--out", out.to_str().unwrap()]].concat()));
    let rows = found["rows"].as_array().unwrap();
    let seen = |what: &str, policy: &str, threads: u64| {
        rows.iter().any(|row| row["what"] == what && row["policy"] == policy && row["threads"] == threads)
    };
    for policy in ["P-EDF", "C-EDF", "G-EDF", "P-RM"] {
        assert!(seen("scheduling", policy, 5) && seen("release", policy, 125), "{policy}");
    }
    assert!(rows.iter().all(|row| row["side"] == "kernel"));
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("thesis Fig. 59"), "{page}");
    // The simulated machine charges them, the proof adds them. How much they are is this machine's affair, and how busy
    // it is: the period leaves room for any.
    let scenario = folder.path().join("charged.toml");
    let text = SMALL
        .split("\n[[task]]\nname = \"stream\"")
        .next()
        .unwrap()
        .replace("PLATFORM", "xeon-w3530")
        .replace("policy = \"P-RM\"", "policy = \"P-RM\"\noverheads = \"overheads/p-rm.toml\"")
        .replace("period = \"1ms\"", "period = \"10s\"\nwcet = \"500us\"");
    std::fs::write(&scenario, &text).unwrap();
    let run = solo()
        .args(["run", "--quiet", "--json", "--out"])
        .arg(folder.path().join("run"))
        .arg(&scenario)
        .output();
    let run = run.unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let task = |scenario: &std::path::Path| {
        let check = solo().arg("check").arg(scenario).args(["--json", "--quiet"]).output().unwrap();
        assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stdout));
        let found: Value = serde_json::from_slice(&check.stdout).unwrap();
        let one = &found["variants"][0];
        (one["overheads"].as_str().unwrap().to_owned(), one["tasks"][0].clone())
    };
    let (named, charged) = task(&scenario);
    assert!(named.starts_with("P-RM on "), "{named}");
    std::fs::write(&scenario, text.replace("overheads = \"overheads/p-rm.toml\"", "")).unwrap();
    let (_, free) = task(&scenario);
    // Costs that were measured on one chip are refused on another.
    std::fs::write(&scenario, text.replace("xeon-w3530", "p4080")).unwrap();
    let elsewhere = solo().arg("check").arg(&scenario).output().unwrap();
    let said = String::from_utf8_lossy(&elsewhere.stderr);
    assert_eq!(elsewhere.status.code(), Some(2), "{said}");
    assert!(said.contains("measured on xeon-w3530, and the scenario runs on p4080"), "{said}");
    let file = std::fs::read_to_string(out.join("p-rm.toml")).unwrap();
    let scheduling = file.split("scheduling = [").nth(1).unwrap().split("cost = \"").nth(1).unwrap();
    let scheduling: u64 = scheduling.split("ns").next().unwrap().parse().unwrap();
    for key in ["counted_ns", "bound_ns"] {
        let [charged, free] = [&charged, &free].map(|task| task[key].as_u64().unwrap());
        // What was declared, and a nanosecond: accesses to memory begin and end between two.
        assert_eq!(free, 500_001, "{key}");
        assert!(
            scheduling > 0 && charged >= free + scheduling,
            "{key}: {charged} with {scheduling} for scheduling"
        );
    }
    let study = folder.path().join("study.toml");
    let text = std::fs::read_to_string(root().join("studies/thesis-fig-64.toml")).unwrap();
    let names = ["epos", "litmus-p", "litmus-c", "litmus-g"];
    let text = names.iter().fold(text, |text, name| text.replace(&format!("{name}.json"), "g-edf.json"));
    std::fs::write(&study, text).unwrap();
    let run = solo()
        .arg("study")
        .arg(&study)
        .args(["--sets", "1", "--caps-every", "30", "--quiet", "--out"])
        .arg(folder.path().join("studied"))
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}

/// Five events on a Core 2: one has a counter of its own, the others take turns in two sets of two, and every sample names
/// its set.
#[test]
fn sets_of_events_take_turns_on_the_counters_of_a_chip() {
    let scenario = "scenarios/papers/hpc-invalidations/invalidations.toml";
    let events = "l1_hits,instructions,ext_snoop_hitm,l1_misses,cmp_snoop_invalidate";
    let known = ["counters", scenario, "--variant", "parallel, 32KiB", "--quiet"];
    let with = |more: &[&str]| measure(&[&known[..], more].concat());
    let found = json(&with(&["-e", events, "--period", "200us", "--json"]));
    let sets = serde_json::json!([["l1_hits", "ext_snoop_hitm"], ["l1_misses", "cmp_snoop_invalidate"]]);
    assert_eq!(found["sets"], sets);
    let samples = found["samples"].as_array().expect("samples");
    for core in [0, 2] {
        let own: Vec<&Value> = samples.iter().filter(|sample| sample["core"] == core).collect();
        assert!(own.len() >= 16, "{} samples", own.len());
        for (at, sample) in own.iter().enumerate() {
            assert_eq!(sample["set"], at % 2);
            assert_eq!(sample["counts"].as_object().map(serde_json::Map::len), Some(2));
        }
        let row = |event: &str| {
            let rows = found["rows"].as_array().expect("rows").iter();
            rows.clone()
                .find(|row| row["core"] == core && row["event"] == event)
                .expect("it is there")
                .clone()
        };
        let number = |row: &Value, key: &str| row[key].as_u64().expect("a number");
        let always = row("instructions");
        assert_eq!((always["set"].is_null(), number(&always, "counted")), (true, number(&always, "all")));
        // What a set says is what its samples add up to; the estimate of what comes evenly is near the truth.
        let hits = row("l1_hits");
        let of_set = own.iter().filter(|sample| sample["set"] == 0);
        let sum: u64 = of_set.map(|sample| sample["counts"]["l1_hits"].as_u64().expect("a number")).sum();
        assert_eq!((number(&hits, "counted"), hits["set"].as_u64()), (sum, Some(0)));
        assert!(number(&hits, "counted") < number(&hits, "all"));
        let off = number(&hits, "estimate").abs_diff(number(&hits, "all"));
        assert!(off * 10 < number(&hits, "all"), "{hits}");
    }
    let text = String::from_utf8(with(&["-e", events]).stdout).expect("text");
    assert!(
        text.contains(
            "2 programmable counters of 40 bits; a set of events counts for 1ms, then the next of 2"
        ),
        "{text}"
    );
    for (wrong, said) in [(["-e", "l1_hit"], "l1_hits"), (["-e", "l1_hits,"], "event")] {
        let output = with(&wrong);
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains(said));
    }
    assert_eq!(with(&["-e", "l1_hits", "--period", "0ms"]).status.code(), Some(2));
}

/// A task on the first core of a P4080 with ways of its own and a budget.
const BESIDE: &str = r#"
name = "beside"
platform = "PLATFORM"
jobs = 2

[scheduler]
policy = "P-RM"

[[task]]
name = "t"
class = "hard"
core = 0
period = "20ms"
work = [{ random = "512KiB", accesses = 1500, writes = "20%" }, { compute = "100us" }]

[isolation.ways]
t = "0-3"

[isolation.bandwidth]
cores = { 0 = "6%" }
"#;

fn beside(folder: &std::path::Path, text: &str) -> String {
    let file = folder.join("beside.toml");
    std::fs::write(&file, text.replace("PLATFORM", "p4080")).unwrap();
    file.to_str().unwrap().to_owned()
}

/// SCE Fig. 1 and Fig. 10: the bound grows with each active core and is above what hogs do, whatever they do.
#[test]
fn a_task_beside_hogs_stays_within_its_bound() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = beside(folder.path(), BESIDE);
    let known = ["wcet", &scenario, "--cores", "1..3", "--samples", "2", "--quiet"];
    let found = json(&measure(&[&known[..], &["--json"]].concat()));
    let rows = found["rows"].as_array().expect("rows");
    let column = |key: &str| -> Vec<u64> { rows.iter().map(|row| row[key].as_u64().unwrap()).collect() };
    assert_eq!(column("cores"), [1, 2, 3]);
    let (bounds, budgets, legacy) = (column("bound_ns"), column("budget"), column("legacy_ns"));
    assert!(bounds.windows(2).all(|pair| pair[0] < pair[1]), "{bounds:?}");
    assert!(budgets.windows(2).all(|pair| pair[0] > pair[1]), "{budgets:?}");
    assert!(legacy[0] < legacy[2], "{legacy:?}");
    let alone = found["alone_ns"].as_u64().unwrap();
    for key in ["reads_ns", "writes_ns", "same_bank_ns"] {
        for (seen, bound) in column(key).into_iter().zip(&bounds) {
            // Alone is the slowest placement of the three.
            assert!(
                seen <= *bound && (alone <= seen || key != "same_bank_ns"),
                "{key}: {alone} {seen} {bound}"
            );
        }
    }
    // C + mu m 2 L_max, and what a budget that is exhausted costs besides.
    let number = |key: &str| found[key].as_u64().unwrap();
    let equation_1 = alone + number("misses") * 3 * 2 * number("l_max_ps") / 1000;
    assert!(bounds[2] + 100 >= equation_1 && bounds[2] < equation_1 * 5 / 4, "{} {equation_1}", bounds[2]);
    assert!(rows.iter().all(|row| row["holds"] == true && row["pessimism_per_mille"].as_u64() >= Some(1000)));
    assert_eq!(found["supposed_overtaking"], 0);
    // Hits that overtake make the bound longer.
    let more =
        json(&measure(&["wcet", &scenario, "--cores", "3", "--samples", "1", "--overtake", "20", "--json"]));
    assert!(more["rows"][0]["bound_ns"].as_u64() > Some(bounds[2]));
}

/// A platform that promises more than its memory moves makes bounds that are too low: that is seen, said, and exit 1.
#[test]
fn an_observation_above_its_bound_is_exit_1() {
    let folder = tempfile::tempdir().unwrap();
    let chip = std::fs::read_to_string(root().join("platforms/p4080.toml")).unwrap();
    let boast = chip.replace("guaranteed = \"1263MB/s", "guaranteed = \"9GB/s");
    let boast = boast.replace("guaranteed-with-writes = \"1183MB/s", "guaranteed-with-writes = \"9GB/s");
    assert_ne!(chip, boast);
    let file = folder.path().join("boast.toml");
    std::fs::write(&file, boast).unwrap();
    let scenario = beside(folder.path(), &BESIDE.replace("PLATFORM", file.to_str().unwrap()));
    let output = measure(&["wcet", &scenario, "--cores", "3", "--samples", "1", "--quiet"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("ABOVE ITS BOUND with 3 cores"), "{text}");
}

#[test]
fn a_time_that_nothing_bounds_is_refused_with_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |text: &str, more: &[&str], said: &str| {
        let scenario = beside(folder.path(), text);
        let output = measure(&[&["wcet", &scenario, "--quiet"], more].concat());
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(said), "{message}");
    };
    refused(BESIDE, &["--task", "nobody"], "task `nobody` does not exist; known: t");
    refused(BESIDE, &["--cores", "9"], "9 active cores: p4080 has 1 to 8");
    for wrong in ["0", "3..1", "0..2", "many", "1..", "-1", "99999999999999999999"] {
        refused(BESIDE, &[&format!("--cores={wrong}")], "expected a number of cores");
    }
    let (before, budgets) = BESIDE.split_at(BESIDE.find("[isolation.bandwidth]").unwrap());
    refused(before, &[], "no core has a bandwidth budget; say [isolation.bandwidth]");
    refused(&format!("{BESIDE}sharing = \"proportional\"\n"), &[], "`sharing` of [isolation.bandwidth]");
    refused(&format!("{BESIDE}reclaim = \"pool\"\n"), &[], "`reclaim` of [isolation.bandwidth]");
    let shared = before.replace("[isolation.ways]\nt = \"0-3\"\n", "") + budgets;
    refused(&shared, &[], "others may evict its lines");
    let whole = BESIDE.replace("t = \"0-3\"", "t = \"0-31\"");
    refused(&whole, &[], "leave some to others");
}

/// What was measured is what `check` counts: a bound grows by it at each preemption, and a job that is preempted stays below.
#[test]
fn the_loss_of_affinity_that_was_measured_is_counted_by_check() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cpmd.toml");
    let words = ["cpmd", "i7-2600", "--working-sets", "64KiB", "--iterations", "1", "--quiet"];
    let measured = || solo().arg("measure").args(words).arg("--write").arg(&file).output().unwrap();
    let output = measured();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("moved, L3 shared"), "{text}");
    let written = std::fs::read_to_string(&file).unwrap();
    let cost = written.split("cost = \"").nth(1).and_then(|rest| rest.split("ns").next()).unwrap();
    assert!(written.contains("{ working-set = \"65536B\", cost = "), "{written}");
    let cost: u64 = cost.parse().unwrap();
    assert!((30_000..60_000).contains(&cost), "64 KiB from memory: {written}");
    let again = measured();
    assert_eq!(again.status.code(), Some(2), "it is there already");
    let scenario = |name: &str, platform: &str, overheads: &str| {
        let path = folder.path().join(name);
        let text = format!(
            r#"name = "cpmd"
platform = "{platform}"
duration = "200ms"
[scheduler]
policy = "P-RM"
{overheads}
[[task]]
name = "fast"
class = "hard"
core = 0
period = "5ms"
wcet = "1ms"
work = [{{ sweep = "64KiB", stride = "64B", accesses = 4096 }}]
[[task]]
name = "slow"
class = "hard"
core = 0
period = "20ms"
wcet = "9ms"
work = [{{ repeat = 8, steps = [{{ sweep = "64KiB", stride = "64B", accesses = 4096 }}, {{ compute = "1ms" }}] }}]
"#
        );
        std::fs::write(&path, text).unwrap();
        path
    };
    let with = scenario("with.toml", "i7-2600", "overheads = \"cpmd.toml\"");
    let without = scenario("without.toml", "i7-2600", "");
    let bound = |path: &std::path::Path| {
        let output = solo().arg("check").arg(path).args(["--wcet-holds", "--json"]).output().unwrap();
        let shown = json(&output);
        let tasks = shown["variants"][0]["tasks"].as_array().unwrap_or_else(|| panic!("{shown}")).clone();
        let slow = tasks.iter().find(|task| task["name"] == "slow").unwrap().clone();
        slow["bound_ns"].as_u64().unwrap_or_else(|| panic!("{slow}"))
    };
    let (counted, free) = (bound(&with), bound(&without));
    // Its own start, and two preemptions by `fast` at least.
    assert!(counted >= free + 3 * cost && counted < free + 12 * cost, "{free} and {counted}, {cost} each");
    let mut command = solo();
    command.arg("run").arg(&with).args(["--json", "--quiet", "--out"]).arg(folder.path().join("run"));
    let shown = json(&command.output().unwrap());
    let slow = &shown["report"]["tasks"][1];
    assert!(slow["preemptions"].as_u64().unwrap() > 0, "{slow}");
    assert!(slow["response"]["max_ns"].as_u64().unwrap() <= counted, "{slow}");
    let elsewhere = scenario("elsewhere.toml", "p4080", "overheads = \"cpmd.toml\"");
    let output = solo().arg("check").arg(&elsewhere).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "a file of another chip");
}

#[test]
fn the_last_seed_is_a_seed() {
    let last = u64::MAX.to_string();
    let words =
        ["cpmd", "core2-q9550", "--working-sets", "4KiB", "--iterations", "2", "--quiet", "--seed", &last];
    let output = measure(&words);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.contains(&format!("seeds {last} to 0")), "{text}");
}

#[test]
fn working_sets_that_cannot_be_are_refused() {
    for (said, why) in
        [("banana", "banana"), ("1B", "from a line (64B) to 64MiB"), ("1GiB", "from a line (64B) to 64MiB")]
    {
        let output = measure(&["cpmd", "i7-2600", "--working-sets", said]);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains("--working-sets") && text.contains(why), "{said}: {text}");
    }
}
