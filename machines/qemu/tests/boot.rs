//! Boots the image. Without an emulator or a compiler for bare metal every test is counted as ignored, and the
//! reason is printed.

mod common;

use common::Test;
use libtest_mimic::Failed;
use solo_corpus::{folder, load_folder};
use solo_model::Experiment;
use solo_model::experiment::End;
use solo_qemu::{
    Accelerator, Board, BootOptions, BootReport, Controller, Fault, Firmware, Host, Image, InstructionSet,
    LocalApic, Machine, Medium, Missing, Module, Provocation, QemuError, soak,
};
use std::io::Read;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

/// How often the machine must boot in a row.
const BOOTS: usize = 20;

fn main() -> ExitCode {
    let skip = |what: &str, missing: Missing| println!("skipped: {what}: {missing}");
    let (medium, kvm) = (Medium::look(), Host::kvm());
    let has_medium = medium.map_err(|missing| skip("boot by firmware and GRUB", missing)).is_ok();
    let uefi = Medium::look_for_uefi().map_err(|missing| skip("boot by UEFI and GRUB", missing));
    let has_kvm = kvm.map_err(|missing| skip("boot test under KVM", missing)).is_ok();
    common::run_everywhere("boot tests on bare metal", |set| {
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
            test("a_machine_that_resets_is_a_failure", reset),
            test("a_hang_meets_the_time_limit_and_tells_where_the_cores_were", hang),
        ];
        match set {
            // Media and hardware virtualisation are this host's instruction set's.
            InstructionSet::X86_64 if has_medium => {
                tests.push(test("boots_from_a_medium_as_a_pc_does", boots_from_a_medium));
                if uefi.is_ok() {
                    tests.push(test("boots_from_a_medium_by_uefi", boots_by_uefi));
                }
            }
            InstructionSet::Arm64 => {
                tests.push(test("every_processor_with_counters_boots", every_processor));
                tests.push(test("counters_count_instructions_and_interrupt_on_time", counters));
                tests.push(test("a_host_that_reads_slowly_hears_everything", slow_host));
            }
            InstructionSet::X86_64 => {}
        }
        if set == InstructionSet::X86_64 && has_kvm {
            tests.push(test("boots_under_kvm", boots_under_kvm));
        }
        tests
    })
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
    let all = offered(&best)?;
    if !(all.x2apic && all.tsc_deadline) {
        println!("skipped: x2APIC and deadlines by time stamp: {all:?} is all that KVM offers");
    }
    for local_apic in [
        LocalApic { x2apic: false, tsc_deadline: false },
        LocalApic { x2apic: false, ..LocalApic::default() },
        LocalApic { tsc_deadline: false, ..LocalApic::default() },
    ] {
        let machine = Machine { local_apic, ..kvm.clone() }.with_cores(3);
        let Some(report) = boot(&machine)? else { continue };
        check(&report, 3)?;
        let expected = LocalApic {
            x2apic: all.x2apic && local_apic.x2apic,
            tsc_deadline: all.tsc_deadline && local_apic.tsc_deadline,
        };
        assert_eq!(offered(&report)?, expected, "{}", report.console);
    }
    Ok(())
}

/// The interrupt controller that the image found.
fn offered(report: &BootReport) -> Result<LocalApic, Failed> {
    match report.hello.hardware.controller {
        Controller::LocalApic { x2apic, tsc_deadline } => Ok(LocalApic { x2apic, tsc_deadline }),
        other @ (Controller::Gic2 | Controller::Gic3) => Err(format!("a PC with {other}").into()),
    }
}

/// BIOS, GRUB and Multiboot2 in place of the emulator's own loader: the same machine, the same tests of its parts.
fn boots_from_a_medium(image: &Image) -> Result<(), Failed> {
    by_firmware(image, Machine { accelerator: Accelerator::Parallel, ..Machine::default() })
}

/// The same by the firmware of today's PCs: it has another map of memory, and tells where the tables of the mainboard are by itself.
fn boots_by_uefi(image: &Image) -> Result<(), Failed> {
    let limit = Duration::from_secs(240);
    let firmware = Firmware::Uefi;
    by_firmware(image, Machine { accelerator: Accelerator::Parallel, firmware, limit, ..Machine::default() })
}

fn by_firmware(image: &Image, machine: Machine) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let module = Module { options: BootOptions::default(), experiment: None };
    let medium = Medium::write(image, &[module], folder.path().join("solo.iso"))?;
    let machine = Machine { board: Board::Q35, ..machine };
    let reports = machine.clone().with_cores(4).run_medium(&medium)?;
    assert_eq!(reports.len(), 1);
    check(&reports[0], 4)?;
    // The loader's structures and the module lie elsewhere; memory and cores are those that the emulator tells itself.
    let direct = self_test(&machine.clone().with_cores(4), image, None)?;
    assert_eq!(reports[0].hello.hardware.identities, direct.hello.hardware.identities);
    assert!(
        reports[0].hello.heap_bytes.abs_diff(direct.hello.heap_bytes) < kept_by(machine.firmware),
        "{:?}",
        reports[0].hello
    );
    Ok(())
}

