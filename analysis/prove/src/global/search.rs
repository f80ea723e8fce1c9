//! The passes of RTA over the tasks, from below and from above.

use crate::effort::Effort;
use crate::global::columns::Columns;
use crate::global::interference::{Interferer, edf_interference, response};
use crate::task::{Task, TaskSet};
use crate::verdict::Stop;

/// One assumption of the slack of every task.
struct Slacks {
    slacks: Vec<u64>,
    /// The same in doubles, and `D - C - slack`, both filled up as the columns are.
    doubles: Vec<f64>,
    leads: Vec<f64>,
}

impl Slacks {
    fn new(set: &TaskSet, above: &[Interferer], padded: usize, slack: fn(&Task) -> u64) -> Self {
        let mut made = Self {
            slacks: vec![0; set.tasks().len()],
            doubles: vec![0.0; padded.max(set.tasks().len())],
            leads: vec![0.0; padded.max(set.tasks().len())],
        };
        for (index, task) in set.tasks().iter().enumerate() {
            made.assume(index, task, slack(task));
        }
        for (lead, other) in made.leads.iter_mut().skip(set.tasks().len()).zip(above) {
            *lead = other.lead_and_cap().0 as f64;
        }
        made
    }

    fn assume(&mut self, index: usize, task: &Task, slack: u64) {
        self.slacks[index] = slack;
        self.doubles[index] = slack as f64;
        self.leads[index] = (task.d() - task.c() - slack) as f64;
    }
}

/// What a pass from below found.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Pass {
    AllHold,
    /// Some fail, and some slack rose.
    Changed,
    Unchanged,
}

/// What the passes have found so far.
pub(super) struct Search<'a> {
    set: &'a TaskSet,
    /// What comes before all tasks of the set.
    above: &'a [Interferer],
    columns: Option<Columns>,
    /// Slack that is certain, and slack that is not exceeded.
    least: Slacks,
    most: Slacks,
    /// How often a certain slack has risen, and that count when each task was last looked at.
    changes: u64,
    looked_at: Vec<Option<u64>>,
    holds: Vec<bool>,
    /// The tasks from the densest to the least dense: the dense ones fail first.
    by_density: Vec<usize>,
    /// No pass has been made.
    fresh: bool,
    /// Response times that the passes from above found: none can be shorter.
    shortest: Vec<u64>,
    caps: Vec<f64>,
    rises: Vec<f64>,
    others: Vec<Interferer>,
}

impl<'a> Search<'a> {
    pub(super) fn new(set: &'a TaskSet, above: &'a [Interferer]) -> Self {
        let count = set.tasks().len();
        let columns = Columns::new(set, above);
        let padded = columns.as_ref().map_or(0, Columns::len);
        let mut caps = vec![0.0; padded];
        for (cap, other) in caps.iter_mut().skip(count).zip(above) {
            // The term of `x` caps it in any case.
            *cap = other.lead_and_cap().1.min(1 << 49) as f64;
        }
        Self {
            set,
            above,
            least: Slacks::new(set, above, padded, |_| 0),
            most: Slacks::new(set, above, padded, |task| task.d() - task.c()),
            columns,
            changes: 0,
            looked_at: vec![None; count],
            holds: vec![false; count],
            by_density: by_density(set),
            fresh: true,
            shortest: set.tasks().iter().map(Task::c).collect(),
            caps,
            rises: Vec::new(),
            others: Vec::new(),
        }
    }

    pub(super) fn failing(&self) -> impl Iterator<Item = usize> {
        (0..self.holds.len()).filter(|&task| !self.holds[task])
    }
    /// The response times that the certain slacks stand for.
    pub(super) fn responses(&self) -> Vec<u64> {
        let response = |(task, slack): (&Task, &u64)| task.d() - slack;
        self.set.tasks().iter().zip(&self.least.slacks).map(response).collect()
    }

    /// One pass from below, in place. A task is looked at again only after another's slack rose.
    pub(super) fn pass(&mut self, effort: &mut Effort<'_>) -> Result<Pass, Stop> {
        let before = self.changes;
        for index in 0..self.holds.len() {
            if self.looked_at[index] == Some(self.changes) {
                continue;
            }
            let found = self.respond(index, false, effort)?;
            self.holds[index] = found.is_some();
            let task = &self.set.tasks()[index];
            let slack = found.map_or(0, |response| task.d() - response);
            if slack > self.least.slacks[index] {
                self.least.assume(index, task, slack);
                self.changes += 1;
            }
            // Its own rise does not change its own response time.
            self.looked_at[index] = Some(self.changes);
        }
        Ok(match self.holds.iter().all(|&holds| holds) {
            true => Pass::AllHold,
            false if self.changes > before => Pass::Changed,
            false => Pass::Unchanged,
        })
    }

    /// One pass from above: a task that misses its deadline however much slack the others turn out to have. Those
    /// that failed from below are asked first, and once more when the others have been cut down.
    pub(super) fn fails_for_good(&mut self, effort: &mut Effort<'_>) -> Result<Option<usize>, Stop> {
        let failing = self.by_density.iter().copied().filter(|&task| !self.holds[task]);
        let others = self.by_density.iter().copied().filter(|&task| self.holds[task]);
        let again = failing.clone().filter(|_| !self.fresh);
        let order: Vec<usize> = failing.chain(others).chain(again).collect();
        self.fresh = false;
        for index in order {
            let Some(response) = self.respond(index, true, effort)? else {
                return Ok(Some(index));
            };
            let task = &self.set.tasks()[index];
            self.shortest[index] = self.shortest[index].max(response);
            self.most.assume(index, task, task.d() - response);
        }
        Ok(None)
    }

