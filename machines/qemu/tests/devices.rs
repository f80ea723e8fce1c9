//! Devices on bare metal: a core starts the transfers of a table, and network devices of the emulator move the data into tasks' memory and
//! out of it.

mod common;

use common::Test;
use libtest_mimic::Failed;
use solo_corpus::ideal_platform;
use solo_model::experiment::End;
use solo_model::isolation::{Counted, DmaMaster, Regulation};
use solo_model::record::{InterruptRecord, TransferRecord};
use solo_model::task::Release;
use solo_model::work::{Buffer, Span, Step, Work};
use solo_model::{
    Bandwidth, BufferId, Bytes, CoreId, Criterion, Device, DeviceId, Direction, Duration, EventId,
    Experiment, Instant, Policy, Record, Scope, Task, TaskClass, TaskId,
};
use solo_qemu::{BootOptions, BootReport, Image, InstructionSet, Machine, Module, QemuError};
use std::process::ExitCode;

fn main() -> ExitCode {
    common::run_everywhere("devices on bare metal", |set| {
        let test = |name: &str, test: fn(&Image) -> Result<(), Failed>| -> (String, Test) {
            (name.to_owned(), Box::new(test))
        };
        match set {
            InstructionSet::X86_64 => vec![test("a_machine_without_devices_refuses_them", refused_on_pcs)],
            InstructionSet::Arm64 => vec![
                test("a_wire_carries_every_byte_in_both_directions", every_byte),
                test("each_slot_moves_all_of_its_data_in_time", in_slots),
                test("two_runs_with_devices_are_equal_record_by_record", repeatable),
                test("a_device_is_no_faster_than_its_own_side_or_its_reservation", paced),
                test("what_a_slot_has_no_time_for_is_lost_and_comes_into_no_other", cut_short),
                test("slots_of_a_core_that_overlap_are_told", overlapping),
                test("an_interrupt_releases_a_job_on_the_core_of_its_task", releases),
                test("what_cannot_move_is_refused_with_the_reason", refusals),
            ],
        }
    })
}

const fn us(n: u64) -> Duration {
    Duration::from_micros(n)
}

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn device(name: &str, buffer: u32, direction: Direction, moves: u64) -> Device {
    Device {
        name: name.into(),
        owner: TaskId(0),
        releases: None,
        direction,
        moves: Bytes::new(moves),
        buffer: BufferId(buffer),
        offset: Duration::ZERO,
        period: ms(5),
        slot: ms(1),
        core: Some(CoreId(1)),
        rate: None,
        wait_every: Bytes::new(64),
    }
}

/// Devices with 4 MiB each beside a task that keeps core 0 half busy, for so many milliseconds.
fn experiment(devices: Vec<Device>, end: u64) -> Experiment {
    let task = Task {
        core: Some(CoreId(0)),
        work: Work { steps: vec![Step::Compute(Span::exactly(us(500)))] },
        ..Task::new("computes", TaskClass::Hard, Release::Periodic { offset: Duration::ZERO, period: ms(1) })
    };
    let buffer = |device: &Device| Buffer { name: device.name.clone(), size: Bytes::from_mib(4) };
    let policy = Policy::new(Scope::Partitioned, Criterion::Edf);
    Experiment {
        buffers: devices.iter().map(buffer).collect(),
        devices,
        ..Experiment::new("devices", ideal_platform(3), policy, vec![task], End::At(ms(end)))
    }
}

fn machine(experiment: &Experiment) -> Machine {
    let wires = experiment.devices.len() as u8;
    Machine { wires, ..Machine::of(InstructionSet::Arm64).with_cores(3) }
}

fn run(image: &Image, experiment: &Experiment) -> Result<BootReport, QemuError> {
    machine(experiment).run(image, experiment)
}

fn transfers(report: &BootReport, device: u16) -> Vec<TransferRecord> {
    let of = |record: &Record| match record {
        Record::Transfer(transfer) if transfer.device == DeviceId(device) => Some(*transfer),
        _ => None,
    };
    report.records.iter().filter_map(of).collect()
}

/// What a core takes to come to its table, at most: the emulator executes one core after the other. And from one look to the next.
const LATE: Duration = us(60);
const LOOK: Duration = us(20);

