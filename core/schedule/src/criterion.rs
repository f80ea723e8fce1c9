//! The contract between a criterion and the rest of the kernel.

pub(crate) use crate::job::{JobView, TaskParameters};
use crate::rank::Rank;
use core::fmt;
pub(crate) use solo_model::policy::Parameter;

/// An ordering rule: which job is more urgent (EPOS's `Criterion`, thesis 4.2).
///
/// A criterion is a type without data. The kernel is compiled once for each, so its constants cost nothing
/// at run time. `docs/write-your-own-policy.md` writes one from the first line to the last.
pub trait Criterion: Copy + Eq + fmt::Debug + Send + 'static {
    /// The name in scenario files, after the letter of the scope and a dash.
    const NAME: &'static str;
    /// The rank changes from job to job: it is computed anew at each release (thesis 4.2, dynamic handler).
    const DYNAMIC: bool;
    /// The rank changes while a job executes: it is computed anew at each decision.
    const AGES: bool = false;
    /// A quantum has a meaning: the kernel decides again when a thread has run for that long.
    const TIMED: bool = false;
    /// At the end of its quantum a thread goes to the end of the line. Such a criterion needs a quantum.
    const ROTATES: bool = false;
    /// A more urgent job takes the core of a less urgent one. Without it a job runs until it finishes,
    /// blocks or yields.
    const PREEMPTIVE: bool = true;
    /// Tasks are bound to their cores: each core has a queue of its own, whatever the scope.
    const BOUND: bool = false;

    /// How urgent `job` is: the lower, the more.
    fn rank(job: &JobView<'_>) -> Rank;

    /// What `task` lacks for being ordered. Asked for hard and soft tasks only: best-effort tasks may lack
    /// anything and come after all others of their class.
    fn missing(task: &TaskParameters) -> Option<Parameter>;
}

/// An instant or a length of time as a key; what does not fit is the least urgent key.
pub(crate) fn key(nanoseconds: u64) -> i64 {
    i64::try_from(nanoseconds).unwrap_or(i64::MAX)
}
