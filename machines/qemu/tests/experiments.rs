//! Experiments on bare metal: repeatable, on real memory, with threads that make mistakes.

mod common;

use common::Test;
use libtest_mimic::Failed;
use solo_corpus::ideal_platform;
use solo_model::experiment::End;
use solo_model::task::Release;
use solo_model::work::{Buffer, Flush, Lock, LockProtocol, Pattern, Span, Step, Touch, Work};
use solo_model::{
    BufferId, Bytes, CoreId, Criterion, Duration, Experiment, JobRecord, LockId, Overhead, PerMille, Policy,
    Record, Scope, Task, TaskClass, TaskId,
};
use solo_qemu::{
    Accelerator, Board, BootOptions, BootReport, Clock, Fault, Firmware, Host, Image, InstructionSet,
    LocalApic, Machine, Medium, Missing, Module, Provocation, QemuError, STACK_RESERVE,
};
use std::process::ExitCode;

fn main() -> ExitCode {
    let skip = |what: &str, missing: Missing| println!("skipped: {what}: {missing}");
    let (medium, kvm) = (Medium::look(), Host::kvm());
    let has_medium = medium.map_err(|missing| skip("an experiment by firmware and GRUB", missing)).is_ok();
    let has_kvm = kvm.map_err(|missing| skip("experiments under KVM", missing)).is_ok();
    common::run_everywhere("experiments on bare metal", |set| {
        let test = |name: &str, test: fn(&Image) -> Result<(), Failed>| -> (String, Test) {
            (name.to_owned(), Box::new(test))
        };
        let mut tests = vec![
            test("two_runs_under_the_instruction_clock_have_equal_digests", equal_digests),
            test("a_run_ends_when_every_task_has_done_its_jobs", ends_after_jobs),
            test("jobs_touch_real_memory", touches_memory),
            test("lines_are_flushed_one_by_one_and_jobs_come_between", flushes_lines),
            test("caches_are_emptied_where_an_instruction_does_that", flushes_all),
            test("cores_with_host_threads_of_their_own_keep_the_kernels_rules", parallel),
            test("partitioned_cores_enter_the_kernel_without_waiting_for_each_other", parts),
            test("a_fault_ends_its_thread_and_no_other", faults),
            test("a_thread_may_use_all_of_its_stack", deep_stack),
            test("a_frame_that_arrives_damaged_is_refused", damaged_frame),
            test(
                "a_thread_that_never_ends_its_job_holds_up_neither_other_cores_nor_higher_priorities",
                runaway,
            ),
            test("kernel_paths_do_not_grow_longer", path_lengths),
            test("what_cannot_run_is_refused_with_the_reason", refusals),
        ];
        // Media and hardware virtualisation are this host's instruction set's.
        if set == InstructionSet::X86_64 && has_medium {
            tests.push(test("a_medium_carries_an_experiment_to_a_pc", from_a_medium));
            match Medium::look_for_uefi() {
                Ok(()) => tests
                    .push(test("a_medium_carries_an_experiment_to_a_pc_with_uefi", from_a_medium_by_uefi)),
                Err(missing) => println!("skipped: an experiment by UEFI: {missing}"),
            }
        }
        if set == InstructionSet::X86_64 && has_kvm {
            tests.push(test("cores_under_kvm_keep_the_kernels_rules", under_kvm));
        }
        tests
    })
}

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn task(name: &str, core: u16, period: u64, steps: Vec<Step>) -> Task {
    Task {
        core: Some(CoreId(core)),
        work: Work { steps },
        ..Task::new(name, TaskClass::Hard, Release::Periodic { offset: Duration::ZERO, period: ms(period) })
    }
}

fn compute(us: u64) -> Step {
    Step::Compute(Span::exactly(Duration::from_micros(us)))
}

fn experiment(cores: usize, scope: Scope, tasks: Vec<Task>) -> Experiment {
    let policy = Policy::new(scope, Criterion::Edf);
    Experiment {
        seed: 7,
        ..Experiment::new("bare metal", ideal_platform(cores), policy, tasks, End::At(ms(12)))
    }
}

