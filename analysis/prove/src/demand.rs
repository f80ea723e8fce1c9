//! Demand bound functions: the work that must be done within an interval.

use crate::line::Demand;
use crate::task::{Task, TaskSet};
use crate::verdict::Stop;

/// The demand bound function of one task: the work of jobs released and due within `t` (Baruah, Mok & Rosier,
/// RTSS 1990): `max(0, floor((t - D) / T) + 1) * C`.
pub(crate) fn dbf(task: &Task, t: u64) -> u128 {
    match t.checked_sub(task.d()) {
        Some(rest) => u128::from(rest / task.t() + 1) * u128::from(task.c()),
        None => 0,
    }
}

/// The last deadline before `t` of jobs released from 0 on, 0 without any.
pub(crate) fn deadline_before(tasks: &[Task], t: u64) -> u64 {
    let last = |task: &Task| {
        let rest = t.checked_sub(task.d() + 1)?;
        Some(task.d() + rest / task.t() * task.t())
    };
    tasks.iter().filter_map(last).max().unwrap_or(0)
}

/// The sum of [`dbf`] over the tasks.
pub(crate) struct Dbf<'a>(pub(crate) &'a [Task]);

impl Demand for Dbf<'_> {
    fn terms(&self) -> usize {
        self.0.len()
    }
    fn at(&self, t: u64) -> Result<u128, Stop> {
        Ok(self.0.iter().map(|task| dbf(task, t)).sum())
    }
    fn point_before(&self, t: u64) -> u64 {
        deadline_before(self.0, t)
    }
}

/// The forced-forward demand of a set at speed `sigma = num / den`, multiplied by `den`.
///
/// One task's share is [`dbf`] and, of the job that is still under way at `t`, the part that a core of that
/// speed must have done by then (Baruah, Bonifaci, Marchetti-Spaccamela & Stiller 2009). Between deadlines
/// demand grows linearly, so a violation between them is also one at the next deadline or earlier.
pub(crate) struct ForcedDemand<'a> {
    pub(crate) tasks: &'a [Task],
    pub(crate) num: u64,
    pub(crate) den: u64,
}

impl ForcedDemand<'_> {
    /// One task's share; the deadline is at most the period.
    fn share(&self, task: &Task, t: u64) -> u128 {
        let (jobs, rest) = (t / task.t(), t % task.t());
        let whole = u128::from(task.c()) * u128::from(self.den);
        let partial = match task.d().checked_sub(rest) {
            None | Some(0) => whole,
            Some(left) => whole.saturating_sub(u128::from(left) * u128::from(self.num)),
        };
        // At most 2^16 * 2^63 jobs' worth of work times a 48-bit denominator fits.
        u128::from(jobs) * whole + partial
    }
}

impl Demand for ForcedDemand<'_> {
    fn terms(&self) -> usize {
        self.tasks.len()
    }
    fn at(&self, t: u64) -> Result<u128, Stop> {
        self.tasks
            .iter()
            .try_fold(0u128, |sum, task| sum.checked_add(self.share(task, t)).ok_or(Stop::Overflow))
    }
    fn point_before(&self, t: u64) -> u64 {
        deadline_before(self.tasks, t)
    }
}

/// A number and how far rounding may have moved it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Approximate {
    pub(crate) value: f64,
    pub(crate) error: f64,
}

/// The utilisation of the tasks in doubles; `error` bounds what rounding did.
pub(crate) fn utilization(tasks: &[Task]) -> Approximate {
    let value: f64 = tasks.iter().map(|task| task.c() as f64 / task.t() as f64).sum();
    Approximate { value, error: value * (tasks.len() as f64 + 4.0) * f64::EPSILON }
}

/// A time after which the demand of the tasks stays below a line of slope `slope` (in units of work per unit
/// of time), or `None` where doubles cannot tell the slope from the utilisation.
///
/// Demand stays below `U t + sum U_i max(0, T_i - D_i)`, the line through the upper corners of each task's
/// steps; the two lines cross at `sum U_i max(0, T_i - D_i) / (slope - U)` (Baruah, Mok & Rosier 1990).
pub(crate) fn crossing(set: &TaskSet, slope: f64) -> Option<u64> {
    let used = utilization(set.tasks());
    let margin = slope * (1.0 - 4.0 * f64::EPSILON) - (used.value + used.error);
    if margin <= 0.0 {
        return None;
    }
    let head_start: f64 = set
        .tasks()
        .iter()
        .map(|task| task.c() as f64 / task.t() as f64 * task.t().saturating_sub(task.d()) as f64)
        .sum();
    let generous = head_start * (1.0 + (set.tasks().len() as f64 + 8.0) * f64::EPSILON);
    let at = (generous / margin * (1.0 + 4.0 * f64::EPSILON)).ceil();
    (at < 9.0e18).then_some(at as u64)
}
