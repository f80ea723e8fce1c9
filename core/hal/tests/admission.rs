//! A machine is held to what it says of itself: each need by itself, and whatever wraps a machine only lowers.

use solo_hal::{Able, Checked, Lack, Quiet, admit};
use solo_model::caps::KindCaps;
use solo_model::experiment::End;
use solo_model::fixtures::chip;
use solo_model::isolation::*;
use solo_model::listening::{Listening, MonitorKind, Observed, Reaction};
use solo_model::partition::Partitions;
use solo_model::policy::Scope;
use solo_model::task::Release;
use solo_model::work::{Buffer, Flush, Pattern, Step, Touch, TraceSource, Work};
use solo_model::{
    Bandwidth, BufferId, Bytes, Caps, Color, CoreId, CoreSet, Criterion, Device, Direction, Duration,
    EventId, EventSet, Experiment, Migration, PerMille, Policy, SplitMix64, Task, TaskClass, TaskId,
};

/// One task that computes nothing on a chip of two cores.
fn modest() -> Experiment {
    let task = Task {
        core: Some(CoreId(0)),
        ..Task::new("t", TaskClass::Hard, Release::Once { offset: Duration::ZERO })
    };
    let policy = Policy::new(Scope::Partitioned, Criterion::Fcfs);
    Experiment::new("modest", chip(2), policy, vec![task], End::At(Duration::from_secs(1)))
}

fn migrating() -> Experiment {
    let mut experiment = modest();
    experiment.tasks[0].migrate = Some(Migration::EachPeriod);
    experiment
}

/// Everything that can be asked of a machine.
fn able() -> Caps {
    Caps {
        threads_max: 1,
        memory: true,
        devices: true,
        self_starting_devices: true,
        flushes_buffers: true,
        flushes_all: true,
        recordings: true,
        commands: true,
        counters: 2,
        counter_overflow: true,
        countable: EventSet::ALL,
        timer_resolution: Duration::from_micros(1),
        colors: 1,
        banks: 1,
        ways: 1,
        cache_lock: true,
        occupancy: true,
        duty_cycles: true,
        ..Caps::plain(2)
    }
}

fn regulated(counted: Counted) -> Isolation {
    let regulation = Regulation {
        best_effort: true,
        ..Regulation::new(Duration::from_micros(1), counted, Vec::new(), Bandwidth::new(1))
    };
    Isolation { bandwidth: Some(regulation), ..Isolation::default() }
}

fn isolated(isolation: Isolation) -> Experiment {
    Experiment { isolation, ..modest() }
}

/// With a device that moves a line a millisecond.
fn moved() -> Experiment {
    let millisecond = Duration::from_millis(1);
    let device = Device {
        name: "camera".into(),
        owner: TaskId(0),
        releases: None,
        direction: Direction::Input,
        moves: Bytes::new(64),
        buffer: BufferId(0),
        offset: Duration::ZERO,
        period: millisecond,
        slot: millisecond,
        core: None,
        rate: None,
        wait_every: Bytes::new(64),
    };
    Experiment { devices: vec![device], ..modest() }
}

fn divided() -> Experiment {
    isolated(Isolation { partitions: Some(Partitions::default()), ..Isolation::default() })
}

fn colored(colors: &[u16], banks: &[u16], kernel: Option<u16>) -> Experiment {
    let owner = ColorOwner {
        task: TaskId(0),
        colors: colors.iter().copied().map(Color).collect(),
        banks: banks.iter().copied().map(solo_model::Bank).collect(),
    };
    let coloring = Coloring { owners: vec![owner], kernel: kernel.map(Color), ..Coloring::default() };
    isolated(Isolation { memory: Some(coloring), ..Isolation::default() })
}

fn flushing(flush: Flush) -> Experiment {
    let mut experiment = modest();
    experiment.buffers.push(Buffer { name: "b".into(), size: Bytes::new(64) });
    experiment.tasks[0].work = Work { steps: vec![Step::Flush(flush)] };
    experiment
}

fn touching() -> Experiment {
    let touch = Touch {
        pattern: Pattern::Sweep,
        buffer: BufferId(0),
        accesses: 1,
        stride: Bytes::new(64),
        writes: PerMille::default(),
        think: Duration::ZERO,
    };
    let mut experiment = modest();
    experiment.buffers.push(Buffer { name: "b".into(), size: Bytes::new(64) });
    // Inside a repetition, where a shallow look does not find it.
    let steps = vec![Step::Repeat { times: 1, steps: vec![Step::Touch(touch)] }];
    experiment.tasks[0].work = Work { steps };
    experiment
}

fn locked(pages: u64) -> Experiment {
    let page = |page| LockedPage { task: TaskId(0), buffer: BufferId(0), page, color: Color(0) };
    let lockdown = Lockdown { pages: (0..pages).map(page).collect(), ..Lockdown::default() };
    isolated(Isolation { lockdown: Some(lockdown), ..Isolation::default() })
}

fn masked() -> Experiment {
    let mask = WayMask { owner: WayOwner::Core(CoreId(0)), mask: 1 };
    isolated(Isolation { ways: vec![mask], ..Isolation::default() })
}

