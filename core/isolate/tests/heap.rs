//! Colored heaps: blocks never overlap, come back to their own heap, and merge again.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use solo_isolate::heap::{ColoredHeaps, HeapError, JobHeaps, Mode};
use solo_model::isolation::{Allocation, Coloring, Heaps};
use solo_model::task::{Release, Task, TaskClass};
use solo_model::work::{Step, Work};
use solo_model::{BufferId, Bytes, Color, Duration, SplitMix64, ThreadId};
use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

const SIZE: Bytes = Bytes::from_kib(64);

#[test]
fn the_program_or_the_thread_chooses_the_color() {
    let mut user = ColoredHeaps::new(4, SIZE, None, Mode::UserCentric);
    let at = user.allocate(ThreadId(1), Some(Color(3)), Bytes::new(100)).unwrap();
    assert_eq!(user.color_at(at), Some(Color(3)));
    let unnamed = user.allocate(ThreadId(1), None, Bytes::new(100)).unwrap();
    assert_eq!(user.color_at(unnamed), Some(Color(0)));
    assert_eq!(
        user.allocate(ThreadId(1), Some(Color(4)), Bytes::new(1)),
        Err(HeapError::NoSuchColor { color: Color(4), colors: 4 })
    );

    let mut os = ColoredHeaps::new(4, SIZE, Some(Color(1)), Mode::OsCentric);
    let colors: Vec<u16> = (0..6)
        .map(|thread| {
            // What the program names does not matter.
            let at = os.allocate(ThreadId(thread), Some(Color(1)), Bytes::new(64)).unwrap();
            os.color_at(at).unwrap().0
        })
        .collect();
    assert_eq!(colors, [0, 2, 3, 0, 2, 3]);
    let kernel = os.allocate_kernel(Bytes::new(64)).unwrap();
    assert_eq!(os.color_at(kernel), Some(Color(1)));
}

#[test]
fn nobody_takes_the_kernels_color() {
    let mut heaps = ColoredHeaps::new(2, SIZE, Some(Color(0)), Mode::UserCentric);
    let refused = heaps.allocate(ThreadId(0), None, Bytes::new(64));
    assert_eq!(refused, Err(HeapError::KernelColor { color: Color(0) }));
}

#[test]
fn only_the_beginning_of_a_block_can_be_given_back() {
    let mut heaps = ColoredHeaps::new(2, SIZE, None, Mode::UserCentric);
    let at = heaps.allocate(ThreadId(0), Some(Color(1)), Bytes::new(200)).unwrap();
    for wrong in [at + Bytes::new(64), at + Bytes::new(8), Bytes::ZERO, Bytes::new(1 << 40)] {
        assert_eq!(heaps.release(wrong), Err(HeapError::NotABlock { offset: wrong }));
    }
    assert_eq!(heaps.release(at), Ok((Color(1), Bytes::new(256))));
    assert_eq!(heaps.release(at), Err(HeapError::NotABlock { offset: at }));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn blocks_are_disjoint_and_merge_again(
        steps in proptest::collection::vec((0_u32..3, 1_u64..9000, any::<bool>(), any::<prop::sample::Index>()), 1..200)
    ) {
        let mut heaps = ColoredHeaps::new(3, SIZE, None, Mode::OsCentric);
        let mut held: BTreeMap<u64, (u64, Color)> = BTreeMap::new();
        for (thread, size, take, which) in steps {
            if take || held.is_empty() {
                let Ok(at) = heaps.allocate(ThreadId(thread), None, Bytes::new(size)) else { continue };
                let (from, to) = (at.get(), at.get() + size);
                let before = held.range(..to).next_back();
                prop_assert!(before.is_none_or(|(start, (length, _))| start + length <= from), "overlap");
                let color = heaps.color_at(at).unwrap();
                prop_assert_eq!(color, Color(thread as u16));
                prop_assert_eq!(heaps.color_at(Bytes::new(to - 1)), Some(color));
                held.insert(from, (size, color));
            } else {
                let at = *which.get(&held.keys().copied().collect::<Vec<_>>());
                let (size, color) = held.remove(&at).unwrap();
                prop_assert_eq!(heaps.release(Bytes::new(at)), Ok((color, Bytes::new(size.div_ceil(64) * 64))));
            }
        }
        for (at, _) in held {
            prop_assert!(heaps.release(Bytes::new(at)).is_ok());
        }
        for color in 0..3 {
            prop_assert_eq!(heaps.free(Color(color)), Some(SIZE));
            // In one piece again.
            prop_assert!(heaps.allocate(ThreadId(u32::from(color)), None, SIZE).is_ok());
        }
    }
}

