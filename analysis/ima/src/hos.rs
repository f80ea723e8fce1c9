//! Hierarchically ordered scheduling (HOS): the hardest constraints first, at random, again where it fails.
//!
//! 1. Partitions in the order of hardness: utilization of their core, then how little room their latency leaves.
//!    Each gets a random offset of its processing among those that its core has free, then, within its latency, random
//!    ones of its physical input and output among those that the devices have free.
//! 2. With these in place, each transfer has a window, between the end of the step before it and the begin of the step
//!    after it. The narrowest first, each gets a free offset of the I/O core in its window.
//! 3. Where nothing is free, all begins again, as often as [`Effort::restarts`] says.
//!
//! A solution is right, since every step was put where it meets nothing; that none was found proves nothing.
//!
//! Decided here (the source says "random"): an offset is drawn evenly from the window, and where it is taken, the next
//! free one is had, the first of the window after the last. So an offset behind another piece is more probable than one
//! in the middle of nowhere, which leaves larger gaps.

use crate::model::{Leg, Problem, Step};
use crate::place::{OutOfWork, Places};
use crate::verdict::Offsets;
use solo_model::SplitMix64;
use std::cmp::Reverse;

/// How long to try.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effort {
    /// How often to begin again.
    pub restarts: u64,
    /// How often a step may be compared with another one, in all. The same on every machine.
    pub work: u64,
}

impl Default for Effort {
    fn default() -> Self {
        Self { restarts: 2_000, work: 200_000_000 }
    }
}

/// What came of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HosAnswer {
    /// Offsets for each partition, in the order of the problem.
    Solved {
        /// The offsets.
        offsets: Vec<Offsets>,
        /// How often it began again.
        restarts: u64,
        /// How often a step was compared with another one.
        work: u64,
    },
    /// Nothing was found; there may be a solution nevertheless.
    GivenUp {
        /// The steps that had no free place, with how often, the most frequent first.
        stuck: Vec<(Leg, u64)>,
        /// How often it began again.
        restarts: u64,
    },
}

/// Looks for offsets. The same seed gives the same answer.
pub fn solve(problem: &Problem, seed: u64, effort: Effort) -> HosAnswer {
    let mut places = Places::new(problem, effort.work);
    let order = hardest_first(problem, &places);
    let mut random = SplitMix64::derived(seed, &[order.len() as u64]);
    let mut transfers = Vec::with_capacity(2 * order.len());
    let mut stuck: Vec<(Leg, u64)> = Vec::new();
    let mut restarts = 0;
    loop {
        places.clear();
        let failed = match attempt(&order, &mut places, &mut transfers, &mut random) {
            Ok(failed) => failed,
            Err(OutOfWork) => break,
        };
        match (failed, places.offsets()) {
            (None, Some(offsets)) => {
                return HosAnswer::Solved { offsets, restarts, work: effort.work - places.work() };
            }
            (None, None) => break,
            (Some(leg), _) => count(&mut stuck, leg),
        }
        if restarts == effort.restarts {
            break;
        }
        restarts += 1;
    }
    stuck.sort_by_key(|&(leg, times)| (Reverse(times), leg));
    HosAnswer::GivenUp { stuck, restarts }
}

fn count(stuck: &mut Vec<(Leg, u64)>, leg: Leg) {
    match stuck.iter_mut().find(|(other, _)| *other == leg) {
        Some((_, times)) => *times += 1,
        None => stuck.push((leg, 1)),
    }
}

/// Partitions with fixed steps, then by utilization of their core, the highest first, then by the room of their latency, the least first.
fn hardest_first(problem: &Problem, places: &Places<'_>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..problem.partitions().len()).collect();
    // What has to begin somewhere leaves no choice, so it is first.
    let free = |at: usize| problem.partitions().get(at).is_none_or(|of| of.fixed.iter().all(Option::is_none));
    // Lengths and periods are below 2^41, so their products fit.
    let less = |(length, period): (i64, i64), (other, its): (i64, i64)| {
        (i128::from(length) * i128::from(its)).cmp(&(i128::from(other) * i128::from(period)))
    };
    order.sort_unstable_by(|&a, &b| {
        let by_share = || less(places.share(b), places.share(a));
        let by_room = || places.slack(a).max(0).cmp(&places.slack(b).max(0));
        free(a).cmp(&free(b)).then_with(by_share).then_with(by_room).then(a.cmp(&b))
    });
    order
}

/// Tries once. The step that had no place, if one had none. What is in `transfers` does not matter.
fn attempt(
    order: &[usize],
    places: &mut Places<'_>,
    transfers: &mut Vec<(i64, Leg)>,
    random: &mut SplitMix64,
) -> Result<Option<Leg>, OutOfWork> {
    for &partition in order {
        for step in [Step::Processing, Step::PhysicalInput, Step::PhysicalOutput] {
            let leg = Leg { partition, step };
            if places.length(leg) > 0 && !put_at_random(places, leg, random)? {
                return Ok(Some(leg));
            }
        }
    }
    transfers.clear();
    for partition in 0..order.len() {
        for step in [Step::DeviceInput, Step::DeviceOutput] {
            let leg = Leg { partition, step };
            if places.length(leg) > 0 {
                let (from, to) = places.window(leg);
                transfers.push((to - from, leg));
            }
        }
    }
    // The narrowest first.
    transfers.sort_unstable();
    for &(_, leg) in transfers.iter() {
        if !put_at_random(places, leg, random)? {
            return Ok(Some(leg));
        }
    }
    Ok(None)
}

fn put_at_random(places: &mut Places<'_>, leg: Leg, random: &mut SplitMix64) -> Result<bool, OutOfWork> {
    let (from, to) = places.window(leg);
    if to < from {
        return Ok(false);
    }
    let drawn = from + random.below((to - from + 1).unsigned_abs()).cast_signed();
    let found = match places.first_free(leg, drawn, to)? {
        None if drawn > from => places.first_free(leg, from, drawn - 1)?,
        found => found,
    };
    if let Some(begin) = found {
        places.put(leg, begin);
    }
    Ok(found.is_some())
}
