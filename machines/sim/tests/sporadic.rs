//! Devices that release tasks: an interrupt at the end of a transfer, and a job on the task's core.
#![allow(missing_docs)]

mod common;

use common::{compute, experiment, jobs, ms, periodic, run};
use solo_model::experiment::{End, Experiment};
use solo_model::isolation::{Counted, DmaMaster, Isolation, Regulation};
use solo_model::record::{Admitted, InterruptRecord, TransferRecord};
use solo_model::task::{Release, Task};
use solo_model::{
    Bandwidth, BufferId, Bytes, Device, Direction, Duration, EventId, Instant, Overhead, Record, TaskId,
};

const US: u64 = 1_000;

fn us(n: u64) -> Duration {
    Duration::new(n * US)
}

/// A device of task 0 that releases it, once each `period` microseconds.
fn device(name: &str, buffer: u32, moves: u64, period: u64) -> Device {
    Device {
        name: name.into(),
        owner: TaskId(0),
        releases: Some(TaskId(0)),
        direction: Direction::Input,
        moves: Bytes::new(moves),
        buffer: BufferId(buffer),
        offset: Duration::ZERO,
        period: us(period),
        slot: us(period),
        core: None,
        rate: None,
        wait_every: Bytes::new(64),
    }
}

/// Task 0 on core 1 is sporadic and takes 20 us; core 0 has a task of its own.
fn with(distance: u64, devices: Vec<Device>) -> Experiment {
    let sporadic = Release::Sporadic { distance: us(distance) };
    let tasks = vec![
        Task { release: sporadic, ..periodic("decode", 1, us(distance), vec![compute(us(20))]) },
        periodic("control", 0, ms(1), vec![compute(us(100))]),
    ];
    let buffers = vec![Bytes::from_mib(1); devices.len()];
    Experiment { devices, ..experiment(2, tasks, &buffers, End::At(ms(20))) }
}

#[derive(Default)]
struct Told {
    transfers: Vec<TransferRecord>,
    interrupts: Vec<InterruptRecord>,
    /// Nominal releases of task 0, and when the kernel made them.
    releases: Vec<(Instant, Instant)>,
}

fn told(experiment: &Experiment) -> (Told, Vec<Record>) {
    let (records, _) = run(experiment);
    let mut told = Told::default();
    for record in &records {
        match record {
            Record::Transfer(transfer) => told.transfers.push(*transfer),
            Record::Interrupt(interrupt) => told.interrupts.push(*interrupt),
            Record::Release(release) if release.task == TaskId(0) => {
                told.releases.push((release.release, release.at));
            }
            _ => {}
        }
    }
    (told, records)
}

#[test]
fn a_job_is_released_when_all_of_a_slot_is_moved() {
    // A hundred lines of a microsecond each: 99 us and what memory takes.
    let camera = Device {
        rate: Some(Bandwidth::new(64_000_000)),
        offset: us(50),
        slot: us(300),
        ..device("camera", 0, 6_400, 1_000)
    };
    let (told, records) = told(&with(500, vec![camera]));
    assert_eq!(told.transfers.len(), 20);
    assert_eq!(told.releases.len(), 20);
    for (at, (transfer, (nominal, made))) in told.transfers.iter().zip(&told.releases).enumerate() {
        let began = Instant::ZERO + us(50 + 1_000 * at as u64);
        assert_eq!(transfer.since, began);
        assert_eq!((*nominal, *made), (transfer.at, transfer.at), "the core is idle, and the kernel free");
        let took = nominal.since(began);
        assert!((us(99)..us(100)).contains(&took), "{took}");
        assert!(*nominal <= began + us(300), "interrupts come in slots only");
    }
    let interrupts: Vec<_> = told.interrupts.iter().map(|it| (it.core.0, it.task.0, it.admitted)).collect();
    assert_eq!(interrupts, vec![(1, 0, Admitted::Released); 20]);
    let responses: Vec<_> = jobs(&records, 0).iter().map(|job| job.response()).collect();
    assert_eq!(responses, vec![us(20); 20]);
}

#[test]
fn a_slot_that_is_cut_short_releases_nobody() {
    let slow = |slot| Device {
        rate: Some(Bandwidth::new(64_000_000)),
        slot: us(slot),
        ..device("slow", 0, 6_400, 1_000)
    };
    let (cut, _) = told(&with(500, vec![slow(90)]));
    assert!(cut.transfers.len() == 20 && cut.transfers.iter().all(|transfer| !transfer.left.is_zero()));
    assert!(cut.interrupts.is_empty() && cut.releases.is_empty());
    let (whole, _) = told(&with(500, vec![slow(110)]));
    assert_eq!(whole.releases.len(), 20);
}

#[test]
fn a_small_reservation_delays_the_transfer_and_so_the_release() {
    // 64 lines: the last begins 63 lines after the first.
    let first = |rate: Option<u64>| {
        let free = with(500, vec![device("camera", 0, 4_096, 1_000)]);
        let dma = rate.map(|rate| DmaMaster { name: "camera".into(), rate: Bandwidth::new(rate) });
        let counted = Counted::One(EventId::LLC_MISSES);
        let plain = Regulation::new(ms(1), counted, Vec::new(), Bandwidth::new(1_000_000_000));
        let bandwidth = Regulation { dma: dma.into_iter().collect(), best_effort: true, ..plain };
        let isolation = Isolation { bandwidth: Some(bandwidth), ..Isolation::default() };
        let (told, _) = told(&Experiment { isolation, ..free });
        assert_eq!(told.releases.len(), 20);
        told.releases[0].0.since(Instant::ZERO)
    };
    let (free, wide, narrow) = (first(None), first(Some(64_000_000)), first(Some(8_000_000)));
    assert!(free < us(10), "{free}");
    assert!((us(63)..us(64)).contains(&wide), "{wide}");
    assert!((us(504)..us(505)).contains(&narrow), "{narrow}");
}

