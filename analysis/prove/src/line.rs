//! Is a step-wise demand below a line through the origin, everywhere up to a limit?
//!
//! Quick processor-demand analysis (Zhang & Burns, IEEE Trans. Computers 58(9), 2009) walks from the limit
//! down: because demand never falls, the demand at `t` bounds it everywhere left of `t`, so the walk may jump
//! to where the line reaches that height. They state it for the line of one core; it holds for any slope, and
//! so serves the load and forced-forward tests too.

use crate::effort::Effort;
use crate::verdict::Stop;

/// A demand that never falls as time passes and is constant between [`Demand::point_before`]'s points, or
/// grows between them no faster than its rise at the next one makes worse.
pub(crate) trait Demand {
    /// How many terms an evaluation sums.
    fn terms(&self) -> usize;
    /// The work due by `t`, multiplied by a scale that the line shares.
    fn at(&self, t: u64) -> Result<u128, Stop>;
    /// The last time before `t` at which demand steps up, 0 without any.
    fn point_before(&self, t: u64) -> u64;
}

/// `num / den` units of work for each unit of time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slope {
    pub(crate) num: u128,
    pub(crate) den: u128,
}

/// The latest time in `1..=limit` at which demand is found above the line, or `None` where it stays below.
pub(crate) fn first_above(
    demand: &impl Demand,
    slope: Slope,
    limit: u64,
    effort: &mut Effort<'_>,
) -> Result<Option<u64>, Stop> {
    let mut t = limit;
    while t > 0 {
        effort.spend(demand.terms())?;
        let due = demand.at(t)?.checked_mul(slope.den).ok_or(Stop::Overflow)?;
        let line = slope.num.checked_mul(u128::from(t)).ok_or(Stop::Overflow)?;
        if due > line {
            return Ok(Some(t));
        }
        t = if due == line { demand.point_before(t) } else { (due / slope.num) as u64 };
    }
    Ok(None)
}
