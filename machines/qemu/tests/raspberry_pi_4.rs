//! The image for the Raspberry Pi 4 on QEMU's model of it, which is there from QEMU 9.0 on: what boots there has been on no board.

#[path = "common/corpus.rs"]
mod checks;

use checks::{agree_within, are_ideal};
use libtest_mimic::{Arguments, Failed, Trial};
use solo_corpus::{Case, folder, ideal, load_folder};
use solo_model::Caps;
use solo_qemu::{
    Accelerator, BootOptions, BootReport, Clock, Controller, Fault, Host, Image, InstructionSet, Machine,
    Medium, Module, Provocation, QemuError,
};
use std::process::ExitCode;
use std::time::Duration;

const CORES: u8 = 4;

/// A test that boots the image on a machine.
type Test = fn(&Image, &Machine) -> Result<(), Failed>;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let prepared = if arguments.list { Err(String::from("not asked for")) } else { prepare() };
    if let Err(reason) = &prepared
        && !arguments.list
    {
        println!("skipped: the Raspberry Pi 4: {reason}");
    }
    let tests: [(&str, Test); 6] = [
        ("all_four_cores_come_by_the_firmwares_loop", boots),
        ("without_a_host_that_answers_frames_take_the_serial_line", serial),
        ("settled_clock::4_cores_decide_as_the_ideal_machine", settled),
        ("settled_clock_and_parallel_cores::4_cores_decide_as_the_ideal_machine", parallel),
        ("running_clock::4_cores_keep_the_schedules", running),
        ("a_fault_of_the_kernel_is_reported_and_a_reset_is_a_failure", faults),
    ];
    let trials = tests.map(|(name, test)| {
        let (missing, prepared) = (prepared.is_err(), prepared.clone());
        let run = move || prepared.map_err(Failed::from).and_then(|(image, machine)| test(&image, &machine));
        Trial::test(name, run).with_ignored_flag(missing)
    });
    libtest_mimic::run(&arguments, trials.into()).exit_code()
}

/// The image and the machine, or the reason why there is none.
fn prepare() -> Result<(Image, Machine), String> {
    let host = Host::look_for_programs(InstructionSet::Arm64).map_err(|missing| missing.to_string())?;
    Machine::look_for_pi().map_err(|missing| missing.to_string())?;
    // An image that doesn't build is a failure, not a reason to skip.
    let image = host.build_image_for_pi(&[]).unwrap_or_else(|error| panic!("{error}"));
    let limit = Duration::from_secs(180);
    let machine = Machine { limit, ..Machine::pi() };
    Ok((image, machine))
}

fn self_test(machine: &Machine, image: &Image, provoke: Option<Fault>) -> Result<BootReport, QemuError> {
    let instruction_clock = machine.accelerator == Accelerator::InstructionClock;
    let provoke = provoke.map(Provocation::Kernel);
    let options = BootOptions { instruction_clock, provoke, ..BootOptions::default() };
    machine.run_module(image, &Module { options, experiment: None })
}

fn boots(image: &Image, machine: &Machine) -> Result<(), Failed> {
    for accelerator in [Accelerator::InstructionClock, Accelerator::Parallel] {
        let report = self_test(&Machine { accelerator, ..machine.clone() }, image, None)?;
        let hardware = &report.hello.hardware;
        assert_eq!((&hardware.identities[..], hardware.controller), (&[0, 1, 2, 3][..], Controller::Gic2));
        assert!(report.console.contains("the machine's parts work"), "{}", report.console);
        assert!(report.hello.heap_bytes > 900 << 20, "{}", report.console);
    }
    Ok(())
}

/// On a board no host answers calls: it says its frames where it says its text, and ends by its watchdog.
fn serial(image: &Image, machine: &Machine) -> Result<(), Failed> {
    let cases = load_folder(&folder())?;
    let case = cases.iter().find(|case| case.cores == 2).ok_or("no case with two cores")?;
    let options = BootOptions { instruction_clock: true, clock: Clock::Settled, ..BootOptions::default() };
    let module = Module { options, experiment: Some(case.experiment()) };
    let silent = Machine { semihosting: false, ..machine.clone() };
    let heard = match silent.run_module(image, &module) {
        Err(QemuError::Reset { status: Some(0), console }) => console,
        other => return Err(format!("expected the machine to be switched off, got {other:?}").into()),
    };
    let report = Medium::heard(&module, InstructionSet::Arm64, &heard)?;
    let expected = ideal::run(&case.experiment(), &ideal::IdealOptions::default())?.records;
    assert_eq!(report.records, expected, "{}", report.console);
    Ok(())
}

/// The corpus cases that the machine is able to run, with its counters or a model of them.
fn cases(counters: bool, settled: bool) -> Result<Vec<Case>, Failed> {
    let caps = Caps { counter_overflow: counters, ..ideal::caps(8) };
    let mut cases = load_folder(&folder())?;
    cases.retain(|case| case.cores <= CORES.into() && case.lacks(&caps, settled).is_none());
    assert!(cases.len() > 20, "{} cases", cases.len());
    Ok(cases)
}

fn settled(image: &Image, machine: &Machine) -> Result<(), Failed> {
    are_ideal(&cases(false, true)?, image, machine)
}

fn parallel(image: &Image, machine: &Machine) -> Result<(), Failed> {
    let machine = Machine { accelerator: Accelerator::Parallel, ..machine.clone() };
    are_ideal(&cases(false, true)?, image, &machine)
}

fn running(image: &Image, machine: &Machine) -> Result<(), Failed> {
    agree_within(&cases(true, false)?, image, machine)
}

fn faults(image: &Image, machine: &Machine) -> Result<(), Failed> {
    match self_test(machine, image, Some(Fault::PageFault)) {
        Err(QemuError::Failed { console }) if console.contains("data abort") => {}
        other => return Err(format!("expected a fault, got {other:?}").into()),
    }
    match self_test(machine, image, Some(Fault::TripleFault)) {
        Err(QemuError::Reset { .. }) => Ok(()),
        other => Err(format!("expected a reset, got {other:?}").into()),
    }
}
