//! Baker's test with a free busy rate, after his of 2005, for global EDF and any deadlines.

use crate::effort::Effort;
use crate::exact::{Ratio, ratio_cmp, sum_cmp};
use crate::necessary::refuse;
use crate::task::{Task, TaskSet};
use crate::verdict::{Reason, Stop, TestAnswer, settle};
use core::cmp::Ordering;

/// Accepts if every task `k` has a rate `l`, its density `C_k / min(D_k, T_k)` or a utilisation above it, with
/// `sum_i min(1, b_i) <= m - (m - 1) l`, where
///
/// * `b_i = U_i (1 + max(0, T_i - D_i) / D_k)` where `U_i <= l`;
/// * `b_i = U_i + (C_i - l D_i) / D_k` where `U_i > l` and `D_i <= T_i`;
/// * `b_i = U_i + C_i / D_k` where `U_i > l` and `D_i > T_i`.
///
/// The idea is Baker's (An analysis of EDF schedulability on a multiprocessor, IEEE TPDS 16(8), 2005; FSU TR-051001):
/// stretch the problem window down to where the rate of work stops falling, with a rate that one may choose. His text
/// was out of reach. The inequality is derived anew in `docs/prove.md`, so that it stands by itself; his own has a
/// second criterion, and where `U_i > l` and `D_i > T_i` perhaps a lower `b_i`. Between utilisations the left side
/// falls and the right side with it in straight lines, so that no other `l` needs a try. For two cores or more.
pub fn bak05(set: &TaskSet, effort: &mut Effort<'_>) -> TestAnswer {
    if set.cores() < 2 {
        return TestAnswer::NotApplicable(Reason::OneCore);
    }
    settle(judge(set, effort))
}

fn judge(set: &TaskSet, effort: &mut Effort<'_>) -> Result<TestAnswer, Stop> {
    if !set.fits_alone() {
        return Ok(refuse(set));
    }
    let filter = Filter::new(set.tasks());
    let mut rates: Vec<(u64, u64)> = set.tasks().iter().map(|task| (task.c(), task.t())).collect();
    rates.sort_unstable_by(|&a, &b| ratio_cmp(a, b));
    rates.dedup_by(|a, b| ratio_cmp(*a, *b) == Ordering::Equal);
    for task in set.tasks() {
        let density = (task.c(), task.window().get());
        let above = rates.partition_point(|&rate| ratio_cmp(rate, density) != Ordering::Greater);
        let mut holds = false;
        for rate in core::iter::once(density).chain(rates[above..].iter().copied()) {
            if filter.is_hopeless(rate, set.cores()) {
                break;
            }
            effort.spend(set.tasks().len())?;
            holds = match filter.holds(set, task, rate) {
                Some(holds) => holds,
                None => holds_exactly(set, task, rate)?,
            };
            if holds {
                break;
            }
        }
        if !holds {
            return Ok(refuse(set));
        }
    }
    Ok(TestAnswer::Accepted)
}

/// The inequality in doubles, with a bound on their error.
struct Filter {
    /// For each task: utilisation, `U max(0, T - D)`, execution time, deadline.
    terms: Vec<[f64; 4]>,
    sums: [f64; 4],
}

impl Filter {
    fn new(tasks: &[Task]) -> Self {
        let term = |task: &Task| {
            let (c, t, d) = (task.c() as f64, task.t() as f64, task.d() as f64);
            [c / t, c / t * (t - d).max(0.0), c, d]
        };
        let terms: Vec<[f64; 4]> = tasks.iter().map(term).collect();
        let mut sums = [0.0; 4];
        for term in &terms {
            for (sum, part) in sums.iter_mut().zip(term) {
                *sum += part;
            }
        }
        Self { terms, sums }
    }

    /// True where the rate and all above it fail for every task: each share is at least the utilisation.
    fn is_hopeless(&self, rate: (u64, u64), cores: u32) -> bool {
        let m = f64::from(cores);
        let error = f64::EPSILON * (self.terms.len() as f64 + 8.0) * (self.sums[0] + m);
        self.sums[0] - error > m - (m - 1.0) * (rate.0 as f64 / rate.1 as f64)
    }

