//! Files that are no text, too large, absent, or huge in another way.

use solo_scenario::{Code, Diagnostics, Platforms, load, parse, render};
use std::fmt::Write;
use std::path::Path;

fn codes(report: &Diagnostics) -> Vec<Code> {
    report.problems().iter().map(|problem| problem.code()).collect()
}

fn written(bytes: &[u8]) -> Diagnostics {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("scenario.toml");
    std::fs::write(&path, bytes).expect("written");
    load(&path, &Platforms::builtin()).expect_err("it is wrong")
}

#[test]
fn an_absent_file_is_named() {
    let report = load(Path::new("nowhere/at-all.toml"), &Platforms::builtin()).expect_err("no such file");
    assert_eq!(codes(&report), [Code::File]);
    assert!(
        report.to_string().contains("cannot read nowhere/at-all.toml: no such file or folder"),
        "{report}"
    );
}

#[test]
fn a_folder_is_no_scenario() {
    let report = load(Path::new("tests"), &Platforms::builtin()).expect_err("a folder");
    assert_eq!(codes(&report), [Code::File]);
}

#[test]
fn what_is_no_text_is_said_to_be_none() {
    let report = written(b"name = \"a\"\nplatform = \"\xff\xfe\"\n");
    assert!(report.to_string().contains("it is not UTF-8 text (line 2)"), "{report}");
}

#[test]
fn a_file_above_16_mib_is_refused_unread() {
    let report = written(&vec![b'#'; (16 << 20) + 1]);
    assert_eq!(codes(&report), [Code::FileTooLarge]);
}

#[test]
fn a_hundred_thousand_tasks_are_refused_with_their_number() {
    let mut text =
        String::from("name = \"many\"\nplatform = \"ideal-8\"\njobs = 1\n[scheduler]\npolicy = \"G-EDF\"\n");
    for task in 0..100_000 {
        let line = "class = \"hard\"\nperiod = \"1s\"\nwork = []\n";
        writeln!(text, "[[task]]\nname = \"t{task}\"\n{line}").expect("a string");
    }
    let report = parse(&text, Path::new("many.toml"), &Platforms::builtin()).expect_err("too many");
    assert_eq!(codes(&report), [Code::TooManyTasks]);
    assert!(report.to_string().contains("more than 10000 tasks"), "{report}");
}

#[test]
fn ten_thousand_tasks_are_accepted() {
    let text = "name = \"many\"\nplatform = \"ideal-8\"\njobs = 1\n[scheduler]\npolicy = \"G-EDF\"\n\
                [[task]]\nname = \"t\"\nclass = \"hard\"\nperiod = \"1s\"\ncopies = 10000\nwork = []\n";
    let scenario =
        parse(text, Path::new("many.toml"), &Platforms::builtin()).unwrap_or_else(|r| panic!("{r}"));
    assert_eq!(scenario.base.tasks.len(), 10_000);
    assert_eq!(scenario.base.tasks[9_999].name, "t-9999");
}

#[test]
fn copies_of_long_work_are_refused_before_they_are_made() {
    let steps = "{ compute = \"1us\" }, ".repeat(1_000);
    let text = format!(
        "name = \"many\"\nplatform = \"ideal-8\"\njobs = 1\n[scheduler]\npolicy = \"G-EDF\"\n\
         [[task]]\nname = \"t\"\nclass = \"hard\"\nperiod = \"1s\"\ncopies = 10000\nwork = [{steps}]\n"
    );
    let report = parse(&text, Path::new("many.toml"), &Platforms::builtin()).expect_err("too many");
    assert_eq!(codes(&report), [Code::TooManySteps]);
}

#[test]
fn a_thousand_errors_fill_no_more_than_a_few_screens() {
    let mut text = String::from("name = \"many\"\n");
    for key in 0..1_000 {
        writeln!(text, "key{key} = 1").expect("a string");
    }
    let report = parse(&text, Path::new("many.toml"), &Platforms::builtin()).expect_err("wrong");
    let shown = report.to_string();
    assert!(shown.lines().count() < 120, "{} lines", shown.lines().count());
    assert!(shown.contains("more"), "{shown}");
}

#[test]
fn a_line_without_end_is_not_quoted() {
    let text = format!("name = \"{}\"\nperido = 1\n", "x".repeat(100_000));
    let report = parse(&text, Path::new("long.toml"), &Platforms::builtin()).expect_err("wrong");
    let shown = report.to_string();
    assert!(shown.len() < 10_000, "{} characters", shown.len());
    assert!(shown.contains("long.toml, line 2, column 1"), "{shown}");
}

#[test]
fn what_is_probably_not_meant_is_a_warning() {
    let text = "name = \"w\"\nplatform = \"ideal-8\"\njobs = 1\n[scheduler]\npolicy = \"G-EDF\"\nclusters = 2\n\
                [[task]]\nname = \"t\"\nclass = \"hard\"\nperiod = \"1s\"\nwork = []\n";
    let scenario = parse(text, Path::new("w.toml"), &Platforms::builtin()).unwrap_or_else(|r| panic!("{r}"));
    let codes: Vec<_> = scenario.warnings.iter().map(|warning| warning.code()).collect();
    assert_eq!(codes, [Code::UnusedKey]);
    let shown = render(&scenario.warnings, solo_scenario::Style::Plain, 100);
    assert!(shown.contains("warning: `clusters` has no effect under G-EDF"), "{shown}");
}

