//! RTA: response times under global EDF.

use crate::budget::Budget;
use crate::global::bcli::bcli;
use crate::global::interference::{Interferer, edf_interference, response};
use crate::necessary::refuse;
use crate::task::{Task, TaskSet};
use crate::verdict::{Reason, Stop, Verdict, settle};

/// Accepts when within one pass over the tasks every least fixed point of
/// `R = C_k + floor(sum_{i != k} min(I_i, w_i(R), R - C_k + 1) / m)` is at most `D_k`. `I_i` is that of BCL
/// iterative; `w_i(R) = floor(L / T_i) C_i + min(C_i, L mod T_i)` with `L = R + D_i - C_i - s_i`; the slacks `s`,
/// zero at first, rise to `D_k - R`; passes go on, without limit, until one changes none: Bertogna & Cirinei,
/// RTSS 2007, the response-time theorem for EDF with slack updates. For deadlines up to periods only.
pub fn rta(set: &TaskSet, budget: &mut Budget<'_>) -> Verdict {
    if !set.is_constrained() {
        return Verdict::NotApplicable(Reason::DeadlineAbovePeriod);
    }
    // What BCL iterative accepts, this accepts: its bounds are never lower, and its passes are cheaper by the length
    // of the climb to a fixed point.
    if bcli(set, budget).accepts() {
        return Verdict::Accepted;
    }
    settle(response_times(set, budget).map(|times| match times {
        Some(_) => Verdict::Accepted,
        None => refuse(set),
    }))
}

/// Bounds on the response times of all tasks, or `None` where one cannot be shown to meet its deadline.
pub(crate) fn response_times(set: &TaskSet, budget: &mut Budget<'_>) -> Result<Option<Vec<u64>>, Stop> {
    if !set.fits_alone() {
        return Ok(None);
    }
    Ok(reach(set, &[], budget)?.ok())
}

/// Bounds on the response times of all tasks of `set`, whose work always gives way to that of `above`; or the
/// positions of those that cannot be shown to meet their deadlines. No task is longer than its deadline.
pub(crate) fn reach(
    set: &TaskSet,
    above: &[Interferer],
    budget: &mut Budget<'_>,
) -> Result<Result<Vec<u64>, Vec<usize>>, Stop> {
    let mut search = Search::new(set, above);
    loop {
        let before = search.changes;
        match search.pass(budget)? {
            Pass::Hopeless(task) => return Ok(Err(vec![task])),
            Pass::AllHold => {
                let response = |(task, slack): (&Task, &u64)| task.d() - slack;
                return Ok(Ok(set.tasks().iter().zip(&search.slacks).map(response).collect()));
            }
            Pass::SomeFail if search.changes == before => {
                return Ok(Err((0..search.holds.len()).filter(|&task| !search.holds[task]).collect()));
            }
            Pass::SomeFail => {}
        }
    }
}

/// What a pass over the tasks found.
enum Pass {
    AllHold,
    SomeFail,
    /// This task fails however much slack the others may turn out to have.
    Hopeless(usize),
}

/// So many tasks that fail are asked whether they fail for good; where those don't, others rarely do.
const ASKED_FOR_GOOD: u32 = 2;

struct Search<'a> {
    set: &'a TaskSet,
    /// What comes before all tasks of the set.
    above: &'a [Interferer],
    slacks: Vec<u64>,
    /// How often a slack has risen so far, and that count when each task was last looked at.
    changes: u64,
    looked_at: Vec<Option<u64>>,
    holds: Vec<bool>,
    /// How many were asked whether they fail for good.
    asked: u32,
    others: Vec<Interferer>,
}

impl<'a> Search<'a> {
    fn new(set: &'a TaskSet, above: &'a [Interferer]) -> Self {
        let count = set.tasks().len();
        Self {
            set,
            above,
            slacks: vec![0; count],
            changes: 0,
            looked_at: vec![None; count],
            holds: vec![false; count],
            asked: 0,
            others: Vec::with_capacity(count + above.len()),
        }
    }

    /// One pass. A task is looked at again only after another's slack rose.
    fn pass(&mut self, budget: &mut Budget<'_>) -> Result<Pass, Stop> {
        for index in 0..self.slacks.len() {
            if self.looked_at[index] == Some(self.changes) {
                continue;
            }
            let found = self.respond(index, budget)?;
            if found.is_none() && self.asked < ASKED_FOR_GOOD && self.looked_at[index].is_none() {
                self.asked += 1;
                if self.is_hopeless(index, budget)? {
                    return Ok(Pass::Hopeless(index));
                }
            }
            self.holds[index] = found.is_some();
            let slack = found.map_or(0, |response| self.set.tasks()[index].d() - response);
            if slack > self.slacks[index] {
                self.slacks[index] = slack;
                self.changes += 1;
            }
            // Its own rise does not change its own response time.
            self.looked_at[index] = Some(self.changes);
        }
        Ok(if self.holds.iter().all(|&holds| holds) { Pass::AllHold } else { Pass::SomeFail })
    }

    /// True where the task fails even if all others have the most slack there is, `D - C`: slack only lowers
    /// response times, so no pass can ever accept.
    fn is_hopeless(&mut self, index: usize, budget: &mut Budget<'_>) -> Result<bool, Stop> {
        let most = self.set.tasks().iter().map(|task| task.d() - task.c()).collect();
        let slacks = core::mem::replace(&mut self.slacks, most);
        let found = self.respond(index, budget);
        self.slacks = slacks;
        Ok(found?.is_none())
    }

    fn respond(&mut self, index: usize, budget: &mut Budget<'_>) -> Result<Option<u64>, Stop> {
        let task = &self.set.tasks()[index];
        let (set, slacks) = (self.set, &self.slacks);
        let interferer = |other: usize| {
            let (interferer, slack) = (set.tasks()[other], slacks[other]);
            let cap = edf_interference(&interferer, task.d(), slack);
            Interferer::new(&interferer, interferer.d() - interferer.c() - slack, cap)
        };
        self.others.clear();
        self.others.extend((0..set.tasks().len()).filter(|&other| other != index).map(interferer));
        self.others.extend_from_slice(self.above);
        response(task, u64::from(set.cores()), &mut self.others, budget)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// The shortcut answers what the climb would.
        #[test]
        fn what_bcl_iterative_accepts_has_response_times_in_time(
            cores in 1u32..5,
            tasks in prop::collection::vec((1u64..30, 0u64..60, 0u64..40), 1..9),
        ) {
            let task = |&(c, more, early): &(u64, u64, u64)| {
                let t = c + more;
                Task::new(c, t, t.saturating_sub(early).max(c))
            };
            let set = TaskSet::new(cores, tasks.iter().map(task).collect()).unwrap();
            if bcli(&set, &mut Budget::default()).accepts() {
                let times = response_times(&set, &mut Budget::default());
                prop_assert!(matches!(times, Ok(Some(_))), "{set:?}");
            }
        }
    }
}
