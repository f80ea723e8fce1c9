//! What is to be held.

use super::error::BudgetRefusal;
use solo_isolate::regulator::{Allowance, Config, DIRECTIONS, Machine, PerDirection};
use solo_model::isolation::{Budget, CoreBudget, Counted, Regulation};
use solo_model::{Bytes, CoreId, Events};
use solo_perf::resolve::Attr;
use solo_threads::sched;

/// Budgets, and what is counted against them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Budgets {
    /// Periods, budgets, sharing and reclaiming; core N is CPU N.
    pub regulation: Regulation,
    /// What each event moves, where budgets are data rates.
    pub line: Bytes,
    /// What is counted on each CPU.
    pub event: Attr,
}

impl Budgets {
    /// The CPUs that have one.
    pub fn cores(&self) -> Vec<CoreId> {
        let mut cores: Vec<CoreId> = self.regulation.cores.iter().map(|entry| entry.core).collect();
        cores.sort_unstable();
        cores.dedup();
        cores
    }

    /// Nothing where they can be held on the CPUs that this thread may use.
    ///
    /// # Errors
    /// See [`BudgetRefusal`].
    pub fn validate(&self) -> Result<(), BudgetRefusal> {
        self.config(&sched::cpus()).map(drop)
    }

    /// What an enforcer of CPUs is built from.
    pub(crate) fn config(&self, available: &[usize]) -> Result<Config, BudgetRefusal> {
        for core in self.entries().map(|entry| entry.core) {
            if !available.contains(&core.index()) {
                return Err(BudgetRefusal::Cpu { core, available: available.to_vec() });
            }
        }
        let last = self.cores().last().copied().ok_or(BudgetRefusal::NoCore)?;
        self.enforcer(last.index() + 1)
    }

    /// What an enforcer of so many cores is built from, or of so many others that cores stand for.
    pub(crate) fn enforcer(&self, cores: usize) -> Result<Config, BudgetRefusal> {
        let Regulation { period, counted, guaranteed, .. } = &self.regulation;
        let (shortest, longest) = BudgetRefusal::PERIODS;
        if *period < shortest || *period > longest {
            return Err(BudgetRefusal::Period { found: *period });
        }
        if matches!(counted, Counted::ReadsAndWrites) {
            return Err(BudgetRefusal::Directions);
        }
        self.entries().try_for_each(|entry| self.holds(entry.core, entry.budget))?;
        let machine = Machine {
            cores,
            line: self.line,
            counter_width: 64,
            // What is counted between the alarm and the stop is not known beforehand; it is told.
            in_flight: Events::new(1),
        };
        Ok(Config::of_machine(&self.regulation, &machine, *guaranteed, Vec::new()))
    }

    /// All budgets, those that begin later among them.
    fn entries(&self) -> impl Iterator<Item = &CoreBudget> {
        let later = self.regulation.changes.iter().flat_map(|change| &change.cores);
        self.regulation.cores.iter().chain(later)
    }

    /// Whether a core can have this budget.
    ///
    /// # Errors
    /// [`BudgetRefusal::Weight`], [`BudgetRefusal::Zero`].
    pub fn holds(&self, core: CoreId, budget: Budget) -> Result<(), BudgetRefusal> {
        match self.allowance(budget).0[0] {
            Allowance::Weight(_) => Err(BudgetRefusal::Weight(core)),
            Allowance::Fixed { events, .. } if events.is_zero() => Err(BudgetRefusal::Zero(core)),
            Allowance::Fixed { .. } => Ok(()),
        }
    }

    /// What a budget allows.
    pub(crate) fn allowance(&self, budget: Budget) -> PerDirection<Allowance> {
        PerDirection([Allowance::of(budget, &self.regulation, self.line); DIRECTIONS])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use solo_model::{Bandwidth, Duration, EventId};

    fn budgets(core: u16, budget: Budget) -> Budgets {
        let cores = vec![CoreBudget { core: CoreId(core), budget, writes: None }];
        let counted = Counted::One(EventId::LLC_MISSES);
        let regulation = Regulation::new(Duration::new(1_000_000), counted, cores, Bandwidth::ZERO);
        Budgets { regulation, line: Bytes::new(64), event: Attr::default() }
    }

    #[test]
    fn what_can_not_be_held_is_refused() {
        let events = |events| Budget::Events(Events::new(events));
        assert!(budgets(1, events(4)).config(&[0, 1]).is_ok());
        assert_eq!(budgets(1, events(0)).config(&[0, 1]), Err(BudgetRefusal::Zero(CoreId(1))));
        assert_eq!(
            budgets(7, events(4)).config(&[0, 1]),
            Err(BudgetRefusal::Cpu { core: CoreId(7), available: vec![0, 1] })
        );
        assert_eq!(budgets(1, Budget::Weight(2)).config(&[0, 1]), Err(BudgetRefusal::Weight(CoreId(1))));
        let mut none = budgets(1, events(4));
        none.regulation.cores.clear();
        assert_eq!(none.config(&[0, 1]), Err(BudgetRefusal::NoCore));
        let mut both = budgets(1, events(4));
        both.regulation.counted = Counted::ReadsAndWrites;
        assert_eq!(both.config(&[0, 1]), Err(BudgetRefusal::Directions));
        for period in [0, 1, 199_999, 1_000_000_001, u64::MAX] {
            let mut odd = budgets(1, events(4));
            odd.regulation.period = Duration::new(period);
            let found = Duration::new(period);
            assert_eq!(odd.config(&[0, 1]), Err(BudgetRefusal::Period { found }));
        }
    }
}
