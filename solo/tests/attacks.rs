//! What adversaries tried: names that are paths, folders of others, planted links, files without an end, forged runs. Each
//! is refused in words, and nothing outside of the folder that was named is touched. `./x attack` runs these.

mod common;

use common::{CALM, root, scenario, solo};
use solo_model::{Bytes, Duration, Experiment, Instant};
use solo_report::{EndReason, Manifest, RunEnd, RunWriter, Shortfalls};
use solo_store::{Folder, Kind, Replace};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The program with at most 1.5 GiB of address space.
fn bounded(words: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 1500000; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_solo")]).args(words);
    command.current_dir(root()).env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Refused as bad input, in words that a terminal shows as they are.
fn refused(what: &str, output: &Output) {
    let text = said(output);
    assert_eq!(output.status.code(), Some(2), "{what}: {text}");
    assert!(!output.stderr.is_empty(), "{what} without a word");
    let hidden = text.chars().find(|&c| c != '\n' && c != '\t' && solo_model::text::is_hidden(c));
    assert!(hidden.is_none(), "{what} prints {hidden:?}: {text:?}");
}

fn path(path: &Path) -> &str {
    path.to_str().expect("temporary paths are text")
}

fn names(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn every_file_of_the_corpus_is_refused_in_words() {
    let folder = root().join("tests/attacks");
    let files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let files: Vec<PathBuf> =
        files.into_iter().filter(|file| file.extension().is_some_and(|end| end == "toml")).collect();
    assert!(files.len() >= 12);
    for file in &files {
        refused(path(file), &bounded(&["check", path(file)]).output().unwrap());
    }
}

#[test]
fn the_name_of_a_variant_is_never_a_path() {
    let home = tempfile::tempdir().unwrap();
    let long = "x".repeat(300);
    let variants = [
        "../escaped",
        "..",
        ".",
        "/etc/absolute",
        "a/b",
        "comparison.json",
        "report.html",
        "Corun",
        "corun",
        ".solo",
        &long,
    ];
    let mut text = CALM.replace("jobs = 20", "jobs = 2");
    for name in variants {
        text.push_str(&format!("\n[[variant]]\nname = \"{name}\"\n"));
    }
    let file = scenario(home.path(), &text);
    let before = fs::read(&file).unwrap();
    let out = home.path().join("deep/out");
    let output = solo().args(["compare", path(&file), "--out", path(&out)]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert_eq!(names(&home.path().join("deep")), ["out"]);
    assert_eq!(names(home.path()), ["deep", "scenario.toml"]);
    assert_eq!(fs::read(&file).unwrap(), before);
    assert!(out.join("comparison.json").is_file() && out.join("report.html").is_file());
    // It opens as a whole again, and can be replaced as a whole.
    for words in
        [&["report"][..], &["replay"], &["report", "--format", "csv"], &["report", "--format", "html"]]
    {
        let output = solo().args(words).arg(&out).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", said(&output));
    }
    let again = solo().args(["compare", path(&file), "--out", path(&out), "--force"]).output().unwrap();
    assert_eq!(again.status.code(), Some(0), "{}", said(&again));
}

#[test]
fn force_never_touches_what_is_foreign() {
    let home = tempfile::tempdir().unwrap();
    let file = scenario(home.path(), CALM);
    let web = home.path().join("web");
    fs::create_dir_all(web.join(".git")).unwrap();
    fs::write(web.join("manifest.json"), "{\"manifest_version\":3}").unwrap();
    fs::write(web.join("thesis.tex"), "mine").unwrap();
    let run =
        |command: &str| solo().args([command, path(&file), "--out", path(&web), "--force"]).output().unwrap();
    for command in ["run", "compare"] {
        refused(command, &run(command));
    }
    assert_eq!(names(&web), [".git", "manifest.json", "thesis.tex"]);
    assert_eq!(fs::read_to_string(web.join("thesis.tex")).unwrap(), "mine");
}

#[test]
fn a_folder_in_use_is_not_taken() {
    let home = tempfile::tempdir().unwrap();
    let file = scenario(home.path(), CALM);
    let out = home.path().join("out");
    let other = Folder::claim(&out, Kind::Run, Replace::Never).unwrap();
    other.write("manifest.json", b"another command's").unwrap();
    for force in [&[][..], &["--force"]] {
        let output = solo().args(["run", path(&file), "--out", path(&out)]).args(force).output().unwrap();
        refused("a folder in use", &output);
        assert!(said(&output).contains("in use"), "{}", said(&output));
    }
    assert_eq!(fs::read(out.join("manifest.json")).unwrap(), b"another command's");
}

#[test]
fn damage_of_any_file_of_a_run_is_told() {
    let home = tempfile::tempdir().unwrap();
    let file = scenario(home.path(), CALM);
    let out = home.path().join("out");
    assert_eq!(
        solo().args(["run", path(&file), "--out", path(&out)]).output().unwrap().status.code(),
        Some(0)
    );
    for (name, from, to) in [
        ("experiment.json", "\"hard\"", "\"soft\""),
        ("experiment.json", "\"seed\": ", "\"seed\": 1"),
        ("manifest.json", "\"machine\": \"sim\"", "\"machine\": \"rtos\""),
        ("manifest.json", "\"seed\": ", "\"seed\": 1"),
        ("scenario.toml", "jobs = 20", "jobs = 21"),
    ] {
        let whole = fs::read_to_string(out.join(name)).unwrap();
        let damaged = whole.replacen(from, to, 1);
        assert!(damaged != whole, "{name} holds {from}");
        fs::write(out.join(name), damaged).unwrap();
        for command in ["report", "replay"] {
            let output = solo().arg(command).arg(&out).output().unwrap();
            refused(name, &output);
            assert!(said(&output).contains(name), "{}", said(&output));
        }
        fs::write(out.join(name), whole).unwrap();
    }
    assert_eq!(solo().arg("replay").arg(&out).output().unwrap().status.code(), Some(0));
}

/// A run whose hashes are right and whose numbers are not.
fn forged(dir: &Path, change: impl FnOnce(&mut Experiment)) {
    let platforms = solo_scenario::Platforms::builtin();
    let mut experiment = solo_scenario::parse(CALM, Path::new("t.toml"), &platforms).expect("sound").base;
    change(&mut experiment);
    let manifest = Manifest::new(&experiment, "t.toml", CALM);
    let writer = RunWriter::create(dir, manifest, &experiment, CALM).unwrap();
    writer
        .finish(RunEnd {
            end: Instant::new(1_000),
            reason: EndReason::TimeOver,
            stop_on: None,
            shortfalls: Shortfalls::default(),
            ended: Vec::new(),
            heard: Vec::new(),
            curves: Vec::new(),
        })
        .unwrap();
}

#[test]
fn forged_experiments_are_refused_before_they_run() {
    type Change = fn(&mut Experiment);
    let changes: [(&str, Change); 11] = [
        ("no sample", |e| e.sample_every = Duration::ZERO),
        ("jobs without end", |e| e.end = solo_model::experiment::End::Jobs(1 << 63)),
        ("a time without end", |e| e.end = solo_model::experiment::End::At(Duration::new(u64::MAX))),
        ("a buffer of everything", |e| {
            e.buffers.push(solo_model::work::Buffer { name: "b".into(), size: Bytes::new(u64::MAX) });
        }),
        ("no clock", |e| e.platform.kinds[0].clock = solo_model::Frequency::new(0)),
        ("no kind", |e| e.platform.cores[0].kind = 200),
        ("no core", |e| e.tasks[0].core = Some(solo_model::CoreId(999))),
        ("a name that acts", |e| e.tasks[0].name = "\u{1b}[2J".into()),
        ("no page", |e| e.platform.page = Bytes::new(0)),
        ("jobs of no time", |e| {
            e.tasks[0].release = solo_model::task::Release::Continuous { offset: Duration::ZERO };
            e.tasks[0].work.steps.clear();
        }),
        ("steps at one instant", |e| {
            let round = solo_model::work::Step::Repeat { times: u32::MAX, steps: Vec::new() };
            e.tasks[0].work.steps =
                vec![solo_model::work::Step::Repeat { times: u32::MAX, steps: vec![round] }];
        }),
    ];
    let home = tempfile::tempdir().unwrap();
    for (what, change) in changes {
        let dir = home.path().join(what);
        forged(&dir, change);
        for command in ["report", "replay"] {
            refused(what, &bounded(&[command, path(&dir)]).output().unwrap());
        }
    }
    let sound = home.path().join("sound");
    forged(&sound, |_| {});
    assert_eq!(solo().arg("report").arg(&sound).output().unwrap().status.code(), Some(0));
}

#[test]
fn what_is_no_file_is_not_read() {
    let home = tempfile::tempdir().unwrap();
    let pipe = home.path().join("pipe.toml");
    let made = Command::new("mkfifo").arg(&pipe).status().is_ok_and(|status| status.success());
    if !made {
        println!("skipped: no pipe; mkfifo of coreutils makes one");
    }
    let pipe = path(&pipe);
    for file in ["/dev/zero", "/tmp", pipe].into_iter().filter(|file| made || *file != pipe) {
        for command in ["check", "study", "plot", "platforms"] {
            refused(&format!("{command} {file}"), &bounded(&[command, file]).output().unwrap());
        }
    }
}

#[test]
fn files_of_others_are_not_shown() {
    let home = tempfile::tempdir().unwrap();
    let secret = "root:$6$hidden-words:19000:0:99999:7:::\n";
    let token = "[registry]\ntoken = \"hidden-words\"\nhidden-words = 1\n";
    for (name, text) in [("shadow", secret), ("shadow.toml", secret), ("credentials.toml", token)] {
        fs::write(home.path().join(name), text).unwrap();
        let below = home.path().join("scenarios");
        fs::create_dir_all(&below).unwrap();
        let _ = fs::remove_file(below.join("link.toml"));
        std::os::unix::fs::symlink(home.path().join(name), below.join("link.toml")).unwrap();
        for named in [format!("../{name}"), path(&home.path().join(name)).to_owned(), "link.toml".to_owned()]
        {
            for text in [
                CALM.replace("platform = \"xeon-w3530\"", &format!("platform = \"{named}\"")),
                CALM.replace("policy = \"P-RM\"", &format!("policy = \"P-RM\"\noverheads = \"{named}\"")),
            ] {
                let file = scenario(&below, &text);
                let output = solo().arg("check").arg(&file).output().unwrap();
                refused(&named, &output);
                assert!(!said(&output).contains("hidden-words"), "{named}: {}", said(&output));
            }
        }
    }
}

/// Runs with a stream on a full disk.
fn on_full_disk(stream: &str, words: &[&str]) -> Option<i32> {
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("exec \"$@\" {stream}/dev/full"), "sh", env!("CARGO_BIN_EXE_solo")])
        .args(words);
    command.current_dir(root()).output().unwrap().status.code()
}

#[test]
fn full_disks_are_told_by_the_exit_code() {
    let home = tempfile::tempdir().unwrap();
    let file = scenario(home.path(), CALM);
    let out = home.path().join("out");
    assert_eq!(
        on_full_disk("2>", &["run", path(&file), "--out", path(&out)]),
        Some(0),
        "the run is complete"
    );
    assert_eq!(on_full_disk("2>", &["check", "/nowhere.toml"]), Some(2));
    assert_eq!(on_full_disk(">", &["prove", "--list"]), Some(2));
    assert_eq!(on_full_disk(">", &["--help"]), Some(2));
    assert_eq!(on_full_disk(">", &["run", "--help"]), Some(2));
    assert_eq!(on_full_disk(">", &["--version"]), Some(2));
    assert_eq!(on_full_disk("2>", &["run", "--no-such-option"]), Some(2));
    assert_eq!(on_full_disk(">", &["report", path(&out)]), Some(2));
}

#[test]
fn numbers_that_wrap_are_refused_or_mean_one() {
    let home = tempfile::tempdir().unwrap();
    let file = scenario(home.path(), CALM);
    for seed in ["18446744073709551615", "9223372036854775808"] {
        refused(seed, &bounded(&["run", path(&file), &format!("--seed={seed}")]).output().unwrap());
    }
    let study = root().join("studies/thesis-fig-64.toml");
    let out = home.path().join("study");
    let words =
        ["study", path(&study), "--caps-every", "4611686018427387904", "--sets", "1", "--out", path(&out)];
    let output = bounded(&words).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
}

#[test]
fn outputs_do_not_follow_planted_links() {
    let home = tempfile::tempdir().unwrap();
    let file = scenario(home.path(), CALM);
    let (out, mine) = (home.path().join("out"), home.path().join("mine"));
    fs::write(&mine, "mine").unwrap();
    assert_eq!(
        solo().args(["run", path(&file), "--out", path(&out)]).output().unwrap().status.code(),
        Some(0)
    );
    for planted in ["jobs.new", "jobs.csv", "report.new", "report.html", "trace.perfetto"] {
        let _ = fs::remove_file(out.join(planted));
        std::os::unix::fs::symlink(&mine, out.join(planted)).unwrap();
    }
    for format in ["csv", "html", "perfetto"] {
        let output = solo().args(["report", path(&out), "--format", format]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{format}: {}", said(&output));
    }
    assert_eq!(fs::read_to_string(&mine).unwrap(), "mine");
    let to = home.path().join("new/folder");
    let output = solo().args(["report", path(&out), "--format", "html", "--to", path(&to)]).output().unwrap();
    assert_eq!((output.status.code(), names(&to)), (Some(0), vec!["report.html".to_owned()]));
}

#[test]
fn a_list_tells_states_and_cleans_up_only_what_was_never_finished() {
    let home = tempfile::tempdir().unwrap();
    let file = scenario(home.path(), CALM);
    let runs = home.path().join("runs");
    for name in ["whole", "stopped"] {
        let output = solo().args(["run", path(&file), "--out", path(&runs.join(name))]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    }
    fs::remove_file(runs.join("stopped/manifest.json")).unwrap();
    fs::create_dir(runs.join("mine")).unwrap();
    fs::write(runs.join("mine/manifest.json"), "mine").unwrap();
    let list = |more: &[&str]| said(&solo().args(["list", path(&runs)]).args(more).output().unwrap());
    let text = list(&[]);
    assert!(text.contains("whole") && text.contains("incomplete") && !text.contains("runs/mine"), "{text}");
    assert!(list(&["--clean"]).contains("removed"));
    assert_eq!(names(&runs), ["mine", "whole"]);
}

fn platform(name: &str, change: impl FnOnce(String) -> String) -> String {
    change(fs::read_to_string(root().join("platforms").join(name)).unwrap())
}

/// What makes a platform impossible is said, whichever of its values it is.
#[test]
fn impossible_platforms_are_refused_in_words() {
    let home = tempfile::tempdir().unwrap();
    let clock = |value: &str| {
        let line = format!("[bus]\nclock = \"{value} @P\"");
        platform("core2-q9550.toml", |text| text.replacen("[bus]\nclock = \"3ns @P\"", &line, 1))
    };
    let cache = |size: &str, ways: &str| {
        let size = format!("size = \"{size} @D\"");
        let ways = format!("ways = \"{ways} @D\"");
        platform("ideal-8.toml", |text| {
            text.replacen("size = \"32KiB @D\"", &size, 1).replacen("ways = \"8 @D\"", &ways, 1)
        })
    };
    let cases = [
        ("a bus clock of 2 ms", clock("2ms")),
        ("a bus clock of hours", clock("5124095h")),
        ("a bus without a clock", clock("0ns")),
        ("a cache of 4 GiB in one way", cache("4GiB", "1")),
        ("a cache of 4 GiB in 64 ways", cache("4GiB", "64")),
        ("a cache of everything", cache("17179869183GiB", "1")),
        ("a cache of no ways", cache("32KiB", "0")),
    ];
    for (what, text) in cases {
        let file = home.path().join("chip.toml");
        fs::write(&file, &text).unwrap();
        refused(what, &bounded(&["platforms", path(&file)]).output().unwrap());
        let small = CALM.replace("\"xeon-w3530\"", "\"chip.toml\"").replace("{ sweep = \"64KiB\" }", "");
        let file = scenario(home.path(), &small);
        for command in ["check", "run"] {
            refused(what, &bounded(&[command, path(&file)]).output().unwrap());
        }
    }
    // The largest bus clock that is allowed is no overflow either.
    let file = home.path().join("chip.toml");
    fs::write(&file, clock("1ms")).unwrap();
    assert_eq!(bounded(&["platforms", path(&file)]).output().unwrap().status.code(), Some(0));
}

/// As many tasks as a scenario may have, on one core: judged in little memory, and where it takes too long that is what is said.
#[test]
fn ten_thousand_tasks_of_one_core_are_judged() {
    let home = tempfile::tempdir().unwrap();
    for policy in ["P-RM", "P-EDF", "G-EDF"] {
        let text = CALM
            .replace("P-RM", policy)
            .replace("period = \"5ms\"", "period = \"5ms\"\ncopies = 10000")
            .replace("{ compute = \"1ms\" }, { sweep = \"64KiB\" }", "{ compute = \"10ns\" }");
        let file = scenario(home.path(), &text);
        let output = bounded(&["check", path(&file)]).output().unwrap();
        let text = said(&output);
        assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{policy}: {:?}", output.status);
        assert!(
            !text.contains("There is no analysis for the others"),
            "{policy}: it took too long, or it holds"
        );
    }
}

/// A file that cannot be written whole is not there under its name: not a half of it, and what lay there before still lies there.
#[test]
fn half_a_file_is_never_left_under_its_name() {
    let home = tempfile::tempdir().unwrap();
    let old = "what was there before";
    // Files of this process end after a kilobyte, as on a full disk.
    let small = |words: &[&str]| {
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -f 1; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_solo")]);
        command.args(words).current_dir(root()).env("NO_COLOR", "1").stdin(Stdio::null());
        command.output().unwrap()
    };
    let pages = home.path().join("pages");
    fs::create_dir(&pages).unwrap();
    let output = small(&["man", path(&pages)]);
    refused("man", &output);
    for page in names(&pages) {
        let text = fs::read_to_string(pages.join(&page)).unwrap();
        assert!(page.starts_with('.') || text.len() < 1024, "{page} is cut off at {}", text.len());
    }
    let map = home.path().join("map.txt");
    fs::write(&map, old).unwrap();
    let words = ["measure", "map", "ideal-8", "--pairs", "200", "--repeats", "1", "--save", path(&map)];
    let output = small(&words);
    refused("measure map", &output);
    assert_eq!(fs::read_to_string(&map).unwrap(), old);
    let left: Vec<String> = names(home.path())
        .into_iter()
        .filter(|name| !["map.txt", "pages"].contains(&name.as_str()))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

/// A file or folder whose name is no text, breaks lines and acts on terminals: everything works with it, and it is shown
/// written out.
#[test]
fn names_of_files_never_act_and_need_not_be_text() {
    let home = tempfile::tempdir().unwrap();
    let odd = |name: &[u8]| home.path().join(OsStr::from_bytes(name));
    let (file, out) = (odd(b"s\nerror: forged \x1b[2J\xff.toml"), odd(b"o\nerror: forged \x1b[2J\xff"));
    fs::write(&file, CALM).unwrap();
    let shown = |code: i32, words: &[&OsStr]| {
        let output = solo().args(words).output().unwrap();
        let text = said(&output);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {text}");
        let hidden = text.chars().find(|&c| c != '\n' && c != '\t' && solo_model::text::is_hidden(c));
        assert!(hidden.is_none(), "{words:?} prints {hidden:?}: {text:?}");
        assert!(!text.lines().any(|line| line.starts_with("error: forged")), "{words:?}: {text}");
    };
    let word = |word: &'static str| OsStr::new(word);
    shown(2, &[word("check"), file.as_os_str()]); // its times are not declared
    shown(0, &[word("run"), file.as_os_str(), word("--out"), out.as_os_str()]);
    shown(2, &[word("run"), file.as_os_str(), word("--out"), out.as_os_str()]);
    for command in ["report", "replay"] {
        shown(0, &[word(command), out.as_os_str()]);
    }
    shown(0, &[word("diff"), out.as_os_str(), out.as_os_str()]);
    shown(0, &[word("list"), home.path().as_os_str()]);
    fs::remove_file(out.join("records.solo")).unwrap();
    for command in ["report", "replay"] {
        shown(2, &[word(command), out.as_os_str()]);
    }
    for command in ["check", "run", "study", "plot", "report", "platforms", "trace", "io"] {
        let nowhere = odd(b"no\nerror: forged\x1b[2J");
        let words: &[&OsStr] =
            if command == "trace" { &[word("trace"), word("profile")] } else { &[word(command)] };
        shown(2, &[words, &[nowhere.as_os_str()]].concat());
    }
    for words in
        [["explain", "x\nerror: forged"], ["schema", "x\nerror: forged"], ["events", "x\nerror: forged"]]
    {
        shown(2, &words.map(OsStr::new));
    }
}

/// On Linux the tasks run before anything is kept, and a kill leaves the list of the folder alone.
#[test]
fn a_run_that_was_killed_before_it_kept_anything_is_called_incomplete() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    drop(Folder::claim(&out, Kind::Run, Replace::Never).unwrap());
    let list = fs::read(out.join(".solo"));
    if list.is_err() {
        // Its list went with it; a kill leaves it.
        fs::create_dir_all(&out).unwrap();
        fs::write(out.join(".solo"), "{\"solo\":\"folder\",\"schema\":1,\"kind\":\"run\"}\n").unwrap();
    }
    let output = solo().args(["report", path(&out)]).output().unwrap();
    refused("what a kill left", &output);
    assert!(said(&output).contains("is incomplete"), "{}", said(&output));
}

/// What no word of a command line may make of a terminal: colors that nothing here has, a title, text turned around, a line.
const HOSTILE: &str = "x\u{1b}[35;7m\u{1b}]0;title\u{7}\u{202e}\u{9b}2J\r\nerror: forged";

/// A command as its help describes it.
struct Described {
    words: Vec<String>,
    /// Options that take a value.
    options: Vec<String>,
    required: Vec<String>,
    optional: Vec<String>,
}

/// The command that these words lead to, and those below it.
fn described(words: &[String], found: &mut Vec<Described>) {
    let output = solo().args(words).arg("--help").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{words:?}: {}", said(&output));
    let help = said(&output);
    let mut command =
        Described { words: words.to_vec(), options: vec![], required: vec![], optional: vec![] };
    let mut section = "";
    for line in help.lines() {
        if !line.starts_with(' ') {
            section = line;
            continue;
        }
        let mut parts = line.trim_start_matches(' ').split_ascii_whitespace();
        let Some(mut first) = parts.next().filter(|_| line.len() - line.trim_start().len() <= 6) else {
            continue;
        };
        match section {
            "Commands:" if first != "help" && line.starts_with("  ") && !line.starts_with("   ") => {
                described(&[words, &[first.to_owned()]].concat(), found);
            }
            "Arguments:" if first.starts_with('<') => command.required.push(first.to_owned()),
            "Arguments:" if first.starts_with('[') => command.optional.push(first.to_owned()),
            "Options:" if first.starts_with('-') => {
                if first.ends_with(',') {
                    first = parts.next().unwrap_or_default();
                }
                if parts.next().is_some_and(|value| value.starts_with('<')) {
                    command.options.push(first.to_owned());
                }
            }
            _ => {}
        }
    }
    found.push(command);
}

/// What a command needs beside a hostile word to come to its end, soon and without a network.
fn beside(words: &[String], option: &str, taken: &str) -> Vec<String> {
    let more: &[&str] = match words.join(" ").as_str() {
        "demo" if option != "--jobs" => &["--jobs", "1"],
        "serve" if option != "--listen" => &["--listen", taken],
        "measure overheads" if option != "--on" => &["--on", "rtos"],
        "evaluate chapter-6" | "evaluate chapter-7" | "evaluate chapter-8" => {
            let small = &["--sets=1", "--scale=1000", "--wss-kib=4", "--share=color", "--out=evaluated"];
            let clash = small.iter().position(|word| word.split('=').next() == Some(option));
            return small
                .iter()
                .enumerate()
                .filter(|(at, _)| Some(*at) != clash)
                .map(|(_, word)| (*word).to_owned())
                .collect();
        }
        "prove" => &["--jsonl"],
        "sweep" if option != "--set" => &["--set", "seed=1..2"],
        _ => &[],
    };
    more.iter().map(|&word| word.to_owned()).collect()
}

/// Whatever is said where a command takes a word, it is shown written out, and so is the reason why it is refused.
#[test]
fn no_word_of_a_command_line_acts_on_a_terminal() {
    let home = tempfile::tempdir().unwrap();
    let nowhere = home.path().join("empty");
    fs::create_dir(&nowhere).unwrap();
    let file = scenario(home.path(), &CALM.replace("jobs = 20", "jobs = 2"));
    let run = home.path().join("run");
    let made = solo().args(["run", path(&file), "--out", path(&run)]).output().unwrap();
    assert_eq!(made.status.code(), Some(0), "{}", said(&made));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = listener.local_addr().unwrap().to_string();
    let mut commands = Vec::new();
    described(&[], &mut commands);
    let raw = OsStr::from_bytes(&[HOSTILE.as_bytes(), b"\xff"].concat()).to_owned();
    let (mut tried, mut wrong) = (0, Vec::new());
    for command in commands.iter().filter(|command| !command.words.is_empty()) {
        let none = String::new();
        for option in command.options.iter().chain([&none]) {
            // As text with what is required, colored with all there is, as no text, and beside what is right.
            for way in 0..4 {
                let word = if way == 2 { raw.clone() } else { HOSTILE.into() };
                let right = |name: &String| match name.trim_matches(['<', '>', '[', ']', '.']) {
                    "SCENARIO" => file.clone().into(),
                    "RUN" | "A" | "B" => run.clone().into(),
                    "PLATFORM" => "ideal-8".into(),
                    "TOOL" => "rt-app".into(),
                    _ => word.clone(),
                };
                // What is all right would be measured, for minutes.
                let writes = ["--out", "--save", "--plots", "--platform"].contains(&option.as_str());
                if way == 3 && (option.is_empty() || command.words[0] == "measure" && writes) {
                    continue;
                }
                let mut words: Vec<std::ffi::OsString> = command.words.iter().map(Into::into).collect();
                words.extend(beside(&command.words, option, &taken).into_iter().map(Into::into));
                if !option.is_empty() {
                    words.extend([option.into(), word.clone()]);
                }
                words.extend(
                    command.required.iter().map(|name| if way == 3 { right(name) } else { word.clone() }),
                );
                match way {
                    1 => words.extend(command.optional.iter().map(|_| word.clone())),
                    3 => words
                        .extend(command.optional.iter().filter(|name| name.contains("PLATFORM")).map(right)),
                    _ => {}
                }
                let mut child = solo();
                // No other program is found: nothing is started, no host is called.
                child.current_dir(home.path()).env("PATH", &nowhere).stdin(Stdio::null()).args(&words);
                if way == 1 {
                    child.env_remove("NO_COLOR").env("CLICOLOR_FORCE", "1");
                }
                let output = child.output().unwrap();
                wrong.extend(faults(&words, &output));
                tried += 1;
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(commands.len() > 35 && tried > 500, "{} commands, {tried} tries", commands.len());
}

/// What is wrong with what a command printed; nothing where it printed text that no terminal acts on, in plain words.
fn faults(words: &[std::ffi::OsString], output: &Output) -> Vec<String> {
    let text = said(output);
    let mut found = Vec::new();
    if output.status.code().is_none_or(|code| code == 101) {
        found.push(format!("{words:?}: {}: {text}", output.status));
    }
    let raw = ["\u{1b}[35", "\u{1b}]", "\u{7}", "\u{202e}", "\u{9b}", "\r", "\nerror: forged"];
    // Names that the standard library has for kinds of errors.
    for part in raw.into_iter().chain(["entity not found", "entity already"]) {
        if text.contains(part) {
            found.push(format!("{words:?} prints {part:?}: {text:?}"));
        }
    }
    let bytes = [&output.stdout[..], &output.stderr[..]].concat();
    if std::str::from_utf8(&bytes).is_err() {
        found.push(format!("{words:?} prints what is no text"));
    }
    found
}