/// Tasks `a` and `b` on core 0, `c` on core 1.
fn three_tasks() -> Experiment {
    let random = Span { least: Duration::from_micros(100), most: Duration::from_micros(700) };
    let tasks = vec![
        task("a", 0, 2, vec![Step::Compute(random)]),
        task("b", 0, 3, vec![compute(500)]),
        task("c", 1, 4, vec![compute(1000), Step::Compute(random)]),
    ];
    experiment(2, Scope::Partitioned, tasks)
}

fn finished(report: &BootReport, task: u32) -> usize {
    let of_task = |record: &&Record| matches!(record, Record::Job(job) if job.task == TaskId(task));
    report.records.iter().filter(of_task).count()
}

fn machine(image: &Image, cores: u8) -> Machine {
    Machine::of(image.instruction_set()).with_cores(cores)
}

fn equal_digests(image: &Image) -> Result<(), Failed> {
    let run = || machine(image, 2).run(image, &three_tasks());
    let (first, second) = (run()?, run()?);
    assert_eq!(first.digest, second.digest);
    assert_eq!(first.records, second.records);
    assert_eq!((finished(&first, 0), finished(&first, 1), finished(&first, 2)), (6, 4, 3));
    let other = machine(image, 2).run(image, &Experiment { seed: 8, ..three_tasks() })?;
    assert_ne!(first.digest, other.digest, "another seed must show");
    Ok(())
}

fn ends_after_jobs(image: &Image) -> Result<(), Failed> {
    let report = machine(image, 2).run(image, &Experiment { end: End::Jobs(2), ..three_tasks() })?;
    let at = report.end.at.get();
    assert!(
        (5_000_000..6_500_000).contains(&at),
        "the second job of c ends after 5.1 to 5.7 ms, not {at} ns"
    );
    assert_eq!(finished(&report, 2), 2);
    Ok(())
}

fn touches_memory(image: &Image) -> Result<(), Failed> {
    let touch = |pattern| {
        Step::Touch(Touch {
            pattern,
            buffer: BufferId(0),
            accesses: 4096,
            stride: Bytes::new(64),
            writes: PerMille::new(500).unwrap_or_default(),
            think: Duration::ZERO,
        })
    };
    let all = [Pattern::Sweep, Pattern::Stream, Pattern::Random, Pattern::Chase];
    let mut experiment =
        experiment(1, Scope::Partitioned, vec![task("t", 0, 4, all.into_iter().map(touch).collect())]);
    experiment.buffers = vec![Buffer { name: "frame".to_owned(), size: Bytes::from_mib(1) }];
    let report = machine(image, 1).run(image, &experiment)?;
    assert_eq!(finished(&report, 0), 3);
    let executed = report.records.iter().find_map(|record| match record {
        Record::Job(job) => Some(job.executed),
        _ => None,
    });
    // Each access is at least a load or store and the loop around it.
    assert!(executed.is_some_and(|time| time.get() > 4 * 4096 * 3), "{executed:?}");
    Ok(())
}

/// One task that flushes a buffer of so many KiB in each job, beside a more urgent one.
fn flushing(kib: u64) -> Experiment {
    let steps = vec![Step::Flush(Flush::Buffer(BufferId(0)))];
    let tasks = vec![task("flushes", 0, 4, steps), task("urgent", 0, 1, vec![compute(100)])];
    let buffers = vec![Buffer { name: "frame".to_owned(), size: Bytes::from_kib(kib) }];
    Experiment { buffers, ..experiment(1, Scope::Partitioned, tasks) }
}

fn longest(report: &BootReport, task: u32, of: fn(&JobRecord) -> Duration) -> u64 {
    let job = |record: &Record| match record {
        Record::Job(job) if job.task == TaskId(task) => Some(of(job).get()),
        _ => None,
    };
    report.records.iter().filter_map(job).max().unwrap_or(0)
}

/// An instruction takes a nanosecond here: so many lines take so many at least, and nobody else waits for them.
fn flushes_lines(image: &Image) -> Result<(), Failed> {
    let run = |kib| machine(image, 1).run(image, &flushing(kib));
    let (small, large) = (run(1)?, run(4096)?);
    assert_eq!((finished(&small, 0), finished(&large, 0)), (3, 3));
    let lines = |kib: u64| kib * 1024 / 64;
    let [of_small, of_large] = [&small, &large].map(|report| longest(report, 0, |job| job.executed));
    assert!(of_large > of_small + 3 * lines(4096), "{of_small}, {of_large} ns");
    assert!(of_small > 3 * lines(1), "{of_small} ns");
    // Longer than the urgent one may be kept waiting.
    assert!(of_large > 200_000, "{of_large} ns");
    let response = longest(&large, 1, JobRecord::response);
    assert!(response < 160_000, "{response} ns");
    Ok(())
}