#[test]
fn what_comes_too_soon_is_held_back_and_merged_and_the_kernel_is_paid_for_all() {
    let mut often = with(1_000, vec![device("often", 0, 64, 300)]);
    for (path, cost) in [(Overhead::Tick, us(2)), (Overhead::Release, us(1))] {
        let row = Overhead::ALL.iter().position(|&overhead| overhead == path).expect("it has a row");
        often.overheads.steps[row] = vec![(0, cost)];
    }
    let (told, records) = told(&often);
    assert_eq!(told.interrupts.len(), told.transfers.len());
    // Of each 1,000 us: some are held back, others merged, and no two releases are nearer.
    let count = |admitted| told.interrupts.iter().filter(|it| it.admitted == admitted).count();
    let [released, held, merged] = [Admitted::Released, Admitted::Held, Admitted::Merged].map(count);
    assert_eq!((released, told.interrupts.len()), (1, 67));
    assert_eq!(told.releases.len(), 20);
    // What is held back at the end would be released after it.
    assert_eq!((held, merged), (20, 46));
    for (one, next) in told.releases.iter().zip(&told.releases[1..]) {
        assert_eq!(next.0.since(one.0), ms(1), "held back until then, and no longer");
    }
    let spent = |overhead: Overhead| -> u64 {
        let of = |record: &Record| match record {
            Record::Overhead(path) if path.overhead == overhead && path.core.0 == 1 => path.cost.get(),
            _ => 0,
        };
        records.iter().map(of).sum()
    };
    // Each interrupt and each timer; each release.
    assert_eq!(spent(Overhead::Tick), (67 + 19) * 2 * US);
    assert_eq!(spent(Overhead::Release), 20 * US);
    // Handling it delays the job: 2 + 1 us, or the timer's.
    let longest = jobs(&records, 0).iter().map(|job| job.response()).max();
    assert!(longest >= Some(us(23)), "{longest:?}");
}

#[test]
fn two_devices_release_one_task() {
    let one = device("one", 0, 64, 3_000);
    let other = Device { offset: us(700), ..device("other", 1, 64, 2_500) };
    let (told, _) = told(&with(1_000, vec![one, other]));
    // Both lists by hand, in whole 100 us: 0, 30, 60 ... and 7, 32, 57 ...; a transfer of a line takes less than one.
    let (mut raised, mut releases): (Vec<u64>, Vec<u64>) = (Vec::new(), Vec::new());
    raised.extend((0..200).step_by(30).chain((7..200).step_by(25)));
    raised.sort_unstable();
    for arrival in raised {
        match releases.last() {
            Some(last) if *last > arrival => {}
            Some(last) => releases.push(arrival.max(last + 10)),
            None => releases.push(arrival),
        }
    }
    let found: Vec<u64> = told.releases.iter().map(|(nominal, _)| nominal.get() / (100 * US)).collect();
    releases.retain(|at| *at < 200);
    assert_eq!(found, releases);
    let devices: Vec<u16> = told.interrupts.iter().map(|it| it.device.0).collect();
    assert!(devices.contains(&0) && devices.contains(&1));
}

#[test]
fn a_release_preempts_who_is_less_urgent_on_its_core() {
    let mut shared = with(500, vec![Device { offset: us(300), ..device("camera", 0, 64, 1_000) }]);
    shared.tasks.push(periodic("long", 1, ms(2), vec![compute(us(1_500))]));
    let (told, records) = told(&shared);
    let long = jobs(&records, 2);
    assert!(long.iter().all(|job| job.preemptions >= 1), "{long:?}");
    let first = jobs(&records, 0)[0];
    assert_eq!(first.start, told.releases[0].0);
}

#[test]
fn a_sporadic_task_that_no_device_releases_is_refused_and_so_is_a_device_that_releases_another() {
    let mut nobody = with(500, vec![device("camera", 0, 64, 1_000)]);
    nobody.devices[0].releases = None;
    let refused = |experiment: &Experiment| {
        let mut keep = common::Keep::default();
        solo_sim::run(experiment, &[], &mut keep).map_err(|why| why.to_string())
    };
    let why = refused(&nobody).expect_err("nobody releases it");
    assert!(why.contains("the devices that release a sporadic task"), "{why}");
    for wrong in [TaskId(1), TaskId(9)] {
        let both = vec![device("camera", 0, 64, 1_000), device("other", 1, 64, 1_000)];
        let mut periodic = with(500, both);
        periodic.devices[1].releases = Some(wrong);
        let why = refused(&periodic).expect_err("it is not sporadic");
        assert!(why.contains("the task that a device releases"), "{why}");
    }
    // Taken away with its owner's other things, it leaves a task that is released as often as it may be.
    let mut alone = with(500, vec![Device { owner: TaskId(1), ..device("camera", 0, 64, 1_000) }]);
    alone.retain_tasks(|task| task.name == "decode");
    assert!(alone.devices.is_empty());
    assert_eq!(alone.tasks[0].release, Release::Periodic { offset: Duration::ZERO, period: us(500) });
    let (told, _) = told(&alone);
    assert_eq!(told.releases.len(), 40);
}