/// A million allocations, releases and ends of jobs: blocks of one heap never overlap, and what is given back returns to its color.
#[test]
fn what_jobs_take_and_give_back_returns_to_its_color() {
    const COLORS: u16 = 5;
    const BUFFERS: u32 = 24;
    for allocation in [Allocation::User, Allocation::Os] {
        let color = |buffer: u32| Some(Color(buffer as u16 % COLORS));
        let take = |buffer| Step::Allocate { buffer: BufferId(buffer), color: color(buffer) };
        let task = Task {
            name: String::new(),
            class: TaskClass::Soft,
            release: Release::Once { offset: Duration::ZERO },
            deadline: None,
            wcet: None,
            misses: None,
            migrate: None,
            priority: None,
            core: None,
            work: Work { steps: (0..BUFFERS).map(take).collect() },
        };
        let heaps = Heaps { allocation, size: SIZE };
        let coloring = Coloring { heaps, kernel: Some(Color(2)), ..Coloring::default() };
        let mut jobs =
            JobHeaps::of(&coloring, COLORS, &vec![task; 9], BUFFERS as usize).expect("a task takes memory");
        let whole = |jobs: &JobHeaps| (0..COLORS).map(|color| jobs.free(Color(color))).collect::<Vec<_>>();
        let before = whole(&jobs);
        let mut dice = SplitMix64::new(7);
        // By buffer: whose, which color, from where to where.
        let mut held: BTreeMap<u32, (u32, Color, u64, u64)> = BTreeMap::new();
        let mut taken = 0;
        for _ in 0..1_000_000 {
            let (thread, buffer) = (dice.below(9) as u32, dice.below(BUFFERS.into()) as u32);
            match dice.below(8) {
                0..4 => {
                    let (size, named) = (1 + dice.below(9_000), Color(dice.below(COLORS.into()) as u16));
                    held.remove(&buffer);
                    let found = jobs.take(ThreadId(thread), BufferId(buffer), Bytes::new(size), Some(named));
                    let Ok(place) = found else { continue };
                    taken += 1;
                    assert_ne!(place.color, Color(2), "it is the kernel's");
                    if allocation == Allocation::User {
                        assert_eq!(place.color, named);
                    }
                    let (from, to) = (place.offset.get(), place.offset.get() + size);
                    assert!(to <= SIZE.get());
                    let overlaps = |&&(_, color, start, end): &&(u32, Color, u64, u64)| {
                        color == place.color && start < to && from < end
                    };
                    assert_eq!(held.values().find(overlaps), None, "{place:?}");
                    held.insert(buffer, (thread, place.color, from, to));
                }
                4..7 => assert_eq!(jobs.give_back(BufferId(buffer)), held.remove(&buffer).is_some()),
                _ => {
                    jobs.end_job(ThreadId(thread));
                    held.retain(|_, (owner, ..)| *owner != thread);
                }
            }
        }
        assert!(taken > 200_000, "{taken}");
        (0..9).for_each(|thread| jobs.end_job(ThreadId(thread)));
        assert_eq!(whole(&jobs), before);
    }
}

/// What a heap of 64 KiB always has, by hand: 1,024 blocks of 64 bytes, of which 960 are found in one piece of 1,023 and 1,000 are not.
#[test]
fn a_heap_that_may_run_out_is_told_before() {
    let may = |sizes: [&[u64]; 2]| {
        let count = sizes.concat().len();
        let task = |buffers: std::ops::Range<usize>| allocating(buffers.map(|at| (at as u32, None)));
        let tasks = [task(0..sizes[0].len()), task(sizes[0].len()..count)];
        let coloring =
            Coloring { heaps: Heaps { allocation: Allocation::User, size: SIZE }, ..Coloring::default() };
        let heaps = JobHeaps::of(&coloring, 2, &tasks, count).expect("a task takes memory");
        let sizes: Vec<Bytes> = sizes.concat().into_iter().map(Bytes::new).collect();
        heaps.may_run_out(&tasks, &sizes).iter().map(Option::is_some).collect::<Vec<_>>()
    };
    assert_eq!(may([&[1 << 20], &[]]), [true, false], "more than there is");
    assert_eq!(may([&[960 * 64], &[]]), [false, false]);
    assert_eq!(may([&[1000 * 64], &[]]), [true, false], "blocks are looked for where all are large enough");
    // 960 + 60 fit only one after the other; of 1,024 less 300 one of two pieces has 362.
    assert_eq!(may([&[960 * 64], &[60 * 64]]), [true, true]);
    assert_eq!(may([&[300 * 64], &[300 * 64]]), [false, false]);
    // The larger one finds 960 in 2 pieces perhaps, the smaller one 524 in two.
    assert_eq!(may([&[500 * 64], &[64 * 64]]), [true, false]);
}

/// A task that takes memory for these buffers, of these colors.
fn allocating(buffers: impl Iterator<Item = (u32, Option<Color>)>) -> Task {
    let steps = buffers.map(|(at, color)| Step::Allocate { buffer: BufferId(at), color }).collect();
    let once = Release::Once { offset: Duration::ZERO };
    Task { work: Work { steps }, ..Task::new("takes", TaskClass::Hard, once) }
}

