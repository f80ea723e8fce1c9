//! GFB: the density bound for global EDF.

use crate::effort::Effort;
use crate::exact::{Ratio, sum_cmp};
use crate::global::densest;
use crate::necessary::refuse;
use crate::task::TaskSet;
use crate::verdict::TestAnswer;
use core::cmp::Ordering;

/// Accepts if `sum d_i <= m - (m - 1) max d_i` with densities `d_i = C_i / min(D_i, T_i)`: Goossens, Funk &
/// Baruah, Real-Time Systems 25(2-3), 2003, in the form for densities of Bertogna, Cirinei & Lipari,
/// ECRTS 2005 (thesis 2.4.2.2). It holds for any deadlines, because a task is feasible alone on a core of
/// speed `d_i`.
pub fn gfb(set: &TaskSet, _: &mut Effort<'_>) -> TestAnswer {
    let Some((num, den)) = densest(set) else {
        return TestAnswer::Accepted;
    };
    let reserve = Ratio { num: (set.m() - 1) * u128::from(num), den };
    let densities = set.tasks().iter().map(|task| Ratio::new(task.c(), task.window().get()));
    if sum_cmp(densities.chain([reserve]), set.m()) == Ordering::Greater || !set.fits_alone() {
        refuse(set)
    } else {
        TestAnswer::Accepted
    }
}
