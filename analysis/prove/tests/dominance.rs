//! Relations between tests that are theorems: where the first accepts, so does the second.

mod common;

use common::{Deadlines, near_the_bounds};
use proptest::prelude::*;
use solo_prove::catalogue::find;
use solo_prove::uni::edf;
use solo_prove::uni::fp::Response;
use solo_prove::{Effort, TaskSet, TestAnswer};

fn verdict(id: &str, set: &TaskSet) -> TestAnswer {
    (find(id).expect("a test of that name").run)(set, &mut Effort::default())
}

fn implies(first: &str, second: &str, set: &TaskSet) -> Result<(), TestCaseError> {
    let (premise, conclusion) = (verdict(first, set), verdict(second, set));
    let holds =
        !premise.accepts() || conclusion.accepts() || matches!(conclusion, TestAnswer::NotApplicable(_));
    prop_assert!(holds, "{first} accepts but {second} says {conclusion} of {set:?}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// With no slack known both bound the same work, and a sum of capped terms below `m x` stays below
    /// `m (x + 1)` when the caps rise by one; slack only lowers terms. A fixed point of RTA is at most the bound
    /// of BCL iterative, by monotony.
    #[test]
    fn bcl_then_bcl_iterative_then_rta(set in near_the_bounds(Deadlines::Constrained)) {
        implies("bcl", "bcli", &set)?;
        implies("bcli", "rta", &set)?;
    }

    /// A task's forced-forward demand at the speed of the largest density is below its density times the time
    /// (Baruah et al. 2009); with deadlines equal to periods it reaches that line, so the tests are one.
    #[test]
    fn gfb_then_forced_forward_demand(
        constrained in near_the_bounds(Deadlines::Constrained), implicit in near_the_bounds(Deadlines::Implicit),
    ) {
        implies("gfb", "ffdbf", &constrained)?;
        implies("gfb", "ffdbf", &implicit)?;
        implies("ffdbf", "gfb", &implicit)?;
    }

    /// With the density as the rate BAK's shares are larger by `(U - l) (T - D) / D_k`; with the largest density as the
    /// rate and deadlines equal to periods every share is a utilisation, which is GFB.
    #[test]
    fn bak_and_gfb_then_the_free_rate(
        constrained in near_the_bounds(Deadlines::Constrained), implicit in near_the_bounds(Deadlines::Implicit),
    ) {
        implies("bak", "bak05", &constrained)?;
        implies("bak", "bak05", &implicit)?;
        implies("gfb", "bak05", &implicit)?;
    }

    /// Bini et al. 2003 (hyperbolic above Liu & Layland), exactness of response times, optimality of deadline
    /// monotonic among fixed priorities (Leung & Whitehead 1982) and of EDF on one core (Dertouzos 1974).
    #[test]
    fn on_one_core_each_better_test_accepts_more(seed: u64) {
        for deadlines in [Deadlines::Implicit, Deadlines::Constrained, Deadlines::Arbitrary] {
            let set = common::draw_set(1, seed, deadlines);
            implies("rm_ll", "hyperbolic", &set)?;
            implies("hyperbolic", "fp_rm", &set)?;
            implies("density", "qpa", &set)?;
            implies("edf_u", "qpa", &set)?;
            implies("fp_dm", "qpa", &set)?;
            implies("gfp_dm", "fp_dm", &set)?;
            if set.is_constrained() {
                implies("fp_rm", "fp_dm", &set)?;
            }
            for test in ["gfb", "bak", "bcl", "bcli", "rta", "bar", "load"] {
                implies(test, "qpa", &set)?;
            }
        }
    }

    /// Spuri's response times and processor demand are both exact for EDF on one core.
    #[test]
    fn response_times_under_edf_agree_with_processor_demand(seed: u64) {
        for deadlines in [Deadlines::Implicit, Deadlines::Constrained, Deadlines::Arbitrary] {
            let set = common::draw_set(1, seed, deadlines);
            let times = edf::response_times(set.tasks(), &mut Effort::default()).expect("small numbers");
            let all_within = times.iter().all(|time| matches!(time, Response::Within(_)));
            prop_assert_eq!(verdict("qpa", &set).accepts(), all_within, "{:?}: {:?}", set, times);
        }
    }

    /// The cascade is the disjunction of its parts, whether they were judged before or not.
    #[test]
    fn the_cascade_accepts_what_any_part_accepts(set in near_the_bounds(Deadlines::Constrained)) {
        for test in ["gfb", "load", "ffdbf", "bar", "rta", "bcl", "bcli"] {
            implies(test, "gedf_any", &set)?;
        }
        let judged = solo_prove::jsonl::judge(&set, &solo_prove::jsonl::BatchOptions::default());
        let any = judged.iter().find(|(test, _)| test.id == "gedf_any").map(|(_, verdict)| verdict.accepts());
        prop_assert_eq!(any, Some(verdict("gedf_any", &set).accepts()));
    }
}
