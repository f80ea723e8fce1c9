//! RTA: response times under global EDF.

use crate::effort::Effort;
use crate::global::bcli::bcli;
use crate::global::interference::Interferer;
use crate::global::search::{Pass, Search};
use crate::necessary::refuse;
use crate::task::TaskSet;
use crate::verdict::{Reason, Stop, TestAnswer, settle};

/// Accepts when within one pass over the tasks every least fixed point of
/// `R = C_k + floor(sum_{i != k} min(I_i, w_i(R), R - C_k + 1) / m)` is at most `D_k`. `I_i` is that of BCL
/// iterative; `w_i(R) = floor(L / T_i) C_i + min(C_i, L mod T_i)` with `L = R + D_i - C_i - s_i`; the slacks `s`,
/// zero at first, rise to `D_k - R`; passes go on, without limit, until one changes none: Bertogna & Cirinei,
/// RTSS 2007, the response-time theorem for EDF with slack updates. For deadlines up to periods only.
pub fn rta(set: &TaskSet, effort: &mut Effort<'_>) -> TestAnswer {
    if !set.is_constrained() {
        return TestAnswer::NotApplicable(Reason::DeadlineAbovePeriod);
    }
    // What BCL iterative accepts, this accepts: its bounds are never lower, and its passes are cheaper by the length
    // of the climb to a fixed point.
    if bcli(set, effort).accepts() {
        return TestAnswer::Accepted;
    }
    settle(response_times(set, effort).map(|times| match times {
        Some(_) => TestAnswer::Accepted,
        None => refuse(set),
    }))
}

/// Bounds on the response times of all tasks, or `None` where one cannot be shown to meet its deadline.
pub(crate) fn response_times(set: &TaskSet, effort: &mut Effort<'_>) -> Result<Option<Vec<u64>>, Stop> {
    if !set.fits_alone() {
        return Ok(None);
    }
    Ok(reach(set, &[], effort)?.ok())
}

/// Bounds on the response times of all tasks of `set`, whose work always gives way to that of `above`; or the
/// positions of those that cannot be shown to meet their deadlines. No task is longer than its deadline.
///
/// Slack only lowers response times, so the limit of the passes does not depend on the order of tasks, and lies
/// between passes that start from no slack and passes that start from the most there can be. Both are made in turn:
/// whoever fails with too much slack granted fails for good, and what responds with it is a place for the climb with
/// less of it to begin.
pub(crate) fn reach(
    set: &TaskSet,
    above: &[Interferer],
    effort: &mut Effort<'_>,
) -> Result<Result<Vec<u64>, Vec<usize>>, Stop> {
    let mut search = Search::new(set, above);
    // From above first: it is there that most sets are refused, and its response times shorten the climb from below.
    loop {
        if let Some(task) = search.fails_for_good(effort)? {
            return Ok(Err(vec![task]));
        }
        match search.pass(effort)? {
            Pass::AllHold => return Ok(Ok(search.responses())),
            Pass::Unchanged => return Ok(Err(search.failing().collect())),
            Pass::Changed => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::global::drawn::constrained;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// The shortcut answers what the climb would.
        #[test]
        fn what_bcl_iterative_accepts_has_response_times_in_time(set in constrained(30)) {
            if bcli(&set, &mut Effort::default()).accepts() {
                let times = response_times(&set, &mut Effort::default());
                prop_assert!(matches!(times, Ok(Some(_))), "{set:?}");
            }
        }
    }
}
