//! Worst-case response times under EDF on one core.

use crate::effort::Effort;
use crate::exact::{Ratio, sum_cmp};
use crate::task::{Task, Ticks};
use crate::uni::fp::Response;
use crate::verdict::Stop;
use core::cmp::Ordering;

/// The response time of a job, with the window in which it was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Worst {
    /// The response time.
    pub(crate) response: Response,
    /// How long after the start of the busy period the worst job is released.
    pub(crate) release: u64,
    /// When it finishes, or would at the earliest where it is late.
    pub(crate) finish: u64,
}

/// Everything that shares the core with the task under analysis.
pub(crate) struct Core<'a> {
    /// Tasks scheduled by EDF.
    pub(crate) tasks: &'a [Task],
    /// Tasks and interrupts that come before all of those.
    pub(crate) above: &'a [Task],
    /// The longest delay by work that comes after a job due within the given time of its busy period's start.
    pub(crate) blocking: &'a dyn Fn(u64) -> u64,
    /// The most that [`Core::blocking`] ever returns.
    pub(crate) blocking_most: u64,
}

/// Work of `tasks` released within `t` of a synchronous release.
fn released(tasks: &[Task], t: u64) -> u128 {
    tasks.iter().map(|task| u128::from(t.div_ceil(task.t())) * u128::from(task.c())).sum()
}

impl Core<'_> {
    /// The worst-case response time of the task at `index`.
    ///
    /// The busy periods that must be looked at begin with a release of all other tasks; the task's own job is
    /// released `a` later, where `a + D` coincides with some deadline (Spuri, INRIA RR-2772, 1996, Theorem 6
    /// and Lemma 4.1; George, Rivierre & Spuri, INRIA RR-2966, 1996). Work that always comes first (interrupts,
    /// classes above) adds `ceil(t / T) C` (Gonzalez Harbour & Palencia, RTSS 2003), and work that comes later
    /// but holds a lock blocks once (stack resource policy: Baker, Real-Time Systems 3(1), 1991; deadline
    /// floors: Burns et al., IEEE Transactions on Computers 64(5), 2015).
    ///
    /// Exact without blocking and without work above; else a bound. Ends at the first job found late.
    ///
    /// # Errors
    /// When the effort ends or numbers leave 64 bits.
    pub(crate) fn respond(&self, index: usize, effort: &mut Effort<'_>) -> Result<Worst, Stop> {
        let task = self.tasks[index];
        let Some(busy) = self.busy_period(effort)? else {
            // Overload: some job is late, and none earlier than its deadline tells which.
            return Ok(Worst { response: Response::Late, release: 0, finish: task.d().saturating_add(1) });
        };
        let mut worst = Worst { response: Response::Within(task.c), release: 0, finish: task.c() };
        let mut longest = 0;
        let mut release = 0u64;
        while release < busy {
            let finish = self.finish_of(index, release, effort)?;
            let response = finish.saturating_sub(release).max(task.c());
            if response > task.d() {
                return Ok(Worst { response: Response::Late, release, finish });
            }
            if response > longest {
                longest = response;
                worst = Worst { response: Response::Within(Ticks(response)), release, finish };
            }
            effort.spend(self.tasks.len())?;
            match self.next_release(index, release) {
                Some(next) => release = next,
                None => break,
            }
        }
        Ok(worst)
    }

    /// The longest time for which the core is busy without a pause; `None` where it may be so for ever.
    fn busy_period(&self, effort: &mut Effort<'_>) -> Result<Option<u64>, Stop> {
        let all = self.tasks.iter().chain(self.above);
        let shares = all.clone().map(|task| Ratio::new(task.c(), task.t()));
        match sum_cmp(shares, 1) {
            Ordering::Greater => return Ok(None),
            Ordering::Equal if self.blocking_most > 0 => return Ok(None),
            _ => {}
        }
        let mut length = u128::from(self.blocking_most) + all.map(|task| u128::from(task.c())).sum::<u128>();
        loop {
            effort.spend(self.tasks.len() + self.above.len())?;
            let t = u64::try_from(length).map_err(|_| Stop::Overflow)?;
            let next = u128::from(self.blocking_most) + released(self.tasks, t) + released(self.above, t);
            if next == length {
                return Ok(Some(t));
            }
            length = next;
        }
    }

    /// When the job of `index` that is released `a` after the start of its busy period is done: the least
    /// fixed point over the work with deadlines up to its own.
    fn finish_of(&self, index: usize, a: u64, effort: &mut Effort<'_>) -> Result<u64, Stop> {
        let task = self.tasks[index];
        let due = a.checked_add(task.d()).ok_or(Stop::Overflow)?;
        let own = u128::from(a / task.t() + 1) * u128::from(task.c());
        let fixed = own + u128::from((self.blocking)(due));
        let mut finish = fixed;
        loop {
            effort.spend(self.tasks.len() + self.above.len())?;
            let t = u64::try_from(finish).map_err(|_| Stop::Overflow)?;
            // Past the deadline it is late, whatever follows.
            if t > due {
                return Ok(t);
            }
            let others = self.tasks.iter().enumerate().filter(|&(other, _)| other != index);
            let same: u128 = others
                .map(|(_, other)| match due.checked_sub(other.d()) {
                    Some(room) => {
                        let jobs = t.div_ceil(other.t()).min(room / other.t() + 1);
                        u128::from(jobs) * u128::from(other.c())
                    }
                    None => 0,
                })
                .sum();
            let next = fixed + same + released(self.above, t);
            if next == finish {
                return Ok(t);
            }
            finish = next;
        }
    }

    /// The next release time after `a` at which the own deadline coincides with another's, or with a release
    /// at the start of the busy period.
    fn next_release(&self, index: usize, a: u64) -> Option<u64> {
        let own = self.tasks[index].d();
        let due = u128::from(a) + u128::from(own);
        let next = |task: &Task| {
            let (d, t) = (u128::from(task.d()), u128::from(task.t()));
            let next = if due < d { d } else { d + ((due - d) / t + 1) * t };
            u64::try_from(next - u128::from(own).min(next)).ok().filter(|&release| release > a)
        };
        self.tasks.iter().filter_map(next).min()
    }
}

