//! The corpus on bare metal: the same files as on the ideal and the simulated machine.
//!
//! Twice: under the settled clock, where every record must equal the ideal machine's; and under the running
//! clock, where kernel paths take their time and schedules must agree within a tolerance. Each with 1, 2, 4 and 8
//! cores: a machine runs all the cases that it has cores enough for, one after another in one boot.

mod common;

use common::Test;
use libtest_mimic::Failed;
use solo_corpus::{Allowance, Case, Need, folder, ideal, load_folder};
use solo_model::{Caps, Duration};
use solo_qemu::{Accelerator, BootOptions, BootReport, Clock, Image, Machine, Module};
use std::process::ExitCode;

/// How far begins and ends may lie from those of a machine whose kernel costs nothing: a dozen kernel paths in a
/// row, of one to three microseconds each, for each core: emulated cores run one after another, also where none waits for another
/// one's lock. Jobs that follow each other without a gap, as in an overloaded partition, add up what each ends late; and on 64-bit Arm
/// computing takes a hundredth longer than it should, of up to 5 ms here.
const TOLERANCE_PER_CORE: Duration = Duration::from_micros(15);
const LEAST_TOLERANCE: Duration = Duration::from_micros(60);
/// The same where budgets are: jobs compute 250 or 300 times for 10 us, and end up to one and a half microseconds late each time,
/// by how the emulator takes turns among cores (1.44 on four of x86-64). Jobs that are not stopped, or stopped for less than a
/// period, differ by milliseconds.
const BUDGET_TOLERANCE: Duration = Duration::from_micros(450);

/// More tasks than this are not run with a host thread for each of 8 cores.
const MANY_TASKS: usize = 100;

/// With host threads of their own more cores than the host has take their time.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(180);

