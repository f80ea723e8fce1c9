//! Pages by color and bank on bare metal: found in the page tables of the image, checked against the colors of the platform.

mod common;

use common::Test;
use libtest_mimic::Failed;
use solo_corpus::ideal_platform;
use solo_model::experiment::End;
use solo_model::isolation::{Allocation, ColorOwner, Coloring, Fallback, Heaps};
use solo_model::platform::XorBits;
use solo_model::task::Release;
use solo_model::work::{Buffer, Pattern, Step, Touch, Work};
use solo_model::{
    Bank, BufferId, Bytes, Color, CoreId, Criterion, Duration, Experiment, PerMille, Policy, Record, Scope,
    Task, TaskClass, TaskId,
};
use solo_qemu::placement::{Piece, check};
use solo_qemu::{
    Accelerator, BootOptions, BootReport, ColorSource, Fault, Image, InstructionSet, Machine, MemoryUser,
    Module, Provocation, QemuError,
};
use std::process::ExitCode;

/// Colors of the platform: 1 MiB in 8 ways, bits 12 to 16.
const COLORS: u16 = 32;
const PAGE: Bytes = Bytes::from_kib(4);

fn main() -> ExitCode {
    let test = |name: &str, test: fn(&Image) -> Result<(), Failed>| -> (String, Test) {
        (name.to_owned(), Box::new(test))
    };
    common::run_everywhere("colors on bare metal", |_| {
        vec![
            test("every_page_lies_in_the_colors_and_banks_of_its_owner", every_page),
            test("the_kernel_keeps_to_its_color", kernel_color),
            test("a_task_whose_colors_are_too_small_ends_and_the_others_run", too_small),
            test("a_thread_that_asks_for_more_than_its_colors_hold_gets_an_error", demand),
            test("what_is_borrowed_is_counted", borrowed),
            test("colors_may_be_those_that_the_processor_tells_of", processor),
            test("runs_with_other_colors_follow_each_other_in_one_boot", one_after_another),
            test("a_stack_overflow_is_noticed_on_a_colored_stack", overflow),
            test("jobs_take_memory_from_heaps_of_the_colors_of_their_threads", heaps_of_the_system),
            test("jobs_take_memory_from_heaps_of_the_colors_that_they_name", heaps_of_the_program),
            test("colors_that_cannot_be_had_are_refused", refusals),
        ]
    })
}

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Bank bit 16 is a color bit, too: half of the pairs exist.
fn experiment(coloring: Coloring) -> Experiment {
    let task = |index: u16| {
        let touch = Touch {
            pattern: Pattern::Sweep,
            buffer: BufferId(index.into()),
            accesses: 256,
            stride: PAGE,
            writes: PerMille::new(500).unwrap_or_default(),
            think: Duration::ZERO,
        };
        Task {
            core: Some(CoreId(index % 2)),
            work: Work { steps: vec![Step::Touch(touch)] },
            ..Task::new(
                format!("t{index}"),
                TaskClass::Hard,
                Release::Periodic { offset: Duration::ZERO, period: ms(2) },
            )
        }
    };
    let mut platform = ideal_platform(2);
    platform.dram.bank_bits = [16, 17, 18].map(|bit| XorBits(1 << bit)).to_vec();
    let policy = Policy::new(Scope::Partitioned, Criterion::Edf);
    let buffer = |index| Buffer { name: format!("b{index}"), size: Bytes::from_mib(1) };
    Experiment {
        buffers: (0..3).map(buffer).collect(),
        isolation: solo_model::Isolation { memory: Some(coloring), ..solo_model::Isolation::default() },
        seed: 7,
        ..Experiment::new("colors", platform, policy, (0..3).map(task).collect(), End::At(ms(6)))
    }
}

fn owner(task: u32, colors: impl IntoIterator<Item = u16>, banks: &[u16]) -> ColorOwner {
    ColorOwner {
        task: TaskId(task),
        colors: colors.into_iter().map(Color).collect(),
        banks: banks.iter().copied().map(Bank).collect(),
    }
}

/// Task 0 in colors 1 to 3, task 1 in some banks, task 2 without a wish.
fn coloring() -> Coloring {
    Coloring { owners: vec![owner(0, 1..4, &[]), owner(1, 4..20, &[1, 2])], ..Coloring::default() }
}