    fn respond(
        &mut self,
        index: usize,
        from_above: bool,
        effort: &mut Effort<'_>,
    ) -> Result<Option<u64>, Stop> {
        match &self.columns {
            Some(_) => self.respond_by_columns(index, from_above, effort),
            None => self.respond_by_integers(index, from_above, effort),
        }
    }

    fn respond_by_integers(
        &mut self,
        index: usize,
        from_above: bool,
        effort: &mut Effort<'_>,
    ) -> Result<Option<u64>, Stop> {
        let assumed = if from_above { &self.most } else { &self.least };
        let task = &self.set.tasks()[index];
        let interferer = |other: usize| {
            let (interferer, slack) = (self.set.tasks()[other], assumed.slacks[other]);
            let cap = edf_interference(&interferer, task.d(), slack);
            Interferer::new(&interferer, interferer.d() - interferer.c() - slack, cap)
        };
        self.others.clear();
        self.others.extend((0..self.holds.len()).filter(|&other| other != index).map(interferer));
        self.others.extend_from_slice(self.above);
        response(task, u64::from(self.set.cores()), &mut self.others, effort)
    }

    /// The climb of [`response`], in doubles: plain steps, and every third one a leap to where the sum, that rises at
    /// least by what rises now, can first fall below `m x`.
    fn respond_by_columns(
        &mut self,
        index: usize,
        from_above: bool,
        effort: &mut Effort<'_>,
    ) -> Result<Option<u64>, Stop> {
        let Some(columns) = &self.columns else { return Ok(None) };
        let assumed = if from_above { &self.most } else { &self.least };
        let task = &self.set.tasks()[index];
        let (m, c, d) = (f64::from(self.set.cores()), task.c() as f64, task.d() as f64);
        let count = self.holds.len();
        effort.spend(columns.len())?;
        columns.interference(d, &assumed.doubles, &mut self.caps[..count]);
        self.caps[index] = 0.0;
        let mut x = (self.shortest[index] - task.c() + 1) as f64;
        for step in 1.. {
            let response = c + x - 1.0;
            if response > d {
                break;
            }
            effort.spend(columns.len())?;
            let leap = step % 3 == 0;
            let sum = if leap {
                columns.rises(response, x, &assumed.leads, &self.caps, &mut self.rises)
            } else {
                columns.demand(response, x, &assumed.leads, &self.caps)
            };
            if sum < m * x {
                return Ok(Some(response as u64));
            }
            // Between plain steps the sum cannot fall.
            let plain = (sum / m).floor() + 1.0;
            let far = if leap { x + least_fall(sum - m * x, m, &self.rises, d) } else { plain };
            x = plain.max(far);
        }
        Ok(None)
    }
}

fn by_density(set: &TaskSet) -> Vec<usize> {
    let density = |index: usize| {
        let task = &set.tasks()[index];
        task.c() as f64 / task.d() as f64
    };
    let mut order: Vec<usize> = (0..set.tasks().len()).collect();
    order.sort_by(|&a, &b| density(b).total_cmp(&density(a)));
    order
}

/// The least whole number of units after which `excess + sum min(rise, units) - m units` can be below zero, at most
/// `limit`.
///
/// That function is concave and starts at or above zero: Newton's steps from the right come down to where it crosses.
fn least_fall(excess: f64, m: f64, rises: &[f64], limit: f64) -> f64 {
    let mut units = limit;
    loop {
        let (mut done, mut rising) = (0.0, 0.0);
        for &rise in rises {
            if rise >= units {
                rising += 1.0;
            } else {
                done += rise;
            }
        }
        // Still at or above zero at the limit, or as steep as the line there: nowhere below before it.
        if rising >= m || excess + done + (rising - m) * units >= 0.0 {
            return units.floor();
        }
        let crossing = ((excess + done) / (m - rising)).floor() + 1.0;
        if crossing >= units {
            return units;
        }
        units = crossing;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::global::drawn::constrained;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        /// The leap goes no further than the first place where the sum can be below the line, and gets there.
        #[test]
        fn leaps_end_at_the_first_fall(
            excess in 0u64..300, m in 1u64..9, limit in 1u64..200,
            rises in prop::collection::vec(1u64..90, 0..12),
        ) {
            let doubles: Vec<f64> = rises.iter().map(|&rise| rise as f64).collect();
            let found = least_fall(excess as f64, m as f64, &doubles, limit as f64);
            let below = |units: &u64| {
                let grown: u64 = rises.iter().map(|&rise| rise.min(*units)).sum();
                excess + grown < m * units
            };
            let expected = (1..limit).find(below).unwrap_or(limit);
            prop_assert_eq!(found as u64, expected);
        }

        /// Doubles climb to where integers do, from below and from above.
        #[test]
        fn columns_and_integers_respond_alike(set in constrained(30)) {
            let above = [Interferer::new(&Task::implicit(3, 17), 4, u64::MAX)];
            for above in [&above[..], &[]] {
                let mut search = Search::new(&set, above);
                let mut effort = Effort::unlimited();
                for _ in 0..3 {
                    for index in 0..set.tasks().len() {
                        for from_above in [false, true] {
                            let by_integers = search.respond_by_integers(index, from_above, &mut effort);
                            let found = search.respond_by_columns(index, from_above, &mut effort);
                            prop_assert_eq!(found, by_integers);
                        }
                    }
                    let accepted = search.pass(&mut effort) == Ok(Pass::AllHold);
                    let hopeless = search.fails_for_good(&mut effort).unwrap();
                    prop_assert!(!accepted || hopeless.is_none());
                    if hopeless.is_some() {
                        break;
                    }
                }
            }
        }
    }
}
