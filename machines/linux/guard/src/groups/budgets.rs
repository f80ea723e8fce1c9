//! What is to be held.

use crate::occupier::BudgetRefusal;
use crate::setting::Group;
use solo_isolate::regulator::{Allowance, Config, DIRECTIONS, Machine, PerDirection};
use solo_model::isolation::{Budget, Regulation};
use solo_model::{Bytes, CoreId, CoreSet, Events};
use solo_perf::resolve::Attr;

/// Budgets of groups, and what is counted against them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupBudgets {
    /// Periods, budgets in events, sharing and reclaiming: core N stands for group N.
    pub regulation: Regulation,
    /// The groups.
    pub groups: Vec<Group>,
    /// What is counted.
    pub event: Attr,
}

impl GroupBudgets {
    /// Nothing where they can be held.
    ///
    /// # Errors
    /// See [`BudgetRefusal`].
    pub fn validate(&self) -> Result<(), BudgetRefusal> {
        self.config().map(drop)
    }

    /// What an enforcer is built from.
    pub(crate) fn config(&self) -> Result<Config, BudgetRefusal> {
        let Regulation { period, cores, guaranteed, .. } = &self.regulation;
        let (shortest, longest) = BudgetRefusal::PERIODS;
        if *period < shortest || *period > longest {
            return Err(BudgetRefusal::Period { found: *period });
        }
        if self.groups.is_empty() || self.groups.len() > CoreSet::CAPACITY {
            return Err(BudgetRefusal::NoCore);
        }
        for entry in cores {
            self.holds(entry.core, entry.budget)?;
        }
        let machine = Machine {
            cores: self.groups.len(),
            line: Bytes::new(64),
            counter_width: 64,
            in_flight: Events::new(1),
        };
        Ok(Config::of_machine(&self.regulation, &machine, *guaranteed, Vec::new()))
    }

    /// Whether a group can have this budget.
    ///
    /// # Errors
    /// [`BudgetRefusal::Weight`], [`BudgetRefusal::Zero`].
    pub fn holds(&self, group: CoreId, budget: Budget) -> Result<(), BudgetRefusal> {
        match self.allowance(budget).0[0] {
            Allowance::Weight(_) => Err(BudgetRefusal::Weight(group)),
            Allowance::Fixed { events, .. } if events.is_zero() => Err(BudgetRefusal::Zero(group)),
            Allowance::Fixed { .. } => Ok(()),
        }
    }

    /// What a budget allows.
    pub(crate) fn allowance(&self, budget: Budget) -> PerDirection<Allowance> {
        PerDirection([Allowance::of(budget, &self.regulation, Bytes::new(64)); DIRECTIONS])
    }
}
