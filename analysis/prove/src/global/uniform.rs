//! Global EDF on cores of several speeds.
//!
//! Work is what the slowest core does in a unit of time. **Where a job has whichever core is free**: while it waits, every core executes
//! another one that is at least as urgent, and together they do `S` times as much as the slowest; while it runs, it does at least as
//! much as the slowest. So a job of task `k` that misses its deadline has waited for more than `D_k - C_k`, and for any first part `x`
//! of that time others have done `S x`, none of them more than the fastest core can, `f x`:
//!
//! ```text
//!   sum over i != k of min(W_i, f (D_k - C_k)) >= S (D_k - C_k)
//! ```
//!
//! Where that does not hold for any task, nobody is late. This is the argument of Bertogna, Cirinei & Lipari (ECRTS 2005, Theorem 7)
//! with `m` replaced by `S`.
//!
//! **Where the most urgent job has the fastest core** (`cores = "fastest-first"`) Funk, Goossens & Baruah (RTSS 2001) hold as well: jobs
//! that could meet their deadlines on cores `p`, of which the fastest does `s` and all do `T`, meet them under global EDF on these if
//!
//! ```text
//!   S >= T + lambda s        lambda = the greatest, over all cores, of (all slower cores together) / (the core)
//! ```
//!
//! Here `p` is a core for each task, as fast as its density `C / min(D, T)` says. With `m` equal cores `lambda = m - 1`, and this is the
//! density test of Goossens, Funk & Baruah 2003.

use crate::task::Task;

/// How fast cores that share a queue compute, in a unit that is the same for all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Speeds {
    slowest: u64,
    fastest: u64,
    sum: u128,
    /// Of the core for which this is greatest: what all slower cores do together, and what it does.
    lambda: (u128, u64),
}

impl Speeds {
    /// Those of cores with these speeds; `None` without any, or where one is zero.
    pub fn of(speeds: impl IntoIterator<Item = u64>) -> Option<Self> {
        let mut ascending: Vec<u64> = speeds.into_iter().collect();
        ascending.sort_unstable();
        let (slowest, fastest) = (*ascending.first().filter(|&&slowest| slowest > 0)?, *ascending.last()?);
        let (mut sum, mut lambda) = (0, (0, slowest));
        for own in ascending {
            if sum * u128::from(lambda.1) > lambda.0 * u128::from(own) {
                lambda = (sum, own);
            }
            sum += u128::from(own);
        }
        Some(Self { slowest, fastest, sum, lambda })
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

/// Bits behind the point of a density.
const POINT: u32 = 32;

/// True where no job misses its deadline under preemptive global EDF on cores of these speeds, the most urgent job on the fastest core, the
/// next on the next, at any time (Funk, Goossens & Baruah 2001). Execution times are those on the slowest core; deadlines are at most
/// periods.
pub fn nobody_is_late_fastest_first(tasks: &[Task], speeds: &Speeds) -> bool {
    suffices(tasks, speeds).unwrap_or(false)
}

/// Densities are rounded up; `None` where the numbers are too large.
fn suffices(tasks: &[Task], speeds: &Speeds) -> Option<bool> {
    let density = |task: &Task| {
        let within = u128::from(task.d().min(task.t()));
        (within > 0).then(|| (u128::from(task.c()) << POINT).div_ceil(within))
    };
    let densities: Vec<u128> = tasks.iter().map(density).collect::<Option<_>>()?;
    let greatest = densities.iter().copied().max().unwrap_or(0);
    let all = densities.iter().try_fold(0_u128, |sum, &one| sum.checked_add(one))?;
    let (slower, own) = speeds.lambda;
    let apart = slower.checked_mul(greatest)?.div_ceil(u128::from(own));
    let needed = all.checked_add(apart)?.checked_mul(u128::from(speeds.slowest))?;
    Some(needed <= speeds.sum.checked_mul(1 << POINT)?)
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
    use crate::global::gfb::gfb;
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

    #[test]
    fn by_hand_where_the_fastest_comes_first() {
        // lambda of 1, 1, 2: (1 + 1) / 2 and 1 / 1 are both 1; of 1, 3, 4: 4 / 4, 1 / 3.
        let holds = |tasks: &[Task], of: &[u64]| nobody_is_late_fastest_first(tasks, &speeds(of));
        // 4 >= 3 x 0.75 + 1 x 0.75, and a little more of each is too much.
        assert!(
            holds(&[Task::implicit(75, 100); 3], &[1, 1, 2])
                && holds(&[Task::implicit(10, 10); 3], &[1, 1, 2])
        );
        assert!(!holds(&[Task::implicit(101, 100); 3], &[1, 1, 2]));
        assert!(!holds(&[Task::implicit(7, 1)], &[1, 3, 4]), "8 < 7 + 7");
        // A task faster than the slowest core: 8 >= 4 + 4.
        assert!(
            holds(&[Task::implicit(40, 10)], &[1, 3, 4]) && !holds(&[Task::implicit(41, 10)], &[1, 3, 4])
        );
        assert!(
            holds(&[], &[1])
                && holds(&[Task::implicit(10, 10)], &[5])
                && !holds(&[Task::implicit(11, 10)], &[1])
        );
        // Deadlines count where they are shorter.
        assert!(!holds(&[Task::new(40, 10, 9)], &[1, 3, 4]));
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

        /// On equal cores the other one is the density test, but for what is rounded up.
        #[test]
        fn on_equal_cores_the_fastest_first_is_the_density_test(set in constrained(30)) {
            let equal = speeds(&vec![7; set.cores() as usize]);
            if nobody_is_late_fastest_first(set.tasks(), &equal) {
                prop_assert!(gfb(&set, &mut Effort::default()).accepts(), "{set:?}");
            }
        }
    }
}
