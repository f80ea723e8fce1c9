//! Windows are whole or refused, and whose turn it is agrees with counting nanoseconds.

use solo_model::partition::{MajorCycle, Partition, Partitions, TimeWindow, WindowError};
use solo_model::{CoreId, Duration, PartitionId, SplitMix64, TaskId};

fn window(partition: u16, begin: u64, length: u64) -> TimeWindow {
    let (begin, length) = (Duration::new(begin), Duration::new(length));
    TimeWindow { partition: PartitionId(partition), begin, length }
}

fn cycle(core: u16, length: u64, windows: &[TimeWindow]) -> MajorCycle {
    MajorCycle { core: CoreId(core), length: Duration::new(length), windows: windows.to_vec() }
}

/// Partitions without tasks.
fn empty(count: usize) -> Vec<Partition> {
    vec![Partition::default(); count]
}

fn refused(cycles: Vec<MajorCycle>) -> WindowError {
    Partitions::new(empty(2), cycles).expect_err("no windows")
}

const CORE: CoreId = CoreId(3);

#[test]
fn windows_that_touch_do_not_overlap_and_may_fill_the_cycle() {
    let windows = [window(1, 60, 40), window(0, 0, 25), window(0, 25, 35)];
    let whole = Partitions::new(empty(2), vec![cycle(3, 100, &windows)]).expect("they are whole");
    let begins: Vec<u64> = whole.cycles()[0].windows.iter().map(|window| window.begin.get()).collect();
    assert_eq!(begins, [0, 25, 60]);
    assert_eq!(whole.cycle(CORE), Some(&whole.cycles()[0]));
    assert_eq!(whole.cycle(CoreId(0)), None);
    // A core on which nobody's turn ever comes is a choice; so is no core at all.
    assert!(Partitions::new(empty(2), vec![cycle(0, 1, &[])]).is_ok());
    assert_eq!(Partitions::new(Vec::new(), Vec::new()), Ok(Partitions::default()));
}

#[test]
fn one_nanosecond_too_much_is_refused_with_its_numbers() {
    let (begin, until) = (Duration::new(10), Duration::new(30));
    assert_eq!(
        refused(vec![cycle(3, 100, &[window(1, 29, 5), window(0, 10, 20)])]),
        WindowError::Overlap { core: CORE, first: begin, until, second: Duration::new(29) }
    );
    assert_eq!(
        refused(vec![cycle(3, 100, &[window(0, 10, 20), window(1, 10, 20)])]),
        WindowError::Overlap { core: CORE, first: begin, until, second: begin },
        "two windows at one time"
    );
    assert_eq!(
        refused(vec![cycle(3, 100, &[window(0, 0, 90), window(1, 10, 5)])]),
        WindowError::Overlap {
            core: CORE,
            first: Duration::ZERO,
            until: Duration::new(90),
            second: Duration::new(10)
        },
        "one inside another"
    );
    let beyond = |begin, length| WindowError::BeyondCycle {
        core: CORE,
        begin: Duration::new(begin),
        length: Duration::new(length),
        cycle: Duration::new(100),
    };
    for (begin, length) in [(0, 101), (99, 2), (100, 1), (u64::MAX, 1), (1, u64::MAX), (u64::MAX, u64::MAX)] {
        assert_eq!(refused(vec![cycle(3, 100, &[window(0, begin, length)])]), beyond(begin, length));
    }
}

