//! The cascade: global EDF by whichever test accepts first.

use crate::effort::Effort;
use crate::global::{bar, ffdbf, gfb, load, rta};
use crate::task::TaskSet;
use crate::uni::qpa;
use crate::verdict::{TestAnswer, settle};

/// Accepts if at least one sound test for global EDF does: the exact one on one core, otherwise GFB, LOAD,
/// FF-DBF, BAR, RTA, in this order, cheapest first. BCL and BCL iterative imply RTA and are left out, as is
/// BAK, which never was the only one to accept in 2,239 measured sets.
///
/// Out of time where a test ran out of its share and none of the others accepted.
pub fn gedf_any(set: &TaskSet, effort: &mut Effort<'_>) -> TestAnswer {
    by(set, effort).0
}

/// The verdict of [`gedf_any`] and the test that accepted.
pub fn by(set: &TaskSet, effort: &mut Effort<'_>) -> (TestAnswer, Option<&'static str>) {
    if set.cores() == 1 {
        let verdict = settle(qpa::edf_on_one_core(set, effort));
        return (verdict, verdict.accepts().then_some("qpa"));
    }
    type Test = fn(&TaskSet, &mut Effort<'_>) -> TestAnswer;
    let tests: [(&str, Test); 5] = [
        ("gfb", gfb::gfb),
        ("load", load::load),
        ("ffdbf", ffdbf::ffdbf),
        ("bar", bar::bar),
        ("rta", rta::rta),
    ];
    let mut last = TestAnswer::NotProved;
    for (id, test) in tests {
        match test(set, effort) {
            TestAnswer::Accepted => return (TestAnswer::Accepted, Some(id)),
            infeasible @ TestAnswer::Infeasible(_) => return (infeasible, None),
            TestAnswer::OutOfTime => last = TestAnswer::OutOfTime,
            TestAnswer::NotProved | TestAnswer::NotApplicable(_) => {}
        }
    }
    (last, None)
}

/// The verdict of [`gedf_any`] where those of all its parts are `known` by their names.
pub(crate) fn from_parts(
    id: &str,
    set: &TaskSet,
    known: impl Fn(&str) -> Option<TestAnswer>,
) -> Option<TestAnswer> {
    if id != "gedf_any" || set.cores() == 1 {
        return None;
    }
    let parts: Vec<TestAnswer> =
        ["gfb", "load", "ffdbf", "bar", "rta"].into_iter().map(known).collect::<Option<_>>()?;
    let first = |wanted: fn(&TestAnswer) -> bool| parts.iter().copied().find(wanted);
    first(|verdict| verdict.accepts())
        .or_else(|| first(|verdict| matches!(verdict, TestAnswer::Infeasible(_))))
        .or_else(|| first(|verdict| *verdict == TestAnswer::OutOfTime))
        .or(Some(TestAnswer::NotProved))
}
