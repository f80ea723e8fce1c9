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

#[cfg(test)]
mod tests {
    use super::*;
    use solo_model::isolation::Donation;
    use solo_model::isolation::{BudgetChange, CoreBudget, TaskBudget};
    use solo_model::{Duration, EventId, Events, TaskId};

    fn plain() -> Regulation {
        let budget = Budget::Rate(Bandwidth::new(300 << 20));
        let cores = vec![CoreBudget { core: CoreId(2), budget, writes: None }];
        Regulation::new(Duration::from_millis(1), Counted::One(EventId::LLC_MISSES), cores, Bandwidth::ZERO)
    }

    #[test]
    fn rates_are_limits_and_all_else_is_refused_by_name() {
        assert_eq!(limits_of(&plain()).unwrap(), [(CoreId(2), Bandwidth::new(300 << 20))]);
        let refused = |change: fn(&mut Regulation)| {
            let mut regulation = plain();
            change(&mut regulation);
            limits_of(&regulation).unwrap_err().to_string()
        };
        let enforcer = "; the back ends occupier and sched-ext have an enforcer that does";
        type Asks = fn(&mut Regulation);
        let cases: [(Asks, &str, &str); 8] = [
            (|of| of.reclaim = Reclaim::Peers, "reclaiming what others do not use", enforcer),
            (|of| of.sharing = Sharing::Proportional, "sharing what is left", enforcer),
            (|of| of.charge_per_mille = 1, "charging a thread for the time that it was stopped", enforcer),
            (
                |of| of.carry_over = true,
                "carrying what was used beyond a budget into the next period",
                enforcer,
            ),
            (
                |of| of.changes.push(BudgetChange { at: Duration::ZERO, cores: Vec::new() }),
                "changing budgets during the run",
                "; hold each step by itself",
            ),
            (
                |of| {
                    let budget = Some(Budget::Events(Events::new(1)));
                    of.tasks.push(TaskBudget { task: TaskId(0), budget, donates: Donation::Nothing });
                },
                "a budget of a task",
                "; give cores budgets",
            ),
            (
                |of| of.counted = Counted::ReadsAndWrites,
                "limiting reads and writes apart",
                "; count one event",
            ),
            (
                |of| of.cores[0].writes = Some(Budget::Events(Events::new(1))),
                "limiting reads and writes apart",
                "; count one event",
            ),
        ];
        for (change, what, mend) in cases {
            assert_eq!(
                refused(change),
                format!(
                    "{what} is asked for, and MBA does nothing of the kind: it delays what a CPU asks of memory{mend}"
                )
            );
        }
        assert_eq!(refused(|of| of.cores.clear()), "no core has a budget");
        assert_eq!(
            refused(|of| of.cores[0].budget = Budget::Events(Events::new(7))),
            "core2 has a budget of events, and MBA limits bandwidth only: give it as a rate, such as \"800MiB/s\""
        );
        let part = "core2 has a part of what memory guarantees, which nobody knows of this machine: give it as a rate, such as \
                    \"800MiB/s\"";
        assert_eq!(refused(|of| of.cores[0].budget = Budget::Share(250)), part);
        assert_eq!(refused(|of| of.cores[0].budget = Budget::Weight(3)), part);
    }
}
