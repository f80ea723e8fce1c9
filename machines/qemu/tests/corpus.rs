//! The corpus on bare metal: the same files as on the ideal and the simulated machine.
//!
//! Twice: under the settled clock, where every record must equal the ideal machine's; and under the running
//! clock, where kernel paths take their time and schedules must agree within a tolerance. Each with 1, 2, 4 and 8
//! cores: a machine runs all the cases that it has cores enough for, one after another in one boot.

#[path = "common/corpus.rs"]
mod checks;
mod common;

use checks::{agree_within, are_ideal};
use common::Test;
use solo_corpus::{Case, Need, folder, ideal, load_folder};
use solo_model::Caps;
use solo_qemu::{Accelerator, InstructionSet, Machine};
use std::process::ExitCode;

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
    common::run_everywhere("the corpus on bare metal", |set| {
        let mut tests: Vec<(String, Test)> = Vec::new();
        for cores in [1, 2, 4, 8] {
            let alone = machine(set, Accelerator::InstructionClock, cores);
            let (settled_clock, running_clock) = (alone.clone(), alone);
            let own = fitting(&settled, 1, cores);
            let name = format!("settled_clock::{cores}_cores_decide_as_the_ideal_machine");
            tests.push((name, Box::new(move |image| are_ideal(&own, image, &settled_clock))));
            let own = fitting(&running, 1, cores);
            let name = format!("running_clock::{cores}_cores_keep_the_schedules");
            tests.push((name, Box::new(move |image| agree_within(&own, image, &running_clock))));
            if cores > 1 {
                // Host threads that wait for each other on few processors are slow: each case once, where it fits.
                let mut own = fitting(&settled, usize::from(cores) / 2 + 1, cores);
                if cores == 8 {
                    own.retain(|case| case.tasks.len() <= MANY_TASKS);
                }
                let name =
                    format!("settled_clock_and_parallel_cores::{cores}_cores_decide_as_the_ideal_machine");
                let parallel = machine(set, Accelerator::Parallel, cores);
                tests.push((name, Box::new(move |image| are_ideal(&own, image, &parallel))));
            }
        }
        tests
    })
}

fn machine(set: InstructionSet, accelerator: Accelerator, cores: u8) -> Machine {
    Machine { accelerator, limit: PATIENCE, ..Machine::of(set) }.with_cores(cores)
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