#[test]
fn what_is_nothing_or_unknown_is_refused() {
    assert_eq!(refused(vec![cycle(3, 0, &[])]), WindowError::ZeroCycle { core: CORE });
    let zero = WindowError::ZeroWindow { core: CORE, begin: Duration::new(7) };
    assert_eq!(refused(vec![cycle(3, 100, &[window(0, 7, 0)])]), zero);
    let unknown = WindowError::NoSuchPartition { core: CORE, partition: PartitionId(2), partitions: 2 };
    assert_eq!(refused(vec![cycle(3, 100, &[window(2, 0, 1)])]), unknown);
    assert_eq!(refused(vec![cycle(3, 9, &[]), cycle(3, 5, &[])]), WindowError::TwoCycles { core: CORE });
    let both = vec![cycle(3, 100, &[window(1, 0, 1)]), cycle(0, 50, &[window(1, 0, 1)])];
    let (first, second) = (CoreId(0), CORE);
    assert_eq!(refused(both), WindowError::TwoCores { partition: PartitionId(1), first, second });
    let with = |tasks: &[u32]| Partition {
        name: String::new(),
        tasks: tasks.iter().map(|&task| TaskId(task)).collect(),
    };
    let (first, second) = (PartitionId(0), PartitionId(1));
    assert_eq!(
        Partitions::new(vec![with(&[4, 1]), with(&[2, 1])], Vec::new()),
        Err(WindowError::TwoPartitions { task: TaskId(1), first, second })
    );
    assert_eq!(
        Partitions::new(vec![with(&[4, 4])], Vec::new()),
        Err(WindowError::TwoPartitions { task: TaskId(4), first, second: first }),
        "twice in the same one is a mistake, too"
    );
    let sound = Partitions::new(vec![with(&[4]), with(&[2])], Vec::new()).expect("apart");
    assert_eq!([1, 2, 4].map(|task| sound.of(TaskId(task))), [None, Some(second), Some(first)]);
}

/// The reference: which window each nanosecond of a cycle belongs to.
fn by_nanosecond(cycle: &MajorCycle) -> Vec<Option<PartitionId>> {
    let mut owners = vec![None; cycle.length.get() as usize];
    for window in &cycle.windows {
        for at in window.begin.get()..window.begin.get() + window.length.get() {
            owners[at as usize] = Some((window.partition, window.begin));
        }
    }
    owners.into_iter().map(|owner| owner.map(|(partition, _)| partition)).collect()
}

#[test]
fn drawn_windows_are_accepted_exactly_where_no_nanosecond_has_two_owners() {
    let mut random = SplitMix64::new(13);
    let (mut accepted, mut overlapped) = (0, 0);
    for _ in 0..4_000 {
        let length = 1 + random.below(24);
        let draw = |random: &mut SplitMix64| {
            let begin = random.below(length);
            window(random.below(2) as u16, begin, 1 + random.below(length - begin))
        };
        let count = random.below(4);
        let windows: Vec<TimeWindow> = (0..count).map(|_| draw(&mut random)).collect();
        let owners = |at: u64| {
            let holds = |window: &&TimeWindow| {
                (window.begin.get()..window.begin.get() + window.length.get()).contains(&at)
            };
            windows.iter().filter(holds).count()
        };
        let apart = (0..length).all(|at| owners(at) <= 1);
        let found = Partitions::new(empty(2), vec![cycle(0, length, &windows)]);
        assert_eq!(found.is_ok(), apart, "{windows:?}");
        let Ok(found) = found else {
            overlapped += 1;
            continue;
        };
        accepted += 1;
        let cycle = &found.cycles()[0];
        let owners = by_nanosecond(cycle);
        for at in 0..3 * length {
            let turn = cycle.turn(Duration::new(at));
            let phase = (at % length) as usize;
            assert_eq!(turn.partition, owners[phase], "{cycle:?} at {at}");
            let left = turn.left.get() as usize;
            assert!(left > 0 && phase + left <= owners.len(), "{cycle:?} at {at}: {turn:?}");
            assert!(owners[phase..phase + left].iter().all(|owner| *owner == turn.partition));
            // Where another partition, or none, follows within the cycle, the turn ends there and not before.
            let ends = phase + left == owners.len()
                || owners[phase + left] != turn.partition
                || cycle.windows.iter().any(|window| window.begin.get() as usize == phase + left);
            assert!(ends, "{cycle:?} at {at}: {turn:?}");
        }
    }
    assert!(accepted > 500 && overlapped > 500, "{accepted} accepted, {overlapped} refused");
}