fn run(image: &Image, experiment: &Experiment) -> Result<BootReport, QemuError> {
    Machine::of(image.instruction_set()).with_cores(2).run(image, experiment)
}

fn jobs(report: &BootReport, task: u32) -> usize {
    let of_task = |record: &&Record| matches!(record, Record::Job(job) if job.task == TaskId(task));
    report.records.iter().filter(of_task).count()
}

fn piece(pieces: &[Piece], place: MemoryUser) -> Result<&Piece, Failed> {
    pieces.iter().find(|piece| piece.place == place).ok_or_else(|| format!("{place} is not told").into())
}

fn colors(piece: &Piece) -> Vec<u16> {
    piece.colors.keys().map(|color| color.0).collect()
}

fn every_page(image: &Image) -> Result<(), Failed> {
    let experiment = experiment(coloring());
    let report = run(image, &experiment)?;
    let pieces = check(&experiment, ColorSource::Platform, &report)?;
    assert_eq!([0, 1, 2].map(|task| jobs(&report, task)), [3, 3, 3], "{}", report.console);
    for task in 0..3 {
        assert_eq!(piece(&pieces, MemoryUser::Buffer(BufferId(task)))?.size(PAGE), Bytes::from_mib(1));
        assert_eq!(piece(&pieces, MemoryUser::Stack(TaskId(task)))?.pages(), 6);
        assert_eq!(piece(&pieces, MemoryUser::Heap(task as u16))?.pages(), 16);
    }
    let first = piece(&pieces, MemoryUser::Buffer(BufferId(0)))?;
    assert!(
        first.colors.values().all(|pages| (85..=86).contains(pages)),
        "evenly in its three colors: {first:?}"
    );
    assert_eq!(colors(first), [1, 2, 3]);
    assert_eq!(colors(piece(&pieces, MemoryUser::Stack(TaskId(0)))?), [1, 2, 3]);
    // Bit 16, the highest of a color, is the lowest of a bank: bank 1 has the upper colors only, bank 2 the lower ones.
    assert_eq!(colors(piece(&pieces, MemoryUser::Buffer(BufferId(1)))?), (4..20).collect::<Vec<_>>());
    assert_eq!(piece(&pieces, MemoryUser::Buffer(BufferId(2)))?.colors.len(), usize::from(COLORS));
    let memory = report.memory.ok_or("no memory is told")?;
    assert_eq!((memory.colors, memory.banks, memory.borrowed), (COLORS, 8, 0));
    assert_eq!(memory.allocations, 0, "nothing is allocated while it runs");
    Ok(())
}

fn kernel_color(image: &Image) -> Result<(), Failed> {
    let experiment = experiment(Coloring { kernel: Some(Color(9)), groups: 16, ..coloring() });
    let mut experiment = experiment;
    experiment.isolation.memory.iter_mut().for_each(|memory| memory.owners.truncate(1));
    let report = run(image, &experiment)?;
    let pieces = check(&experiment, ColorSource::Platform, &report)?;
    assert_eq!([0, 1, 2].map(|task| jobs(&report, task)), [3, 3, 3], "{}", report.console);
    for place in [MemoryUser::Kernel, MemoryUser::Tables, MemoryUser::Image] {
        assert_eq!(colors(piece(&pieces, place)?), [9], "{place}");
    }
    assert!(piece(&pieces, MemoryUser::Kernel)?.size(PAGE) > Bytes::from_mib(4));
    assert!(piece(&pieces, MemoryUser::Image)?.size(PAGE) > Bytes::from_kib(512));
    let others = piece(&pieces, MemoryUser::Buffer(BufferId(2)))?;
    assert_eq!(colors(others), (0..16).filter(|&color| color != 9).collect::<Vec<_>>());
    assert_eq!(report.memory.map(|memory| memory.allocations), Some(0));
    Ok(())
}

