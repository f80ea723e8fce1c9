//! Clustered EDF: tasks packed onto clusters, each cluster judged as a small global system.

use crate::effort::Effort;
use crate::global::any::gedf_any;
use crate::pack::Fit;
pub use crate::pack::clustered::clustered_by;
use crate::task::TaskSet;
use crate::verdict::TestAnswer;

/// Accepts if the heuristic packs all tasks by utilisation, largest first, onto `m / cluster` clusters of as
/// much capacity as they have cores, and [`gedf_any`] accepts each cluster (thesis 2.4.2.3 and 5.1).
fn clustered(set: &TaskSet, fit: Fit, effort: &mut Effort<'_>) -> TestAnswer {
    clustered_by(set, fit, effort, &mut gedf_any)
}

macro_rules! heuristics {
    ($($name:ident: $fit:ident, $doc:literal;)*) => {$(
        #[doc = concat!("Clustered EDF by ", $doc, " fit, largest utilisation first.")]
        pub fn $name(set: &TaskSet, effort: &mut Effort<'_>) -> TestAnswer {
            clustered(set, Fit::$fit, effort)
        }
    )*};
}

heuristics! {
    cedf_ffd: First, "first";
    cedf_bfd: Best, "best";
    cedf_wfd: Worst, "worst";
}