fn flushes_all(image: &Image) -> Result<(), Failed> {
    let mut all = flushing(1);
    all.tasks[0].work.steps = vec![Step::Flush(Flush::All), compute(10), Step::Flush(Flush::All)];
    let run = machine(image, 1).run(image, &all);
    match image.instruction_set() {
        InstructionSet::X86_64 => {
            assert_eq!(finished(&run?, 0), 3);
            Ok(())
        }
        // By set and way, which concerns a core that is alone.
        InstructionSet::Arm64 => refused(run, "nothing here empties caches of all lines"),
    }
}

/// Six tasks that migrate between `cores` cores for 400 ms. Time is the host's: periods are long, so that a busy host
/// that stalls a core for a while is no failure.
fn six_that_migrate(cores: usize) -> Experiment {
    let tasks = (0..6).map(|index| task(&format!("t{index}"), 0, 40, vec![compute(3000)])).collect();
    Experiment { end: End::At(ms(400)), ..experiment(cores, Scope::Global, tasks) }
}

/// At least `least` jobs were released, and no thread was on two cores.
fn keeps_the_rules(report: &BootReport, least: usize) {
    let released = report.records.iter().filter(|record| matches!(record, Record::Release(_))).count();
    assert!(released >= least, "{released} releases\n{}", report.console);
    let mut running = std::collections::BTreeMap::new();
    for record in &report.records {
        let Record::Switch(switch) = record else { continue };
        running.insert(switch.core, switch.to);
        let mut tasks: Vec<_> = running.values().flatten().collect();
        let all = tasks.len();
        tasks.sort();
        tasks.dedup();
        assert_eq!(tasks.len(), all, "a thread on two cores: {running:?}");
    }
}

/// Firmware, GRUB and a serial line in place of the emulator's own loader and its debug console: the same records.
fn from_a_medium(image: &Image) -> Result<(), Failed> {
    by_firmware(image, Machine::default())
}

/// By the instruction clock this firmware alone takes a minute or two.
fn from_a_medium_by_uefi(image: &Image) -> Result<(), Failed> {
    let limit = std::time::Duration::from_secs(300);
    by_firmware(image, Machine { firmware: Firmware::Uefi, limit, ..Machine::default() })
}

fn by_firmware(image: &Image, wanted: Machine) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let options = BootOptions { instruction_clock: true, clock: Clock::Settled, ..BootOptions::default() };
    let module = Module { options, experiment: Some(three_tasks()) };
    let medium = Medium::write(image, std::slice::from_ref(&module), folder.path().join("solo.iso"))?;
    let pc = Machine { board: Board::Q35, ..machine(image, 2) };
    let direct = pc.run_module(image, &module)?;
    assert!(!direct.records.is_empty());
    let Machine { firmware, limit, .. } = wanted;
    let reports = Machine { firmware, limit, ..pc }.run_medium(&medium)?;
    assert_eq!(reports.len(), 1);
    assert_eq!(reports[0].records, direct.records);
    assert_eq!(reports[0].hello.module, direct.hello.module);
    Ok(())
}

fn parallel(image: &Image) -> Result<(), Failed> {
    let report = Machine { accelerator: Accelerator::Parallel, ..machine(image, 4) }
        .run(image, &six_that_migrate(4))?;
    keeps_the_rules(&report, 30);
    Ok(())
}

/// With what the host's interrupt controller and timer offer, and with what every processor has.
fn under_kvm(image: &Image) -> Result<(), Failed> {
    for (x2apic, tsc_deadline) in [(true, true), (true, false), (false, true), (false, false)] {
        let local_apic = LocalApic { x2apic, tsc_deadline };
        let limit = std::time::Duration::from_secs(240);
        let kvm = Machine { accelerator: Accelerator::Kvm, local_apic, limit, ..machine(image, 2) };
        // A nested hypervisor may take a third of a microsecond for each instruction of the kernel.
        match kvm.run(image, &six_that_migrate(2)) {
            Err(error) if error.is_disturbance() => {
                println!("skipped: an experiment under KVM: the host is too busy to measure clocks");
            }
            report => keeps_the_rules(&report?, 12),
        }
    }
    Ok(())
}

