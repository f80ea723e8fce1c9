//! What is to be held.

use super::error::GroupError;
use crate::occupier::{BudgetRefusal, Budgets};
use crate::setting::Group;
use solo_isolate::regulator::Config;
use solo_model::isolation::Budget;
use solo_model::{CoreId, CoreSet};

/// Budgets of groups, and what is counted against them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupBudgets {
    /// As of CPUs: core N stands for group N.
    pub budgets: Budgets,
    /// The groups.
    pub groups: Vec<Group>,
}

impl GroupBudgets {
    /// Nothing where they can be held.
    ///
    /// # Errors
    /// [`GroupError::Nobody`], [`GroupError::TooMany`], [`GroupError::Zero`], [`GroupError::Weight`], [`GroupError::Refused`].
    pub fn validate(&self) -> Result<(), GroupError> {
        self.config().map(drop)
    }

    /// What an enforcer is built from.
    pub(super) fn config(&self) -> Result<Config, GroupError> {
        match self.groups.len() {
            0 => Err(GroupError::Nobody),
            found if found > CoreSet::CAPACITY => Err(GroupError::TooMany { found }),
            groups => self.budgets.enforcer(groups).map_err(|refusal| self.of_group(refusal)),
        }
    }

    /// Whether the group at `place` can have this budget.
    ///
    /// # Errors
    /// [`GroupError::Zero`], [`GroupError::Weight`].
    pub(super) fn holds(&self, place: usize, budget: Budget) -> Result<(), GroupError> {
        self.budgets.holds(stand_in(place), budget).map_err(|refusal| self.of_group(refusal))
    }

    /// The same refusal, of a group in place of the core that stands for it.
    fn of_group(&self, refusal: BudgetRefusal) -> GroupError {
        let group = |core: CoreId| self.groups.get(core.index()).cloned().unwrap_or_default();
        match refusal {
            BudgetRefusal::Zero(core) => GroupError::Zero { group: group(core) },
            BudgetRefusal::Weight(core) => GroupError::Weight { group: group(core) },
            other => GroupError::Refused(other),
        }
    }
}

/// The core that stands for the group at `place`: there are [few](GroupError::TooMany).
pub(super) fn stand_in(place: usize) -> CoreId {
    CoreId(u16::try_from(place).unwrap_or(u16::MAX))
}