#[test]
fn an_order_of_cores_without_effect_is_a_warning_and_one_with_effect_is_read() {
    let read = |platform: &str, policy: &str, cores: &str| {
        let text = format!(
            "name = \"w\"\nplatform = \"{platform}\"\njobs = 1\n[scheduler]\npolicy = \"{policy}\"\ncores = \"{cores}\"\n\
             [[task]]\nname = \"t\"\nclass = \"hard\"\ncore = 0\nperiod = \"1s\"\nwork = []\n"
        );
        parse(&text, Path::new("w.toml"), &Platforms::builtin())
    };
    for (platform, policy, why) in [
        ("ideal-8", "G-EDF", "all cores are equally fast"),
        ("juno", "P-EDF", "each job has one core"),
        ("juno", "G-FCFS", "jobs stay where they are until they end"),
    ] {
        let scenario = read(platform, policy, "fastest-first").unwrap_or_else(|r| panic!("{r}"));
        let shown = render(&scenario.warnings, solo_scenario::Style::Plain, 100);
        assert!(shown.contains(why) && scenario.warnings.len() == 1, "{shown}");
        assert!(read(platform, policy, "any").unwrap_or_else(|r| panic!("{r}")).warnings.is_empty());
    }
    let first = read("juno", "G-EDF", "fastest-first").unwrap_or_else(|r| panic!("{r}"));
    assert!(first.warnings.is_empty() && first.base.policy.fastest_first);
    let wrong = read("juno", "G-EDF", "slowest-first").expect_err("no such order").to_string();
    assert!(wrong.contains("fastest-first") && wrong.contains("w.toml:6:9"), "{wrong}");
}

/// SCE 2.3: the pages of a recorded program that are locked are those that it accessed most.
#[test]
fn pages_of_a_recording_are_locked_by_their_recorded_accesses() {
    let text = r#"
name = "locked"
platform = "xeon-w3530"
jobs = 1
[scheduler]
policy = "P-RM"
[[task]]
name = "gzip"
class = "hard"
core = 0
period = "100ms"
work = [{ replay = "recordings/gzip.trace", accesses = 100_000 }]
[isolation.lockdown]
gzip = 12
"#;
    let path = Path::new("../../scenarios/locked.toml");
    let scenario = parse(text, path, &Platforms::builtin()).expect("it is sound");
    let locked = scenario.base.isolation.lockdown.expect("pages are locked").pages;
    let (_, image) =
        solo_trace::load(Path::new("../../scenarios/recordings/gzip.trace")).expect("it is there");
    let counts = image.accesses_by_page();
    let mut ranked: Vec<u64> = (0..counts.len() as u64).collect();
    ranked.sort_by_key(|&page| (std::cmp::Reverse(counts[page as usize]), page));
    let pages: Vec<u64> = locked.iter().map(|locked| locked.page).collect();
    assert_eq!(pages, ranked[..12]);
    assert_ne!(pages, (0..12).collect::<Vec<_>>(), "not simply the first");
}

/// Offsets count, too: what a message offers is accepted, and one more is not.
#[test]
fn as_many_jobs_as_a_message_offers_are_accepted() {
    let read = |jobs: u64| {
        let text = format!(
            "name = \"long\"\nplatform = \"ideal-8\"\njobs = {jobs}\n[scheduler]\npolicy = \"G-EDF\"\n\
             [[task]]\nname = \"slow\"\nclass = \"hard\"\nperiod = \"10s\"\nwork = []\n\
             [[task]]\nname = \"late\"\nclass = \"hard\"\nperiod = \"1s\"\noffset = \"4000000s\"\nwork = []\n"
        );
        parse(&text, Path::new("long.toml"), &Platforms::builtin())
    };
    let report = read(1_000_000).expect_err("too long");
    assert_eq!(codes(&report), [Code::TooLong]);
    let expected = report.to_json()[0]["expected"].as_str().expect("a text").to_owned();
    let most: u64 = expected.split(' ').nth(2).and_then(|word| word.parse().ok()).expect("a number");
    assert_eq!(most, 320_000, "{expected}");
    assert!(read(most).is_ok());
    assert_eq!(codes(&read(most + 1).expect_err("one too many")), [Code::TooLong]);
}

/// No step is longer than a machine's clock, and the message points at it.
#[test]
fn steps_longer_than_a_clock_are_refused_where_they_stand() {
    let read = |step: &str| {
        let text = format!(
            "name = \"long\"\nplatform = \"ideal-8\"\nduration = \"1s\"\n[scheduler]\npolicy = \"G-EDF\"\n\
             [[task]]\nname = \"slow\"\nclass = \"hard\"\nperiod = \"10s\"\nwork = [{step}]\n"
        );
        parse(&text, Path::new("long.toml"), &Platforms::builtin())
    };
    for step in [
        "{ compute = \"8640001s\" }",
        "{ compute = [\"1s\", \"9000000000000000ns\"] }",
        "{ sleep = \"9000000000000000ns\" }",
        "{ sweep = \"4KiB\", think = \"9000000000000000ns\" }",
        "{ repeat = 2, steps = [{ compute = \"18446744073709551615ns\" }] }",
    ] {
        let report = read(step).expect_err(step);
        assert_eq!(codes(&report), [Code::TooLong], "{step}");
        assert!(report.to_string().contains("100 days"), "{report}");
    }
    assert!(read("{ compute = \"8640000s\" }, { sleep = \"8640000s\" }").is_ok());
}