/// What firmware keeps of memory at most.
fn kept_by(firmware: Firmware) -> u64 {
    match firmware {
        Firmware::Bios => 16 << 20,
        Firmware::Uefi => 48 << 20,
    }
}

/// Boots without an experiment: the machine tests its parts, after it has done what `provoke` says.
fn self_test(machine: &Machine, image: &Image, provoke: Option<Fault>) -> Result<BootReport, QemuError> {
    let instruction_clock = machine.accelerator == Accelerator::InstructionClock;
    let provoke = provoke.map(Provocation::Kernel);
    let options = BootOptions { instruction_clock, provoke, ..BootOptions::default() };
    machine.run_module(image, &Module { options, experiment: None })
}

fn check(report: &BootReport, cores: usize) -> Result<(), Failed> {
    assert_eq!(report.hello.hardware.identities.len(), cores, "{}", report.console);
    assert!(report.console.contains("the machine's parts work"), "{}", report.console);
    assert!(report.hello.heap_bytes > 200 << 20, "{}", report.console);
    Ok(())
}

fn boots_everywhere(image: &Image) -> Result<(), Failed> {
    let boards = match image.instruction_set() {
        InstructionSet::X86_64 => {
            vec![(Board::Microvm, 1), (Board::Microvm, 16), (Board::Q35, 1), (Board::Q35, 4)]
        }
        InstructionSet::Arm64 => vec![(Board::Virt, 1), (Board::Virt, 4), (Board::Virt, 16)],
    };
    for (board, cores) in boards {
        let machine = Machine { board, ..Machine::default() }.with_cores(cores);
        check(&self_test(&machine, image, None)?, cores.into())?;
    }
    Ok(())
}

