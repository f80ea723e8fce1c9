//! Devices that move data by themselves: how much they ask of memory, when, and what cores feel of it.
#![allow(missing_docs)]

mod common;

use common::{at, compute, experiment, jobs, ms, periodic, run, touch};
use solo_model::experiment::{End, Experiment};
use solo_model::isolation::{ColorOwner, Coloring, Counted, DmaMaster, Isolation, Regulation};
use solo_model::record::TransferRecord;
use solo_model::work::Pattern;
use solo_model::{
    Bandwidth, Bank, BufferId, Bytes, CoreId, Device, DeviceId, Direction, Duration, EventId, JobRecord,
    Record, TaskId,
};

fn device(name: &str, buffer: u32, moves: u64) -> Device {
    Device {
        name: name.into(),
        owner: TaskId(0),
        releases: None,
        direction: Direction::Input,
        moves: Bytes::new(moves),
        buffer: BufferId(buffer),
        offset: Duration::ZERO,
        period: ms(1),
        slot: ms(1),
        core: None,
        rate: None,
        wait_every: Bytes::new(64),
    }
}

/// Devices with 4 MiB of memory each beside a task that only computes, on a chip of two cores.
fn alone(devices: Vec<Device>, run_for: u64) -> Experiment {
    let task = periodic("computes", 0, ms(1), vec![compute(Duration::from_micros(10))]);
    let buffers = vec![Bytes::from_mib(4); devices.len()];
    Experiment { devices, ..experiment(2, vec![task], &buffers, End::At(ms(run_for))) }
}

/// Holds devices of these names to what is reserved for each.
fn held_to(experiment: Experiment, limits: &[(&str, Bandwidth)]) -> Experiment {
    let dma = limits.iter().map(|(name, rate)| DmaMaster { name: (*name).into(), rate: *rate }).collect();
    let counted = Counted::One(EventId::LLC_MISSES);
    let plain = Regulation::new(ms(1), counted, Vec::new(), Bandwidth::new(1_000_000_000));
    let regulation = Regulation { dma, best_effort: true, ..plain };
    Experiment { isolation: Isolation { bandwidth: Some(regulation), ..experiment.isolation }, ..experiment }
}

fn transfers(records: &[Record]) -> Vec<TransferRecord> {
    let of = |record: &Record| if let Record::Transfer(transfer) = record { Some(*transfer) } else { None };
    records.iter().filter_map(of).collect()
}

/// Byte by byte: a transaction ends at the end of a line and at a wait state.
fn transactions(moves: u64, every: Option<u64>) -> u64 {
    (0..moves)
        .filter(|byte| byte.is_multiple_of(64) || every.is_some_and(|every| byte.is_multiple_of(every)))
        .count() as u64
}

#[test]
fn memory_is_asked_as_often_as_a_count_of_all_bytes_says() {
    let fast = Bandwidth::new(6_400_000_000);
    let mut seen = 0;
    for direction in [Direction::Input, Direction::Output] {
        for moves in [1, 63, 64, 65, 4096, 10_000] {
            for every in (0..=10).map(|power| 1_u64 << power) {
                for limited in [false, true] {
                    let camera =
                        Device { direction, wait_every: Bytes::new(every), ..device("camera", 0, moves) };
                    let free = alone(vec![camera], 3);
                    let found = match limited {
                        true => run(&held_to(free, &[("camera", fast)])),
                        false => run(&free),
                    };
                    let found = transfers(&found.0);
                    assert!(found.len() >= 2, "{found:?}");
                    let expected = transactions(moves, limited.then_some(every));
                    for transfer in found {
                        let (asked, not_asked) = match direction {
                            Direction::Input => (transfer.writes, transfer.reads),
                            Direction::Output => (transfer.reads, transfer.writes),
                        };
                        let what = format!("{direction:?} {moves} {every} {limited}");
                        assert_eq!((asked, not_asked), (expected, 0), "{what}");
                        assert_eq!((transfer.moved.get(), transfer.left.get()), (moves, 0), "{what}");
                        seen += 1;
                    }
                }
            }
        }
    }
    assert!(seen >= 500, "{seen}");
}

#[test]
fn wait_states_hold_a_device_to_what_is_reserved_for_it() {
    // 640 MB/s: a line a tenth of a microsecond.
    let limit = Bandwidth::new(640_000_000);
    for direction in [Direction::Input, Direction::Output] {
        for every in (0..=10).map(|power| 1_u64 << power) {
            let moves = 4096.min(every * 64);
            let camera = Device { direction, wait_every: Bytes::new(every), ..device("camera", 0, moves) };
            let (records, _) = run(&held_to(alone(vec![camera], 3), &[("camera", limit)]));
            // Bursts begin no sooner than their lines take at the limit; what the last one takes comes on top.
            let burst = (every / 64).max(1);
            let bursts = transactions(moves, Some(every)).div_ceil(burst);
            let least = Duration::new((bursts - 1) * burst * 100);
            for transfer in transfers(&records) {
                let took = transfer.at.since(transfer.since);
                assert!(took >= least, "{direction:?} {every}: {took} of {least}");
                assert!(took <= least + Duration::new(1_000), "{direction:?} {every}: {took} of {least}");
            }
        }
    }
}

