//! Requests that are read from a text: what is said has its place, what is not said is open, and what a command line says is
//! one of them.

use solo_model::experiment::End;
use solo_plan::{Defaults, EndWish, Fault, IsolationWish, ReleaseWish, Request, Said, TextRange, plan};
use solo_scenario::{Choice, Overrides, Platforms, parse, requests};
use std::ops::Range;
use std::path::{Path, PathBuf};

const TEXT: &str = r#"
name = "two"
platform = "xeon-w3530"
jobs = 10
[scheduler]
policy = "P-RM"
[[task]]
name = "frame"
class = "hard"
core = 1
period = "20ms"
deadline = "13ms"
colors = "0-3"
work = [{ sweep = "64KiB" }]
[[task]]
name = "screen"
class = "best-effort"
core = 2
work = [{ compute = "300us" }]
[isolation.bandwidth]
cores = { 1 = "300MB/s" }
[isolation.lockdown]
frame = 2
[[variant]]
name = "longer"
task.frame.period = "40ms"
"#;

fn read(overrides: &Overrides) -> Vec<Request> {
    requests(TEXT, Path::new("two.toml"), &Platforms::builtin(), overrides).unwrap_or_else(|r| panic!("{r}"))
}

fn shown(place: TextRange) -> &'static str {
    &TEXT[Range::from(place)]
}

#[test]
fn what_is_said_has_its_place_and_the_rest_is_open() {
    let requests = read(&Overrides::default());
    let [base, longer] = requests.as_slice() else { panic!("two of them") };
    let frame = &base.tasks[0];
    assert_eq!(shown(frame.name.at), "\"frame\"");
    assert_eq!(frame.deadline.wish().map(|wish| shown(wish.at)), Some("\"13ms\""));
    assert_eq!(frame.core.wish().map(|wish| shown(wish.at)), Some("1"));
    assert_eq!(frame.colors.as_ref().map(|wish| (shown(wish.at), wish.value.len())), Some(("\"0-3\"", 4)));
    assert_eq!(base.end.wish().map(|wish| (wish.value, shown(wish.at))), Some((EndWish::Jobs(10), "10")));
    let period = |request: &Request| match request.tasks[0].release {
        Some(ReleaseWish::Periodic(wish)) => shown(wish.at),
        _ => panic!("it is periodic"),
    };
    assert_eq!((period(base), period(longer)), ("\"20ms\"", "\"40ms\""));
    // Nothing is decided.
    assert!(base.seed.is_nothing() && base.sample.is_nothing() && frame.wcet.is_nothing());
    assert_eq!(base.tasks[1].release, None);
    let IsolationWish::By(mechanisms) = &base.isolation else { panic!("it is on") };
    let bandwidth = mechanisms.bandwidth.value().expect("wished");
    assert_eq!((bandwidth.counted, bandwidth.period, bandwidth.guaranteed), (None, None, None));
    let pages = &mechanisms.lockdown.as_ref().expect("wished").pages;
    assert_eq!((shown(pages[0].name.at), pages[0].wish.value), ("frame", 2));
}

#[test]
fn what_a_command_line_says_is_a_wish_before_anything_is_decided() {
    let overrides = Overrides { jobs: Some(400), seed: Some(7), of: Choice::Variants };
    let requests = read(&overrides);
    assert_eq!(requests[0].end.value(), Some(&EndWish::Jobs(10)), "not meant");
    assert_eq!(requests[1].end.value(), Some(&EndWish::Jobs(400)));
    let seed = requests[1].seed.wish().expect("laid over");
    assert_eq!(seed.value, 7);
    assert!(seed.at.begin > TEXT.len(), "behind the end of the text");
    let planned = plan(&requests[1], &Defaults).expect("it is whole").experiment;
    assert_eq!((planned.seed, planned.end), (7, End::Jobs(400)));
}

#[test]
fn a_request_can_be_changed_and_planned_again() {
    let mut request = read(&Overrides::default()).swap_remove(0);
    let before = plan(&request, &Defaults).expect("it is whole").experiment;
    request.tasks[0].deadline = Said::Nothing;
    let after = plan(&request, &Defaults).expect("it is whole").experiment;
    assert_eq!(after.tasks[0].deadline, None);
    assert_eq!(after.tasks[1..], before.tasks[1..]);
    let IsolationWish::By(mechanisms) = &mut request.isolation else { panic!("it is on") };
    mechanisms.lockdown.as_mut().expect("wished").pages[0].wish.value = 1_000;
    let refused = plan(&request, &Defaults).expect_err("more than it has");
    assert!(matches!(refused.objections[0].fault, Fault::Locking { .. }), "{refused:?}");
}

/// The scenarios that come with the program.
fn scenarios() -> Vec<PathBuf> {
    let folder = std::fs::read_dir("../../scenarios").expect("the folder is there");
    let paths = folder.map(|entry| entry.expect("the folder is readable").path());
    let mut files: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|e| e == "toml")).collect();
    files.sort();
    files
}

#[test]
fn every_shipped_scenario_is_planned_as_it_is_run() {
    let (files, platforms) = (scenarios(), Platforms::builtin());
    assert!(files.len() >= 4, "{} files", files.len());
    for path in files {
        let text = std::fs::read_to_string(&path).expect("a text");
        let scenario = parse(&text, &path, &platforms).unwrap_or_else(|report| panic!("{report}"));
        let requests = requests(&text, &path, &platforms, &Overrides::default()).expect("sound");
        let plans = requests.iter().map(|request| plan(request, &Defaults).expect("sound"));
        let (planned, why): (Vec<_>, Vec<_>) = plans.map(|plan| (plan.experiment, plan.rationale)).unzip();
        assert_eq!(planned[0], scenario.base, "{}", path.display());
        assert_eq!(planned[1..], scenario.variants, "{}", path.display());
        assert_eq!(why, scenario.rationales, "{}", path.display());
    }
}
