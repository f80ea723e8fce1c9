//! What a machine must have for a case.

use crate::case::Case;
use solo_model::Caps;
use std::fmt;

/// What a machine would need to run a case.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Need {
    /// Kernel paths that cost nothing: what happens is decided by events of the same instant.
    FreeKernelPaths,
    /// Counters that interrupt: the case has bandwidth budgets.
    CountersThatInterrupt,
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FreeKernelPaths => "they come out as expected only where kernel paths cost nothing",
            Self::CountersThatInterrupt => "they have bandwidth budgets, which need counters that interrupt",
        })
    }
}

impl Case {
    /// The first thing that this case needs and a machine of these abilities, with kernel paths that are free or not, does
    /// not have: the reason to skip it there.
    pub fn lacks(&self, caps: &Caps, free_paths: bool) -> Option<Need> {
        let needs = [
            (self.budgets.is_some() && !caps.counter_overflow, Need::CountersThatInterrupt),
            (self.exact && !free_paths, Need::FreeKernelPaths),
        ];
        needs.into_iter().find_map(|(lacks, need)| lacks.then_some(need))
    }
}
