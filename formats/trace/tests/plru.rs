//! Tree-PLRU against its definition, with the tree as a tree: no simulator in a package registry has one of more than two
//! ways, so all short sequences of accesses and two real programs stand in.

mod common;

use common::{PROGRAMS, input, references, valgrind_is_here};
use solo_model::CoreId;
use solo_trace::{CacheSpec, Reference, Simulation};
use solo_workload::image::TraceKind;
use std::collections::HashMap;

/// A binary tree over ways. Each fork knows which half was used longer ago; at first that is the left one.
enum Tree {
    Way(usize),
    Fork { right_is_older: bool, left: Box<Tree>, right: Option<Box<Tree>> },
}

impl Tree {
    /// The tree over the ways from `first` to below `first + places`, a power of two, of which those from `ways` on do not
    /// exist.
    fn new(first: usize, places: usize, ways: usize) -> Self {
        let half = places / 2;
        match places {
            1 => Self::Way(first),
            _ => Self::Fork {
                right_is_older: false,
                left: Box::new(Self::new(first, half, ways)),
                right: (first + half < ways).then(|| Box::new(Self::new(first + half, half, ways))),
            },
        }
    }

    /// Turns every fork above `way`, one of `places` ways from `first`, away from it.
    fn used(&mut self, way: usize, first: usize, places: usize) {
        let Self::Fork { right_is_older, left, right } = self else { return };
        let half = places / 2;
        *right_is_older = way < first + half;
        match right {
            Some(right) if way >= first + half => right.used(way, first + half, half),
            _ => left.used(way, first, half),
        }
    }

    /// The way that the forks lead to.
    fn victim(&self) -> usize {
        match self {
            Self::Way(way) => *way,
            Self::Fork { right_is_older: true, right: Some(right), .. } => right.victim(),
            Self::Fork { left, .. } => left.victim(),
        }
    }
}

/// The sets of a cache.
struct Defined {
    ways: usize,
    sets: u64,
    content: HashMap<u64, (Tree, Vec<Option<u64>>)>,
    misses: u64,
}

impl Defined {
    fn new(sets: u64, ways: usize) -> Self {
        Self { ways, sets, content: HashMap::new(), misses: 0 }
    }

    fn access(&mut self, line: u64) {
        let (ways, places) = (self.ways, self.ways.next_power_of_two());
        let new = || (Tree::new(0, places, ways), vec![None; ways]);
        let (tree, lines) = self.content.entry(line % self.sets).or_insert_with(new);
        let way = lines.iter().position(|held| *held == Some(line)).unwrap_or_else(|| {
            self.misses += 1;
            let way = lines.iter().position(Option::is_none).unwrap_or_else(|| tree.victim());
            lines[way] = Some(line);
            way
        });
        tree.used(way, 0, places);
    }
}

fn simulation(sets: u64, ways: usize, line: u64) -> Simulation {
    let spec: CacheSpec = format!("U={}:{ways}:{line}:plru", sets * ways as u64 * line).parse().unwrap();
    Simulation::new(&spec)
}

/// Fills a set of so many ways, then makes every sequence of `length` accesses to one line more than fit.
fn every_sequence(ways: usize, length: u32) {
    let lines = ways as u64 + 1;
    for number in 0..lines.pow(length) {
        let (mut ours, mut defined) = (simulation(1, ways, 64), Defined::new(1, ways));
        let sequence = (0..length).map(|place| number / lines.pow(place) % lines);
        for (at, line) in (0..ways as u64).chain(sequence).enumerate() {
            ours.refer(&Reference { kind: TraceKind::Read, address: line * 64, size: 1, core: CoreId(0) });
            defined.access(line);
            assert_eq!(ours.misses(), defined.misses, "{ways} ways, sequence {number}, access {at}");
        }
    }
}

#[test]
fn every_short_sequence_hits_and_misses_as_the_tree_says() {
    for (ways, length) in
        [(1, 6), (2, 9), (3, 8), (4, 7), (5, 6), (6, 5), (7, 5), (8, 5), (12, 4), (16, 4), (24, 3)]
    {
        every_sequence(ways, length);
    }
}

#[test]
fn real_programs_miss_as_the_tree_says() {
    if !valgrind_is_here("trees of ways on real programs") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let input = input(folder.path());
    for program in PROGRAMS {
        let all = references(program, &input, &folder.path().join("log"));
        for (sets, ways, line) in
            [(64, 2, 64), (64, 4, 64), (64, 8, 64), (16, 16, 32), (32, 24, 64), (1, 64, 64), (7, 5, 32)]
        {
            let (mut ours, mut defined) = (simulation(sets, ways, line), Defined::new(sets, ways));
            for reference in &all {
                ours.refer(reference);
                let rounds = if reference.kind == TraceKind::Modify { 2 } else { 1 };
                for _ in 0..rounds {
                    reference.lines(line.trailing_zeros()).for_each(|line| defined.access(line));
                }
            }
            println!("{} {sets} sets of {ways} ways of {line} bytes: {} misses", program[0], defined.misses);
            assert!(defined.misses > sets * ways as u64);
            assert_eq!(ours.misses(), defined.misses, "{} {sets}:{ways}:{line}", program[0]);
        }
    }
}