fn every_byte(image: &Image) -> Result<(), Failed> {
    for wires in [1, Machine::MOST_WIRES] {
        let machine = Machine { wires, ..Machine::of(InstructionSet::Arm64) };
        let options = BootOptions { instruction_clock: true, ..BootOptions::default() };
        let report = machine.run_module(image, &Module { options, experiment: None })?;
        for wire in 0..wires {
            let line = format!("wire {wire}: 61440 bytes came, 61440 left");
            assert!(report.console.contains(&line), "{}", report.console);
        }
        assert!(!report.console.contains(&format!("wire {wires}:")), "{}", report.console);
    }
    Ok(())
}

fn table() -> Experiment {
    let camera = device("camera", 0, Direction::Input, 700_001);
    let display =
        Device { offset: ms(2), period: ms(10), ..device("display", 1, Direction::Output, 4 << 20) };
    // Another core's, at the same time.
    let disk = Device { core: Some(CoreId(2)), slot: us(100), ..device("disk", 2, Direction::Output, 1) };
    experiment(vec![camera, display, disk], 100)
}

fn in_slots(image: &Image) -> Result<(), Failed> {
    let experiment = table();
    let report = run(image, &experiment)?;
    for (number, device) in (0..).zip(&experiment.devices) {
        let found = transfers(&report, number);
        let slots = (ms(100) - device.offset).get().div_ceil(device.period.get());
        assert_eq!(found.len() as u64, slots, "{}: {found:?}", device.name);
        for (slot, transfer) in (0..).zip(found) {
            let begin = Instant::ZERO + device.offset + Duration::new(slot * device.period.get());
            let late = transfer.since.since(begin);
            assert!(transfer.since >= begin && late < LATE, "{}: {late} late", device.name);
            assert_eq!((transfer.moved, transfer.left, transfer.overlaps), (device.moves, Bytes::ZERO, None));
            assert!(transfer.at > transfer.since && transfer.at <= begin + device.slot, "{transfer:?}");
        }
    }
    assert_eq!(
        report.memory.as_ref().map(|memory| memory.allocations),
        Some(0),
        "nothing is allocated while it runs"
    );
    let jobs = report.records.iter().filter(|record| matches!(record, Record::Job(_))).count();
    assert!(jobs >= 99, "{jobs} jobs beside devices");
    Ok(())
}

fn repeatable(image: &Image) -> Result<(), Failed> {
    let experiment = table();
    let digests = [run(image, &experiment)?.digest, run(image, &experiment)?.digest];
    assert_eq!(digests[0], digests[1]);
    Ok(())
}

fn paced(image: &Image) -> Result<(), Failed> {
    // 200 us of the device's own time; of the reservation, 400 us, which is less the last burst's.
    let camera =
        Device { rate: Some(Bandwidth::new(500_000_000)), ..device("camera", 0, Direction::Input, 100_000) };
    let display = Device { offset: ms(2), ..device("display", 1, Direction::Output, 100_000) };
    let mut experiment = experiment(vec![camera, display], 50);
    let dma = vec![DmaMaster { name: "display".into(), rate: Bandwidth::new(250_000_000) }];
    let counted = Counted::One(EventId::INSTRUCTIONS);
    let plain = Regulation::new(ms(1), counted, Vec::new(), Bandwidth::new(1_000_000_000));
    experiment.isolation.bandwidth = Some(Regulation { dma, best_effort: true, ..plain });
    let report = run(image, &experiment)?;
    for (number, least) in [(0, us(200)), (1, us(400))] {
        let found = transfers(&report, number);
        assert_eq!(found.len(), 10, "{found:?}");
        for transfer in found {
            assert_eq!(transfer.left, Bytes::ZERO, "{transfer:?}");
            let took = transfer.at.since(transfer.since);
            // The first burst begins at once.
            assert!(took + us(1) >= least && took < least + LOOK + LOOK + LATE, "{took} for {least}");
        }
    }
    Ok(())
}

fn cut_short(image: &Image) -> Result<(), Failed> {
    // Four looks within the slot at most: so many batches arrive, and one more is under way at its end.
    let camera = Device { slot: us(85), ..device("camera", 0, Direction::Input, 4 << 20) };
    // The frame has not even left.
    let hasty = Device { slot: us(5), offset: ms(1), ..device("hasty", 1, Direction::Output, 100) };
    let display = Device { offset: ms(2), ..device("display", 2, Direction::Output, 100_000) };
    let report = run(image, &experiment(vec![camera, hasty, display], 100))?;
    let [camera, hasty, display] = [0, 1, 2].map(|device| transfers(&report, device));
    for found in [&camera, &hasty, &display] {
        assert_eq!(found.len(), 20);
    }
    // A batch fills the queue: eight frames of fifteen pages.
    let batches: Vec<u64> =
        camera.iter().map(|transfer| transfer.moved.get().div_ceil(8 * 15 * 4096)).collect();
    assert!(batches.iter().all(|&batches| (1..=4).contains(&batches)), "{batches:?}");
    for transfer in &camera {
        assert_eq!(
            (transfer.moved.get() % (15 * 4096), (transfer.moved + transfer.left).get()),
            (0, 4 << 20)
        );
        let length = transfer.at.since(transfer.since);
        assert!(length < us(85) + LATE, "{length}");
    }
    // What was under way would be counted in the slot after it.
    assert!(hasty.iter().all(|transfer| (transfer.moved.get(), transfer.left.get()) == (0, 100)));
    assert!(display.iter().all(|transfer| transfer.left == Bytes::ZERO));
    Ok(())
}