    /// Whether the inequality holds for `task`; `None` where the sides are too close to tell.
    fn holds(&self, set: &TaskSet, task: &Task, rate: (u64, u64)) -> Option<bool> {
        let inverse = 1.0 / task.d() as f64;
        let (l, m) = (rate.0 as f64 / rate.1 as f64, f64::from(set.cores()));
        let mut sum = 0.0;
        for (&[used, gap, c, d], other) in self.terms.iter().zip(set.tasks()) {
            let share = if other.d <= other.t {
                // The two forms meet where U = l.
                if used <= l { used + gap * inverse } else { used + (c - l * d).max(0.0) * inverse }
            } else if ratio_cmp((other.c(), other.t()), rate) == Ordering::Greater {
                used + c * inverse
            } else {
                used
            };
            sum += share.min(1.0);
        }
        let bound = m - (m - 1.0) * l;
        // Each share is a few operations on magnitudes whose sums are known; additions err on the running sum.
        let [used, gap, c, d] = self.sums;
        let magnitude = used + (gap + c + l * d) * inverse;
        let additions = self.terms.len() as f64 + 8.0;
        let error = f64::EPSILON * (16.0 * magnitude + additions * sum + 8.0 * m);
        if (sum - bound).abs() > error { Some(sum < bound) } else { None }
    }
}

/// The inequality in integers, both sides multiplied by `D_k` and the rate's denominator.
fn holds_exactly(set: &TaskSet, task: &Task, rate: (u64, u64)) -> Result<bool, Stop> {
    let (p, q, window) = (u128::from(rate.0), u128::from(rate.1), u128::from(task.d()));
    let one = q * window;
    let scaled = |other: &Task| {
        let (c, t, d) = (u128::from(other.c()), u128::from(other.t()), u128::from(other.d()));
        let num = if c * q <= p * t {
            c.checked_mul(window + t.saturating_sub(d))?.checked_mul(q)?
        } else if d <= t {
            // C / D >= U > l.
            c.checked_mul(one)?.checked_add((c * q - p * d).checked_mul(t)?)?
        } else {
            c.checked_mul(window + t)?.checked_mul(q)?
        };
        Some(Ratio { num: num.min(one.checked_mul(t)?), den: other.t() })
    };
    let shares: Option<Vec<Ratio>> = set.tasks().iter().map(scaled).collect();
    let shares = shares.ok_or(Stop::Overflow)?;
    let bound = (set.m() * q - (set.m() - 1) * p).checked_mul(window).ok_or(Stop::Overflow)?;
    Ok(sum_cmp(shares.iter().copied(), bound) != Ordering::Greater)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::global::drawn::arbitrary;
    use proptest::prelude::*;

    fn accepts(cores: u32, tasks: Vec<Task>) -> bool {
        bak05(&TaskSet::new(cores, tasks).unwrap(), &mut Effort::default()).accepts()
    }

    /// With its own density as the rate, as Baker's test of 2003 has it, the light task fails: each of the others weighs
    /// 1/5 + (200 - 50) / 100 and so 1. With 1/5 as the rate every share is a utilisation.
    #[test]
    fn a_higher_rate_helps_a_light_task_of_short_period() {
        let mut tasks = vec![Task::implicit(5, 100)];
        tasks.extend([Task::implicit(200, 1000); 4]);
        assert!(accepts(2, tasks.clone()));
        let set = TaskSet::new(2, tasks).unwrap();
        assert!(!crate::global::bak::bak(&set, &mut Effort::default()).accepts());
    }

    /// 3/2 against 2 - 1/2, and a hundredth more.
    #[test]
    fn equality_is_accepted() {
        assert!(accepts(2, vec![Task::implicit(1, 2), Task::implicit(1, 2), Task::implicit(1, 2)]));
        assert!(!accepts(2, vec![Task::implicit(1, 2), Task::implicit(1, 2), Task::implicit(51, 100)]));
    }

    proptest! {
        #[test]
        fn the_filter_agrees_with_integers(set in arbitrary(2..5, 20)) {
            let filter = Filter::new(set.tasks());
            for task in set.tasks() {
                for rate in set.tasks().iter().map(|other| (other.c(), other.t())) {
                    let exact = holds_exactly(&set, task, rate);
                    if let Some(holds) = filter.holds(&set, task, rate) {
                        prop_assert_eq!(Ok(holds), exact);
                    }
                    prop_assert!(!filter.is_hopeless(rate, set.cores()) || exact == Ok(false));
                }
            }
        }
    }
}