/// Each partition has a lock of its own, unless tasks of both use the same mutex.
fn parts(image: &Image) -> Result<(), Failed> {
    let mut shared = three_tasks();
    shared.locks = vec![Lock { name: "m".to_owned(), protocol: LockProtocol::Plain }];
    let section = [Step::Acquire(LockId(0)), compute(10), Step::Release(LockId(0))];
    for task in [1, 2] {
        shared.tasks[task].work.steps.extend(section.clone());
    }
    let clock = Accelerator::InstructionClock;
    let runs = [
        (three_tasks(), clock, false, 2),
        (three_tasks(), Accelerator::Parallel, false, 2),
        (three_tasks(), clock, true, 1),
        (shared, clock, false, 1),
    ];
    for (experiment, accelerator, one_lock, expected) in runs {
        let options =
            BootOptions { instruction_clock: accelerator == clock, one_lock, ..BootOptions::default() };
        let module = Module { options, experiment: Some(experiment) };
        let report = Machine { accelerator, ..machine(image, 2) }.run_module(image, &module)?;
        let entries = report.entries.ok_or("nobody told of entries")?;
        assert_eq!(entries.parts, expected, "{entries:?}");
        if expected > 1 {
            assert_eq!((entries.waited, entries.longest), (0, Duration::ZERO), "{entries:?}");
        }
        // With host threads a core may begin after the end, on a host that lets it wait.
        if accelerator == clock {
            assert!(
                report.records.is_sorted_by_key(Record::at),
                "records of all parts come in the order of time"
            );
            assert!(entries.entries > 20, "{entries:?}");
            assert_eq!((finished(&report, 0), finished(&report, 1), finished(&report, 2)), (6, 4, 3));
        }
    }
    Ok(())
}

/// Mistakes of a thread, and the processor's names for them; `None` for what it lets pass.
fn mistakes(instruction_set: InstructionSet) -> Vec<(Fault, Option<&'static str>)> {
    let [null, zero, unknown, nowhere] = match instruction_set {
        InstructionSet::X86_64 => {
            ["page fault", "divide error", "invalid opcode", "general protection fault"].map(Some)
        }
        // A division by zero gives zero on Arm.
        InstructionSet::Arm64 => {
            [Some("data abort"), None, Some("undefined instruction"), Some("data abort")]
        }
    };
    let overflow = Some("stack overflow");
    vec![
        (Fault::PageFault, null),
        (Fault::DivideError, zero),
        (Fault::InvalidOpcode, unknown),
        (Fault::GeneralProtection, nowhere),
        (Fault::StackOverflow, overflow),
        (Fault::StackLost, null),
        // An interrupt finds no room for what the processor saves; for what the kernel saves; for the kernel.
        (Fault::StackLeaves(32), overflow),
        (Fault::StackLeaves(160), overflow),
        (Fault::StackLeaves(2048), overflow),
    ]
}

fn faults(image: &Image) -> Result<(), Failed> {
    for (fault, name) in mistakes(image.instruction_set()) {
        let provoke = Some(Provocation::Thread { task: TaskId(1), job: 1, fault });
        let options = BootOptions { instruction_clock: true, provoke, ..BootOptions::default() };
        let report =
            machine(image, 2).run_module(image, &Module { options, experiment: Some(three_tasks()) })?;
        let killed: Vec<_> =
            report.killed.iter().map(|killed| (killed.task, killed.fault.as_str())).collect();
        let Some(name) = name else {
            assert_eq!((killed.len(), finished(&report, 1)), (0, 4), "{}", report.console);
            continue;
        };
        assert_eq!(killed, [(TaskId(1), name)], "{}", report.console);
        assert!(report.console.contains("thread of task b ended on core0"), "{}", report.console);
        // The job that made the mistake ends with its thread; the others go on.
        let jobs = (finished(&report, 0), finished(&report, 1), finished(&report, 2));
        assert_eq!(jobs, (6, 2, 3), "{fault:?}\n{}", report.console);
    }
    Ok(())
}