fn overlapping(image: &Image) -> Result<(), Failed> {
    let camera = device("camera", 0, Direction::Input, 4096);
    let display = Device { offset: us(500), ..device("display", 1, Direction::Output, 4096) };
    let report = run(image, &experiment(vec![camera, display], 50))?;
    let [camera, display] = [0, 1].map(|device| transfers(&report, device));
    assert!(camera.iter().all(|transfer| transfer.overlaps.is_none()), "{camera:?}");
    assert!(display.iter().all(|transfer| transfer.overlaps == Some(DeviceId(0))), "{display:?}");
    assert!(camera.iter().chain(&display).all(|transfer| transfer.left == Bytes::ZERO));
    Ok(())
}

fn releases(image: &Image) -> Result<(), Failed> {
    for io_core in [1, 0] {
        let camera = Device {
            releases: Some(TaskId(1)),
            core: Some(CoreId(io_core)),
            ..device("camera", 0, Direction::Input, 100_000)
        };
        let mut experiment = experiment(vec![camera], 100);
        experiment.tasks[0].core = Some(CoreId(1 - io_core));
        let sporadic = Release::Sporadic { distance: ms(5) };
        experiment.tasks.push(Task {
            core: Some(CoreId(2)),
            work: Work { steps: vec![Step::Compute(Span::exactly(us(100)))] },
            ..Task::new("decodes", TaskClass::Hard, sporadic)
        });
        let report = run(image, &experiment)?;
        let interrupt =
            |record: &Record| if let Record::Interrupt(found) = record { Some(*found) } else { None };
        let interrupts: Vec<InterruptRecord> = report.records.iter().filter_map(interrupt).collect();
        let moved = transfers(&report, 0);
        assert_eq!((moved.len(), interrupts.len()), (20, 20), "I/O core {io_core}");
        for (transfer, found) in moved.iter().zip(&interrupts) {
            assert_eq!((found.raised, found.task, found.core), (transfer.at, TaskId(1), CoreId(2)));
            assert!(found.at >= found.raised && found.at.since(found.raised) < LATE, "{found:?}");
        }
        let job = |record: &&Record| matches!(record, Record::Job(job) if job.task == TaskId(1));
        assert_eq!(report.records.iter().filter(job).count(), 20, "I/O core {io_core}");
    }
    Ok(())
}

fn refusals(image: &Image) -> Result<(), Failed> {
    let refused = |machine: Machine, experiment: &Experiment| match machine.run(image, experiment) {
        Err(QemuError::Refused { console, .. }) => Ok(console),
        other => Err(Failed::from(format!("not refused: {:?}", other.map(|report| report.console)))),
    };
    let by_itself = experiment(vec![Device { core: None, ..device("camera", 0, Direction::Input, 1) }], 10);
    let said = refused(machine(&by_itself), &by_itself)?;
    assert!(said.contains("device `camera` starts by itself; here a core starts devices"), "{said}");
    let camera = experiment(vec![device("camera", 0, Direction::Input, 1)], 10);
    let said = refused(Machine { wires: 0, ..machine(&camera) }, &camera)?;
    assert!(
        said.contains("device camera: it is number 1, and the machine has network devices for 0"),
        "{said}"
    );
    Ok(())
}

fn refused_on_pcs(image: &Image) -> Result<(), Failed> {
    let camera = experiment(vec![device("camera", 0, Direction::Input, 1)], 10);
    match Machine::default().with_cores(3).run(image, &camera) {
        Err(QemuError::Refused { console, .. }) => {
            assert!(console.contains("device `camera` moves data by itself"), "{console}");
            Ok(())
        }
        other => Err(Failed::from(format!("not refused: {:?}", other.map(|report| report.console)))),
    }
}
