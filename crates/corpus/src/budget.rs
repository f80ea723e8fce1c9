//! Bandwidth budgets of a case, and what a machine must have for a case.

use crate::case::Case;
use crate::parse::{self, ParseError};
use serde::Deserialize;
use solo_model::isolation::{
    Budget, CoreBudget, Counted, Prediction, Reclaim, Regulation, Sharing, WrongDonation,
};
use solo_model::{Bandwidth, Bytes, Caps, CoreId, EventId, Events};
use std::collections::BTreeMap;
use std::fmt;

/// The memory that each task touches has this size: far above the last cache of the chip of the cases, so that each
/// access goes to memory.
pub(crate) const BUFFER: Bytes = Bytes::from_mib(8);

/// What a machine would need to run a case.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Need {
    /// Kernel paths that cost nothing: the outcome hangs on events of the same instant.
    FreeKernelPaths,
    /// Counters that interrupt: the case has bandwidth budgets.
    CountersThatInterrupt,
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FreeKernelPaths => "their outcome hangs on kernel paths that cost nothing",
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

/// `[budget]` in a case.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BudgetFile {
    period: String,
    /// Events in a period, by core.
    events: BTreeMap<String, u64>,
}

impl BudgetFile {
    pub(crate) fn resolve(self) -> Result<Regulation, ParseError> {
        let entry = |(core, events): (&String, &u64)| {
            let core = core.parse().map_err(|_| ParseError::Segment(core.clone()))?;
            Ok(CoreBudget { core: CoreId(core), budget: Budget::Events(Events::new(*events)), writes: None })
        };
        Ok(Regulation {
            period: parse::time(&self.period)?,
            counted: Counted::One(EventId::LLC_MISSES),
            cores: self.events.iter().map(entry).collect::<Result<_, _>>()?,
            tasks: Vec::new(),
            sharing: Sharing::None,
            reclaim: Reclaim::Off,
            prediction: Prediction::EwmaHalf,
            quantum: Events::new(1),
            wrong_donation: WrongDonation::Overdraw,
            carry_over: false,
            charge_per_mille: 0,
            guaranteed: Bandwidth::new(1 << 30),
            guaranteed_with_writes: None,
            best_effort: false,
            dma: Vec::new(),
        })
    }
}