#[test]
fn a_device_that_is_slow_itself_takes_its_time() {
    let slow = Device { rate: Some(Bandwidth::new(64_000_000)), ..device("serial", 0, 6400) };
    let (records, _) = run(&alone(vec![slow], 3));
    let found = transfers(&records);
    let took: Vec<u64> = found.iter().map(|transfer| transfer.at.since(transfer.since).get()).collect();
    // A hundred lines of a microsecond each, the first at once.
    assert!(took.iter().all(|took| (99_000..100_000).contains(took)), "{took:?}");
}

#[test]
fn slots_begin_when_they_are_to_and_what_is_not_moved_in_one_is_lost() {
    let (period, slot) = (Duration::from_micros(300), Duration::from_micros(100));
    let late = Device {
        rate: Some(Bandwidth::new(64_000_000)),
        offset: Duration::from_micros(50),
        period,
        slot,
        ..device("late", 0, 12_800)
    };
    let (records, _) = run(&alone(vec![late], 1));
    let found = transfers(&records);
    let begins: Vec<u64> = found.iter().map(|transfer| transfer.since.get() / 1000).collect();
    assert_eq!(begins, [50, 350, 650]);
    for transfer in found {
        assert_eq!(transfer.at.since(transfer.since), slot);
        // A line a microsecond, from the begin of the slot on.
        assert_eq!((transfer.moved.get(), transfer.left.get()), (6_400, 6_400));
        assert_eq!(transfer.writes, 100);
    }
}

/// Two devices that one core starts: periods, begins and lengths in microseconds.
fn pair(one: (u64, u64, u64), other: (u64, u64, u64)) -> Experiment {
    let of = |name: &str, buffer, (period, offset, slot)| Device {
        core: Some(CoreId(1)),
        period: Duration::from_micros(period),
        offset: Duration::from_micros(offset),
        slot: Duration::from_micros(slot),
        ..device(name, buffer, 64)
    };
    alone(vec![of("one", 0, one), of("other", 1, other)], 4)
}

#[test]
fn slots_of_one_core_that_overlap_are_found_and_neighbors_do_not() {
    // Every distance of two slots, held against each microsecond of both.
    let mut overlapping = 0;
    for (periods, slots) in [((30, 20), (4, 3)), ((24, 24), (12, 12)), ((18, 36), (6, 12))] {
        for offset in 0..periods.0 {
            let pair = pair((periods.0, offset, slots.0), (periods.1, 7, slots.1));
            let (records, _) = run(&pair);
            let found = transfers(&records).iter().any(|transfer| transfer.overlaps.is_some());
            let taken = |time: u64, (period, offset, slot)| time >= offset && (time - offset) % period < slot;
            let both = |time: &u64| {
                taken(*time, (periods.0, offset, slots.0)) && taken(*time, (periods.1, 7, slots.1))
            };
            assert_eq!(found, (0..3600).any(|time| both(&time)), "{periods:?} {slots:?} {offset}");
            overlapping += u64::from(found);
        }
    }
    assert!((20..70).contains(&overlapping), "{overlapping}");
}

#[test]
fn devices_that_start_by_themselves_overlap_nobody() {
    let mut free = pair((30, 0, 30), (20, 0, 20));
    let overlaps = |experiment: &Experiment| {
        transfers(&run(experiment).0).iter().filter_map(|transfer| transfer.overlaps).collect::<Vec<_>>()
    };
    assert!(overlaps(&free).contains(&DeviceId(0)));
    free.devices[0].core = Some(CoreId(0));
    assert_eq!(overlaps(&free), []);
    free.devices[0].core = None;
    free.devices[1].core = None;
    assert_eq!(overlaps(&free), []);
}

/// A task that misses all the time, and how long its jobs took at most, and waited for others.
fn victim(devices: Vec<Device>, limits: &[(&str, Bandwidth)]) -> (Duration, Duration) {
    let reads = periodic("reads", 0, ms(4), vec![touch(Pattern::Random, 0, Bytes::from_kib(64), 0)]);
    let buffers = vec![Bytes::from_mib(4); 1 + devices.len()];
    let plain = Experiment { devices, ..experiment(2, vec![reads], &buffers, End::Jobs(5)) };
    let plain = if limits.is_empty() { plain } else { held_to(plain, limits) };
    let (records, _) = run(&plain);
    let others = |job: &&JobRecord| job.stalls.map_or(Duration::ZERO, |stalls| stalls.dram_queue_others);
    let found = jobs(&records, 0);
    assert_eq!(found.len(), 5);
    let longest = found.iter().map(|job| job.response()).max();
    (longest.unwrap_or_default(), found.iter().map(others).max().unwrap_or_default())
}

