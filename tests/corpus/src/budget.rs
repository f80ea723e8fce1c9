//! Bandwidth budgets of a case.

use crate::parse::{self, ParseError};
use serde::Deserialize;
use solo_model::isolation::{Budget, CoreBudget, Counted, Regulation};
use solo_model::{Bandwidth, Bytes, CoreId, EventId, Events};
use std::collections::BTreeMap;

/// The memory that each task touches has this size: far above the last cache of the chip of the cases, so that each
/// access goes to memory.
pub(crate) const BUFFER: Bytes = Bytes::from_mib(8);

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
        let cores = self.events.iter().map(entry).collect::<Result<_, _>>()?;
        let guaranteed = Bandwidth::new(1 << 30);
        Ok(Regulation::new(parse::time(&self.period)?, Counted::One(EventId::LLC_MISSES), cores, guaranteed))
    }
}
