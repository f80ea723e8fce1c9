//! Boots the image. Without an emulator or a compiler for bare metal every test is counted as ignored, and the
//! reason is printed.

mod common;

use common::Test;
use libtest_mimic::Failed;
use solo_qemu::{
    Accelerator, Board, BootOptions, BootReport, Fault, Host, Image, LocalApic, Machine, Medium, Module,
    Provocation, QemuError, soak,
};
use std::process::ExitCode;
use std::time::Duration;

/// How often the machine must boot in a row.
const BOOTS: usize = 20;

fn main() -> ExitCode {
    let kvm = Host::kvm();
    if let Err(missing) = &kvm {
        println!("skipped: boot test under KVM: {missing}");
    }
    let test = |name: &str, test: fn(&Image) -> Result<(), Failed>| -> (String, Test) {
        (name.to_owned(), Box::new(test))
    };
    let mut tests = vec![
        test("boots_on_every_board_with_1_to_16_cores", boots_everywhere),
        test("boots_20_times_in_a_row_on_changing_machines", boots_in_a_row),
        test("a_corrupt_module_is_refused", corrupt_module),
        test("a_panic_reports_where_it_happened", panic),
        test("a_fault_of_the_kernel_is_reported", kernel_faults),
        test("a_double_fault_is_reported", double_fault),
        test("a_triple_fault_is_a_failure", triple_fault),
        test("a_hang_meets_the_time_limit_and_tells_where_the_cores_were", hang),
    ];
    match Medium::look() {
        Ok(()) => tests.push(test("boots_from_a_medium_as_a_pc_does", boots_from_a_medium)),
        Err(missing) => println!("skipped: boot by firmware and GRUB: {missing}"),
    }
    if kvm.is_ok() {
        tests.push(test("boots_under_kvm", boots_under_kvm));
    }
    common::run("boot tests on bare metal", tests)
}

/// With the interrupt controller and the timer that the host offers, and with those that every processor has.
fn boots_under_kvm(image: &Image) -> Result<(), Failed> {
    // A nested hypervisor may emulate every instruction of ring 0, on a host that is busy besides.
    let limit = Duration::from_secs(240);
    let kvm = Machine { accelerator: Accelerator::Kvm, limit, ..Machine::default() };
    let boot = |machine: &Machine| match self_test(machine, image, None) {
        Err(error) if error.is_disturbance() => {
            println!("skipped: a boot under KVM: the host is too busy to measure clocks");
            Ok(None)
        }
        other => other.map(Some),
    };
    let Some(best) = boot(&kvm.clone().with_cores(2))? else { return Ok(()) };
    check(&best, 2)?;
    if best.console.contains("no counters") {
        println!("skipped: counters of the processor: under this KVM none counts the instructions of a loop");
    }
    if !(best.hello.x2apic && best.hello.tsc_deadline) {
        println!("skipped: x2APIC and deadlines by time stamp: {:?} is all that KVM offers", best.hello);
    }
    for local_apic in [
        LocalApic { x2apic: false, tsc_deadline: false },
        LocalApic { x2apic: false, ..LocalApic::default() },
        LocalApic { tsc_deadline: false, ..LocalApic::default() },
    ] {
        let machine = Machine { local_apic, ..kvm.clone() }.with_cores(3);
        let Some(report) = boot(&machine)? else { continue };
        check(&report, 3)?;
        let used = LocalApic { x2apic: report.hello.x2apic, tsc_deadline: report.hello.tsc_deadline };
        let offered = LocalApic {
            x2apic: best.hello.x2apic && local_apic.x2apic,
            tsc_deadline: best.hello.tsc_deadline && local_apic.tsc_deadline,
        };
        assert_eq!(used, offered, "{}", report.console);
    }
    Ok(())
}

/// BIOS, GRUB and Multiboot2 in place of the emulator's own loader: the same machine, the same tests of its parts.
fn boots_from_a_medium(image: &Image) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let module = Module { options: BootOptions::default(), experiment: None };
    let medium = Medium::write(image, &[module], folder.path().join("solo.iso"))?;
    let machine = Machine { board: Board::Q35, accelerator: Accelerator::Parallel, ..Machine::default() };
    let reports = machine.clone().with_cores(4).run_medium(&medium)?;
    assert_eq!(reports.len(), 1);
    check(&reports[0], 4)?;
    // The loader's structures and the module lie elsewhere; memory and cores are those that the emulator tells itself.
    let direct = self_test(&machine.with_cores(4), image, None)?;
    assert_eq!(reports[0].hello.apic_ids, direct.hello.apic_ids);
    assert!(
        reports[0].hello.heap_bytes.abs_diff(direct.hello.heap_bytes) < 16 << 20,
        "{:?}",
        reports[0].hello
    );
    Ok(())
}