fn replaying() -> Experiment {
    let trace = TraceSource { path: "t.trace".into(), hash: String::new() };
    Experiment { traces: vec![trace], ..modest() }
}

fn starting() -> Experiment {
    let mut experiment = modest();
    experiment.tasks[0].work.steps = vec![Step::Command(vec!["gzip".to_owned()])];
    experiment
}

/// A scheduler that listens to what the one task holds of the cache, of which two processes can be told apart.
fn curved(reaction: Reaction) -> Experiment {
    let events = vec![EventId::INSTRUCTIONS, EventId::LLC_MISSES];
    let capacity = Bytes::new(1 << 20);
    let monitor = MonitorKind::MissRateCurve;
    let observed = Observed { monitor, events, capacity, ..Observed::count_of(EventId::LLC_MISSES) };
    let listening = Listening::new(observed, Duration::from_micros(2), reaction);
    let mut experiment = Experiment { listening: Some(listening), ..modest() };
    experiment.platform.pmu.rmids = 3;
    experiment
}

#[test]
fn no_more_processes_than_there_are_ids_and_those_that_end_share_theirs() {
    let lasting = Release::Continuous { offset: Duration::ZERO };
    let with = |lasts: usize, ends: usize| {
        let mut experiment = curved(Reaction::Report);
        let ending = experiment.tasks[0].clone();
        experiment.tasks = vec![Task { release: lasting, ..ending.clone() }; lasts];
        experiment.tasks.extend(vec![ending; ends]);
        admit(&experiment, &Caps { threads_max: 100, ..able() })
    };
    assert_eq!([with(2, 0), with(1, 9), with(0, 9)], [Ok(()), Ok(()), Ok(())]);
    assert_eq!(with(3, 0), Err(Lack::Rmids { needed: 3, available: 2 }));
    assert_eq!(with(2, 1), Err(Lack::Rmids { needed: 3, available: 2 }));
    let mut together = curved(Reaction::Report);
    together.tasks = vec![Task { release: lasting, ..together.tasks[0].clone() }; 6];
    together.listening.as_mut().expect("it listens").processes = vec![(0..5).map(TaskId).collect()];
    assert_eq!(admit(&together, &Caps { threads_max: 100, ..able() }), Ok(()));
}

/// An experiment, how a machine that can do everything is made unable, and what it lacks then.
type Row = (Experiment, fn(&mut Caps), Lack);

fn table() -> Vec<Row> {
    let one = || isolated(regulated(Counted::One(EventId::LLC_MISSES)));
    let both = || isolated(regulated(Counted::ReadsAndWrites));
    let name = "llc_misses".to_owned();
    let (period, finest) = (Duration::from_micros(1), Duration::new(1_001));
    let counters = |needed, available, interrupt| Lack::Counters { needed, available, interrupt };
    vec![
        (modest(), |caps| caps.cores = CoreSet::only(CoreId(1)), Lack::Cores { needed: 2, available: 1 }),
        (modest(), |caps| caps.threads_max = 0, Lack::Threads { needed: 1, available: 0 }),
        (touching(), |caps| caps.memory = false, Lack::Memory),
        (flushing(Flush::All), |caps| caps.flushes_all = false, Lack::Flush { all: true }),
        (
            flushing(Flush::Buffer(BufferId(0))),
            |caps| caps.flushes_buffers = false,
            Lack::Flush { all: false },
        ),
        (migrating(), |caps| caps.migrates = false, Lack::Migration { name: "t".to_owned() }),
        (starting(), |caps| caps.commands = false, Lack::Command { name: "t".to_owned() }),
        (replaying(), |caps| caps.recordings = false, Lack::Recordings),
        (one(), |caps| caps.counters = 0, counters(1, 0, true)),
        (both(), |caps| caps.counters = 1, counters(2, 1, true)),
        (one(), |caps| caps.counter_overflow = false, counters(1, 2, false)),
        (one(), |caps| caps.countable = EventSet::EMPTY, Lack::Event { event: EventId::LLC_MISSES, name }),
        (
            both(),
            |caps| caps.countable = EventSet::EMPTY.with(EventId::DRAM_READS),
            Lack::Event { event: EventId::DRAM_WRITES, name: "dram_writes".to_owned() },
        ),
        (one(), |caps| caps.timer_resolution = Duration::new(1_001), Lack::Timer { period, finest }),
        (colored(&[0], &[], None), |caps| caps.colors = 0, Lack::Colors),
        (colored(&[], &[], Some(0)), |caps| caps.colors = 0, Lack::Colors),
        (colored(&[], &[3], None), |caps| caps.banks = 0, Lack::Banks),
        (masked(), |caps| caps.ways = 0, Lack::Ways),
        (locked(1), |caps| caps.cache_lock = false, Lack::Locking),
        (divided(), |caps| caps.windows = false, Lack::Windows),
        (moved(), |caps| caps.devices = false, Lack::Devices { name: "camera".to_owned() }),
        (
            moved(),
            |caps| caps.self_starting_devices = false,
            Lack::DeviceWithoutCore { name: "camera".to_owned() },
        ),
        (curved(Reaction::Report), |caps| caps.occupancy = false, Lack::Rmids { needed: 1, available: 0 }),
        (curved(Reaction::DutyCycles), |caps| caps.duty_cycles = false, Lack::DutyCycles),
        (curved(Reaction::Utility), |caps| caps.ways = 0, Lack::Ways),
    ]
}

