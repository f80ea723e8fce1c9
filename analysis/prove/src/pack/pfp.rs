//! Partitioned and clustered fixed priorities: tasks packed onto cores that take one as long as response times allow, and
//! onto clusters judged as small global systems.

use crate::effort::Effort;
use crate::global::{gfp_dm::gfp_dm, gfp_rm::gfp_rm};
use crate::necessary::refuse;
use crate::pack::Fit;
use crate::pack::clustered::clustered_by;
use crate::task::{Task, TaskSet, Ticks};
use crate::uni::fp;
use crate::verdict::{Reason, Stop, TestAnswer, settle};

/// Accepts if first fit, largest utilisation first (equal ones in input order), puts every task onto one of `m` cores on
/// which all response times under priorities by `key` are within deadlines then.
fn partitioned(set: &TaskSet, key: fn(&Task) -> Ticks, effort: &mut Effort<'_>) -> TestAnswer {
    settle(packed(set, key, effort).map(|all| if all { TestAnswer::Accepted } else { refuse(set) }))
}

fn packed(set: &TaskSet, key: fn(&Task) -> Ticks, effort: &mut Effort<'_>) -> Result<bool, Stop> {
    let mut order: Vec<usize> = (0..set.tasks().len()).collect();
    // a.c / a.t > b.c / b.t, without division.
    order.sort_by(|&a, &b| {
        let (a, b) = (&set.tasks()[a], &set.tasks()[b]);
        (u128::from(b.c()) * u128::from(a.t())).cmp(&(u128::from(a.c()) * u128::from(b.t())))
    });
    let mut cores: Vec<Vec<usize>> = Vec::new();
    for task in order {
        let mut placed = false;
        for core in &mut cores {
            let at = core.partition_point(|&other| {
                (key(&set.tasks()[other]), other) < (key(&set.tasks()[task]), task)
            });
            core.insert(at, task);
            let tasks: Vec<Task> = core.iter().map(|&task| set.tasks()[task]).collect();
            let ranks: Vec<usize> = (0..tasks.len()).collect();
            placed = fp::judge(&TaskSet::part(1, tasks), &ranks, effort)?.accepts();
            if placed {
                break;
            }
            core.remove(at);
        }
        if !placed {
            if cores.len() as u64 == u64::from(set.cores()) || set.tasks()[task].c > set.tasks()[task].d {
                return Ok(false);
            }
            cores.push(vec![task]);
        }
    }
    Ok(true)
}

/// Partitioned rate-monotonic priorities by first fit, with response times as the capacity of a core.
pub fn prm_ffd(set: &TaskSet, effort: &mut Effort<'_>) -> TestAnswer {
    partitioned(set, |task| task.t, effort)
}

/// Partitioned deadline-monotonic priorities by first fit, with response times as the capacity of a core.
pub fn pdm_ffd(set: &TaskSet, effort: &mut Effort<'_>) -> TestAnswer {
    partitioned(set, |task| task.d, effort)
}

/// Clustered rate-monotonic priorities: first fit, largest utilisation first, and [`gfp_rm`] on each cluster.
pub fn crm_ffd(set: &TaskSet, effort: &mut Effort<'_>) -> TestAnswer {
    constrained(set, effort, &mut gfp_rm)
}

/// Clustered deadline-monotonic priorities: first fit, largest utilisation first, and [`gfp_dm`] on each cluster.
pub fn cdm_ffd(set: &TaskSet, effort: &mut Effort<'_>) -> TestAnswer {
    constrained(set, effort, &mut gfp_dm)
}

/// Clusters whose test knows constrained deadlines only. A cluster's no would count as a set's no: so sets to which the
/// test does not apply are not asked about.
fn constrained(
    set: &TaskSet,
    effort: &mut Effort<'_>,
    judge: &mut dyn FnMut(&TaskSet, &mut Effort<'_>) -> TestAnswer,
) -> TestAnswer {
    if !set.is_constrained() {
        return TestAnswer::NotApplicable(Reason::DeadlineAbovePeriod);
    }
    clustered_by(set, Fit::First, effort, judge)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two tasks of 60 % need a core each, and 40 % of the same period fits beside one of them under any priorities; of
    /// another period it need not.
    #[test]
    fn a_core_takes_what_response_times_allow() {
        let run = |cores, tasks: &[Task]| {
            prm_ffd(&TaskSet::new(cores, tasks.to_vec()).unwrap(), &mut Effort::default()).accepts()
        };
        let two = [Task::implicit(6, 10), Task::implicit(6, 10)];
        assert!(!run(1, &two) && run(2, &two));
        assert!(run(2, &[two[0], two[1], Task::implicit(4, 10), Task::implicit(4, 10)]));
        assert!(!run(1, &[Task::implicit(6, 10), Task::implicit(6, 15)]));
    }

    /// One cluster of two cores is global scheduling on two.
    #[test]
    fn one_cluster_is_judged_as_global() {
        let tasks =
            vec![Task::implicit(3, 10), Task::implicit(5, 15), Task::implicit(9, 30), Task::implicit(4, 9)];
        let global = TaskSet::new(2, tasks.clone()).unwrap();
        let clustered = TaskSet::new(2, tasks).unwrap().with_clusters(2).unwrap();
        let effort = &mut Effort::default();
        assert_eq!(crm_ffd(&clustered, effort).accepts(), gfp_rm(&global, effort).accepts());
        assert_eq!(cdm_ffd(&clustered, effort).accepts(), gfp_dm(&global, effort).accepts());
        assert_eq!(crm_ffd(&global, effort).decided(), None);
    }
}
