//! Steps that have their place, and the places that are still free: what both solvers search with.

use crate::model::{Leg, Problem, Step};
use crate::piece::Piece;
use crate::verdict::{Offsets, Resource};

/// What is asked again and again of a partition, in units.
#[derive(Clone, Debug)]
struct Sizes {
    lengths: [i64; 5],
    /// The steps before each, if all follow each other without a gap.
    before: [i64; 5],
    /// How much longer an instance may take than its steps.
    slack: i64,
    period: i64,
    /// What each step occupies, by its place among all resources.
    homes: [Option<usize>; 5],
}

/// Which step begins when, so far, in units. Begins of one partition belong to one instance.
#[derive(Clone, Debug)]
pub(crate) struct Places<'a> {
    problem: &'a Problem,
    sizes: Vec<Sizes>,
    begins: Vec<[Option<i64>; 5]>,
    /// By resource, who has a place there.
    occupied: Vec<Vec<(Leg, Piece)>>,
    /// Looks at one other piece that may still be made.
    work: u64,
}

/// There is no more work to be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OutOfWork;

impl<'a> Places<'a> {
    pub(crate) fn new(problem: &'a Problem, work: u64) -> Self {
        let resources = resources(problem);
        let sizes: Vec<Sizes> =
            (0..problem.partitions().len()).map(|partition| sizes(problem, partition, &resources)).collect();
        let occupied = vec![Vec::new(); resources.len()];
        Self { problem, begins: vec![[None; 5]; sizes.len()], sizes, occupied, work }
    }

    /// How much work is left.
    pub(crate) const fn work(&self) -> u64 {
        self.work
    }

    /// Nothing has a place.
    pub(crate) fn clear(&mut self) {
        self.begins.fill([None; 5]);
        self.occupied.iter_mut().for_each(Vec::clear);
    }

    /// A step's length in units; zero of one that the partition does not have.
    pub(crate) fn length(&self, leg: Leg) -> i64 {
        self.sizes.get(leg.partition).and_then(|of| of.lengths.get(leg.step as usize)).copied().unwrap_or(0)
    }

    fn piece(&self, leg: Leg, offset: i64) -> Piece {
        let period = self.sizes.get(leg.partition).map_or(1, |of| of.period);
        Piece { offset, length: self.length(leg), period }
    }

    /// Who has a place where the step is to have one.
    fn others(&self, leg: Leg) -> &[(Leg, Piece)] {
        let home = self.sizes.get(leg.partition).and_then(|of| *of.homes.get(leg.step as usize)?);
        home.and_then(|home| self.occupied.get(home)).map_or(&[], Vec::as_slice)
    }

    fn others_mut(&mut self, leg: Leg) -> Option<&mut Vec<(Leg, Piece)>> {
        let home = *self.sizes.get(leg.partition)?.homes.get(leg.step as usize)?;
        self.occupied.get_mut(home?)
    }

    fn begin(&self, leg: Leg) -> Option<i64> {
        *self.begins.get(leg.partition)?.get(leg.step as usize)?
    }

    pub(crate) fn put(&mut self, leg: Leg, begin: i64) {
        if let Some(slot) = self.begins.get_mut(leg.partition).and_then(|all| all.get_mut(leg.step as usize))
        {
            *slot = Some(begin);
        }
        let piece = self.piece(leg, begin);
        if let Some(others) = self.others_mut(leg) {
            others.push((leg, piece));
        }
    }

    pub(crate) fn take(&mut self, leg: Leg) {
        if let Some(slot) = self.begins.get_mut(leg.partition).and_then(|all| all.get_mut(leg.step as usize))
        {
            *slot = None;
        }
        if let Some(all) = self.others_mut(leg) {
            all.retain(|(other, _)| *other != leg);
        }
    }

    /// From the earliest to the latest begin of a step that leaves room for the others of its instance, as far as they
    /// have a place; empty where the last is below the first. Without any other in place: one period.
    pub(crate) fn window(&self, leg: Leg) -> (i64, i64) {
        let Some(Sizes { before, slack, period, .. }) = self.sizes.get(leg.partition) else { return (0, -1) };
        let slack = *slack;
        let packed = |step: Step| before.get(step as usize).copied().unwrap_or(0);
        let mut window: Option<(i64, i64)> = None;
        for step in Step::ALL {
            let Some(begin) = self.begin(Leg { step, ..leg }) else { continue };
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
            let Some(left) = work.checked_sub(1) else {
                self.work = 0;
                return Err(OutOfWork);
            };
            work = left;
            let Some(other) = others.get(at).map(|(_, other)| other).or(seam.as_ref()) else { break };
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
            at = (at + 1) % count;
        }
        self.work = work;
        Ok((piece.offset <= to).then_some(piece.offset))
    }

    /// What was found, once every step has a place: each first instance begins in the first period.
    pub(crate) fn offsets(&self) -> Option<Vec<Offsets>> {
        let offsets = self.begins.iter().enumerate().map(|(partition, begins)| {
            let mut steps = Step::ALL.into_iter().zip(begins);
            let (_, first) = steps.find(|(_, begin)| begin.is_some())?;
            let first = (*first)?;
            let period = self.piece(Leg { partition, step: Step::Processing }, 0).period;
            let shift = first.rem_euclid(period) - first;
            let mut end = first + shift;
            let begins = Step::ALL.map(|step| {
                let leg = Leg { partition, step };
                let begin = self.begin(leg).map_or(end, |begin| begin + shift);
                end = begin + self.length(leg);
                self.problem.duration(begin)
            });
            Some(Offsets::new(begins))
        });
        offsets.collect()
    }
}

/// All that steps occupy, each once.
fn resources(problem: &Problem) -> Vec<Resource> {
    let mut all: Vec<Resource> = problem.legs().filter_map(|leg| problem.resource(leg)).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn sizes(problem: &Problem, partition: usize, resources: &[Resource]) -> Sizes {
    let leg = |step| Leg { partition, step };
    let lengths = Step::ALL.map(|step| problem.length(leg(step)));
    let mut all = 0;
    let before = lengths.map(|length| {
        all += length;
        all - length
    });
    let latency = problem.partitions().get(partition).map_or(0, |of| problem.units(of.latency));
    let home = |step| resources.binary_search(&problem.resource(leg(step))?).ok();
    let period = problem.piece(leg(Step::Processing), 0).period;
    Sizes { lengths, before, slack: latency - all, period, homes: Step::ALL.map(home) }
}
