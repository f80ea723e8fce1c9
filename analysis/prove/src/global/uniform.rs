//! Global EDF on cores of several speeds that need not be given to jobs in the order of urgency.
//!
//! Work is what the slowest core does in a unit of time. While a job waits, every core executes another one that is at least as
//! urgent, and together they do `S` times as much as the slowest; while it runs, it does at least as much as the slowest. So a job of task
//! `k` that misses its deadline has waited for more than `D_k - C_k`, and for any first part `x` of that time others have done
//! `S x`, none of them more than the fastest core can, `f x`:
//!
//! ```text
//!   sum over i != k of min(W_i, f (D_k - C_k)) >= S (D_k - C_k)
//! ```
//!
//! Where that does not hold for any task, nobody is late. This is the argument of Bertogna, Cirinei & Lipari (ECRTS 2005, Theorem 7)
//! with `m` replaced by `S`: Funk, Goossens & Baruah (RTSS 2001) suppose that the most urgent job is always on the fastest core, which
//! takes migrations whenever one becomes free, and which this kernel does not do.

use crate::task::Task;

/// How fast cores that share a queue compute, in a unit that is the same for all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Speeds {
    slowest: u64,
    fastest: u64,
    sum: u128,
}

impl Speeds {
    /// Those of cores with these speeds; `None` without any, or where one is zero.
    pub fn of(speeds: impl IntoIterator<Item = u64>) -> Option<Self> {
        let one = |speed: u64| Self { slowest: speed, fastest: speed, sum: u128::from(speed) };
        let both = |a: Self, b: Self| Self {
            slowest: a.slowest.min(b.slowest),
            fastest: a.fastest.max(b.fastest),
            sum: a.sum + b.sum,
        };
        speeds.into_iter().map(one).reduce(both).filter(|speeds| speeds.slowest > 0)
    }

    /// True where all cores are equally fast.
    pub(crate) fn are_equal(&self) -> bool {
        self.slowest == self.fastest
    }
}

/// True where no job misses its deadline under preemptive global EDF on cores of these speeds, whichever core each job gets, as long as
/// none is idle while a job waits. Execution times are those on the slowest core, deadlines are at most periods; a task with `C = D`
/// is not accepted, nor is one of more than 2^48.
pub fn nobody_is_late(tasks: &[Task], speeds: &Speeds) -> bool {
    (0..tasks.len()).all(|index| holds(tasks, index, speeds).unwrap_or(false))
}

/// Whether the inequality fails for a task; `None` where the numbers are too large.
fn holds(tasks: &[Task], index: usize, speeds: &Speeds) -> Option<bool> {
    let task = tasks.get(index)?;
    let waits = u128::from(task.d().checked_sub(task.c())?);
    let most = u128::from(speeds.fastest).checked_mul(waits)?;
    let mut sum = 0_u128;
    for (_, other) in tasks.iter().enumerate().filter(|&(other, _)| other != index) {
        sum = sum.checked_add(work(other, task.d(), speeds)?.min(most))?;
    }
    Some(sum < speeds.sum.checked_mul(waits)?)
}

/// The most that jobs of a task due within a window do in it: it ends with a deadline, for any other alignment has no more, and the
/// job that was released before it has met its own. What a job does in so many nanoseconds of the slowest core, times its speed.
fn work(task: &Task, window: u64, speeds: &Speeds) -> Option<u128> {
    let jobs = window.checked_sub(task.d()).map_or(0, |rest| rest / task.t() + 1);
    let before = window.saturating_sub(jobs.saturating_mul(task.t()));
    let whole = u128::from(speeds.slowest).checked_mul(u128::from(task.c()))?;
    let carried = u128::from(speeds.fastest).checked_mul(u128::from(before))?.min(whole);
    whole.checked_mul(u128::from(jobs))?.checked_add(carried)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effort::Effort;
    use crate::global::bcl::bcl;
    use crate::global::drawn::constrained;
    use proptest::prelude::*;

    fn speeds(of: &[u64]) -> Speeds {
        Speeds::of(of.iter().copied()).expect("some")
    }

    #[test]
    fn by_hand() {
        // Each waits for at most 10 - 6; the other three may do 3 x 6 of the slowest core's work, each at most twice 4 of it.
        let four = [Task::implicit(6, 10); 4];
        assert!(!nobody_is_late(&four, &speeds(&[1, 1, 2])), "18 >= 4 x 4");
        assert!(nobody_is_late(&four, &speeds(&[1, 2, 2])), "18 < 5 x 4");
        // Three equal cores of the slowest kind are too few for the same set.
        assert!(!nobody_is_late(&four, &speeds(&[1, 1, 1])));
        // The unit of speed does not matter.
        assert!(nobody_is_late(&four, &speeds(&[500, 1000, 1000])));
        // Without slack a job may not wait at all.
        assert!(!nobody_is_late(&[Task::implicit(10, 10)], &speeds(&[1, 9])));
        assert!(nobody_is_late(&[Task::implicit(9, 10)], &speeds(&[1, 9])));
        assert!(nobody_is_late(&[], &speeds(&[1])));
        assert_eq!((Speeds::of([]), Speeds::of([1, 0])), (None, None));
    }

    /// The part of the job before the window runs on the fastest core.
    #[test]
    fn a_job_released_before_the_window_runs_as_fast_as_any() {
        let speeds = speeds(&[1, 3]);
        // Due at 4 and 14 of a window of 14: before 4 it does 3 x 4 at most, were it so long.
        assert_eq!(work(&Task::new(9, 10, 10), 14, &speeds), Some(9 + 9));
        assert_eq!(work(&Task::new(9, 10, 10), 12, &speeds), Some(9 + 6));
        assert_eq!(work(&Task::new(9, 10, 10), 9, &speeds), Some(9));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// On equal cores it accepts nothing that the test which it comes from refuses.
        #[test]
        fn on_equal_cores_it_is_the_test_it_comes_from(set in constrained(30)) {
            let equal = speeds(&vec![7; set.cores() as usize]);
            if nobody_is_late(set.tasks(), &equal) {
                prop_assert!(bcl(&set, &mut Effort::default()).accepts(), "{set:?}");
            }
        }
    }
}
