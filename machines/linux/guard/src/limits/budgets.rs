//! The budgets of a scenario as limits.

use super::error::LimitError;
use solo_model::isolation::{Budget, Counted, Reclaim, Regulation, Sharing};
use solo_model::{Bandwidth, CoreId};

/// The rates that a regulation gives cores.
///
/// # Errors
/// [`LimitError::NotDone`] where it asks for more than rates; [`LimitError::Events`], [`LimitError::Part`], [`LimitError::NoCore`].
pub fn limits_of(regulation: &Regulation) -> Result<Vec<(CoreId, Bandwidth)>, LimitError> {
    let not_done = |what, mend| Err(LimitError::NotDone { what, mend });
    let enforcer = "; the back ends occupier and sched-ext have an enforcer that does";
    if regulation.reclaim != Reclaim::Off {
        return not_done("reclaiming what others do not use", enforcer);
    }
    if regulation.sharing != Sharing::None {
        return not_done("sharing what is left", enforcer);
    }
    if regulation.charge_per_mille > 0 {
        return not_done("charging a thread for the time that it was stopped", enforcer);
    }
    if regulation.carry_over {
        return not_done("carrying what was used beyond a budget into the next period", enforcer);
    }
    if !regulation.changes.is_empty() {
        return not_done("changing budgets during the run", "; hold each step by itself");
    }
    if regulation.tasks.iter().any(|task| task.budget.is_some()) {
        return not_done("a budget of a task", "; give cores budgets");
    }
    if regulation.counted == Counted::ReadsAndWrites
        || regulation.cores.iter().any(|core| core.writes.is_some())
    {
        return not_done("limiting reads and writes apart", "; count one event");
    }
    if regulation.cores.is_empty() {
        return Err(LimitError::NoCore);
    }
    let rate = |entry: &solo_model::isolation::CoreBudget| match entry.budget {
        Budget::Rate(rate) => Ok((entry.core, rate)),
        Budget::Events(_) => Err(LimitError::Events(entry.core)),
        Budget::Share(_) | Budget::Weight(_) => Err(LimitError::Part(entry.core)),
    };
    regulation.cores.iter().map(rate).collect()
}
