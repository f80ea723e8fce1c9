//! Every case of `/corpus` on the ideal machine.

use solo_corpus::ideal::{IdealOptions, run};
use solo_hal::Faults;
use solo_model::{CoreSet, Duration, Instant, Record};

#[test]
fn the_kernel_keeps_every_case() {
    let cases = solo_corpus::load_folder(&solo_corpus::folder()).unwrap_or_else(|error| panic!("{error}"));
    assert!(cases.len() >= 25, "only {} cases", cases.len());
    let mut failures = String::new();
    for case in &cases {
        match run(&case.experiment(), &IdealOptions::default()) {
            Ok(run) => {
                if let Err(mismatch) = case.check(&run.records) {
                    failures += &mismatch.to_string();
                }
            }
            Err(error) => failures += &format!("{}: {error}\n", case.name),
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

/// Runs every case on a machine that misbehaves: whatever comes out is in order and nothing is lost or done twice.
/// Returns how many cases did not come out as on a sound machine.
fn with(faults: Faults) -> usize {
    let cases = solo_corpus::load_folder(&solo_corpus::folder()).unwrap_or_else(|error| panic!("{error}"));
    let options = IdealOptions { faults, ..IdealOptions::default() };
    let mut disturbed = 0;
    for case in &cases {
        let run = run(&case.experiment(), &options).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        let mut last = Instant::ZERO;
        let mut next = vec![0; case.experiment().tasks.len()];
        for record in &run.records {
            assert!(record.at() >= last, "{}: {record:?} after {last:?}", case.name);
            last = record.at();
            let Record::Job(job) = record else { continue };
            assert!(job.release <= job.start && job.start <= job.finish, "{}: {job:?}", case.name);
            let expected = &mut next[job.task.index()];
            assert_eq!(job.job.0, *expected, "{}: {job:?}", case.name);
            *expected += 1;
        }
        disturbed += usize::from(case.check(&run.records).is_err());
    }
    disturbed
}

#[test]
fn late_timers_delay_and_break_nothing() {
    let lateness = Duration::from_micros(137);
    assert!(with(Faults { late_timers: CoreSet::first(8), lateness, ..Faults::default() }) > 20);
}

#[test]
fn lost_reschedule_requests_delay_and_break_nothing() {
    assert!(with(Faults { lost_requests: CoreSet::first(8), ..Faults::default() }) > 3);
}

#[test]
fn lost_overflows_and_a_lost_interrupt_break_nothing() {
    assert!(with(Faults { lost_overflows: CoreSet::first(8), ..Faults::default() }) > 0);
    assert!(with(Faults { lost_interrupt: Some(2), ..Faults::default() }) > 3);
}