/// Task 0 has one color of 32: some 6 MiB of the machine's 256.
fn too_small(image: &Image) -> Result<(), Failed> {
    let coloring = Coloring { owners: vec![owner(0, [5], &[])], ..Coloring::default() };
    let mut experiment = experiment(coloring);
    experiment.buffers[0].size = Bytes::from_mib(16);
    let report = run(image, &experiment)?;
    let killed: Vec<_> = report.killed.iter().map(|killed| (killed.task, killed.fault.as_str())).collect();
    assert_eq!(killed, [(TaskId(0), "memory exhausted")], "{}", report.console);
    let said =
        "thread of task t0 ended on core0: no memory for buffer b0 of 16MiB: no free page of group 1 is left";
    assert!(report.console.contains(said), "{}", report.console);
    assert_eq!([1, 2].map(|task| jobs(&report, task)), [3, 3], "{}", report.console);
    let pieces = check(&experiment, ColorSource::Platform, &report)?;
    assert!(piece(&pieces, MemoryUser::Buffer(BufferId(0))).is_err(), "a part of a buffer is none");
    assert_eq!(piece(&pieces, MemoryUser::Heap(1))?.pages(), 16, "what it had taken is free again");
    Ok(())
}

fn demand(image: &Image) -> Result<(), Failed> {
    let experiment = experiment(coloring());
    let ask = |bytes| {
        let provoke = Some(Provocation::Thread { task: TaskId(1), job: 1, fault: Fault::Demand(bytes) });
        let options = BootOptions { instruction_clock: true, provoke, ..BootOptions::default() };
        let module = Module { options, experiment: Some(experiment.clone()) };
        Machine::of(image.instruction_set()).with_cores(2).run_module(image, &module)
    };
    let report = ask(48 << 10)?;
    assert_eq!((report.killed.len(), jobs(&report, 1)), (0, 3), "{}", report.console);
    let report = ask(100_000)?;
    assert_eq!(report.killed.len(), 1, "{}", report.console);
    assert_eq!((report.killed[0].task, report.killed[0].fault.as_str()), (TaskId(1), "memory exhausted"));
    assert!(report.console.contains("thread of task t1 ended on core1: the heap of "), "{}", report.console);
    assert_eq!([0, 1, 2].map(|task| jobs(&report, task)), [3, 2, 3], "{}", report.console);
    assert_eq!(report.memory.map(|memory| memory.allocations), Some(0));
    Ok(())
}

fn borrowed(image: &Image) -> Result<(), Failed> {
    let owners = vec![owner(0, [5], &[])];
    let mut experiment = experiment(Coloring { owners, fallback: Fallback::Borrow, ..Coloring::default() });
    experiment.buffers[0].size = Bytes::from_mib(16);
    let report = run(image, &experiment)?;
    assert_eq!(report.killed, [], "{}", report.console);
    let pieces = check(&experiment, ColorSource::Platform, &report)?;
    let buffer = piece(&pieces, MemoryUser::Buffer(BufferId(0)))?;
    let own = buffer.colors.get(&Color(5)).copied().unwrap_or_default();
    assert!((1000..2000).contains(&own), "{own} pages of its own color");
    assert_eq!(buffer.elsewhere, 4096 - own);
    Ok(())
}

fn processor(image: &Image) -> Result<(), Failed> {
    let own = COLORS + 2..COLORS + 6;
    let experiment = experiment(Coloring { owners: vec![owner(0, own.clone(), &[])], ..Coloring::default() });
    let options =
        BootOptions { instruction_clock: true, colors: ColorSource::Processor, ..BootOptions::default() };
    let module = Module { options, experiment: Some(experiment.clone()) };
    let processor = match image.instruction_set() {
        // What QEMU emulates of itself is AMD's, without a word on caches.
        InstructionSet::X86_64 => "qemu64,vendor=GenuineIntel",
        // What it emulates else has as many colors as the platform here.
        InstructionSet::Arm64 => "a64fx",
    };
    let processor = Some(processor.to_owned());
    let report = Machine { processor, ..Machine::of(image.instruction_set()).with_cores(2) }
        .run_module(image, &module)?;
    let memory = report.memory.clone().ok_or("no memory is told")?;
    let cache = memory.last_level.ok_or("the emulated processor tells of its caches")?;
    assert_eq!((memory.colors, memory.banks), (cache.colors(PAGE), 1), "{cache:?}");
    assert!(
        memory.colors > COLORS,
        "{cache:?}: another number than the platform's, so that it can be told apart"
    );
    let pieces = check(&experiment, ColorSource::Processor, &report)?;
    assert_eq!(colors(piece(&pieces, MemoryUser::Buffer(BufferId(0)))?), own.collect::<Vec<_>>());
    assert!(check(&experiment, ColorSource::Platform, &report).is_err(), "the platform has no such colors");
    Ok(())
}

