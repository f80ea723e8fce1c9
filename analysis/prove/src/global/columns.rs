//! Interference of all tasks at once, in doubles that are whole numbers.
//!
//! Every quantity here is an integer below 2^53, and so is every sum; [`Columns::new`] refuses sets for which that
//! is not certain. Doubles then are exact, and four tasks are judged side by side where integers would divide one by
//! one.

use crate::global::interference::Interferer;
use crate::task::{Task, TaskSet};

/// So many tasks are added up side by side.
const LANES: usize = 4;
/// Whole numbers up to here are exact in doubles.
const EXACT: u128 = 1 << 53;
/// Adding and subtracting this rounds a double below 2^51 to a whole number.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// The tasks by columns, filled up to whole lanes with tasks that do nothing.
pub(crate) struct Columns {
    c: Vec<f64>,
    t: Vec<f64>,
    /// 1 / t, rounded.
    inverse: Vec<f64>,
}

/// The whole periods in `length`, and what is left of it.
///
/// `length * inverse` lies within a part in 2^51 of the quotient, so that it rounds to the quotient's floor or to one
/// more; what is left then is below zero.
#[inline(always)]
fn split(length: f64, t: f64, inverse: f64) -> (f64, f64) {
    let jobs = (length * inverse + ROUNDER) - ROUNDER;
    let rest = length - jobs * t;
    if rest < 0.0 { (jobs - 1.0, rest + t) } else { (jobs, rest) }
}

impl Columns {
    /// The tasks of `set` and what comes before all of them; `None` where sums may leave the exact range.
    pub(crate) fn new(set: &TaskSet, above: &[Interferer]) -> Option<Self> {
        let tasks = set.tasks();
        let count = tasks.len() + above.len();
        let longest = tasks.iter().map(|task| task.d().max(task.t())).max().unwrap_or(0);
        let above_longest = above.iter().map(Interferer::reach).max().unwrap_or(0);
        let longest = u128::from(longest.max(above_longest));
        // Windows are at most two deadlines long, and m x is at most m deadlines.
        let sum = (count as u128 + set.m()).checked_mul(4 * longest)?;
        if sum >= EXACT || longest >= 1 << 48 {
            return None;
        }
        let padded = count.next_multiple_of(LANES);
        let mut columns = Self { c: vec![0.0; padded], t: vec![1.0; padded], inverse: vec![1.0; padded] };
        let periods = tasks.iter().map(|task| (task.c(), task.t()));
        for (index, (c, t)) in periods.chain(above.iter().map(Interferer::period)).enumerate() {
            columns.c[index] = c as f64;
            columns.t[index] = t as f64;
            columns.inverse[index] = 1.0 / t as f64;
        }
        Some(columns)
    }

    /// How many entries each column has.
    pub(crate) fn len(&self) -> usize {
        self.c.len()
    }

    /// For each task the most work due within `window` where it keeps `slacks`; see
    /// [`crate::global::interference::edf_interference`]. Tasks beyond `caps` are passed over.
    pub(crate) fn interference(&self, window: f64, slacks: &[f64], caps: &mut [f64]) {
        for ((((cap, &slack), &c), &t), &inverse) in
            caps.iter_mut().zip(slacks).zip(&self.c).zip(&self.t).zip(&self.inverse)
        {
            let (jobs, rest) = split(window, t, inverse);
            *cap = jobs * c + (rest - slack).max(0.0).min(c);
        }
    }

    /// The sum of the least of `caps`, of `x`, and of the work in a window of `response` and the lead.
    pub(crate) fn demand(&self, response: f64, x: f64, leads: &[f64], caps: &[f64]) -> f64 {
        let mut sums = [0.0; LANES];
        let lanes = leads.chunks_exact(LANES).zip(caps.chunks_exact(LANES)).zip(self.lanes());
        for ((leads, caps), (c, t, inverse)) in lanes {
            for lane in 0..LANES {
                let (jobs, rest) = split(response + leads[lane], t[lane], inverse[lane]);
                sums[lane] += (jobs * c[lane] + rest.min(c[lane])).min(caps[lane]).min(x);
            }
        }
        sums.iter().sum()
    }

