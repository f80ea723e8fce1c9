//! A file of another kind than a command reads: the answer names the kind and what reads it, for every command and every kind.

mod common;

use common::{CALM, root, solo};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A command up to the file, what it takes, and the words after the file.
struct Reader {
    before: &'static [&'static str],
    takes: &'static [&'static str],
    wanted: &'static str,
    after: &'static [&'static str],
}

const fn reader(
    before: &'static [&'static str],
    takes: &'static [&'static str],
    wanted: &'static str,
    after: &'static [&'static str],
) -> Reader {
    Reader { before, takes, wanted, after }
}

const SCENARIO: &[&str] = &["scenario"];
const READERS: [Reader; 29] = [
    reader(&["run"], SCENARIO, "expected a scenario", &["--out", "OUT"]),
    reader(&["check"], SCENARIO, "expected a scenario", &[]),
    reader(&["compare"], SCENARIO, "expected a scenario", &["--out", "OUT"]),
    reader(&["plan"], SCENARIO, "expected a scenario", &[]),
    reader(&["pack"], SCENARIO, "expected a scenario", &["--out", "OUT"]),
    reader(&["sweep"], SCENARIO, "expected a scenario", &["--set", "seed=1,2", "--out", "OUT"]),
    reader(&["export", "rt-app"], SCENARIO, "expected a scenario", &[]),
    reader(&["measure", "lockdown"], SCENARIO, "expected a scenario", &["--out", "OUT"]),
    reader(&["measure", "wcet"], SCENARIO, "expected a scenario", &[]),
    reader(&["measure", "counters"], SCENARIO, "expected a scenario", &["--events", "cycles"]),
    reader(&["guard"], SCENARIO, "expected a scenario", &[]),
    reader(&["measure", "bandwidth"], &["platform"], "expected a platform file", &[]),
    reader(&["measure", "cpmd"], &["platform"], "expected a platform file", &[]),
    reader(&["measure", "calibrate"], &["platform"], "expected a platform file", &[]),
    reader(&["measure", "map"], &["platform"], "expected a platform file", &[]),
    reader(&["platforms"], &["platform"], "expected a platform file", &[]),
    reader(&["io"], &["partitions"], "expected a file of avionics partitions", &[]),
    reader(&["study"], &["study"], "expected a study file", &["--out", "OUT"]),
    reader(&["plot"], &["figures"], "expected a file of figures", &["--out", "OUT"]),
    reader(&["import", "rt-app"], &["rt-app"], "expected a file of rt-app", &["--platform", "ideal-8"]),
    reader(&["trace", "cache"], &["trace"], "expected a recorded program", &["--cache", "U=1KiB:1:64:lru"]),
    reader(&["trace", "profile"], &["trace"], "expected a recorded program", &[]),
    reader(&["trace", "dram"], &["trace"], "expected a recorded program", &[]),
    reader(&["report"], &["run", "comparison"], "expected the folder of a run", &[]),
    reader(&["replay"], &["run", "comparison"], "expected the folder of a run", &[]),
    reader(&["diff"], &["run"], "expected the folder of a run", &["RUN"]),
    reader(&["top", "--recording"], &[], "expected the recording of a watch", &[]),
    reader(&["serve", "--recording"], &[], "expected the recording of a watch", &[]),
    reader(
        &["watch", "--rows", "1", "--with"],
        &["module", "scenario"],
        "expected a monitoring module",
        &["--", "true"],
    ),
];

/// A file of each kind, as it comes or as the program writes it, with the words for it.
fn files(folder: &Path) -> Vec<(&'static str, PathBuf, &'static str)> {
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let calm = write("calm.toml", CALM);
    let made = |words: &[&OsStr]| assert!(solo().args(words).output().unwrap().status.success(), "{words:?}");
    let (run, comparison) = (folder.join("run"), folder.join("comparison"));
    made(&["run".as_ref(), calm.as_ref(), "--out".as_ref(), run.as_ref()]);
    made(&["compare".as_ref(), calm.as_ref(), "--out".as_ref(), comparison.as_ref()]);
    made(&["report".as_ref(), run.as_ref(), "--format".as_ref(), "csv".as_ref()]);
    let module =
        "name = \"disk\"\n[[counter]]\nname = \"t_mdeg\"\nfile = \"/proc/loadavg\"\nkind = \"level\"\n";
    let here = root();
    vec![
        ("scenario", calm, "a scenario"),
        ("platform", here.join("platforms/p4080.toml"), "a platform file"),
        ("device", here.join("platforms/dram/ddr3-1600k.toml"), "a DRAM device file"),
        ("overheads", here.join("platforms/overheads/epos-thesis.toml"), "an overhead file"),
        ("partitions", here.join("scenarios/io/none.toml"), "a file of avionics partitions"),
        ("study", here.join("studies/thesis-fig-64.toml"), "a study file"),
        ("figures", here.join("scenarios/papers/thesis/cpmd-figures.toml"), "a file of figures"),
        ("module", write("disk.toml", module), "a monitoring module"),
        ("rt-app", write("threads.json", "{ \"tasks\": { \"a\": { \"run\": 10 } } }"), "a file of rt-app"),
        (
            "task sets",
            write("sets.jsonl", "{\"m\":1,\"tasks\":[{\"c\":1,\"t\":2}]}\n"),
            "a file of task sets",
        ),
        ("trace", recording(&here), "a recorded program"),
        ("records", run.join("records.solo"), "the record file of a run"),
        ("manifest", run.join("manifest.json"), "a JSON document of solo"),
        ("answer", run.join("report.json"), "a JSON document of solo"),
        ("jobs", run.join("jobs.csv"), "an exported table"),
        ("page", run.join("report.html"), "a page for a browser"),
        ("run", run, "the folder of a run"),
        ("comparison", comparison, "the folder of a comparison"),
    ]
}