/// Whatever jobs take and give back meanwhile, a heap that is told never to run out never does; and of those that may, some do.
#[test]
fn what_a_heap_is_told_always_to_have_it_always_has() {
    let mut dice = SplitMix64::new(11);
    let (mut safe, mut unsafe_and_out) = (0, 0);
    for round in 0..400 {
        let tasks_of = 1 + dice.below(4) as u32;
        let each = 1 + dice.below(4) as u32;
        let most = 1 + dice.below(if round % 2 == 0 { 6_000 } else { 30_000 });
        let sizes: Vec<Bytes> = (0..tasks_of * each).map(|_| Bytes::new(1 + dice.below(most))).collect();
        let colors: Vec<Color> = sizes.iter().map(|_| Color(dice.below(2) as u16)).collect();
        let allocation = if dice.below(2) == 0 { Allocation::User } else { Allocation::Os };
        let buffers = |task: u32| (task * each..(task + 1) * each).map(|at| (at, Some(colors[at as usize])));
        let tasks: Vec<Task> = (0..tasks_of).map(|task| allocating(buffers(task))).collect();
        let coloring = Coloring { heaps: Heaps { allocation, size: SIZE }, ..Coloring::default() };
        let mut heaps = JobHeaps::of(&coloring, 3, &tasks, sizes.len()).expect("tasks take memory");
        let may = heaps.may_run_out(&tasks, &sizes);
        for _ in 0..2_000 {
            let (task, at) = (dice.below(tasks_of.into()) as u32, dice.below(each.into()) as u32);
            let buffer = BufferId(task * each + at);
            match dice.below(8) {
                0..4 => {
                    let found = heaps.take(
                        ThreadId(task),
                        buffer,
                        sizes[buffer.index()],
                        Some(colors[buffer.index()]),
                    );
                    match may[task as usize] {
                        None => assert!(found.is_ok(), "{found:?} of {sizes:?} {colors:?}"),
                        Some(_) => unsafe_and_out += u32::from(found.is_err()),
                    }
                    safe += u32::from(may[task as usize].is_none());
                }
                4..7 => {
                    heaps.give_back(buffer);
                }
                _ => heaps.end_job(ThreadId(task)),
            }
        }
    }
    assert!(safe > 20_000 && unsafe_and_out > 1_000, "{safe} {unsafe_and_out}");
}

/// All states that any sequence of requests leads a small heap into, however long: none is left out. In each, what is taken is taken once,
/// what is free is free in one piece between what is taken, and a request fails only where no piece suffices.
#[test]
fn every_state_of_a_small_heap_is_whole() {
    const GRANULES: u64 = 6;
    let bytes = |granules: u64| Bytes::new(granules * 64);
    let empty = ColoredHeaps::new(1, bytes(GRANULES), None, Mode::UserCentric);
    let mut known = HashSet::from([digest(&empty)]);
    let mut open = vec![(empty.clone(), BTreeMap::new())];
    let mut requests = 0;
    while let Some((heap, taken)) = open.pop() {
        let longest = longest_free(&taken, GRANULES);
        let used: u64 = taken.values().sum();
        assert_eq!(heap.free(Color(0)), Some(bytes(GRANULES - used)), "{taken:?}");
        let mut next = Vec::new();
        for wanted in 1..=GRANULES {
            let (mut after, mut taken) = (heap.clone(), taken.clone());
            requests += 1;
            match after.allocate(ThreadId(0), None, bytes(wanted)) {
                Ok(at) => {
                    let at = at.get() / 64;
                    let overlaps = |(&from, &size): (&u64, &u64)| at < from + size && from < at + wanted;
                    assert!(
                        at + wanted <= GRANULES && !taken.iter().any(overlaps),
                        "{wanted} at {at} of {taken:?}"
                    );
                    taken.insert(at, wanted);
                    next.push((after, taken));
                }
                Err(HeapError::Exhausted { .. }) => {
                    assert!(longest < wanted, "{wanted} of {longest} in one piece: {taken:?}");
                    assert_eq!(after, heap, "a request that fails changes nothing");
                }
                Err(other) => panic!("{other}"),
            }
        }
        for at in 0..=GRANULES {
            let (mut after, mut taken) = (heap.clone(), taken.clone());
            requests += 1;
            match taken.remove(&at) {
                Some(size) => {
                    assert_eq!(after.release(bytes(at)), Ok((Color(0), bytes(size))));
                    next.push((after, taken));
                }
                None => {
                    assert_eq!(after.release(bytes(at)), Err(HeapError::NotABlock { offset: bytes(at) }));
                    assert_eq!(after, heap, "{at} of {taken:?}");
                }
            }
        }
        open.extend(next.into_iter().filter(|(heap, _)| known.insert(digest(heap))));
    }
    println!("{} states, {requests} requests", known.len());
    assert!(known.len() > 1000, "{} states", known.len());
}

/// What tells states apart: 64 bits, of which two of 24,513 states are the same by chance once in 10^10 searches.
fn digest(heap: &ColoredHeaps) -> u64 {
    let mut hasher = DefaultHasher::new();
    format!("{heap:?}").hash(&mut hasher);
    hasher.finish()
}

/// The longest piece between what is taken.
fn longest_free(taken: &BTreeMap<u64, u64>, granules: u64) -> u64 {
    let mut from = 0;
    let mut longest = 0;
    for (&at, &size) in taken {
        longest = longest.max(at - from);
        from = at + size;
    }
    longest.max(granules - from)
}