/// A thread may use all of its stack: the kernel has its reserve below.
fn deep_stack(image: &Image) -> Result<(), Failed> {
    let leaves = u16::try_from(STACK_RESERVE)? + 16;
    let provoke = Some(Provocation::Thread { task: TaskId(1), job: 1, fault: Fault::StackLeaves(leaves) });
    let options = BootOptions { instruction_clock: true, provoke, ..BootOptions::default() };
    let report = machine(image, 2).run_module(image, &Module { options, experiment: Some(three_tasks()) })?;
    assert_eq!(report.killed, [], "{}", report.console);
    assert_eq!((finished(&report, 0), finished(&report, 2)), (6, 3), "{}", report.console);
    Ok(())
}

/// What arrives damaged is not taken for a result.
fn damaged_frame(image: &Image) -> Result<(), Failed> {
    for number in [0, 9] {
        let provoke = Some(Provocation::Frame(number));
        let options = BootOptions { instruction_clock: true, provoke, ..BootOptions::default() };
        match machine(image, 2).run_module(image, &Module { options, experiment: Some(three_tasks()) }) {
            Err(QemuError::Frame(error)) => assert!(error.to_string().contains("frame corrupt"), "{error}"),
            other => return Err(format!("expected a corrupt frame, got {other:?}").into()),
        }
    }
    Ok(())
}

/// Guards the table of `docs/bare-metal.md`: medians of instructions with 24 threads, and a quarter more.
fn path_lengths(image: &Image) -> Result<(), Failed> {
    let limits = [
        (Overhead::ContextSwitch, 20),
        // 48 before the tick asked whether bandwidth is regulated.
        (Overhead::Tick, 52),
        (Overhead::Scheduling, 600),
        // Records own their counts, so each one is moved to where it is kept, and not made there: some 80 instructions.
        (Overhead::Release, 840),
    ];
    let tasks =
        (0..24).map(|index| task(&format!("t{index}"), index % 4, 2 + u64::from(index), vec![compute(5)]));
    let options = BootOptions { instruction_clock: true, probes: true, ..BootOptions::default() };
    let experiment =
        Experiment { end: End::At(ms(30)), ..experiment(4, Scope::Partitioned, tasks.collect()) };
    let report = machine(image, 4).run_module(image, &Module { options, experiment: Some(experiment) })?;
    for (path, limit) in limits {
        let lengths = report.records.iter().filter_map(|record| match record {
            Record::Overhead(record) if record.overhead == path => Some(record.cost.get()),
            _ => None,
        });
        let mut lengths: Vec<_> = lengths.collect();
        lengths.sort_unstable();
        let median = lengths.get(lengths.len() / 2).copied().unwrap_or_default();
        assert!(lengths.len() > 20, "{} was seen {} times", path.name(), lengths.len());
        assert!((1..=limit).contains(&median), "{} takes {median} instructions, not {limit}", path.name());
    }
    Ok(())
}

fn runaway(image: &Image) -> Result<(), Failed> {
    let mut experiment = three_tasks();
    experiment.tasks[1].work = Work { steps: vec![compute(10_000_000)] };
    experiment.tasks[1].class = TaskClass::BestEffort;
    let report = machine(image, 2).run(image, &experiment)?;
    assert_eq!((finished(&report, 0), finished(&report, 1), finished(&report, 2)), (6, 0, 3));
    Ok(())
}

fn refusals(image: &Image) -> Result<(), Failed> {
    let too_many_cores = experiment(4, Scope::Global, Vec::new());
    refused(machine(image, 2).run(image, &too_many_cores), "4 cores are needed, 2 are here")?;
    let mut large = three_tasks();
    large.buffers = vec![Buffer { name: "huge".to_owned(), size: Bytes::from_mib(1024) }];
    refused(machine(image, 2).run(image, &large), "no memory for buffer huge of 1GiB")?;
    let unassigned = Task { core: None, ..task("t", 0, 2, vec![compute(1)]) };
    refused(machine(image, 2).run(image, &experiment(2, Scope::Partitioned, vec![unassigned])), "refused: ")
}

fn refused(result: Result<BootReport, QemuError>, message: &str) -> Result<(), Failed> {
    match result {
        Err(QemuError::Refused { console, .. }) if console.contains(message) => Ok(()),
        other => Err(format!("expected a refusal with '{message}', got {other:?}").into()),
    }
}
