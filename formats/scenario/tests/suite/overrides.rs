//! What a caller lays over a file is checked as if it stood there.

use solo_model::experiment::End;
use solo_scenario::{Choice, Diagnostics, Overrides, Platforms, Scenario, parse_with};
use std::path::Path;

const SLOW: &str = r#"
name = "slow"
platform = "xeon-w3530"
duration = "1s"
seed = 7
[scheduler]
policy = "P-EDF"
[[task]]
name = "control"
class = "hard"
core = 0
period = "10000s"
work = [{ compute = "1ms" }]
[[variant]]
name = "quick"
task.control.period = "10ms"
[[variant]]
name = "without"
jobs = 5
task.control.period = "1s"
"#;

fn read(overrides: &Overrides) -> Result<Scenario, Diagnostics> {
    parse_with(SLOW, Path::new("slow.toml"), &Platforms::builtin(), overrides)
}

fn jobs(jobs: u64, of: Choice) -> Overrides {
    Overrides { jobs: Some(jobs), of, ..Overrides::default() }
}

#[test]
fn the_same_number_is_refused_in_the_file_and_over_it() {
    let written = SLOW.replace("duration = \"1s\"", "jobs = 1000000");
    let platforms = Platforms::builtin();
    let in_file = solo_scenario::parse(&written, Path::new("slow.toml"), &platforms).expect_err("too long");
    let over = read(&jobs(1_000_000, Choice::Base)).expect_err("too long");
    assert_eq!(in_file.problems().len(), 1, "{in_file}");
    assert_eq!(over.problems().len(), 1, "{over}");
    let (in_file, over) = (&in_file.problems()[0], &over.problems()[0]);
    assert_eq!(over.code(), in_file.code());
    assert_eq!(over.to_json()["message"], in_file.to_json()["message"]);
    assert_eq!(over.file().name(), "command line");
    assert_eq!(over.file().text(), "--jobs 1000000");
    assert_eq!(over.file().slice(over.span()), "1000000");
}

#[test]
fn the_place_of_a_second_value_is_found() {
    let overrides = Overrides { seed: Some(3), jobs: Some(0), of: Choice::Base };
    let report = read(&overrides).expect_err("no jobs");
    let problem = &report.problems()[0];
    assert_eq!((problem.code().name(), problem.file().text()), ("zero", "--seed 3 --jobs 0"));
    assert_eq!(problem.file().slice(problem.span()), "0");
}

#[test]
fn seeds_have_the_files_range() {
    let seed = |seed| read(&Overrides { seed: Some(seed), ..Overrides::default() });
    assert_eq!(seed(i64::MAX as u64).expect("the largest").base.seed, i64::MAX as u64);
    for wrong in [i64::MAX as u64 + 1, u64::MAX] {
        let report = seed(wrong).expect_err("a file can't have it");
        assert_eq!(report.problems()[0].code().name(), "out_of_range");
    }
}

#[test]
fn only_what_is_meant_changes() {
    let quick = read(&jobs(40, Choice::Named(vec!["quick".into()]))).expect("sound");
    assert_eq!(quick.base.end, End::At(solo_model::Duration::new(1_000_000_000)));
    assert_eq!(quick.variants[0].end, End::Jobs(40));
    assert_eq!(quick.variants[1].end, End::Jobs(5));
    let all = read(&jobs(40, Choice::Variants)).expect("the scenario as it stands is not meant");
    assert!(all.variants.iter().all(|variant| variant.end == End::Jobs(40)));
    assert_eq!(all.base.end, quick.base.end);
    // 40 jobs of 10,000 seconds are more than the clock holds only from a few hundred thousand on.
    assert_eq!(read(&jobs(40, Choice::Base)).expect("sound").base.end, End::Jobs(40));
    assert!(read(&jobs(1_000_000, Choice::Named(vec!["quick".into()]))).is_ok());
}

#[test]
fn nothing_laid_over_changes_nothing() {
    let plain = solo_scenario::parse(SLOW, Path::new("slow.toml"), &Platforms::builtin()).expect("sound");
    let over = read(&Overrides::default()).expect("sound");
    assert_eq!((plain.base, plain.variants), (over.base, over.variants));
}
