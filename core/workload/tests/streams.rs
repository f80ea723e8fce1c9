//! What every stream of accesses promises, for arbitrary passes.

use proptest::prelude::*;
use solo_model::work::{Buffer, Pattern, Step, Touch, Work};
use solo_model::{BufferId, Bytes, Duration, JobIndex, PerMille, TaskId};
use solo_workload::{Access, AccessKind, Op, Program};
use std::collections::BTreeMap;

fn buffer(size: u64) -> Buffer {
    Buffer { name: "data".into(), size: Bytes::new(size) }
}

fn touch(pattern: Pattern, accesses: u64, stride: u64, writes: u16) -> Touch {
    Touch {
        pattern,
        buffer: BufferId(0),
        accesses,
        stride: Bytes::new(stride),
        writes: PerMille::new(writes).unwrap(),
        think: Duration::ZERO,
    }
}

fn program(touch: &Touch, size: u64, line: u64, seed: u64) -> Program {
    let work = Work { steps: vec![Step::Touch(touch.clone())] };
    Program::new(&work, TaskId(3), &[buffer(size)], Bytes::new(line), seed, &[]).unwrap()
}

fn groups(program: &mut Program) -> Vec<Access> {
    std::iter::from_fn(|| program.next())
        .map(|op| match op {
            Op::Access(access) => access,
            other => panic!("{other:?} in a pass"),
        })
        .collect()
}

fn expanded(program: &mut Program) -> Vec<(u64, bool)> {
    let each = |access: Access| access.each().map(|(at, kind)| (at.get(), kind == AccessKind::Write));
    groups(program).into_iter().flat_map(each).collect()
}

prop_compose! {
    fn passes()(
        pattern in prop::sample::select(vec![
            Pattern::Sweep, Pattern::Stream, Pattern::Random, Pattern::Chase,
        ]),
        accesses in 0u64..3000,
        stride in 1u64..300,
        writes in 0u16..=1000,
        size in 1u64..10_000,
        seed: u64,
    ) -> (Touch, u64, u64) {
        (touch(pattern, accesses, stride, writes), size, seed)
    }
}