/// Boots without an experiment: the machine tests its parts, after it has done what `provoke` says.
fn self_test(machine: &Machine, image: &Image, provoke: Option<Fault>) -> Result<BootReport, QemuError> {
    let instruction_clock = machine.accelerator == Accelerator::InstructionClock;
    let provoke = provoke.map(Provocation::Kernel);
    let options = BootOptions { instruction_clock, provoke, ..BootOptions::default() };
    machine.run_module(image, &Module { options, experiment: None })
}

fn check(report: &BootReport, cores: usize) -> Result<(), Failed> {
    assert_eq!(report.hello.apic_ids.len(), cores, "{}", report.console);
    assert!(report.console.contains("the machine's parts work"), "{}", report.console);
    assert!(report.hello.heap_bytes > 200 << 20, "{}", report.console);
    Ok(())
}

fn boots_everywhere(image: &Image) -> Result<(), Failed> {
    for (board, cores) in [(Board::Microvm, 1), (Board::Microvm, 16), (Board::Q35, 1), (Board::Q35, 4)] {
        let machine = Machine { board, ..Machine::default() }.with_cores(cores);
        check(&self_test(&machine, image, None)?, cores.into())?;
    }
    Ok(())
}

/// With a host thread for each core and without, with 1, 2, 4 and 8 cores; `./x soak` boots 1000 times.
fn boots_in_a_row(image: &Image) -> Result<(), Failed> {
    let (mut booted, mut disturbed) = (0, 0);
    soak::run(image, &soak::machines(), BOOTS, |boot| {
        booted += 1;
        disturbed += usize::from(boot.disturbed);
    })?;
    assert_eq!(booted, BOOTS);
    // Half of them run on the instruction clock, which no host disturbs.
    assert!(disturbed < BOOTS / 4, "{disturbed} boots with disturbed clocks");
    Ok(())
}

fn corrupt_module(image: &Image) -> Result<(), Failed> {
    let mut bytes = Module { options: BootOptions::default(), experiment: None }.pack()?;
    if let Some(last) = bytes.last_mut() {
        *last ^= 1;
    }
    refused(image, &bytes, "boot module corrupt: checksum")?;
    refused(image, &bytes[..bytes.len() - 1], "boot module too short")?;
    refused(image, &[0x55; 64], "boot module of an unknown kind")
}

fn refused(image: &Image, module: &[u8], message: &str) -> Result<(), Failed> {
    match Machine::default().run_bytes(image, module) {
        Err(QemuError::Refused { console }) if console.contains(message) => Ok(()),
        other => Err(format!("expected a refusal with '{message}', got {other:?}").into()),
    }
}

/// The kernel does `fault`, and must report all of `messages`.
fn fails(image: &Image, fault: Fault, messages: &[&str]) -> Result<(), Failed> {
    match self_test(&Machine::default(), image, Some(fault)) {
        Err(QemuError::Failed { console }) if messages.iter().all(|message| console.contains(message)) => {
            Ok(())
        }
        other => Err(format!("expected a failure with {messages:?}, got {other:?}").into()),
    }
}

fn panic(image: &Image) -> Result<(), Failed> {
    fails(image, Fault::Panic, &["panic on core0", "provoke.rs", "provoked", "called from 0x1"])
}

fn kernel_faults(image: &Image) -> Result<(), Failed> {
    fails(image, Fault::PageFault, &["page fault on core0 at 0x1", "address 0x0", "called from 0x1"])?;
    fails(image, Fault::DivideError, &["divide error on core0"])?;
    fails(image, Fault::InvalidOpcode, &["invalid opcode on core0"])
}

fn double_fault(image: &Image) -> Result<(), Failed> {
    fails(image, Fault::DoubleFault, &["double fault on core0"])
}

fn triple_fault(image: &Image) -> Result<(), Failed> {
    match self_test(&Machine::default(), image, Some(Fault::TripleFault)) {
        Err(QemuError::Reset { status: Some(0), .. }) => Ok(()),
        other => Err(format!("expected a reset, got {other:?}").into()),
    }
}

fn hang(image: &Image) -> Result<(), Failed> {
    let machine = Machine { limit: Duration::from_secs(5), ..Machine::default() };
    match self_test(&machine, image, Some(Fault::Hang)) {
        Err(QemuError::TimeLimit { console, .. }) if console.contains("RIP=") => Ok(()),
        other => Err(format!("expected the time limit, got {other:?}").into()),
    }
}
