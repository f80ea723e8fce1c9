//! Steps that have their place, and the places that are still free: what both solvers search with.

use crate::model::{Leg, Problem, Step};
use crate::piece::Piece;
use crate::verdict::{Offsets, Resource};

/// What is asked again and again of a partition, in units.
#[derive(Clone, Debug)]
struct Part {
    lengths: [i64; 5],
    /// The steps before each, if all follow each other without a gap.
    before: [i64; 5],
    /// How much longer an instance may take than its steps.
    slack: i64,
    period: i64,
    /// What each step occupies, by its place among all resources.
    homes: [Option<usize>; 5],
    /// When steps begin that have their place. Begins of one partition belong to one instance.
    begins: [Option<i64>; 5],
}

/// Where a resource's pieces lie among those of all.
#[derive(Clone, Copy, Debug)]
struct Row {
    first: usize,
    count: usize,
}

/// Which step begins when, so far, in units.
#[derive(Clone, Debug)]
pub(crate) struct Places<'a> {
    problem: &'a Problem,
    parts: Vec<Part>,
    rows: Vec<Row>,
    /// Who has a place on a resource, row by row, each with room for all steps that are ever there.
    occupied: Vec<(Leg, Piece)>,
    /// Looks at one other piece that may still be made.
    work: u64,
}

/// There is no more work to be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OutOfWork;

impl<'a> Places<'a> {
    pub(crate) fn new(problem: &'a Problem, work: u64) -> Self {
        let resources = resources(problem);
        let mut rows = vec![Row { first: 0, count: 0 }; resources.len()];
        let parts: Vec<Part> =
            (0..problem.partitions().len()).map(|partition| part(problem, partition, &resources)).collect();
        // Each row begins where the one before it is full.
        for home in parts.iter().flat_map(|part| part.homes).flatten() {
            rows[home].first += 1;
        }
        let mut all = 0;
        for row in &mut rows {
            all += row.first;
            row.first = all - row.first;
        }
        let nobody = Leg { partition: 0, step: Step::Processing };
        let occupied = vec![(nobody, Piece { offset: 0, length: 0, period: 1 }); all];
        Self { problem, parts, rows, occupied, work }
    }

    /// How much work is left.
    pub(crate) const fn work(&self) -> u64 {
        self.work
    }

    /// Nothing has a place.
    pub(crate) fn clear(&mut self) {
        self.parts.iter_mut().for_each(|part| part.begins = [None; 5]);
        self.rows.iter_mut().for_each(|row| row.count = 0);
    }

    /// A step's length in units; zero of one that the partition does not have.
    pub(crate) fn length(&self, leg: Leg) -> i64 {
        self.parts.get(leg.partition).map_or(0, |of| of.lengths[leg.step as usize])
    }

    /// How much of its period a partition computes, as numerator and denominator.
    pub(crate) fn share(&self, partition: usize) -> (i64, i64) {
        let share = |of: &Part| (of.lengths[Step::Processing as usize], of.period);
        self.parts.get(partition).map_or((0, 1), share)
    }

    /// How much longer an instance may take than its steps; below zero where it may not even take as long.
    pub(crate) fn slack(&self, partition: usize) -> i64 {
        self.parts.get(partition).map_or(0, |of| of.slack)
    }

    fn piece(&self, leg: Leg, offset: i64) -> Piece {
        let period = self.parts.get(leg.partition).map_or(1, |of| of.period);
        Piece { offset, length: self.length(leg), period }
    }

    fn row(&self, leg: Leg) -> Option<usize> {
        self.parts.get(leg.partition)?.homes[leg.step as usize]
    }

    /// Who has a place where the step is to have one.
    fn others(&self, leg: Leg) -> &[(Leg, Piece)] {
        let row = self.row(leg).and_then(|row| self.rows.get(row));
        row.and_then(|row| self.occupied.get(row.first..row.first + row.count)).unwrap_or(&[])
    }

    fn begin(&self, leg: Leg) -> Option<i64> {
        self.parts.get(leg.partition)?.begins[leg.step as usize]
    }

    pub(crate) fn put(&mut self, leg: Leg, begin: i64) {
        let piece = self.piece(leg, begin);
        let Some(row) = self.row(leg) else { return };
        if let Some(of) = self.parts.get_mut(leg.partition) {
            of.begins[leg.step as usize] = Some(begin);
        }
        let row = &mut self.rows[row];
        // A row has room for each step that occupies the resource, and none is put twice.
        self.occupied[row.first + row.count] = (leg, piece);
        row.count += 1;
    }

    /// The step has no place any more.
    pub(crate) fn take(&mut self, leg: Leg) {
        if let Some(of) = self.parts.get_mut(leg.partition) {
            of.begins[leg.step as usize] = None;
        }
        let at = self.others(leg).iter().position(|(other, _)| *other == leg);
        if let (Some(at), Some(row)) = (at, self.row(leg)) {
            let Row { first, count } = self.rows[row];
            self.occupied.copy_within(first + at + 1..first + count, first + at);
            self.rows[row].count -= 1;
        }
    }