/// The worst-case response times of `tasks` under EDF on one core, exactly (Spuri 1996); `Late` where a job
/// misses its deadline.
///
/// `None` where the effort ran out or the numbers left 64 bits.
pub fn response_times(tasks: &[Task], effort: &mut Effort<'_>) -> Option<Vec<Response>> {
    let core = Core { tasks, above: &[], blocking: &|_| 0, blocking_most: 0 };
    (0..tasks.len()).map(|index| Some(core.respond(index, effort).ok()?.response)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within(times: &[u64]) -> Vec<Response> {
        times.iter().map(|&time| Response::Within(Ticks(time))).collect()
    }

    #[test]
    fn one_task_responds_within_its_execution_time() {
        assert_eq!(response_times(&[Task::implicit(3, 10)], &mut Effort::default()), Some(within(&[3])));
    }

    /// By hand: alone the short task of deadline 4 takes 1; the long one is due at 6 and waits for two short
    /// jobs; a short job waits for the long one where its deadline is not earlier.
    #[test]
    fn a_short_job_may_wait_for_a_long_one_that_is_due_first() {
        let tasks = [Task::implicit(1, 4), Task::implicit(3, 6)];
        // Released 2 after the long one, the short job is due at 6 like it, and waits until 3: response 2. The
        // long job released together with a short one: 1 + 3 = 4.
        assert_eq!(response_times(&tasks, &mut Effort::default()), Some(within(&[2, 4])));
    }

    #[test]
    fn a_late_job_is_found() {
        let tasks = [Task::new(2, 10, 3), Task::new(2, 10, 3)];
        assert_eq!(response_times(&tasks, &mut Effort::default()), Some(vec![Response::Late; 2]));
        let overload = [Task::implicit(6, 10), Task::implicit(5, 10)];
        assert_eq!(response_times(&overload, &mut Effort::default()), Some(vec![Response::Late; 2]));
    }
}