#[test]
fn each_need_is_admitted_where_it_is_met_and_refused_with_its_numbers_where_not() {
    for (experiment, unable, lack) in table() {
        assert_eq!(admit(&experiment, &able()), Ok(()), "{lack:?}");
        let mut caps = able();
        unable(&mut caps);
        assert_eq!(admit(&experiment, &caps), Err(lack.clone()));
        assert_eq!(
            admit(&modest(), &caps).is_ok(),
            !matches!(lack, Lack::Cores { .. } | Lack::Threads { .. })
        );
        assert!(!lack.to_string().is_empty());
    }
}

#[test]
fn what_is_not_asked_for_need_not_be_there() {
    assert_eq!(admit(&modest(), &Caps::plain(2)), Ok(()));
    assert_eq!(admit(&locked(0), &Caps::plain(2)), Ok(()), "no page is to be locked");
    assert_eq!(admit(&colored(&[], &[], None), &Caps::plain(2)), Ok(()), "any page will do");
    let mut unused = modest();
    unused.buffers.push(Buffer { name: "b".into(), size: Bytes::new(64) });
    assert_eq!(admit(&unused, &Caps::plain(2)), Ok(()), "nobody touches it");
}

fn drawn(random: &mut SplitMix64) -> Caps {
    let mut small = |bound| random.below(bound);
    let cores = CoreSet::from_bits(small(8));
    let split = CoreSet::from_bits(small(8));
    let halves = [cores.and(split), CoreSet::from_bits(cores.bits() & !split.bits())];
    let mut capacity = || PerMille::new(small(1001) as u16).expect("a share");
    let mut kinds: Vec<KindCaps> =
        halves.into_iter().map(|cores| KindCaps { cores, capacity: capacity() }).collect();
    kinds.retain(|kind| !kind.cores.is_empty());
    kinds.sort_by_key(|kind| kind.cores.lowest());
    let mut yes = || random.below(2) == 1;
    let (memory, recordings, counter_overflow, cache_lock) = (yes(), yes(), yes(), yes());
    let devices = yes();
    let events = [EventId::LLC_MISSES, EventId::DRAM_READS, EventId::DRAM_WRITES];
    let countable = events.into_iter().filter(|_| yes()).collect();
    Caps {
        cores,
        kinds,
        memory,
        devices,
        migrates: yes(),
        flushes_buffers: yes(),
        flushes_all: yes(),
        recordings,
        counter_overflow,
        cache_lock,
        countable,
        occupancy: yes(),
        duty_cycles: yes(),
        energy: yes(),
        threads_max: random.below(3) as u32,
        counters: random.below(4) as u8,
        colors: random.below(3) as u16,
        banks: random.below(3) as u16,
        ways: random.below(3) as u16,
        timer_resolution: Duration::new(500 + random.below(1_000)),
        ..Caps::plain(3)
    }
}

#[test]
fn what_a_lowered_machine_admits_both_admit_and_whatever_one_refuses_it_refuses() {
    let mut random = SplitMix64::new(5);
    let (mut admitted, mut refused) = (0, 0);
    let capacity = |caps: &Caps, core| {
        caps.kinds.iter().find(|kind| kind.cores.contains(core)).map(|kind| kind.capacity)
    };
    for _ in 0..3_000 {
        let (a, b) = (drawn(&mut random), drawn(&mut random));
        let both = a.lowered(&b);
        assert_eq!(both, b.lowered(&a));
        assert_eq!(both.lowered(&a), both);
        assert_eq!(a.lowered(&a), a);
        for core in (0..3).map(CoreId) {
            let expected = capacity(&a, core).zip(capacity(&b, core)).map(|(a, b)| a.min(b));
            assert_eq!(capacity(&both, core), expected);
        }
        for (experiment, ..) in table() {
            let apart = admit(&experiment, &a).is_ok() && admit(&experiment, &b).is_ok();
            let together = admit(&experiment, &both).is_ok();
            assert_eq!(together, apart, "{a:?} {b:?}");
            if together { admitted += 1 } else { refused += 1 }
        }
    }
    assert!(admitted > 50 && refused > 1_000, "{admitted} admitted, {refused} refused");
}

#[test]
fn a_wrapper_answers_for_the_machine_inside_and_never_promises_more() {
    let mut quiet = Quiet;
    let all = quiet.caps();
    assert_eq!(all.cores.len(), CoreSet::CAPACITY);
    let cores = CoreSet::first(2);
    let checked = Checked { machine: &mut quiet, cores, open: None };
    let caps = checked.caps();
    assert_eq!((caps.cores, caps.kinds.len(), caps.kinds[0].cores), (cores, 1, cores));
    assert_eq!(Caps { cores: all.cores, kinds: all.kinds.clone(), ..caps }, all);
}
