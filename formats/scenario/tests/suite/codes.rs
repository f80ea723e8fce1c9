//! Each code of the register is said about some file: one of `tests/wrong`, or one made here because it is large, of another
//! kind, or only warned about.

use crate::wrong::files;
use solo_scenario::{
    Code, Diagnostics, Platforms, load, load_device, parse, parse_overheads, parse_platform, parse_rt_app,
};
use std::collections::BTreeSet;
use std::path::Path;

/// The codes of a report, or of the warnings where there is none.
fn said<T>(read: Result<T, Diagnostics>, warnings: impl Fn(&T) -> Vec<Code>) -> Vec<Code> {
    match read {
        Ok(read) => warnings(&read),
        Err(report) => report.problems().iter().map(|problem| problem.code()).collect(),
    }
}

fn of_scenario(text: &str, path: &Path) -> Vec<Code> {
    let warnings =
        |scenario: &solo_scenario::Scenario| scenario.warnings.iter().map(|warning| warning.code()).collect();
    said(parse(text, path, &Platforms::builtin()), warnings)
}

fn of_platform(text: &str) -> Vec<Code> {
    said(parse_platform(text, "chip.toml"), |_| Vec::new())
}

fn of_rt_app(thread: &str) -> Vec<Code> {
    let text = format!("{{\"tasks\":{{\"t\":{{{thread}}}}}}}");
    let read = parse_rt_app(&text, Path::new("made.json"), "ideal-8", &Platforms::builtin());
    said(read, |imported| imported.notes.iter().map(|note| note.code()).collect())
}

/// A sound scenario with `top` among its first lines and `rest` after its only task.
fn scenario(platform: &str, top: &str, work: &str, rest: &str) -> String {
    format!(
        "name = \"made\"\nplatform = \"{platform}\"\njobs = 1\n{top}\n[scheduler]\npolicy = \"P-EDF\"\n[[task]]\n\
         name = \"control\"\nclass = \"hard\"\ncore = 0\nperiod = \"1s\"\nwork = [{work}]\n{rest}\n"
    )
}

fn made() -> Vec<(Code, Vec<Code>)> {
    let here = Path::new("made.toml");
    let ideal = std::fs::read_to_string("../../platforms/ideal-8.toml").expect("it is there");
    let chip = |from: &str, to: &str| {
        assert!(ideal.contains(from), "{from}");
        of_platform(&ideal.replacen(from, to, 1))
    };
    let plain = |top: &str, work: &str, rest: &str| of_scenario(&scenario("ideal-8", top, work, rest), here);
    let keys: String = (0..=10_000).map(|key| format!("key{key} = 1\n")).collect();
    let variants: String = (0..=100).map(|number| format!("[[variant]]\nname = \"v{number}\"\n")).collect();
    let steps = "{ compute = \"1us\" }, ".repeat(1_000);
    let many = scenario("ideal-8", "", &steps, "").replace("core = 0", "core = 0\ncopies = 10000");
    let folder = tempfile::tempdir().expect("a folder");
    let large = folder.path().join("large.toml");
    std::fs::File::create(&large).and_then(|file| file.set_len((16 << 20) + 1)).expect("a hole of 16 MiB");
    let overheads = "name = \"x\"\nrelease = [{ threads = 25, cost = \"1ns @A\" }, { threads = 0, cost = \"1ns @A\" }]\n\
                     [sources]\nA = \"made\"\n";
    let colors = "[isolation.colors]\ncontrol = \"0-3\"";
    let hashed = scenario("i7-2600", "", "{ sweep = \"1MiB\" }", colors);
    vec![
        (Code::Cores, chip("smt   = \"1 @D\"", "smt   = \"3 @D\"")),
        (Code::PowerOfTwo, chip("page   = \"4KiB @D\"", "page   = \"5KiB @D\"")),
        (Code::Steps, said(parse_overheads(overheads, "costs.toml"), |_| Vec::new())),
        (Code::UnknownDevice, said(load_device("ddr3-1600"), |_| Vec::new())),
        (Code::Row, plain("", "{ rows = \"32KiB\", row = \"100B\", stride = \"4B\" }", "")),
        (Code::NoPrefetcher, plain("prefetcher = \"on\"", "", "")),
        (
            Code::UnusedKey,
            of_scenario(
                &scenario("ideal-8", "", "", "").replace("\"P-EDF\"", "\"P-EDF\"\nclusters = 2"),
                here,
            ),
        ),
        (Code::Ineffective, of_scenario(&hashed, here)),
        (Code::TooMany, plain("", "", &keys)),
        (Code::TooManyVariants, plain("", "", &variants)),
        (Code::TooManySteps, of_scenario(&many, here)),
        (Code::NoCounterpart, of_rt_app("\"run\":1,\"barrier\":\"all\"")),
        (Code::Differs, of_rt_app("\"run\":1,\"sleep\":1")),
        (Code::FileTooLarge, said(load(&large, &Platforms::builtin()), |_| Vec::new())),
    ]
}

#[test]
fn every_code_of_the_register_is_said_about_some_file() {
    let mut seen = BTreeSet::new();
    for path in files("tests/wrong") {
        seen.extend(of_scenario(&std::fs::read_to_string(&path).expect("a text"), &path));
    }
    for path in files("tests/wrong/platforms") {
        seen.extend(of_platform(&std::fs::read_to_string(&path).expect("a text")));
    }
    for (code, said) in made() {
        assert!(said.contains(&code), "meant to show {code}, got {said:?}");
        assert!(!seen.contains(&code), "{code} has a file in tests/wrong now: it need not be made here");
        seen.extend(said);
    }
    let silent: Vec<_> = Code::ALL.iter().filter(|code| !seen.contains(code)).collect();
    assert!(silent.is_empty(), "no wrong file shows {silent:?}");
}
