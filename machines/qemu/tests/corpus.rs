//! The corpus on bare metal: the same files as on the ideal and the simulated machine.
//!
//! Twice: under the settled clock, where every record must equal the ideal machine's; and under the running
//! clock, where kernel paths take their time and schedules must agree within a tolerance.

mod common;

use common::Test;
use libtest_mimic::Failed;
use solo_corpus::{Case, folder, ideal, load_folder};
use solo_model::Duration;
use solo_qemu::{Accelerator, Clock, Image, Machine, Module, Options, Report};
use std::process::ExitCode;

/// How far begins and ends may lie from those of a machine whose kernel costs nothing: a dozen kernel paths in a
/// row, of one to three microseconds each.
const TOLERANCE: Duration = Duration::from_micros(50);

fn main() -> ExitCode {
    let cases = match load_folder(&folder()) {
        Ok(cases) => cases,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let mut tests: Vec<(String, Test)> = Vec::new();
    let mut exact = Vec::new();
    for case in cases {
        if case.exact {
            exact.push(case.name.clone());
        } else {
            let running = case.clone();
            let name = format!("running_clock::{}", case.name);
            tests.push((name, Box::new(move |image| agrees_within(&running, image))));
        }
        if case.cores > 1 {
            let parallel = case.clone();
            let name = format!("settled_clock_and_parallel_cores::{}", case.name);
            tests.push((name, Box::new(move |image| is_ideal(&parallel, image, Accelerator::Parallel))));
        }
        let name = format!("settled_clock::{}", case.name);
        tests.push((name, Box::new(move |image| is_ideal(&case, image, Accelerator::InstructionClock))));
    }
    println!(
        "skipped: {} corpus cases under the running clock: their outcome hangs on kernel paths that cost nothing: {}",
        exact.len(),
        exact.join(", ")
    );
    common::run("the corpus on bare metal", tests)
}

fn boot(case: &Case, image: &Image, clock: Clock, accelerator: Accelerator) -> Result<Report, Failed> {
    let instruction_clock = accelerator == Accelerator::InstructionClock;
    let options = Options { instruction_clock, clock, ..Options::default() };
    // Four cores that wait for each other on two busy ones of the host take their time.
    let limit = std::time::Duration::from_secs(180);
    let machine = Machine { accelerator, limit, ..Machine::default() }.with_cores(u8::try_from(case.cores)?);
    Ok(machine.run_module(image, &Module { options, experiment: Some(case.experiment()) })?)
}

/// Under the settled clock every decision, at every instant, is that of the ideal machine, whether emulated cores
/// run one after another or each in a thread of the host.
fn is_ideal(case: &Case, image: &Image, accelerator: Accelerator) -> Result<(), Failed> {
    let report = boot(case, image, Clock::Settled, accelerator)?;
    let ideal = ideal::run(&case.experiment(), &ideal::Options::default())?;
    for (position, (found, expected)) in report.records.iter().zip(&ideal.records).enumerate() {
        assert_eq!(found, expected, "record {position} of {}\n{}", case.name, report.console);
    }
    assert_eq!(report.records.len(), ideal.records.len(), "{}", case.name);
    case.check(&report.records)?;
    Ok(())
}

/// Under the running clock the schedule is the expected one but for the time that kernel paths take.
fn agrees_within(case: &Case, image: &Image) -> Result<(), Failed> {
    let report = boot(case, image, Clock::Running, Accelerator::InstructionClock)?;
    case.check_within(&report.records, TOLERANCE)?;
    Ok(())
}