#[test]
fn cores_wait_for_devices_and_less_for_those_with_wait_states() {
    let disk = || vec![Device { direction: Direction::Output, ..device("disk", 1, 4 << 20) }];
    let (alone, nobody) = victim(Vec::new(), &[]);
    let (beside, waited) = victim(disk(), &[]);
    let (held, little) = victim(disk(), &[("disk", Bandwidth::new(100_000_000))]);
    assert_eq!(nobody, Duration::ZERO, "a core alone waits for nobody");
    assert!(beside > alone + alone / 4, "{alone} {beside}");
    assert!(waited > Duration::ZERO && little > Duration::ZERO && little < waited / 4, "{waited} {little}");
    assert!(alone < held && held < alone + alone / 8, "{alone} {held} {beside}");
}

#[test]
fn a_device_asks_the_banks_of_its_owner() {
    let other = |bank: u16| {
        let steps = || vec![touch(Pattern::Random, 0, Bytes::from_kib(64), 0)];
        let owner = periodic("owner", 1, ms(4), vec![compute(Duration::from_micros(1))]);
        let tasks = vec![periodic("reads", 0, ms(4), steps()), owner];
        let disk = Device { direction: Direction::Output, owner: TaskId(1), ..device("disk", 1, 2 << 20) };
        let held =
            |task, bank| ColorOwner { task: TaskId(task), colors: Vec::new(), banks: vec![Bank(bank)] };
        let memory =
            Coloring { owners: vec![held(0, 0), held(1, bank)], shared: true, ..Coloring::default() };
        let buffers = [Bytes::from_mib(4), Bytes::from_mib(2)];
        let plain = experiment(2, tasks, &buffers, End::Jobs(5));
        let isolation = Isolation { memory: Some(memory), ..Isolation::default() };
        let (records, _) = run(&Experiment { devices: vec![disk], isolation, ..plain });
        let conflicts = |job: &&JobRecord| job.counts.get(EventId::DRAM_ROW_CONFLICTS).unwrap_or(0);
        let response = jobs(&records, 0).iter().map(|job| job.response()).max().unwrap_or_default();
        (jobs(&records, 0).iter().map(conflicts).sum::<u64>(), response)
    };
    let (same, apart) = (other(0), other(1));
    assert!(apart.1 < same.1, "{same:?} {apart:?}");
}

/// Misses of the last level of a task that reads a buffer over and over, which fits into the caches.
fn misses(buffer: u32, direction: Direction) -> u64 {
    let size = Bytes::from_kib(8);
    let reads = periodic("reads", 0, ms(1), vec![touch(Pattern::Sweep, 0, size, 0)]);
    let offset = Duration::from_micros(500);
    let camera = Device { offset, direction, ..device("camera", buffer, size.get()) };
    let plain = experiment(2, vec![reads], &[size, size], End::Jobs(10));
    let (records, _) = run(&Experiment { devices: vec![camera], ..plain });
    jobs(&records, 0).iter().skip(1).map(|job| job.counts.get(EventId::LLC_MISSES).unwrap_or(0)).sum()
}

#[test]
fn what_a_device_writes_is_in_no_cache_any_more() {
    // A line of 64 bytes, in each of nine jobs.
    assert_eq!(misses(0, Direction::Input), 9 * 128);
    assert_eq!(misses(0, Direction::Output), 0, "what is read stays");
    assert_eq!(misses(1, Direction::Input), 0, "memory of its own is nobody else's");
}

#[test]
fn what_a_cache_has_changed_comes_from_there() {
    let size = Bytes::from_kib(8);
    let sent = |writes| {
        let task = periodic("writes", 0, ms(1), vec![touch(Pattern::Sweep, 0, size, writes)]);
        let offset = Duration::from_micros(500);
        let sends = Device { direction: Direction::Output, offset, ..device("display", 0, size.get()) };
        let plain = experiment(2, vec![task], &[size], End::At(ms(5)));
        let (records, _) = run(&Experiment { devices: vec![sends], ..plain });
        let found = transfers(&records);
        assert!(found.iter().all(|transfer| transfer.moved == size && transfer.since >= at(0)));
        found.iter().map(|transfer| transfer.reads).sum::<u64>()
    };
    assert_eq!(sent(1000), 0, "all of it is changed, and in the caches");
    assert_eq!(sent(0), 5 * 128, "none of it is: memory has it");
}
