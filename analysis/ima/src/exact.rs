//! All offsets, by depth first search: complete, and so for small problems only.
//!
//! Always the step that has the narrowest window, at each of its free offsets. A window is narrowed by the steps of the
//! same instance that have their place. Offsets are multiples of [`Problem::unit`], which loses no solution. The first
//! step of all keeps to one period, since a partition that is moved by its period is the same.

use crate::model::{Leg, Problem};
use crate::place::{OutOfWork, Places};
use crate::verdict::Offsets;

/// What came of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ExactAnswer {
    /// Offsets for each partition, in the order of the problem.
    Solved(Vec<Offsets>),
    /// There are none.
    Proved,
    /// The work was not enough to know.
    Unknown,
}

/// Looks at all offsets, comparing a step with another one `work` times at most. The same on every machine.
pub fn solve(problem: &Problem, work: u64) -> ExactAnswer {
    if !problem.impossible().is_empty() {
        return ExactAnswer::Proved;
    }
    let mut places = Places::new(problem, work);
    let mut open: Vec<Leg> = problem.legs().collect();
    match search(&mut places, &mut open) {
        Err(OutOfWork) => ExactAnswer::Unknown,
        Ok(false) => ExactAnswer::Proved,
        Ok(true) => places.offsets().map_or(ExactAnswer::Proved, ExactAnswer::Solved),
    }
}

/// Places all that are open; leaves everything as it was where that can't be done.
fn search(places: &mut Places<'_>, open: &mut Vec<Leg>) -> Result<bool, OutOfWork> {
    let width = |leg: Leg| {
        let (from, to) = places.window(leg);
        to - from
    };
    let Some(next) = (0..open.len()).min_by_key(|&at| open.get(at).map(|&leg| (width(leg), leg))) else {
        return Ok(true);
    };
    let leg = open.swap_remove(next);
    let (mut from, to) = places.window(leg);
    while let Some(begin) = places.first_free(leg, from, to)? {
        places.put(leg, begin);
        if search(places, open)? {
            return Ok(true);
        }
        places.take(leg);
        from = begin + 1;
    }
    open.push(leg);
    Ok(false)
}