fn main() -> ExitCode {
    let cases = match load_folder(&folder()) {
        Ok(cases) => cases,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let caps = |counters| Caps { counter_overflow: counters, ..ideal::caps(8) };
    report_skips(&cases, "under the settled clock", |case| case.lacks(&caps(false), true));
    report_skips(&cases, "under the running clock", |case| case.lacks(&caps(true), false));
    let skipped_by_the_ideal_machine =
        cases.iter().filter(|case| case.lacks(&caps(true), true).is_some()).count();
    assert_eq!(skipped_by_the_ideal_machine, 0, "the ideal and the simulated machine skip none");
    let many = cases.iter().filter(|case| case.cores > 4 && case.tasks.len() > MANY_TASKS);
    println!(
        "skipped: {} corpus cases with 8 host threads: so many tasks take minutes where these share few processors",
        many.count()
    );
    let settled: Vec<_> = cases.iter().filter(|case| case.lacks(&caps(false), true).is_none()).collect();
    let running: Vec<_> = cases.iter().filter(|case| case.lacks(&caps(true), false).is_none()).collect();
    let fitting = |cases: &[&Case], least: usize, cores: u8| -> Vec<Case> {
        let fits = |case: &&&Case| (least..=usize::from(cores)).contains(&case.cores);
        cases.iter().filter(fits).map(|&case| case.clone()).collect()
    };
    common::run_everywhere("the corpus on bare metal", |_| {
        let mut tests: Vec<(String, Test)> = Vec::new();
        for cores in [1, 2, 4, 8] {
            let clock = Accelerator::InstructionClock;
            let own = fitting(&settled, 1, cores);
            let name = format!("settled_clock::{cores}_cores_decide_as_the_ideal_machine");
            tests.push((name, Box::new(move |image| are_ideal(&own, image, clock, cores))));
            let own = fitting(&running, 1, cores);
            let name = format!("running_clock::{cores}_cores_keep_the_schedules");
            tests.push((name, Box::new(move |image| agree_within(&own, image, cores))));
            if cores > 1 {
                // Host threads that wait for each other on few processors are slow: each case once, where it fits.
                let mut own = fitting(&settled, usize::from(cores) / 2 + 1, cores);
                if cores == 8 {
                    own.retain(|case| case.tasks.len() <= MANY_TASKS);
                }
                let name =
                    format!("settled_clock_and_parallel_cores::{cores}_cores_decide_as_the_ideal_machine");
                tests.push((
                    name,
                    Box::new(move |image| are_ideal(&own, image, Accelerator::Parallel, cores)),
                ));
            }
        }
        tests
    })
}

/// Prints a line for each reason for which cases are skipped.
fn report_skips(cases: &[Case], how: &str, lacks: impl Fn(&Case) -> Option<Need>) {
    for need in [Need::FreeKernelPaths, Need::CountersThatInterrupt] {
        let names = cases.iter().filter(|case| lacks(case) == Some(need)).map(|case| case.name.as_str());
        let names: Vec<_> = names.collect();
        if !names.is_empty() {
            println!(
                "skipped: {} corpus cases on bare metal {how}: {need}: {}",
                names.len(),
                names.join(", ")
            );
        }
    }
}

/// Runs all cases in one boot.
fn boot(
    cases: &[Case],
    image: &Image,
    clock: Clock,
    accelerator: Accelerator,
    cores: u8,
) -> Result<Vec<BootReport>, Failed> {
    let instruction_clock = accelerator == Accelerator::InstructionClock;
    let module = |case: &Case| {
        // The emulator has no counters: a model is told what jobs touch. The overflow is a real interrupt.
        let modelled_counters = case.experiment().isolation.bandwidth.is_some();
        let options = BootOptions { instruction_clock, clock, modelled_counters, ..BootOptions::default() };
        Module { options, experiment: Some(case.experiment()) }
    };
    let machine =
        Machine { accelerator, limit: PATIENCE, ..Machine::of(image.instruction_set()) }.with_cores(cores);
    Ok(machine.run_modules(image, &cases.iter().map(module).collect::<Vec<_>>())?)
}

/// Under the settled clock every decision, at every instant, is that of the ideal machine, whether emulated cores
/// run one after another or each in a thread of the host.
fn are_ideal(cases: &[Case], image: &Image, accelerator: Accelerator, cores: u8) -> Result<(), Failed> {
    let reports = boot(cases, image, Clock::Settled, accelerator, cores)?;
    let mut failures = String::new();
    for (case, report) in cases.iter().zip(&reports) {
        let ideal = ideal::run(&case.experiment(), &ideal::IdealOptions::default())?.records;
        let differs = |&at: &usize| report.records.get(at) != ideal.get(at);
        if let Some(at) = (0..ideal.len().max(report.records.len())).find(differs) {
            let (found, expected) = (report.records.get(at), ideal.get(at));
            failures += &format!("{}: record {at} is {found:?}, not {expected:?}\n", case.name);
        } else if let Err(mismatch) = case.check(&report.records) {
            failures += &mismatch.to_string();
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.into()) }
}

/// Under the running clock the schedule is the expected one but for the time that kernel paths take.
fn agree_within(cases: &[Case], image: &Image, cores: u8) -> Result<(), Failed> {
    let reports = boot(cases, image, Clock::Running, Accelerator::InstructionClock, cores)?;
    let tolerance = LEAST_TOLERANCE.max(TOLERANCE_PER_CORE * u64::from(cores));
    let check = |(case, report): (&Case, &BootReport)| {
        let budgets = case.experiment().isolation.bandwidth.is_some();
        let allowed = if budgets { tolerance.max(BUDGET_TOLERANCE) } else { tolerance };
        let allowance = Allowance { tolerance: allowed, ignored: tolerance, ..Allowance::default() };
        case.check_with(&report.records, &allowance).err()
    };
    let mismatches = cases.iter().zip(&reports).filter_map(check).map(|mismatch| mismatch.to_string());
    let failures: String = mismatches.collect();
    if failures.is_empty() { Ok(()) } else { Err(failures.into()) }
}