    /// Like [`Columns::demand`], and for how long each term surely goes on rising by one a unit, where it does.
    pub(crate) fn rises(
        &self,
        response: f64,
        x: f64,
        leads: &[f64],
        caps: &[f64],
        rises: &mut Vec<f64>,
    ) -> f64 {
        rises.clear();
        let mut sum = 0.0;
        for (index, (&lead, &cap)) in leads.iter().zip(caps).enumerate() {
            let c = self.c[index];
            let (jobs, rest) = split(response + lead, self.t[index], self.inverse[index]);
            let work = jobs * c + rest.min(c);
            let other = work.min(cap);
            sum += other.min(x);
            let rise = if x < other { other - x } else { (c - rest).min(cap - work) };
            if rise > 0.0 {
                rises.push(rise);
            }
        }
        sum
    }

    /// The sum of the least of `cap` and the work due within `window`.
    pub(crate) fn due(&self, window: f64, slacks: &[f64], cap: f64) -> f64 {
        let mut sums = [0.0; LANES];
        for (slacks, (c, t, inverse)) in slacks.chunks_exact(LANES).zip(self.lanes()) {
            for lane in 0..LANES {
                let (jobs, rest) = split(window, t[lane], inverse[lane]);
                sums[lane] += (jobs * c[lane] + (rest - slacks[lane]).max(0.0).min(c[lane])).min(cap);
            }
        }
        sums.iter().sum()
    }

    fn lanes(&self) -> impl Iterator<Item = (&[f64], &[f64], &[f64])> {
        let (c, t) = (self.c.chunks_exact(LANES), self.t.chunks_exact(LANES));
        c.zip(t).zip(self.inverse.chunks_exact(LANES)).map(|((c, t), inverse)| (c, t, inverse))
    }
}

/// The same of one task alone.
pub(crate) fn due_of(task: &Task, window: u64, slack: f64, cap: f64) -> f64 {
    let (jobs, rest) = (window / task.t(), window % task.t());
    ((jobs * task.c()) as f64 + (rest as f64 - slack).max(0.0).min(task.c() as f64)).min(cap)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::global::drawn::arbitrary;
    use crate::global::interference::{edf_interference, workload};
    use proptest::prelude::*;

    proptest! {
        /// Doubles say what integers say, with long times as well as short ones.
        #[test]
        fn columns_agree_with_integers(
            set in arbitrary(2..3, 50),
            unit in prop::sample::select(vec![1u64, 7, 1_000_003, 33_000_000_007]),
            window in 1u64..300, off in 0u64..3, slack in 0u64..40, x in 1u64..100, cap in 0u64..100,
        ) {
            let tasks = set.tasks().iter().map(|task| Task::implicit(task.c() * unit, task.t() * unit));
            let set = TaskSet::new(set.cores(), tasks.collect()).unwrap();
            let Some(columns) = Columns::new(&set, &[]) else { return Ok(()) };
            let (window, slack, x, cap) = (window * unit + off, slack * unit, x * unit, cap * unit);
            let slacks = vec![slack as f64; columns.len()];
            let integers: Vec<u64> =
                set.tasks().iter().map(|task| edf_interference(task, window, slack)).collect();
            let mut caps = vec![0.0; columns.len()];
            columns.interference(window as f64, &slacks, &mut caps[..set.tasks().len()]);
            prop_assert!(integers.iter().zip(&caps).all(|(&a, &b)| a as f64 == b));
            let sum: u64 = integers.iter().map(|&work| work.min(cap)).sum();
            prop_assert_eq!(sum as f64, columns.due(window as f64, &slacks, cap as f64));
            let leads = vec![slack as f64; columns.len()];
            let sum: u64 = set
                .tasks()
                .iter()
                .zip(&integers)
                .map(|(task, &cap)| workload(task, window + slack).min(cap).min(x))
                .sum();
            prop_assert_eq!(sum as f64, columns.demand(window as f64, x as f64, &leads, &caps));
            let mut rises = Vec::new();
            prop_assert_eq!(sum as f64, columns.rises(window as f64, x as f64, &leads, &caps, &mut rises));
        }
    }
}
