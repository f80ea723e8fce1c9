//! Soft real time: bounded tardiness under global EDF.

use crate::effort::Effort;
use crate::exact::{Ratio, sum_cmp};
use crate::necessary::overloads;
use crate::task::{Task, TaskSet, Ticks};
use crate::verdict::{Infeasible, Reason, TestAnswer};

/// Accepts iff `sum U <= m` with deadlines equal to periods: then tardiness under global EDF is bounded (Devi &
/// Anderson, RTSS 2005; thesis Definition 2.3.2). Accepts soft schedulability, not deadlines.
pub fn gedf_soft(set: &TaskSet, _: &mut Effort<'_>) -> TestAnswer {
    if !set.is_implicit() {
        return TestAnswer::NotApplicable(Reason::DeadlineNotPeriod);
    }
    if overloads(set) { TestAnswer::Infeasible(Infeasible::Utilization) } else { TestAnswer::Accepted }
}

/// How late a job of each task can be under global EDF, rounded up: `(sum of the l longest C - min C) / (m - sum of the
/// l - 1 largest U) + C_k`, where `l = ceil(sum U) - 1`, at least 1 (Devi & Anderson, RTSS 2005). Zero for all on one
/// core. `None` unless [`gedf_soft`] accepts.
pub fn tardiness_bounds(set: &TaskSet) -> Option<Vec<Ticks>> {
    if !gedf_soft(set, &mut Effort::unlimited()).accepts() {
        return None;
    }
    if set.cores() == 1 || set.tasks().is_empty() {
        return Some(vec![Ticks(0); set.tasks().len()]);
    }
    let spare = spare(set);
    let bound = |task: &Task| Ticks(spare.saturating_add(task.c()));
    Some(set.tasks().iter().map(bound).collect())
}

/// The part of the bound that all tasks share, rounded up; the divisor is rounded down in doubles and so errs
/// on the safe side.
fn spare(set: &TaskSet) -> u64 {
    let cores = set.cores() as usize;
    let below =
        |whole: &u128| sum_cmp(set.tasks().iter().map(|task| Ratio::new(task.c(), task.t())), *whole).is_gt();
    let busy = (1..u128::from(set.cores())).take_while(below).count().max(1);
    let mut lengths: Vec<u64> = set.tasks().iter().map(Task::c).collect();
    lengths.sort_unstable_by(|a, b| b.cmp(a));
    let longest: u64 = lengths.iter().take(busy).sum();
    let mut rates: Vec<f64> = set.tasks().iter().map(|task| task.c() as f64 / task.t() as f64).collect();
    rates.sort_unstable_by(|a, b| b.total_cmp(a));
    let busiest: f64 = rates.iter().take(busy - 1).sum();
    let divisor = (f64::from(set.cores()) - busiest) * (1.0 - (cores as f64 + 8.0) * f64::EPSILON);
    let shortest = lengths.last().copied().unwrap_or(0);
    ((longest - shortest) as f64 / divisor * (1.0 + 4.0 * f64::EPSILON)).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three tasks of utilisation 2/3 on two cores: (2 - 2) / 2 + 2.
    #[test]
    fn three_equal_tasks_on_two_cores_are_late_by_at_most_their_length() {
        let set = TaskSet::new(2, vec![Task::implicit(2, 3); 3]).unwrap();
        assert_eq!(tardiness_bounds(&set), Some(vec![Ticks(2); 3]));
        let overloaded = TaskSet::new(2, vec![Task::implicit(2, 3); 4]).unwrap();
        assert_eq!(tardiness_bounds(&overloaded), None);
    }
}
