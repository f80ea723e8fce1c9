//! Corpus cases on a machine, beside what the ideal one makes of them.

use libtest_mimic::Failed;
use solo_corpus::{Allowance, Case, ideal};
use solo_model::Duration;
use solo_qemu::{Accelerator, BootOptions, BootReport, Clock, Image, Machine, Module};

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

/// Runs all cases in one boot.
fn boot(cases: &[Case], image: &Image, clock: Clock, machine: &Machine) -> Result<Vec<BootReport>, Failed> {
    let instruction_clock = machine.accelerator == Accelerator::InstructionClock;
    let module = |case: &Case| {
        // The emulator has no counters: a model is told what jobs touch. The overflow is a real interrupt.
        let modelled_counters = case.experiment().isolation.bandwidth.is_some();
        let options = BootOptions { instruction_clock, clock, modelled_counters, ..BootOptions::default() };
        Module { options, experiment: Some(case.experiment()) }
    };
    Ok(machine.run_modules(image, &cases.iter().map(module).collect::<Vec<_>>())?)
}

/// Under the settled clock every decision, at every instant, is that of the ideal machine, whether emulated cores
/// run one after another or each in a thread of the host.
pub(crate) fn are_ideal(cases: &[Case], image: &Image, machine: &Machine) -> Result<(), Failed> {
    let reports = boot(cases, image, Clock::Settled, machine)?;
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
pub(crate) fn agree_within(cases: &[Case], image: &Image, machine: &Machine) -> Result<(), Failed> {
    let reports = boot(cases, image, Clock::Running, machine)?;
    let tolerance = LEAST_TOLERANCE.max(TOLERANCE_PER_CORE * u64::from(machine.cores));
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