proptest! {
    #[test]
    fn a_pass_makes_its_accesses_inside_its_buffer_and_writes_its_share((touch, size, seed) in passes()) {
        let accesses = expanded(&mut program(&touch, size, 64, seed));
        prop_assert_eq!(accesses.len() as u64, touch.accesses);
        prop_assert!(accesses.iter().all(|&(offset, _)| offset < size && offset % touch.stride.get() == 0));
        // Not only in the whole but after any number of accesses.
        let mut written = 0;
        for (i, &(_, write)) in accesses.iter().enumerate() {
            written += u64::from(write);
            prop_assert_eq!(written, (i as u64 + 1) * u64::from(touch.writes.get()) / 1000);
        }
    }

    #[test]
    fn a_group_stays_in_its_line_and_counts_its_writes((touch, size, seed) in passes(), shift in 0u32..13) {
        let line = 1u64 << shift;
        for access in groups(&mut program(&touch, size, line, seed)) {
            let each: Vec<_> = access.each().collect();
            prop_assert_eq!(each.len() as u32, access.count);
            prop_assert!(access.count > 0);
            prop_assert!(each.iter().all(|(at, _)| at.get() / line == access.offset.get() / line));
            let writes = each.iter().filter(|(_, kind)| *kind == AccessKind::Write).count();
            prop_assert_eq!(writes as u32, access.writes);
            prop_assert_eq!(access.kind == AccessKind::Write, writes > 0);
            prop_assert_eq!(access.waits, touch.pattern != Pattern::Stream);
        }
    }

    #[test]
    fn the_line_changes_the_grouping_and_nothing_else((touch, size, seed) in passes()) {
        // With lines of one byte nothing is grouped.
        let single = expanded(&mut program(&touch, size, 1, seed));
        for line in [16, 64, 4096] {
            prop_assert_eq!(&expanded(&mut program(&touch, size, line, seed)), &single);
        }
    }

    #[test]
    fn a_sweep_is_the_loop_it_stands_for((touch, size, _) in passes()) {
        let sweep = Touch { pattern: Pattern::Sweep, ..touch };
        let mut offset = 0;
        for (at, _) in expanded(&mut program(&sweep, size, 64, 1)) {
            prop_assert_eq!(at, offset);
            offset += sweep.stride.get();
            if offset >= size {
                offset = 0;
            }
        }
    }

    #[test]
    fn a_lap_of_sweep_or_chase_visits_each_element_once((touch, size, seed) in passes()) {
        let elements = size.div_ceil(touch.stride.get());
        for pattern in [Pattern::Sweep, Pattern::Stream, Pattern::Chase] {
            let lap = Touch { pattern, accesses: elements, ..touch.clone() };
            let mut seen: Vec<u64> =
                expanded(&mut program(&lap, size, 64, seed)).iter().map(|&(at, _)| at).collect();
            seen.sort_unstable();
            let all: Vec<u64> = (0..elements).map(|i| i * lap.stride.get()).collect();
            prop_assert_eq!(seen, all);
        }
    }

    #[test]
    fn a_chase_has_one_successor_for_each_element((touch, size, seed) in passes()) {
        let chase = Touch { pattern: Pattern::Chase, ..touch };
        let accesses = expanded(&mut program(&chase, size, 64, seed));
        let mut successor = BTreeMap::new();
        for pair in accesses.windows(2) {
            let next = *successor.entry(pair[0].0).or_insert(pair[1].0);
            prop_assert_eq!(next, pair[1].0);
        }
    }

    #[test]
    fn a_job_begun_again_repeats_itself((touch, size, seed) in passes(), job in 0u64..10, cut in 0usize..50) {
        let mut program = program(&touch, size, 64, seed);
        program.begin_job(JobIndex(job));
        let first = groups(&mut program.clone());
        for _ in 0..cut {
            program.next();
        }
        program.begin_job(JobIndex(job));
        prop_assert_eq!(groups(&mut program), first);
        prop_assert_eq!(program.next(), None);
    }
}

#[test]
fn random_positions_depend_on_seed_task_and_job() {
    let random = touch(Pattern::Random, 100, 4, 0);
    let work = Work { steps: vec![Step::Touch(random)] };
    let positions = |seed, task, job| {
        let buffers = [buffer(1 << 20)];
        let mut program = Program::new(&work, TaskId(task), &buffers, Bytes::new(64), seed, &[]).unwrap();
        program.begin_job(JobIndex(job));
        expanded(&mut program)
    };
    assert_eq!(positions(1, 0, 0), positions(1, 0, 0));
    assert_ne!(positions(1, 0, 0), positions(2, 0, 0));
    assert_ne!(positions(1, 0, 0), positions(1, 1, 0));
    assert_ne!(positions(1, 0, 0), positions(1, 0, 1));
}

#[test]
fn random_positions_reach_all_of_the_buffer_evenly() {
    // The working set of thesis 6.1: 32 KiB of 4-byte elements, 16384 accesses.
    let random = touch(Pattern::Random, 16_384, 4, 200);
    let mut lines = vec![0u32; 512];
    for (at, _) in expanded(&mut program(&random, 32 << 10, 64, 1)) {
        lines[at as usize / 64] += 1;
    }
    // 32 accesses a line on average; the standard deviation is 5.65.
    assert!(lines.iter().all(|&count| (4..=66).contains(&count)), "{lines:?}");
}

#[test]
fn every_task_walks_the_same_list() {
    let chase = touch(Pattern::Chase, 500, 64, 0);
    let work = Work { steps: vec![Step::Touch(chase)] };
    let walk = |task, seed| {
        let buffers = [buffer(64 << 10)];
        expanded(&mut Program::new(&work, TaskId(task), &buffers, Bytes::new(64), seed, &[]).unwrap())
    };
    assert_eq!(walk(0, 1), walk(1, 1));
    assert_ne!(walk(0, 1), walk(0, 2));
}