/// With a host thread for each core and without, with 1, 2, 4 and 8 cores; `./x soak` boots 1000 times.
fn boots_in_a_row(image: &Image) -> Result<(), Failed> {
    let (mut booted, mut disturbed) = (0, 0);
    soak::run(image, &soak::machines(image.instruction_set()), BOOTS, |boot| {
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
    match Machine::of(image.instruction_set()).run_bytes(image, module) {
        Err(QemuError::Refused { console, .. }) if console.contains(message) => Ok(()),
        other => Err(format!("expected a refusal with '{message}', got {other:?}").into()),
    }
}

/// The kernel does `fault`, and must report all of `messages`, in which `CODE` is where code lies.
fn fails(image: &Image, fault: Fault, messages: &[&str]) -> Result<(), Failed> {
    let told = |console: &str, message: &str| {
        code(image).iter().any(|begin| console.contains(&message.replace("CODE", begin)))
    };
    match self_test(&Machine::of(image.instruction_set()), image, Some(fault)) {
        Err(QemuError::Failed { console }) if messages.iter().all(|message| told(&console, message)) => {
            Ok(())
        }
        other => Err(format!("expected a failure with {messages:?}, got {other:?}").into()),
    }
}

/// With what the addresses of an image's code begin: on x86-64 it begins at 1 MiB, and is larger than that.
fn code(image: &Image) -> &'static [&'static str] {
    match image.instruction_set() {
        InstructionSet::X86_64 => &["0x1", "0x2"],
        InstructionSet::Arm64 => &["0x402", "0x403"],
    }
}

fn panic(image: &Image) -> Result<(), Failed> {
    fails(image, Fault::Panic, &["panic on core0", "provoke.rs", "provoked", "called from CODE"])
}

fn kernel_faults(image: &Image) -> Result<(), Failed> {
    let (null, unknown) = match image.instruction_set() {
        InstructionSet::X86_64 => ("page fault", "invalid opcode"),
        InstructionSet::Arm64 => ("data abort", "undefined instruction"),
    };
    let what = format!("{null} on core0 at CODE");
    fails(image, Fault::PageFault, &[&what, "address 0x0", "called from CODE"])?;
    // A division by zero gives zero on Arm.
    if image.instruction_set() == InstructionSet::X86_64 {
        fails(image, Fault::DivideError, &["divide error on core0"])?;
    }
    fails(image, Fault::InvalidOpcode, &[&format!("{unknown} on core0")])
}

fn double_fault(image: &Image) -> Result<(), Failed> {
    fails(image, Fault::DoubleFault, &["double fault on core0"])
}

/// By a triple fault, or by firmware where processors don't reset themselves.
fn reset(image: &Image) -> Result<(), Failed> {
    match self_test(&Machine::of(image.instruction_set()), image, Some(Fault::TripleFault)) {
        Err(QemuError::Reset { status: Some(0), .. }) => Ok(()),
        other => Err(format!("expected a reset, got {other:?}").into()),
    }
}

/// Processors of 64-bit Arm that QEMU emulates with counters.
fn every_processor(image: &Image) -> Result<(), Failed> {
    for processor in ["cortex-a53", "cortex-a57", "cortex-a72", "max"] {
        let processor = Some(processor.to_owned());
        let machine = Machine { processor, ..Machine::of(image.instruction_set()) }.with_cores(2);
        let report = self_test(&machine, image, None)?;
        check(&report, 2)?;
        assert!(lateness(&report)? <= LATEST, "{}", report.console);
    }
    Ok(())
}

/// Instructions between the overflow of a counter and its reading by the handler: what the processor and the stub execute on the
/// way there.
const LATEST: u64 = 80;

/// How late the counters' interrupt came in the machine's own test.
fn lateness(report: &BootReport) -> Result<u64, Failed> {
    let said = report.console.split_once("the interrupt after 50000 instructions came ");
    let number = said.and_then(|(_, late)| late.split(' ').next()?.parse().ok());
    number.ok_or_else(|| format!("no word of the counters' interrupt: {}", report.console).into())
}

/// Under the instruction clock the counters of an emulated Arm processor count instructions: to the instruction. Under another
/// clock they don't, and the image says so.
fn counters(image: &Image) -> Result<(), Failed> {
    let boot = || self_test(&Machine::of(image.instruction_set()), image, None);
    let (first, second) = (boot()?, boot()?);
    assert!(first.console.contains("200000 instructions counted in 100000 rounds"), "{}", first.console);
    assert!((1..=LATEST).contains(&lateness(&first)?), "{}", first.console);
    assert_eq!(lateness(&first)?, lateness(&second)?, "the same each time");
    let machine = Machine { accelerator: Accelerator::Parallel, ..Machine::of(image.instruction_set()) };
    let parallel = self_test(&machine, image, None)?;
    assert!(parallel.console.contains("no counters"), "{}", parallel.console);
    Ok(())
}

/// What the host takes late, as a busy one does, the image keeps until then.
fn slow_host(image: &Image) -> Result<(), Failed> {
    let cases = load_folder(&folder())?;
    let case = cases.iter().find(|case| case.cores == 1).ok_or("no case with one core")?;
    let experiment = Experiment { end: End::Jobs(2000), ..case.experiment() };
    let options = BootOptions { instruction_clock: true, ..BootOptions::default() };
    let kept = tempfile::tempdir()?;
    let module = kept.path().join("module");
    std::fs::write(&module, Module { options, experiment: Some(experiment) }.pack()?)?;
    let heard = |pause: Duration| -> Result<Vec<u8>, Failed> {
        let mut emulator = Command::new("qemu-system-aarch64")
            .args(["-nodefaults", "-display", "none", "-no-reboot", "-machine", "virt,gic-version=3"])
            .args(["-cpu", "cortex-a57,cntfrq=1000000000", "-m", "256M", "-append", "semihosting"])
            .args(["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off"])
            .args(["-chardev", "stdio,id=frames,signal=off"])
            .args(["-semihosting-config", "enable=on,target=native,chardev=frames", "-kernel"])
            .arg(image.path())
            .arg("-initrd")
            .arg(&module)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let (mut frames, mut all, mut buffer) = (emulator.stdout.take(), Vec::new(), vec![0; 1 << 14]);
        while let Some(length) = frames.as_mut().map(|frames| frames.read(&mut buffer)).transpose()? {
            if length == 0 {
                break;
            }
            all.extend_from_slice(&buffer[..length]);
            std::thread::sleep(pause);
        }
        emulator.wait()?;
        Ok(all)
    };
    let (fast, slow) = (heard(Duration::ZERO)?, heard(Duration::from_millis(100))?);
    assert!(fast.len() > 200_000, "{} bytes: a pipe holds them", fast.len());
    assert_eq!(slow.len(), fast.len());
    assert!(slow == fast, "the same bytes");
    Ok(())
}

fn hang(image: &Image) -> Result<(), Failed> {
    let machine = Machine { limit: Duration::from_secs(5), ..Machine::of(image.instruction_set()) };
    let counter = match image.instruction_set() {
        InstructionSet::X86_64 => "RIP=",
        InstructionSet::Arm64 => "PC=",
    };
    match self_test(&machine, image, Some(Fault::Hang)) {
        Err(QemuError::TimeLimit { console, .. }) if console.contains(counter) => Ok(()),
        other => Err(format!("expected the time limit, got {other:?}").into()),
    }
}
