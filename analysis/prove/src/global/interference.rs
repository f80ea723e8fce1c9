//! How much other tasks can delay one job, and the response time that follows.

use crate::effort::Effort;
use crate::task::Task;
use crate::verdict::Stop;

/// The most work a task can do in a window of `length` whose first job starts as early as it can and whose
/// other jobs follow at once: `floor(L / T) C + min(C, L mod T)`.
pub(crate) fn workload(task: &Task, length: u64) -> u64 {
    let (jobs, rest) = (length / task.t(), length % task.t());
    // The window is at most a few periods of 48 bits and C <= T, so the product is at most the window.
    jobs * task.c() + rest.min(task.c())
}

/// The most work that jobs of `task` due no later than the end of a window of `length` can do in it, where
/// each job completes at least `slack` before its deadline (Bertogna & Cirinei, RTSS 2007).
pub(crate) fn edf_interference(task: &Task, length: u64, slack: u64) -> u64 {
    let (jobs, rest) = (length / task.t(), length % task.t());
    jobs * task.c() + rest.saturating_sub(slack).min(task.c())
}

/// Another task in the response-time inequality of one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interferer {
    c: u64,
    t: u64,
    /// How much longer than the response time the window of its workload is: `D - C - slack`.
    lead: u64,
    /// The most it interferes whatever the window.
    cap: u64,
    /// The work of the whole periods in the window, and what is left of the window after them.
    whole: u64,
    rest: u64,
}

/// A term `min(cap, workload, x)` at one `x`, and how it goes on.
struct Term {
    value: u64,
    rises: bool,
    /// For so many units of `x` it goes on like that, at least 1.
    lasts: u64,
}

impl Interferer {
    /// `task` with a window that is `lead` longer than the response time, interfering for at most `cap`.
    pub(crate) fn new(task: &Task, lead: u64, cap: u64) -> Self {
        Self { c: task.c(), t: task.t(), lead, cap, whole: 0, rest: 0 }
    }

    /// Execution time and period.
    pub(crate) fn period(&self) -> (u64, u64) {
        (self.c, self.t)
    }

    /// The longest of its times.
    pub(crate) fn reach(&self) -> u64 {
        self.t.max(self.lead)
    }

    /// How much longer than the response time its window is, and the most it interferes.
    pub(crate) fn lead_and_cap(&self) -> (u64, u64) {
        (self.lead, self.cap)
    }

    /// The window is that of a response time of 0.
    fn restart(&mut self) {
        self.whole = 0;
        self.rest = self.lead;
    }

    /// The window grows. Most steps stay within a period, and division is what costs here.
    fn advance(&mut self, by: u64) {
        self.rest += by;
        if self.rest >= self.t {
            self.whole += self.rest / self.t * self.c;
            self.rest %= self.t;
        }
    }

    fn term(&self, x: u64) -> Term {
        let work = self.whole + self.rest.min(self.c);
        let other = work.min(self.cap);
        if x < other {
            Term { value: x, rises: true, lasts: other - x }
        } else if self.cap <= work {
            Term { value: self.cap, rises: false, lasts: u64::MAX }
        } else if self.rest < self.c {
            Term { value: work, rises: true, lasts: (self.c - self.rest).min(self.cap - work) }
        } else {
            Term { value: work, rises: false, lasts: self.t - self.rest }
        }
    }
}

/// The least fixed point of `R = C + floor(sum min(cap_i, w_i(R), R - C + 1) / m)` from `R = C` (Bertogna &
/// Cirinei 2007), or `None` above the deadline.
///
/// With `x = R - C + 1` this is the least `x` whose sum is below `m x`. The sum is piecewise linear with whole
/// slopes, so each round moves to where the present line meets `m x` or to where the line ends, whichever
/// comes first, instead of by one unit of time; and never less far than the plain iteration would.
pub(crate) fn response(
    task: &Task,
    m: u64,
    others: &mut [Interferer],
    effort: &mut Effort<'_>,
) -> Result<Option<u64>, Stop> {
    let (c, d) = (task.c(), task.d());
    let mut x = 1u64;
    let mut step = c;
    others.iter_mut().for_each(Interferer::restart);
    loop {
        let response = c + x - 1;
        if response > d {
            return Ok(None);
        }
        effort.spend(others.len() + 1)?;
        let (mut sum, mut slope, mut lasts) = (0u128, 0u64, u64::MAX);
        for other in others.iter_mut() {
            other.advance(step);
            let term = other.term(x);
            sum += u128::from(term.value);
            slope += u64::from(term.rises);
            lasts = lasts.min(term.lasts);
        }
        let line = u128::from(m) * u128::from(x);
        if sum < line {
            return Ok(Some(response));
        }
        let excess = sum - line;
        let meets = if slope < m { excess / u128::from(m - slope) + 1 } else { u128::MAX };
        let jump = meets.min(u128::from(lasts)).min(u128::from(d));
        let plain = (sum / u128::from(m)) as u64 + 1;
        let next = plain.max(x + jump as u64);
        step = next - x;
        x = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The iteration as published, one step at a time.
    fn creeping(task: &Task, m: u64, others: &[Interferer]) -> Option<u64> {
        let mut response = task.c();
        while response <= task.d() {
            let x = response - task.c() + 1;
            let sum: u64 = others
                .iter()
                .map(|other| {
                    other.cap.min(workload(&Task::implicit(other.c, other.t), response + other.lead)).min(x)
                })
                .sum();
            let next = task.c() + sum / m;
            if next == response {
                return Some(response);
            }
            response = next;
        }
        None
    }

    proptest! {
        #[test]
        fn jumping_and_creeping_meet_at_the_same_point(
            c in 1u64..30, slack in 0u64..200, m in 1u64..5,
            others in prop::collection::vec((1u64..40, 0u64..60, 0u64..50, 0u64..300), 0..9),
        ) {
            let task = Task::implicit(c, c + slack);
            let mut others: Vec<Interferer> = others
                .into_iter()
                .map(|(c, more, lead, cap)| Interferer::new(&Task::implicit(c, c + more), lead, cap))
                .collect();
            let jumped = response(&task, m, &mut others, &mut Effort::unlimited());
            prop_assert_eq!(jumped, Ok(creeping(&task, m, &others)));
        }
    }

    /// Four heavy tasks on two cores: the published iteration creeps through tens of thousands of steps.
    #[test]
    fn a_long_climb_takes_few_rounds() {
        let heavy = Task::implicit(60_000, 100_000);
        let other = Interferer::new(&Task::implicit(59_999, 100_000), 40_000, 60_000);
        let mut effort = Effort::steps(100);
        let found = response(&heavy, 2, &mut [other; 2], &mut effort);
        assert_eq!(found, Ok(None));
        assert_eq!(creeping(&heavy, 2, &[other; 2]), None);
    }
}