    /// From the earliest to the latest begin of a step that leaves room for the others of its instance, as far as they
    /// have a place; empty where the last is below the first. Without any other in place: one period.
    pub(crate) fn window(&self, leg: Leg) -> (i64, i64) {
        let Some(&Part { before, slack, period, begins, .. }) = self.parts.get(leg.partition) else {
            return (0, -1);
        };
        let packed = |step: Step| before[step as usize];
        let mut window: Option<(i64, i64)> = None;
        for step in Step::ALL {
            let Some(begin) = begins[step as usize] else { continue };
            let packed_there = begin + packed(leg.step) - packed(step);
            // Those that come later may be later by the slack, and the other way round.
            let (from, to) = if step < leg.step {
                (packed_there, packed_there + slack)
            } else {
                (packed_there - slack, packed_there)
            };
            let (lowest, highest) = window.unwrap_or((from, to));
            window = Some((lowest.max(from), highest.min(to)));
        }
        window.unwrap_or((0, if slack < 0 { -1 } else { period - 1 }))
    }

    /// The first begin of a step from `from` to `to` at which it meets nothing and, where it is fixed, has to begin.
    pub(crate) fn first_free(&mut self, leg: Leg, from: i64, to: i64) -> Result<Option<i64>, OutOfWork> {
        match self.problem.fixed(leg) {
            None => self.first_free_of_all(leg, from, to),
            Some(fixed) => {
                // All instances meet the same others: the first one in the window stands for all.
                let period = self.piece(leg, 0).period;
                let begin = from + (fixed - from).rem_euclid(period);
                if begin > to { Ok(None) } else { self.first_free_of_all(leg, begin, begin) }
            }
        }
    }

    fn first_free_of_all(&mut self, leg: Leg, from: i64, to: i64) -> Result<Option<i64>, OutOfWork> {
        let mut piece = self.piece(leg, from);
        let seam = self.problem.seam(leg);
        let mut work = self.work;
        let others = self.others(leg);
        let count = others.len() + usize::from(seam.is_some());
        // Moved past one, it may meet another; whoever was passed once is not met again before a whole round is free.
        let (mut at, mut free) = (0, 0);
        while free < count && piece.offset <= to {
            let Some(other) = others.get(at).map(|(_, other)| other).or(seam.as_ref()) else { break };
            if work == 0 {
                self.work = 0;
                return Err(OutOfWork);
            }
            work -= 1;
            match piece.later(other) {
                None => {
                    self.work = work;
                    return Ok(None);
                }
                Some(0) => free += 1,
                Some(by) => {
                    piece.offset += by;
                    free = 1;
                }
            }
            at += 1;
            if at == count {
                at = 0;
            }
        }
        self.work = work;
        Ok((piece.offset <= to).then_some(piece.offset))
    }

    /// What was found, once every step has a place: each first instance begins in the first period.
    pub(crate) fn offsets(&self) -> Option<Vec<Offsets>> {
        let mut all = Vec::with_capacity(self.parts.len());
        for (partition, part) in self.parts.iter().enumerate() {
            let first = part.begins.iter().flatten().next().copied()?;
            let shift = first.rem_euclid(part.period) - first;
            let mut end = first + shift;
            let begins = Step::ALL.map(|step| {
                let leg = Leg { partition, step };
                let begin = self.begin(leg).map_or(end, |begin| begin + shift);
                end = begin + self.length(leg);
                self.problem.duration(begin)
            });
            all.push(Offsets::new(begins));
        }
        Some(all)
    }
}

/// All that steps occupy, each once.
fn resources(problem: &Problem) -> Vec<Resource> {
    let partitions = problem.partitions();
    let mut all = Vec::with_capacity(3 * partitions.len() + 1);
    all.push(Resource::IoCore);
    for partition in partitions {
        all.push(Resource::Core(partition.core));
        all.extend(
            [partition.input, partition.output].iter().flatten().map(|side| Resource::Device(side.device)),
        );
    }
    all.sort_unstable();
    all.dedup();
    all
}

fn part(problem: &Problem, partition: usize, resources: &[Resource]) -> Part {
    let none =
        Part { lengths: [0; 5], before: [0; 5], slack: 0, period: 1, homes: [None; 5], begins: [None; 5] };
    let Some(of) = problem.partitions().get(partition) else { return none };
    let mut part = Part { period: problem.units(of.period), ..none };
    let home = |resource: Resource| resources.binary_search(&resource).ok();
    if let Some(input) = of.input {
        part.homes[Step::PhysicalInput as usize] = home(Resource::Device(input.device));
        part.homes[Step::DeviceInput as usize] = home(Resource::IoCore);
    }
    part.homes[Step::Processing as usize] = home(Resource::Core(of.core));
    if let Some(output) = of.output {
        part.homes[Step::DeviceOutput as usize] = home(Resource::IoCore);
        part.homes[Step::PhysicalOutput as usize] = home(Resource::Device(output.device));
    }
    let mut all = 0;
    for step in Step::ALL {
        let length = problem.units(of.duration(step));
        part.lengths[step as usize] = length;
        part.before[step as usize] = all;
        all += length;
    }
    part.slack = problem.units(of.latency) - all;
    part
}