fn one_after_another(image: &Image) -> Result<(), Failed> {
    let plain = Experiment { isolation: solo_model::Isolation::default(), ..experiment(coloring()) };
    let other =
        Coloring { kernel: Some(Color(30)), owners: vec![owner(2, 20..24, &[])], ..Coloring::default() };
    let all = [experiment(coloring()), plain.clone(), experiment(other), plain, experiment(coloring())];
    let options = BootOptions { instruction_clock: true, ..BootOptions::default() };
    let modules = all.clone().map(|experiment| Module { options, experiment: Some(experiment) });
    let reports = Machine::of(image.instruction_set()).with_cores(2).run_modules(image, &modules)?;
    for (experiment, report) in all.iter().zip(&reports) {
        assert_eq!([0, 1, 2].map(|task| jobs(report, task)), [3, 3, 3]);
        assert_eq!(report.memory.as_ref().map(|memory| memory.allocations), Some(0));
        match &experiment.isolation.memory {
            Some(_) => drop(check(experiment, ColorSource::Platform, report)?),
            None => assert_eq!(report.pages, []),
        }
    }
    let first_and_last = [&reports[0].pages, &reports[4].pages];
    assert_eq!(first_and_last[0], first_and_last[1], "all memory has come back");
    // The same where cores are threads of the host, each with translations of its own, while the image moves to and fro.
    let machine =
        Machine { accelerator: Accelerator::Parallel, ..Machine::of(image.instruction_set()).with_cores(4) };
    let modules = modules.map(|module| Module { options: BootOptions::default(), ..module });
    for (experiment, report) in all.iter().zip(machine.run_modules(image, &modules)?) {
        if experiment.isolation.memory.is_some() {
            drop(check(experiment, ColorSource::Platform, &report)?);
        }
    }
    Ok(())
}

/// Six tasks, each of which takes 12 KiB from a heap of 64 KiB, touches each page and gives it back.
fn takes(coloring: Coloring, named: impl Fn(u32) -> Option<Color>) -> Experiment {
    let mut experiment = experiment(coloring);
    let first = experiment.tasks[0].clone();
    let buffer = |task: u32| Buffer { name: format!("b{task}"), size: Bytes::from_kib(12) };
    experiment.buffers = (0..6).map(buffer).collect();
    let task = |task: u32| {
        let buffer = BufferId(task);
        let [Step::Touch(touch)] = &first.work.steps[..] else { panic!("{:?}", first.work) };
        let touch = Touch { buffer, accesses: 3, ..touch.clone() };
        let taken = Step::Allocate { buffer, color: named(task) };
        let steps = vec![taken, Step::Touch(touch), Step::Free(buffer)];
        let core = Some(CoreId((task % 2) as u16));
        Task { name: format!("t{task}"), core, work: Work { steps }, ..first.clone() }
    };
    experiment.tasks = (0..6).map(task).collect();
    experiment.end = End::At(ms(6));
    experiment
}

fn of_heaps(allocation: Allocation) -> Coloring {
    let heaps = Heaps { allocation, size: Bytes::from_kib(64) };
    Coloring { groups: 4, heaps, ..Coloring::default() }
}

/// Four colors and six threads: the first and the fifth have the same, whatever their steps name.
fn heaps_of_the_system(image: &Image) -> Result<(), Failed> {
    for kernel in [None, Some(Color(1))] {
        for named in [None, Some(Color(2)), Some(Color(77))] {
            let experiment = takes(Coloring { kernel, ..of_heaps(Allocation::Os) }, |_| named);
            let report = run(image, &experiment)?;
            assert_eq!([0, 1, 2, 3, 4, 5].map(|task| jobs(&report, task)), [3; 6], "{}", report.console);
            assert_eq!(report.memory.as_ref().map(|memory| memory.allocations), Some(0));
            let pieces = check(&experiment, ColorSource::Platform, &report)?;
            let expected: [u16; 6] = if kernel.is_none() { [0, 1, 2, 3, 0, 1] } else { [0, 2, 3, 0, 2, 3] };
            for (task, color) in (0..).zip(expected) {
                let own = piece(&pieces, MemoryUser::Buffer(BufferId(task)))?;
                assert_eq!((colors(own), own.pages() >= 3), (vec![color], true), "task {task}");
            }
        }
    }
    Ok(())
}

