//! EDF on one core, exactly: processor demand by quick analysis.

use crate::demand::{Dbf, crossing};
use crate::effort::Effort;
use crate::line::{Slope, first_above};
use crate::necessary::{longer_than_deadline, overloads};
use crate::task::{Task, TaskSet, Ticks};
use crate::verdict::{Infeasible, Reason, Stop, TestAnswer, settle};

/// Accepts iff `sum U <= 1` and `sum dbf_i(t) <= t` for every `t`: exact for sporadic tasks with any deadlines
/// (Baruah, Mok & Rosier, RTSS 1990), looked at in the order of Zhang & Burns (IEEE Trans. Computers 58(9),
/// 2009) from the shorter of the line crossing and the synchronous busy period down.
pub fn qpa(set: &TaskSet, effort: &mut Effort<'_>) -> TestAnswer {
    if set.cores() > 1 {
        return TestAnswer::NotApplicable(Reason::ManyCores);
    }
    settle(edf_on_one_core(set, effort))
}

/// The exact test for one core, whatever number of cores the set names.
pub(crate) fn edf_on_one_core(set: &TaskSet, effort: &mut Effort<'_>) -> Result<TestAnswer, Stop> {
    if let Some(task) = longer_than_deadline(set) {
        return Ok(TestAnswer::Infeasible(Infeasible::LongerThanDeadline(task)));
    }
    if overloads(set) {
        return Ok(TestAnswer::Infeasible(Infeasible::Utilization));
    }
    if set.tasks().iter().all(|task| task.d >= task.t) {
        return Ok(TestAnswer::Accepted);
    }
    let limit = match crossing(set, 1.0) {
        Some(at) => at,
        None => busy_period(set.tasks(), effort)?,
    };
    let above = first_above(&Dbf(set.tasks()), Slope { num: 1, den: 1 }, limit, effort)?;
    Ok(above.map_or(TestAnswer::Accepted, |at| TestAnswer::Infeasible(Infeasible::Demand(Ticks(at)))))
}

/// The synchronous busy period: the least `w > 0` with `w = sum ceil(w / T_i) C_i` (Spuri, INRIA RR-2772,
/// 1996). It exists where the utilisation is at most 1, though it may last a hyperperiod.
pub(crate) fn busy_period(tasks: &[Task], effort: &mut Effort<'_>) -> Result<u64, Stop> {
    let mut length: u64 = tasks.iter().map(Task::c).sum();
    loop {
        effort.spend(tasks.len())?;
        let work: u128 =
            tasks.iter().map(|task| u128::from(length.div_ceil(task.t())) * u128::from(task.c())).sum();
        let work = u64::try_from(work).map_err(|_| Stop::Overflow)?;
        if work == length {
            return Ok(length);
        }
        length = work;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(tasks: &[(u64, u64, u64)]) -> TestAnswer {
        let tasks = tasks.iter().map(|&(c, t, d)| Task::new(c, t, d)).collect();
        qpa(&TaskSet::new(1, tasks).unwrap(), &mut Effort::default())
    }

    #[test]
    fn the_set_of_figure_21_is_schedulable() {
        assert_eq!(judge(&[(2, 10, 10), (5, 15, 15), (10, 25, 25)]), TestAnswer::Accepted);
    }

    #[test]
    fn a_full_core_with_a_short_deadline_needs_the_busy_period() {
        assert_eq!(judge(&[(1, 2, 1), (2, 4, 4)]), TestAnswer::Accepted);
        assert_eq!(judge(&[(1, 2, 2), (2, 4, 2)]), TestAnswer::Infeasible(Infeasible::Demand(Ticks(2))));
    }

    #[test]
    fn demand_at_one_instant_can_break_a_set_of_low_utilization() {
        assert_eq!(judge(&[(3, 100, 5), (3, 100, 5)]), TestAnswer::Infeasible(Infeasible::Demand(Ticks(5))));
    }

    #[test]
    fn deadlines_above_periods_help() {
        assert!(!judge(&[(2, 4, 3), (5, 10, 6)]).accepts());
        assert!(judge(&[(2, 4, 4), (5, 10, 30)]).accepts());
    }
}
