//! FF-DBF: forced-forward demand for global EDF.

use crate::demand::{ForcedDemand, crossing};
use crate::effort::Effort;
use crate::exact::ratio_cmp;
use crate::global::densest;
use crate::global::load::slower_than;
use crate::line::{Slope, first_above};
use crate::necessary::refuse;
use crate::task::TaskSet;
use crate::verdict::{Reason, Stop, TestAnswer, settle};
use core::cmp::Ordering;

/// The candidates for the speed beyond the largest density: multiples of 1/50, as public code uses them.
const GRID: u64 = 50;

/// Accepts if some speed `s`, the largest density or a multiple of 1/50 between it and 1, has
/// `sum ffdbf_i(t, s) <= (m - (m - 1) s) t` for every `t`: Baruah, Bonifaci, Marchetti-Spaccamela & Stiller,
/// Improved multiprocessor global schedulability analysis, Real-Time Systems 46(1), 2010.
/// For two cores or more and deadlines up to periods.
///
/// Public code stops at speeds whose line is steeper than the utilisation by less than 1/10, to bound its
/// search; this one needs no such margin and so accepts more.
pub fn ffdbf(set: &TaskSet, effort: &mut Effort<'_>) -> TestAnswer {
    if !set.is_constrained() {
        return TestAnswer::NotApplicable(Reason::DeadlineAbovePeriod);
    }
    if set.cores() < 2 {
        return TestAnswer::NotApplicable(Reason::OneCore);
    }
    settle(judge(set, effort))
}

fn judge(set: &TaskSet, effort: &mut Effort<'_>) -> Result<TestAnswer, Stop> {
    let Some(densest) = densest(set) else {
        return Ok(TestAnswer::Accepted);
    };
    if !set.fits_alone() {
        return Ok(refuse(set));
    }
    let grid =
        (1..=GRID).map(|step| (step, GRID)).filter(|&speed| ratio_cmp(speed, densest) == Ordering::Greater);
    for speed in core::iter::once(densest).chain(grid) {
        match holds(set, speed, effort)? {
            Trial::Holds => return Ok(TestAnswer::Accepted),
            Trial::TooSlow => break,
            Trial::Fails => {}
        }
    }
    Ok(refuse(set))
}

enum Trial {
    Holds,
    Fails,
    /// The line is no steeper than the utilisation, and higher speeds only make it flatter.
    TooSlow,
}

fn holds(set: &TaskSet, (num, den): (u64, u64), effort: &mut Effort<'_>) -> Result<Trial, Stop> {
    let line = set.m() * u128::from(den) - (set.m() - 1) * u128::from(num);
    if set.is_implicit() {
        // Each share stays below U t, which it reaches: demand is below the line iff the utilisation is.
        let below = slower_than(set, Slope { num: line, den: u128::from(den) });
        return Ok(if below { Trial::Holds } else { Trial::TooSlow });
    }
    let Some(limit) = crossing(set, line as f64 / den as f64) else {
        return Ok(Trial::TooSlow);
    };
    // Demand comes multiplied by `den`, and so does the line.
    let demand = ForcedDemand { tasks: set.tasks(), num, den };
    let above = first_above(&demand, Slope { num: line, den: 1 }, limit, effort)?;
    Ok(if above.is_none() { Trial::Holds } else { Trial::Fails })
}