/// A step names its color; who asks for more than the heap of that color has ends, and nobody else.
fn heaps_of_the_program(image: &Image) -> Result<(), Failed> {
    let named =
        |task| [None, Some(Color(3)), Some(Color(1)), Some(Color(3)), Some(Color(0)), None][task as usize];
    let mut experiment = takes(of_heaps(Allocation::User), named);
    let report = run(image, &experiment)?;
    let pieces = check(&experiment, ColorSource::Platform, &report)?;
    for (task, color) in (0..).zip([0, 3, 1, 3, 0, 0]) {
        assert_eq!(colors(piece(&pieces, MemoryUser::Buffer(BufferId(task)))?), [color], "task {task}");
    }
    assert_eq!([0, 1, 2, 3, 4, 5].map(|task| jobs(&report, task)), [3; 6], "{}", report.console);
    // What is not given back is, at the end of the job: three jobs of 40 KiB in 64 KiB. 72 KiB are not there.
    experiment.buffers[1].size = Bytes::from_kib(40);
    experiment.tasks[1].work.steps.pop();
    experiment.buffers[2].size = Bytes::from_kib(72);
    let report = run(image, &experiment)?;
    let killed: Vec<_> = report.killed.iter().map(|killed| (killed.task, killed.fault.as_str())).collect();
    assert_eq!(killed, [(TaskId(2), "memory exhausted")], "{}", report.console);
    assert!(report.console.contains("the heap of color1 has no 72KiB in one piece"), "{}", report.console);
    assert_eq!([0, 1, 3, 4, 5].map(|task| jobs(&report, task)), [3; 5], "{}", report.console);
    let kernels = takes(Coloring { kernel: Some(Color(0)), ..of_heaps(Allocation::User) }, |_| None);
    match run(image, &kernels) {
        Err(QemuError::Refused { console, .. }) if console.contains("belongs to the kernel") => Ok(()),
        other => Err(Failed::from(format!("expected a refusal, got {other:?}"))),
    }
}

fn overflow(image: &Image) -> Result<(), Failed> {
    let experiment = experiment(coloring());
    for fault in [Fault::StackOverflow, Fault::StackLeaves(160)] {
        let provoke = Some(Provocation::Thread { task: TaskId(1), job: 1, fault });
        let options = BootOptions { instruction_clock: true, provoke, ..BootOptions::default() };
        let module = Module { options, experiment: Some(experiment.clone()) };
        let report = Machine::of(image.instruction_set()).with_cores(2).run_module(image, &module)?;
        assert_eq!(report.killed.len(), 1, "{}", report.console);
        assert_eq!((report.killed[0].task, report.killed[0].fault.as_str()), (TaskId(1), "stack overflow"));
        assert_eq!([0, 2].map(|task| jobs(&report, task)), [3, 3], "{}", report.console);
    }
    Ok(())
}

fn refusals(image: &Image) -> Result<(), Failed> {
    let refused = |experiment: &Experiment, message: &str| match run(image, experiment) {
        Err(QemuError::Refused { console, .. }) if console.contains(message) => Ok(()),
        other => Err(Failed::from(format!("expected a refusal with '{message}', got {other:?}"))),
    };
    let missing = Coloring { owners: vec![owner(0, [COLORS], &[])], ..Coloring::default() };
    refused(&experiment(missing), "does not exist: there are colors 0 to 31")?;
    let kernels = Coloring { kernel: Some(Color(1)), ..coloring() };
    refused(&experiment(kernels), "which belongs to the kernel")?;
    let mut large = experiment(coloring());
    large.platform.page = Bytes::from_kib(16);
    refused(&large, "this machine places pages of 4 KiB")?;
    let mut ways = experiment(coloring());
    let owner = solo_model::isolation::WayOwner::Core(CoreId(0));
    ways.isolation.ways = vec![solo_model::isolation::WayMask { owner, mask: 1 }];
    refused(&ways, "ways of the cache can't be given away")
}
