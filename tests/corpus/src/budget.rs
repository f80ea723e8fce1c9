//! Bandwidth budgets of a case.

use crate::parse::{self, ParseError};
use serde::Deserialize;
use solo_model::isolation::{Budget, BudgetChange, CoreBudget, Counted, Regulation};
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
    /// What they become.
    #[serde(default)]
    change: Vec<ChangeFile>,
}

/// `[[budget.change]]` in a case.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChangeFile {
    at: String,
    events: BTreeMap<String, u64>,
}

impl BudgetFile {
    pub(crate) fn resolve(self) -> Result<Regulation, ParseError> {
        let guaranteed = Bandwidth::new(1 << 30);
        let counted = Counted::One(EventId::LLC_MISSES);
        let change = |change: &ChangeFile| {
            Ok(BudgetChange { at: parse::time(&change.at)?, cores: budgets(&change.events)? })
        };
        Ok(Regulation {
            changes: self.change.iter().map(change).collect::<Result<_, ParseError>>()?,
            ..Regulation::new(parse::time(&self.period)?, counted, budgets(&self.events)?, guaranteed)
        })
    }
}

fn budgets(events: &BTreeMap<String, u64>) -> Result<Vec<CoreBudget>, ParseError> {
    let entry = |(core, events): (&String, &u64)| {
        let core = core.parse().map_err(|_| ParseError::Segment(core.clone()))?;
        Ok(CoreBudget { core: CoreId(core), budget: Budget::Events(Events::new(*events)), writes: None })
    };
    events.iter().map(entry).collect()
}
