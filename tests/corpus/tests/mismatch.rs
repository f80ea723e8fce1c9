//! A run that is not what a case expects is told apart, and told well.

use solo_corpus::ideal::{IdealOptions, run};
use solo_corpus::{Allowance, Case};
use solo_model::{Duration, Instant, Record};

const CASE: &str = r#"
shows = "A test."
source = "here"
cores = 1
policy = "P-RM"
horizon = "12ms"
[[task]]
name = "T1"
period = "10ms"
steps = ["2ms"]
[[task]]
name = "T2"
period = "20ms"
steps = ["3ms"]
[expect]
schedule = ["0: 0-2ms T1, 2-4.5ms T2, 10-12ms T1"]
misses = ["T2#0"]
responses = { T2 = "4ms" }
preemptions = 1
"#;

#[test]
fn every_difference_is_named_and_the_schedules_stand_side_by_side() {
    let case = Case::parse("test", CASE).expect("a case");
    let records = run(&case.experiment(), &IdealOptions::default()).expect("admitted").records;
    let mismatch = case.check(&records).expect_err("T2 runs until 5 ms");
    let expected = "\
test: A test.
  missed deadlines: expected T2#0, observed none
  longest response of T2: expected 4ms, observed 5ms
  preemptions: expected 1, observed 0
  the schedule differs
  core 0
    expected                                observed
           0ns -        2ms  T1                    0ns -        2ms  T1
  *        2ms -      4.5ms  T2                    2ms -        5ms  T2
          10ms -       12ms  T1                   10ms -       12ms  T1
";
    let trimmed: Vec<_> = mismatch.to_string().lines().map(|line| line.trim_end().to_owned()).collect();
    assert_eq!(trimmed.join("\n") + "\n", expected);
}

#[test]
fn a_tolerance_forgives_that_much_and_no_more() {
    let text = CASE.replace("misses = [\"T2#0\"]", "").replace("preemptions = 1", "");
    let case = Case::parse("test", &text).expect("a case");
    let records = run(&case.experiment(), &IdealOptions::default()).expect("admitted").records;
    assert_eq!(case.check_within(&records, Duration::from_millis(1)), Ok(()));
    assert!(case.check_within(&records, Duration::from_micros(999)).is_err(), "the response is 1 ms off");
}

#[test]
fn a_case_with_a_slip_is_refused() {
    let slips = [
        ("cores = 1", "cores = 1\ncolour = 3", "unknown field"),
        ("policy = \"P-RM\"", "policy = \"P-RN\"", "not a policy"),
        ("steps = [\"3ms\"]", "steps = [\"lock R\"]", "no lock is called `R`"),
        ("steps = [\"3ms\"]", "steps = [\"3\"]", "not a step"),
        ("10-12ms T1", "10-12ms T9", "no task is called `T9`"),
        ("0: 0-2ms", "7: 0-2ms", "core 7"),
        ("cores = 1", "cores = 100", "64 cores"),
        ("T2#0", "T2", "not a job"),
        ("period = \"20ms\"", "", "needs a period"),
    ];
    for (good, bad, message) in slips {
        let error = Case::parse("test", &CASE.replace(good, bad)).expect_err(bad).to_string();
        assert!(error.contains(message), "{bad}: {error}");
    }
}

#[test]
fn times_count_from_the_start_of_the_run() {
    let text = CASE
        .replace("misses = [\"T2#0\"]", "")
        .replace("preemptions = 1", "")
        .replace("4.5ms", "5ms")
        .replace("\"4ms\"", "\"5ms\"");
    let case = Case::parse("test", &text).expect("a case");
    let mut records = run(&case.experiment(), &IdealOptions::default()).expect("admitted").records;
    assert_eq!(case.check(&records), Ok(()));
    let late = Duration::from_secs(3);
    for record in &mut records {
        match record {
            Record::Switch(switch) => switch.at += late,
            Record::Unfinished(job) => job.deadline = job.deadline.map(|deadline| deadline + late),
            _ => {}
        }
    }
    let allowance = Allowance { origin: Instant::ZERO + late, ..Allowance::default() };
    assert_eq!(case.check_with(&records, &allowance), Ok(()));
    assert!(case.check(&records).is_err());
}
