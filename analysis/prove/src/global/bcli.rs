//! BCL iterative: interference bounds tightened by the slack already proved, for global EDF.

use crate::effort::Effort;
use crate::global::columns::{Columns, due_of};
use crate::global::interference::edf_interference;
use crate::necessary::refuse;
use crate::task::TaskSet;
use crate::verdict::{Reason, Stop, TestAnswer, settle};

/// Accepts when within one pass over the tasks every
/// `D_k - C_k - floor(sum_{i != k} min(I_i, D_k - C_k + 1) / m)` is at least zero, where
/// `I_i = floor(D_k / T_i) C_i + min(C_i, max(0, D_k mod T_i - s_i))` and the slacks `s`, zero at first, rise to
/// what was found; rejects when a pass changes none: Bertogna, Cirinei & Lipari, IEEE TPDS 20(4), 2009,
/// the iterative test for EDF. For deadlines up to periods only.
pub fn bcli(set: &TaskSet, effort: &mut Effort<'_>) -> TestAnswer {
    if !set.is_constrained() {
        return TestAnswer::NotApplicable(Reason::DeadlineAbovePeriod);
    }
    settle(judge(set, effort))
}

fn judge(set: &TaskSet, effort: &mut Effort<'_>) -> Result<TestAnswer, Stop> {
    if !set.fits_alone() {
        return Ok(refuse(set));
    }
    let mut passes = Passes::new(set);
    loop {
        match passes.pass(effort)? {
            Pass::AllHold => return Ok(TestAnswer::Accepted),
            Pass::Hopeless | Pass::Unchanged => return Ok(refuse(set)),
            Pass::Changed if passes.some_fail_for_good(effort)? => return Ok(refuse(set)),
            Pass::Changed => {}
        }
    }
}

/// What a pass from below found.
#[derive(PartialEq, Eq, Debug)]
enum Pass {
    AllHold,
    /// Some task fails even with the most slack of all others.
    Hopeless,
    /// Some fail, and some slack rose.
    Changed,
    Unchanged,
}

/// Passes over the tasks, from no slack up and from the most there can be down. Slack only raises slack, so the limit of
/// the first is the same in any order, and never above the second.
struct Passes<'a> {
    set: &'a TaskSet,
    columns: Option<Columns>,
    least: Vec<f64>,
    most: Vec<f64>,
    holds: Vec<bool>,
    /// No pass from above has been made: the most slack is `D - C`.
    fresh: bool,
}

impl<'a> Passes<'a> {
    fn new(set: &'a TaskSet) -> Self {
        let columns = Columns::new(set, &[]);
        let padded = columns.as_ref().map_or(set.tasks().len(), Columns::len);
        let mut most: Vec<f64> = set.tasks().iter().map(|task| (task.d() - task.c()) as f64).collect();
        most.resize(padded, 0.0);
        let holds = vec![false; set.tasks().len()];
        Self { set, columns, least: vec![0.0; padded], most, holds, fresh: true }
    }

    /// One pass from below, in place.
    fn pass(&mut self, effort: &mut Effort<'_>) -> Result<Pass, Stop> {
        let mut changed = false;
        for index in 0..self.holds.len() {
            effort.spend(self.holds.len())?;
            let found = self.slack(index, &self.least);
            self.holds[index] = found.is_some();
            match found {
                None if self.fresh && self.slack(index, &self.most).is_none() => return Ok(Pass::Hopeless),
                Some(found) if found > self.least[index] => {
                    self.least[index] = found;
                    changed = true;
                }
                _ => {}
            }
        }
        Ok(match self.holds.iter().all(|&holds| holds) {
            true => Pass::AllHold,
            false if changed => Pass::Changed,
            false => Pass::Unchanged,
        })
    }

    /// Whether some task fails however much slack the others turn out to have: those that fail from below are asked
    /// first, and once more when the others have been cut down.
    fn some_fail_for_good(&mut self, effort: &mut Effort<'_>) -> Result<bool, Stop> {
        self.fresh = false;
        let failing = || (0..self.holds.len()).filter(|&index| !self.holds[index]);
        let others = (0..self.holds.len()).filter(|&index| self.holds[index]);
        let order: Vec<usize> = failing().chain(others).chain(failing()).collect();
        for index in order {
            effort.spend(self.holds.len())?;
            match self.slack(index, &self.most) {
                None => return Ok(true),
                Some(found) => self.most[index] = found,
            }
        }
        Ok(false)
    }

    /// How long before its deadline the task certainly completes; `None` where that is not proved.
    fn slack(&self, index: usize, slacks: &[f64]) -> Option<f64> {
        let Some(columns) = &self.columns else {
            return slack(self.set, index, slacks);
        };
        let task = &self.set.tasks()[index];
        let free = (task.d() - task.c()) as f64;
        let own = due_of(task, task.d(), slacks[index], free + 1.0);
        let sum = columns.due(task.d() as f64, slacks, free + 1.0) - own;
        let left = free - (sum / f64::from(self.set.cores())).floor();
        (left >= 0.0).then_some(left)
    }
}

/// [`Passes::slack`] in integers. Slacks are below 2^48 and whole.
fn slack(set: &TaskSet, index: usize, slacks: &[f64]) -> Option<f64> {
    let task = &set.tasks()[index];
    let free = task.d() - task.c();
    let mut sum = 0u128;
    for (other, (interferer, &slack)) in set.tasks().iter().zip(slacks).enumerate() {
        if other != index {
            sum += u128::from(edf_interference(interferer, task.d(), slack as u64).min(free + 1));
        }
    }
    let left = u64::try_from(sum / set.m()).ok().and_then(|delay| free.checked_sub(delay))?;
    Some(left as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::global::drawn::constrained;
    use proptest::prelude::*;

    /// The passes as published: from below only, in integers.
    fn published(set: &TaskSet) -> bool {
        let mut slacks = vec![0.0; set.tasks().len()];
        loop {
            let (mut all_hold, mut changed) = (true, false);
            for index in 0..slacks.len() {
                match slack(set, index, &slacks) {
                    None => all_hold = false,
                    Some(found) if found > slacks[index] => (slacks[index], changed) = (found, true),
                    Some(_) => {}
                }
            }
            if all_hold || !changed {
                return all_hold;
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn passes_from_both_sides_end_as_the_published_ones(set in constrained(30)) {
            prop_assert_eq!(bcli(&set, &mut Effort::default()).accepts(), published(&set));
        }
    }
}