/// A recording that comes with the scenarios.
fn recording(root: &Path) -> PathBuf {
    let folder = root.join("scenarios/recordings");
    let mut all = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    all.find(|path| path.extension().is_some_and(|extension| extension == "trace")).expect("a recording")
}

#[test]
fn every_command_names_every_other_kind_of_file() {
    let folder = tempfile::tempdir().unwrap();
    let files = files(folder.path());
    let run = &files.iter().find(|(kind, ..)| *kind == "run").unwrap().1;
    let mut wrong = Vec::new();
    for reader in &READERS {
        for (kind, file, name) in files.iter().filter(|(kind, ..)| !reader.takes.contains(kind)) {
            let out = folder.path().join("out");
            let after = reader.after.iter().map(|word| match *word {
                "OUT" => out.as_os_str(),
                "RUN" => run.as_os_str(),
                word => OsStr::new(word),
            });
            let mut command: Command = solo();
            command.args(reader.before).arg(file).args(after).stdin(Stdio::null());
            let output = command.output().unwrap();
            let said =
                String::from_utf8_lossy(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
            let expected = format!("this is {name}; {}", reader.wanted);
            // A box of a diagnostic breaks lines; it keeps the words.
            let plain: String = said.replace("│ ", "");
            if output.status.code() != Some(2) || !plain.contains(&expected) || out.exists() {
                wrong.push(format!("{:?} of a {kind}: {:?} {said}", reader.before, output.status.code()));
            }
            assert!(output.stdout.is_empty(), "{:?} of a {kind} printed results", reader.before);
        }
    }
    assert!(wrong.is_empty(), "{} of all:\n{}", wrong.len(), wrong.join("\n"));
}

/// The same of files that a scenario names, in its own folder; of one elsewhere nothing is told.
#[test]
fn files_that_a_scenario_names_are_told_by_their_kind_as_well() {
    let folder = tempfile::tempdir().unwrap();
    for (name, file) in [("study.toml", "studies/thesis-fig-64.toml"), ("chip.toml", "platforms/p4080.toml")]
    {
        std::fs::copy(root().join(file), folder.path().join(name)).unwrap();
    }
    let said = |text: &str| {
        let file = common::scenario(folder.path(), text);
        let output = solo().arg("check").arg(file).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let platform = said(&CALM.replace("xeon-w3530", "study.toml"));
    assert!(platform.contains("this is a study file; expected a platform file"), "{platform}");
    let overheads = said(&CALM.replace("\"P-RM\"", "\"P-RM\"\noverheads = \"chip.toml\""));
    assert!(overheads.contains("this is a platform file; expected an overhead file"), "{overheads}");
    let elsewhere = root().join("studies/thesis-fig-64.toml");
    let elsewhere = said(&CALM.replace("xeon-w3530", &elsewhere.to_string_lossy()));
    assert!(elsewhere.contains("is no platform file") && !elsewhere.contains("short periods"), "{elsewhere}");
}

/// What is wrong with a file of the right kind is still said with its place.
#[test]
fn a_wrong_file_of_the_right_kind_is_answered_by_its_reader() {
    let folder = tempfile::tempdir().unwrap();
    for text in
        [CALM.replace("period", "perioud"), CALM.replace("xeon-w3530", "xeon"), format!("{CALM}\n[isolation")]
    {
        let file = common::scenario(folder.path(), &text);
        let output = solo().arg("check").arg(file).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2));
        assert!(!said.contains("this is") && said.contains("scenario.toml"), "{said}");
    }
}