#[test]
fn a_repeated_pass_starts_over_and_keeps_its_share_of_writes() {
    let one = touch(Pattern::Sweep, 1, 64, 250);
    let work = Work { steps: vec![Step::Repeat { times: 8, steps: vec![Step::Touch(one)] }] };
    let mut program = Program::new(&work, TaskId(0), &[buffer(4096)], Bytes::new(64), 1, &[]).unwrap();
    let accesses = expanded(&mut program);
    let (n, y) = ((0, false), (0, true));
    assert_eq!(accesses, [n, n, n, y, n, n, n, y]);
}

#[test]
fn a_ring_goes_on_where_the_last_job_stopped() {
    let ring = Touch { pattern: Pattern::Ring, accesses: 3, ..touch(Pattern::Sweep, 5, 64, 0) };
    let mut program = program(&ring, 5 * 64, 64, 1);
    let mut offsets = Vec::new();
    for job in 0..4 {
        program.begin_job(JobIndex(job));
        offsets.extend(groups(&mut program).iter().map(|access| access.offset.get() / 64));
    }
    assert_eq!(offsets, [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1]);
}

prop_compose! {
    /// A buffer of arrays of whole rows of whole elements: rows of an array, elements of a row, arrays, stride; passes; rows at a time.
    fn cut_rows()(
        rows in 1u64..12,
        elements in 1u64..20,
        arrays in 1u16..4,
        stride in prop::sample::select(vec![4u64, 8, 12, 64, 100]),
        passes in 1u64..4,
        pick in 0usize..100,
    ) -> (u64, u64, u16, u64, u64, u64) {
        let all = rows * passes;
        let divisors: Vec<u64> = (1..=all).filter(|piece| all % piece == 0).collect();
        (rows, elements, arrays, stride, passes, divisors[pick % divisors.len()])
    }
}

proptest! {
    /// However many rows are done at a time: the same accesses, grouped alike, in the same order as without a cut; in the next job, too.
    #[test]
    fn rows_that_go_on_are_the_pass_that_was_cut((rows, elements, arrays, stride, passes, piece) in cut_rows(), line in 2u32..8) {
        let row = elements * stride;
        let size = rows * row * u64::from(arrays);
        let each = elements * u64::from(arrays) * 2;
        let pattern = |goes_on| Pattern::Rows { row: Bytes::new(row), arrays, goes_on };
        let whole = touch(pattern(false), rows * each, stride, 0);
        let part = touch(pattern(true), piece * each, stride, 0);
        let repeated = |times: u64, touch: &Touch| Step::Repeat { times: times as u32, steps: vec![Step::Touch(touch.clone())] };
        let program = |step| {
            Program::new(&Work { steps: vec![step] }, TaskId(3), &[buffer(size)], Bytes::new(1 << line), 1, &[]).unwrap()
        };
        let mut uncut = program(repeated(passes, &whole));
        let mut cut = program(repeated(rows * passes / piece, &part));
        for job in 0..2 {
            uncut.begin_job(JobIndex(job));
            cut.begin_job(JobIndex(job));
            prop_assert_eq!(groups(&mut cut), groups(&mut uncut), "job {}", job);
        }
        // Rows that don't go on are the first ones, again and again: only one pass of all rows at a time is the same.
        let starts_over = touch(pattern(false), piece * each, stride, 0);
        let mut other = program(repeated(rows * passes / piece, &starts_over));
        other.begin_job(JobIndex(0));
        uncut.begin_job(JobIndex(0));
        if !piece.is_multiple_of(rows) {
            prop_assert_ne!(groups(&mut other), groups(&mut uncut));
        }
    }
}
