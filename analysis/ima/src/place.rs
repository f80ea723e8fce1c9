//! Steps that have their place, and the places that are still free: what both solvers search with.

use crate::model::{Leg, Problem, Step};
use crate::piece::Piece;
use crate::verdict::{Offsets, Resource};
use std::collections::BTreeMap;

/// Which step begins when, so far, in units. Begins of one partition belong to one instance.
#[derive(Clone, Debug)]
pub(crate) struct Places<'a> {
    problem: &'a Problem,
    begins: Vec<[Option<i64>; 5]>,
    occupied: BTreeMap<Resource, Vec<(Leg, Piece)>>,
    /// Looks at one other piece that may still be made.
    work: u64,
}

/// There is no more work to be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OutOfWork;

impl<'a> Places<'a> {
    pub(crate) fn new(problem: &'a Problem, work: u64) -> Self {
        let begins = vec![[None; 5]; problem.partitions().len()];
        Self { problem, begins, occupied: BTreeMap::new(), work }
    }

    /// How much work is left.
    pub(crate) const fn work(&self) -> u64 {
        self.work
    }

    /// Nothing has a place.
    pub(crate) fn clear(&mut self) {
        self.begins.fill([None; 5]);
        self.occupied.values_mut().for_each(Vec::clear);
    }

    fn begin(&self, leg: Leg) -> Option<i64> {
        *self.begins.get(leg.partition)?.get(leg.step as usize)?
    }

    pub(crate) fn put(&mut self, leg: Leg, begin: i64) {
        if let Some(slot) = self.begins.get_mut(leg.partition).and_then(|all| all.get_mut(leg.step as usize))
        {
            *slot = Some(begin);
        }
        if let Some(resource) = self.problem.resource(leg) {
            let piece = self.problem.piece(leg, begin);
            self.occupied.entry(resource).or_default().push((leg, piece));
        }
    }

    pub(crate) fn take(&mut self, leg: Leg) {
        if let Some(slot) = self.begins.get_mut(leg.partition).and_then(|all| all.get_mut(leg.step as usize))
        {
            *slot = None;
        }
        if let Some(all) = self.problem.resource(leg).and_then(|resource| self.occupied.get_mut(&resource)) {
            all.retain(|(other, _)| *other != leg);
        }
    }

    /// From the earliest to the latest begin of a step that leaves room for the others of its instance, as far as they
    /// have a place; empty where the last is below the first. Without any other in place: one period.
    pub(crate) fn window(&self, leg: Leg) -> (i64, i64) {
        let length = |step| self.problem.length(Leg { step, ..leg });
        let latency =
            self.problem.partitions().get(leg.partition).map_or(0, |of| self.problem.units(of.latency));
        let all: i64 = Step::ALL.into_iter().map(length).sum();
        let slack = latency - all;
        // Where a step would begin if all followed each other without a gap, from the first one's begin on.
        let packed =
            |step: Step| Step::ALL.into_iter().take_while(|&other| other < step).map(length).sum::<i64>();
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
        let period = self.problem.piece(leg, 0).period;
        window.unwrap_or((0, if slack < 0 { -1 } else { period - 1 }))
    }

    /// The first begin of a step from `from` to `to` at which it meets nothing and, where it is fixed, has to begin.
    pub(crate) fn first_free(&mut self, leg: Leg, from: i64, to: i64) -> Result<Option<i64>, OutOfWork> {
        match self.problem.fixed(leg) {
            None => self.first_free_of_all(leg, from, to),
            Some(fixed) => {
                // All instances meet the same others: the first one in the window stands for all.
                let period = self.problem.piece(leg, 0).period;
                let begin = from + (fixed - from).rem_euclid(period);
                if begin > to { Ok(None) } else { self.first_free_of_all(leg, begin, begin) }
            }
        }
    }

    fn first_free_of_all(&mut self, leg: Leg, from: i64, to: i64) -> Result<Option<i64>, OutOfWork> {
        let mut piece = self.problem.piece(leg, from);
        let seam = self.problem.seam(leg);
        let others = self.problem.resource(leg).and_then(|resource| self.occupied.get(&resource));
        let others = others.map_or(&[][..], Vec::as_slice);
        let count = others.len() + usize::from(seam.is_some());
        // Moved past one, it may meet another; whoever was passed once is not met again before a whole round is free.
        let (mut at, mut free) = (0, 0);
        while free < count && piece.offset <= to {
            self.work = self.work.checked_sub(1).ok_or(OutOfWork)?;
            let Some(other) = others.get(at).map(|(_, other)| other).or(seam.as_ref()) else { break };
            match piece.later(other) {
                None => return Ok(None),
                Some(0) => free += 1,
                Some(by) => {
                    piece.offset += by;
                    free = 1;
                }
            }
            at = (at + 1) % count;
        }
        Ok((piece.offset <= to).then_some(piece.offset))
    }

    /// What was found, once every step has a place: each first instance begins in the first period.
    pub(crate) fn offsets(&self) -> Option<Vec<Offsets>> {
        let offsets = self.begins.iter().enumerate().map(|(partition, begins)| {
            let mut steps = Step::ALL.into_iter().zip(begins);
            let (_, first) = steps.find(|(_, begin)| begin.is_some())?;
            let first = (*first)?;
            let period = self.problem.piece(Leg { partition, step: Step::Processing }, 0).period;
            let shift = first.rem_euclid(period) - first;
            let mut end = first + shift;
            let begins = Step::ALL.map(|step| {
                let leg = Leg { partition, step };
                let begin = self.begin(leg).map_or(end, |begin| begin + shift);
                end = begin + self.problem.length(leg);
                self.problem.duration(begin)
            });
            Some(Offsets::new(begins))
        });
        offsets.collect()
    }
}
