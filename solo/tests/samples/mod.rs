//! One or more of every JSON document that commands write.

use crate::common::{recording, solo};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

type Samples = BTreeMap<&'static str, Vec<Value>>;

/// Everything that a scenario can say, in little.
const EVERYTHING: &str = include_str!("everything.toml");

/// What checks and comparisons are shown with: deadlines that hold, do not, and can't be judged; a variant that is refused.
const VARIANTS: &str = include_str!("variants.toml");

/// A controller that serves requests as they come.
const IN_ORDER: &str = include_str!("in-order.toml");

const FIGURES: &str = include_str!("figures.toml");

/// A scheduler that listens, and holds a task.
const LISTENING: &str = include_str!("listening.toml");
const HELD: &str = include_str!("held.toml");
/// Applications on big and small cores, under a monitor whose factors are held against the truth.
const BELIEVED: &str = include_str!("believed.toml");

/// A task that ends before its time.
const EXHAUSTED: &str = include_str!("exhausted.toml");

const PLACES: &str = include_str!("places.toml");

fn json(text: &[u8], what: &str) -> Value {
    serde_json::from_slice(text)
        .unwrap_or_else(|error| panic!("{what}: {error}: {}", String::from_utf8_lossy(text)))
}

/// What a command prints; whatever it finds, it answers.
fn said(words: &[&str]) -> Vec<u8> {
    let output = solo().args(words).output().unwrap();
    let code = output.status.code();
    assert!(
        matches!(code, Some(0..=3)) && !output.stdout.is_empty(),
        "{words:?}: {code:?} {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

fn answer(words: &[&str]) -> Value {
    json(&said(words), &words.join(" "))
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| json(line.as_bytes(), &path.display().to_string())).collect()
}

fn file(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn word(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The answers of `--json`.
pub(crate) fn answers(folder: &Path) -> Samples {
    let mut samples = Samples::new();
    let everything = file(folder, "everything.toml", EVERYTHING);
    let variants = file(folder, "variants.toml", VARIANTS);
    let study = "studies/thesis-fig-64.toml";
    let (runs, everything) = (folder.join("runs"), word(&everything));
    std::fs::create_dir(&runs).unwrap();
    let at = |name: &str| runs.join(name).to_str().unwrap().to_owned();
    let mut add = |name: &'static str, value: Value| samples.entry(name).or_default().push(value);

    add("run", answer(&["run", everything, "--out", &at("everything"), "--json"]));
    let memguard = "scenarios/papers/memguard/case-study.toml";
    let budgets = ["run", memguard, "--variant", "(600,600)+PS", "--jobs", "1", "--json", "--out"];
    add("run", answer(&[&budgets[..], &[&at("budgets")]].concat()));
    add("run", answer(&["report", &at("budgets"), "--format", "json"]));
    for (name, what) in [("stopped", "control>1us"), ("missed", "miss")] {
        add("run", answer(&["run", everything, "--stop-on", what, "--json", "--out", &at(name)]));
    }
    let changed = "scenarios/papers/memguard/changed-budgets.toml";
    add("run", answer(&["run", changed, "--json", "--out", &at("changed")]));
    let listening = file(folder, "listening.toml", LISTENING);
    add("run", answer(&["run", word(&listening), "--json", "--out", &at("listening")]));
    let turns = LISTENING.replace(
        "event = \"snoop_hitm\"",
        "event = \"snoop_hitm / cycles\"\nturn = \"1ms\"\nsets = [[\"snoop_hitm\"], [\"cycles\"]]",
    );
    let turns = file(folder, "turns.toml", &turns.replace("action = \"overflow\"", "action = \"yield\""));
    add("run", answer(&["run", word(&turns), "--json", "--out", &at("turns")]));
    let held = file(folder, "held.toml", HELD);
    add("run", answer(&["run", word(&held), "--json", "--out", &at("held")]));
    let exhausted = file(folder, "exhausted.toml", EXHAUSTED);
    add("run", answer(&["run", word(&exhausted), "--json", "--out", &at("exhausted")]));
    add("comparison", answer(&["compare", word(&variants), "--out", &at("compared"), "--json"]));
    add("comparison", answer(&["report", &at("compared"), "--format", "json"]));
    let believed = file(folder, "believed.toml", BELIEVED);
    add("comparison", answer(&["compare", word(&believed), "--out", &at("believed"), "--json"]));
    add("comparison", answer(&["report", &at("believed"), "--format", "json"]));
    let clocks = ["compare", "scenarios/race-to-idle.toml", "--jobs", "3", "--json", "--out"];
    add("comparison", answer(&[&clocks[..], &[&at("clocks")]].concat()));
    let axes =
        ["--set", "task.control.period=4ms,5ms", "--set", "task.control.wcet=1ms,9ms", "--json", "--out"];
    for chapter in ["chapter-6", "chapter-7", "chapter-8"] {
        let small =
            ["--sets", "1", "--scale", "1000", "--wss-kib", "32,4", "--share", "color", "--json", "--out"];
        add(chapter, answer(&[&["evaluate", chapter], &small[..], &[&at(chapter)]].concat()));
    }
    add("sweep", answer(&[&["sweep", word(&variants), "--jobs", "12"], &axes[..], &[&at("sweep")]].concat()));
    let kept = recording(folder, "answered", 1);
    add("recording", answer(&["report", word(&kept), "--format", "json"]));
    add("check", answer(&["check", word(&variants), "--json"]));
    add("check", answer(&["check", everything, "--json"]));
    add("check", answer(&["check", "scenarios/control-and-vision.toml", "--json"]));
    let bounded = "scenarios/bounded-by-budgets.toml";
    add("check", answer(&["check", bounded, "--json"]));
    add("plan", answer(&["plan", "scenarios/planned/eight-cores.toml", "--json"]));
    add("plan", answer(&["plan", "scenarios/planned/impossible.toml", "--json"]));
    add("plan", answer(&["plan", "scenarios/planned/partitions.toml", "--json"]));
    add("run", answer(&["run", bounded, "--jobs", "3", "--json", "--out", &at("bounded")]));
    let (a, b) = (runs.join("compared/solo"), runs.join("compared/corun"));
    add("diff", answer(&["diff", word(&a), word(&b), "--json"]));
    add("diff", answer(&["diff", word(&a), word(&a), "--json"]));
    add("replay", answer(&["replay", &at("compared"), "--json"]));
    add("replay", answer(&["replay", word(&a), "--json"]));
    add("folders", answer(&["list", word(&runs), "--json"]));
    for file in ["section-5", "eight-cores", "none"] {
        add("offsets", answer(&["io", &format!("scenarios/io/{file}.toml"), "--json"]));
    }
    add("codes", answer(&["explain", "--json"]));
    add("codes", answer(&["explain", "unknown_key", "--json"]));
    file(folder, "places.toml", PLACES);
    let figures = file(folder, "figures.toml", FIGURES);
    add("figures", answer(&["plot", word(&figures), "--out", &at("figures"), "--json"]));
    add(
        "study",
        answer(&["study", study, "--sets", "2", "--caps-every", "30", "--out", &at("study"), "--json"]),
    );
    let weighted =
        ["study", "studies/thesis-fig-68.toml", "--sets", "1", "--caps-every", "60", "--json", "--out"];
    add("study", answer(&[&weighted[..], &[&at("weighted")]].concat()));
    add("study-fit", answer(&["study", "fit", "studies/fits/thesis-5-9.toml", "--sets", "1", "--json"]));
    add("tests", answer(&["prove", "--list", "--json"]));
    add("peer", peer());
    traces(folder, &mut add);
    machine(&runs, &mut add);
    samples
}

fn peer() -> Value {
    let peer = format!("{} prove --jsonl --threads 1", env!("CARGO_BIN_EXE_solo"));
    let words = ["prove", "--jsonl", "--peer", &peer, "--json"];
    json(&fed(&words, SETS), "prove --peer")
}

const SETS: &str = "{\"m\":2,\"tasks\":[{\"c\":1,\"t\":10,\"d\":10},{\"c\":2,\"t\":8,\"d\":9}]}\n{\"m\":1,\"tasks\":[{\"c\":9,\"t\":8,\"d\":8}]}\n";

fn fed(words: &[&str], input: &str) -> Vec<u8> {
    let mut child = solo()
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap().stdout
}

fn traces(folder: &Path, add: &mut impl FnMut(&'static str, Value)) {
    let trace = file(folder, "trace", "0 R 0\n0 W 64\n1 R 64\n1 R 4096\n0 R 0\n");
    let trace = word(&trace);
    add("trace-cache", answer(&["trace", "cache", trace, "--cache", "D=32K:8:64:lru", "--json"]));
    let caches = ["trace", "coherence", trace, "--cores", "2", "--cache", "32K:8:64:lru", "--json"];
    add("trace-coherence", answer(&caches));
    add("trace-profile", answer(&["trace", "profile", trace, "--json"]));
    let requests = file(folder, "requests", "0x0 READ 0\n0x40 WRITE 10\n0x100000 READ 20\n");
    add("trace-dram", answer(&["trace", "dram", word(&requests), "--json"]));
    let out = folder.join("true.trace");
    let record =
        solo().args(["record", "--json", "--limit", "1000", "-o", word(&out), "true"]).output().unwrap();
    match record.status.code() {
        Some(3) => {
            println!("skipped: solo record --json: {}", String::from_utf8_lossy(&record.stderr).trim())
        }
        _ => add("recorded", json(&record.stdout, "record")),
    }
}

fn machine(runs: &Path, add: &mut impl FnMut(&'static str, Value)) {
    let at = |name: &str| runs.join(name).to_str().unwrap().to_owned();
    add("events", answer(&["events", "--json"]));
    add("event-codes", answer(&["events", "--translate", "page-faults,task-clock:u", "--json"]));
    let paper = ["events", "--raw", "instr,llc_misses", "--model", "haswell", "--json"];
    add("event-strings", answer(&paper));
    add("event-faults", answer(&["events", "--validate", "--json"]));
    add("modules", answer(&["events", "--modules", "--json"]));
    let quick = ["measure", "bandwidth", "xeon-w3530", "--accesses", "200", "--span-ms", "1", "--json"];
    add("bandwidth", answer(&quick));
    add("calibration", answer(&["measure", "calibrate", "p4080", "--json"]));
    let counters = ["measure", "counters", "scenarios/first-steps.toml", "--jobs", "2", "--json", "-e"];
    add("counters", answer(&[&counters[..], &["instructions,llc_misses"]].concat()));
    add("bank-functions", answer(&["measure", "map", "xeon-w3530", "--pairs", "1000", "--json"]));
    let curve = "scenarios/papers/sce/fig7-lockdown-curve.toml";
    let curve = ["measure", "lockdown", curve, "--pages", "0,8", "--jobs", "1", "--json", "--out"];
    add("lockdown", answer(&[&curve[..], &[&at("curve")]].concat()));
    let curve = "scenarios/papers/sce/fig11-tracking-p4080.toml";
    let curve =
        ["measure", "lockdown", curve, "--fill", "--cores", "2", "--pages", "217", "--jobs", "1", "--json"];
    add("lockdown", answer(&[&curve[..], &["--quiet", "--out", &at("curve-beside")]].concat()));
    let beside =
        ["measure", "wcet", "scenarios/papers/sce/fig10-wcet-p4080.toml", "--cores", "2", "--samples", "1"];
    add("wcet", answer(&[&beside[..], &["--json", "--quiet"]].concat()));
    let in_order = file(runs, "in-order.toml", IN_ORDER);
    add("wcet", answer(&["measure", "wcet", word(&in_order), "--cores", "2", "--samples", "1", "--json"]));
    add(
        "cpmd",
        answer(&["measure", "cpmd", "core2-q9550", "--working-sets", "4KiB", "--iterations", "1", "--json"]),
    );
    let overheads = ["measure", "overheads", "--brief", "--without-linux", "--json", "--quiet", "--out"];
    add("overheads", answer(&[&overheads[..], &[&at("overheads")]].concat()));
    add("platforms", answer(&["platforms", "--json"]));
    for name in ["xeon-w3530", "p4080", "juno", "i7-2600", "core2-q9550", "ideal-8", "xeon-e5-2695v3"] {
        add("platform", answer(&["platforms", name, "--json"]));
    }
    add("address-map", answer(&["platforms", "i7-2600", "--map", "--address", "0x1234000", "--json"]));
    add("doctor", answer(&["doctor", "--json"]));
    add("schemas", answer(&["schema", "--json"]));
    if let Some(watch) = watched(&["watch", "-e", "page-faults,task-clock", "--json", "--", "true"]) {
        add("watch", json(&watch, "watch"));
    }
    let chip = ["color", "--platform", "xeon-w3530", "--colors", "0-63", "--json"];
    for more in [&["--banks", "0-7", "--dry-run"][..], &["--", "true"]] {
        if let Some(color) = colored(&[&chip[..], more].concat()) {
            add("color", json(&color, "color"));
        }
    }
    if let Some((place, again)) = placed(&at("place"), &at("decisions")) {
        add("place", json(&place, "place"));
        add("place-replay", json(&again, "place-replay"));
    }
    let program = ["--budget", "program=100", "--", "true"];
    for guard in [guarded(&at("guard"), &[]), guarded(&at("guard"), &program)].into_iter().flatten() {
        add("guard", json(&guard, "guard"));
    }
}

/// What is told of a program in chosen page frames; nothing where this machine lets nobody choose.
fn colored(words: &[&str]) -> Option<Vec<u8>> {
    let output = solo().args(words).output().unwrap();
    if matches!(output.status.code(), Some(0 | 1)) {
        return Some(output.stdout);
    }
    println!("skipped: solo color: {}", String::from_utf8_lossy(&output.stderr).trim());
    None
}

/// What a placement prints, and what its record told again; nothing where this machine lets nobody place anything.
fn placed(state: &str, record: &str) -> Option<(Vec<u8>, Vec<u8>)> {
    let words = [
        "place",
        "-e",
        "page-faults",
        "--above",
        "5",
        "--action",
        "gather",
        "--every",
        "5ms",
        "--time",
        "60ms",
    ];
    let programs = ["--program", "a=while :; do true & wait; done", "--program", "b=exec sleep 0.02"];
    let more = ["--state", state, "--record", record, "--json", "--quiet"];
    let output = solo().args(words).args(programs).args(more).output().unwrap();
    if output.status.code() != Some(0) {
        println!("skipped: solo place: {}", String::from_utf8_lossy(&output.stderr).trim());
        return None;
    }
    let again = solo().args(["place", "--replay", record, "--json"]).output().unwrap();
    Some((output.stdout, again.stdout))
}

/// What a guard prints, whether or not its budget was held; nothing where this machine lets nobody hold any.
fn guarded(state: &str, more: &[&str]) -> Option<Vec<u8>> {
    let budget = ["guard", "-e", "page-faults", "--budget", "0=5", "--time", "60ms"];
    let words = ["--state", state, "--json", "--quiet"];
    let output = solo().args(budget).args(words).args(more).output().unwrap();
    if matches!(output.status.code(), Some(0 | 1)) {
        return Some(output.stdout);
    }
    println!("skipped: solo guard: {}", String::from_utf8_lossy(&output.stderr).trim());
    None
}

/// What a watch prints; nothing where this machine lets nobody count.
fn watched(words: &[&str]) -> Option<Vec<u8>> {
    let output = solo().args(words).output().unwrap();
    if output.status.success() {
        return Some(output.stdout);
    }
    println!("skipped: solo watch: {}", String::from_utf8_lossy(&output.stderr).trim());
    None
}

/// All documents: answers, files and lines.
pub(crate) fn all(folder: &Path) -> Samples {
    let mut samples = answers(folder);
    let runs = folder.join("runs");
    let mut add = |name: &'static str, value: Value| samples.entry(name).or_default().push(value);
    let mut read = |name, path: PathBuf| add(name, json(&std::fs::read(&path).unwrap(), word(&path)));
    let alone = ["everything", "budgets", "changed", "stopped", "missed", "listening", "turns", "held"];
    for run in
        alone.into_iter().chain(["compared/solo", "compared/corun", "clocks/steady", "believed/scenario"])
    {
        read("manifest", runs.join(run).join("manifest.json"));
        read("experiment", runs.join(run).join("experiment.json"));
        read("report", runs.join(run).join("report.json"));
    }
    for (name, path) in [
        ("comparison", "compared/comparison.json"),
        ("figures", "figures/figures.json"),
        ("study", "study/summary.json"),
        ("lockdown", "curve/curve.json"),
        ("overheads", "overheads/overheads.json"),
    ] {
        read(name, runs.join(path));
    }
    for run in ["budgets", "held", "everything"] {
        said(&["report", word(&runs.join(run)), "--format", "jsonl"]);
    }
    for (run, name, version) in [
        ("budgets", "jobs", 1),
        ("budgets", "samples", 1),
        ("budgets", "switches", 1),
        ("budgets", "regulation", 1),
        ("held", "occupancy", 1),
        ("everything", "energy", 1),
    ] {
        let mut rows = lines(&runs.join(format!("{run}/{name}.jsonl")));
        assert_eq!(rows.remove(0), serde_json::json!({ "format": name, "schema": version }));
        rows.truncate(50);
        rows.into_iter().for_each(|row| add(name, row));
    }
    let verdicts = fed(&["prove", "--jsonl"], SETS);
    let verdicts = String::from_utf8(verdicts).unwrap();
    verdicts.lines().for_each(|line| add("verdict", json(line.as_bytes(), "prove")));
    let kept = recording(folder, "kept", 1);
    add("watch-recording", json(&std::fs::read(kept.join("watch.json")).unwrap(), "watch.json"));
    lines(&kept.join("rows.jsonl")).into_iter().for_each(|row| add("watch-row", row));
    lines(&kept.join("names.jsonl")).into_iter().for_each(|row| add("watch-name", row));
    watches(folder, &mut add);
    samples
}

fn watches(folder: &Path, add: &mut impl FnMut(&'static str, Value)) {
    let kept = folder.join("recording");
    let words = ["watch", "-e", "page-faults,task-clock", "--out", word(&kept), "--", "sh", "-c", "true"];
    let counts = watched(&words).is_some();
    if counts {
        add("watch-recording", json(&std::fs::read(kept.join("watch.json")).unwrap(), "watch.json"));
        lines(&kept.join("rows.jsonl")).into_iter().skip(1).for_each(|row| add("watch-row", row));
        lines(&kept.join("names.jsonl")).into_iter().for_each(|row| add("watch-name", row));
    }
    let stream = ["watch", "-e", "page-faults", "--format", "stream", "--", "sh", "-c", "true"];
    // Its standard input is at its end, which stops a stream early; what it says until then is whole.
    if counts {
        let text = String::from_utf8(solo().args(stream).output().unwrap().stdout).unwrap();
        text.lines().for_each(|line| add("stream", json(line.as_bytes(), "stream")));
    }
}
