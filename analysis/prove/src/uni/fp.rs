//! Response times under fixed priorities on one core, for any deadlines.

use crate::effort::Effort;
use crate::necessary::overloads;
use crate::task::{Task, TaskSet, Ticks};
use crate::verdict::{Infeasible, Stop, TestAnswer};

/// The positions of the tasks from the most to the least urgent by `key`; ties in input order.
pub(crate) fn order_by(tasks: &[Task], key: impl Fn(&Task) -> Ticks) -> Vec<usize> {
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by_key(|&index| key(&tasks[index]));
    order
}

/// A bound on a response time, or what prevents one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Response {
    /// No job takes longer, and some job of a synchronous release takes this long (without blocking).
    Within(Ticks),
    /// Some job takes longer than its deadline.
    Late,
}

/// The worst-case response time of `task` below `higher`, delayed at most once for `blocking` by less urgent
/// tasks that hold a lock: of the jobs `q` in the busy period, `w_q = B + (q + 1) C + sum ceil(w_q / T_j) C_j`
/// and `R = max(w_q - q T)` (Joseph & Pandya 1986, thesis Theorem 2.4.2; busy period with several jobs:
/// Lehoczky, RTSS 1990; blocking: Sha, Rajkumar & Lehoczky 1990). Exact for sporadic tasks without blocking.
///
/// Ends with `Late` at the first job found late.
pub(crate) fn response(
    task: &Task,
    higher: &[Task],
    blocking: Ticks,
    effort: &mut Effort<'_>,
) -> Result<Response, Stop> {
    let work = |other: &Task, window: u64| u128::from(window.div_ceil(other.t())) * u128::from(other.c());
    climb(task, higher, work, blocking, effort)
}

/// A more urgent task whose jobs may execute as late as `lead` after their releases: in a window of length `w` so many
/// as are released in `w + lead`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Higher {
    /// The task.
    pub(crate) task: Task,
    /// The longest from the release of a job until it must execute without a pause.
    pub(crate) lead: u64,
}

/// Jobs of a task and what they execute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Jobs {
    /// How many.
    pub(crate) jobs: u64,
    /// For how long together.
    pub(crate) work: u64,
}

impl Higher {
    /// What executes within a window, at most.
    pub(crate) fn within(&self, window: u64) -> Jobs {
        let jobs = window.saturating_add(self.lead).div_ceil(self.task.t());
        Jobs { jobs, work: jobs.saturating_mul(self.task.c()) }
    }
}

/// [`response`] below tasks with leads: `w_q = B + (q + 1) C + sum ceil((w_q + lead_j) / T_j) C_j` (Bletsas et al.,
/// Leibniz Transactions on Embedded Systems 5(1), 2018).
pub(crate) fn response_over(
    task: &Task,
    higher: &[Higher],
    blocking: Ticks,
    effort: &mut Effort<'_>,
) -> Result<Response, Stop> {
    climb(task, higher, |other, window| u128::from(other.within(window).work), blocking, effort)
}

/// The least fixed points of the jobs of a busy period.
fn climb<H>(
    task: &Task,
    higher: &[H],
    work: impl Fn(&H, u64) -> u128,
    blocking: Ticks,
    effort: &mut Effort<'_>,
) -> Result<Response, Stop> {
    let (c, t, d) = (task.c(), task.t(), task.d());
    let mut worst = 0;
    let mut finish = blocking.get();
    for job in 0u64.. {
        let released = job.checked_mul(t).ok_or(Stop::Overflow)?;
        let own =
            (job + 1).checked_mul(c).and_then(|own| own.checked_add(blocking.get())).ok_or(Stop::Overflow)?;
        let latest = released.checked_add(d).ok_or(Stop::Overflow)?;
        finish = finish.checked_add(c).ok_or(Stop::Overflow)?;
        loop {
            effort.spend(higher.len() + 1)?;
            if finish > latest {
                return Ok(Response::Late);
            }
            let interference: u128 = higher.iter().map(|other| work(other, finish)).sum();
            let next = u64::try_from(interference + u128::from(own)).map_err(|_| Stop::Overflow)?;
            if next == finish {
                break;
            }
            finish = next;
        }
        worst = worst.max(finish - released);
        if finish <= released + t {
            break;
        }
    }
    Ok(Response::Within(Ticks(worst)))
}

/// The response times of `tasks`, most urgent first, without blocking.
///
/// # Errors
/// `None` where the effort ran out or the numbers left 64 bits.
pub fn response_times(tasks: &[Task], effort: &mut Effort<'_>) -> Option<Vec<Response>> {
    let below = |index: usize| response(&tasks[index], &tasks[..index], Ticks(0), &mut *effort);
    (0..tasks.len()).map(below).collect::<Result<_, _>>().ok()
}

/// The exact test for the priority order `order` on one core.
pub(crate) fn judge(set: &TaskSet, order: &[usize], effort: &mut Effort<'_>) -> Result<TestAnswer, Stop> {
    if overloads(set) {
        return Ok(TestAnswer::Infeasible(Infeasible::Utilization));
    }
    let ranked: Vec<Task> = order.iter().map(|&index| set.tasks()[index]).collect();
    for (rank, task) in ranked.iter().enumerate() {
        if response(task, &ranked[..rank], Ticks(0), effort)? == Response::Late {
            return Ok(TestAnswer::Infeasible(Infeasible::Misses(order[rank])));
        }
    }
    Ok(TestAnswer::Accepted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(tasks: &[(u64, u64, u64)]) -> Vec<Response> {
        let tasks: Vec<Task> = tasks.iter().map(|&(c, t, d)| Task::new(c, t, d)).collect();
        response_times(&tasks, &mut Effort::default()).unwrap()
    }

    /// The example of thesis 2.4.1.1: 2, 7 and 26, which is above the third task's deadline of 25.
    #[test]
    fn the_thesis_example_responds_within_2_7_and_26() {
        let within = |times: &[u64]| times.iter().map(|&t| Response::Within(Ticks(t))).collect::<Vec<_>>();
        assert_eq!(times(&[(2, 10, 10), (5, 15, 15), (10, 26, 26)]), within(&[2, 7, 26]));
        assert_eq!(times(&[(2, 10, 10), (5, 15, 15), (10, 25, 25)])[2], Response::Late);
    }

    /// Lehoczky's observation: with deadlines above periods the first job need not be the slowest. The jobs of
    /// the second task respond in 114, 102, 116, 104, 118, 106, 94 (Lehoczky 1990, Example 1).
    #[test]
    fn a_later_job_of_the_busy_period_may_be_the_slowest() {
        let times = times(&[(26, 70, 70), (62, 100, 118)]);
        assert_eq!(times[1], Response::Within(Ticks(118)));
    }

    #[test]
    fn blocking_adds_once() {
        let higher = [Task::implicit(2, 10)];
        let task = Task::implicit(5, 15);
        let blocked = response(&task, &higher, Ticks(4), &mut Effort::default());
        assert_eq!(blocked, Ok(Response::Within(Ticks(13))));
    }
}
