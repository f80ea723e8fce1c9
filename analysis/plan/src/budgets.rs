//! Bandwidth budgets: what is not said follows from the class of a task and from what memory guarantees.

use crate::place::{Said, TextRange, Wish};
use crate::rationale::{Decided, Of};
use crate::request::{BandwidthWish, Mechanisms};
use crate::strategy::Because;
use crate::{Doubtful, Draft};
use alloc::vec::Vec;
use solo_isolate::admission::{IsolationRefusal, regulation_fits};
use solo_isolate::capacity::written_back;
use solo_isolate::diagnose::{self, Warning};
use solo_model::isolation::{Budget, BudgetChange, Counted, Regulation, TaskBudget};
use solo_model::{Bandwidth, CoreId, Events, Platform, TaskId};

impl Draft<'_> {
    /// Regulation, where it is wished.
    pub(crate) fn bandwidth(&mut self, wished: &Mechanisms, platform: &Platform) -> Option<Regulation> {
        let wish = match &wished.bandwidth {
            Said::This(wish) => wish,
            Said::Unreadable => return None,
            Said::Nothing => {
                self.doubt_unused_budgets();
                return None;
            }
        };
        let regulation = self.regulation(&wish.value, platform);
        if let Err(refusal) = regulation_fits(&regulation, platform, &self.tasks) {
            self.refuse(blamed(&wish.value, &refusal), refusal);
            return None;
        }
        self.reserved_for_devices(wished, &regulation);
        if self.is_whole() {
            self.doubt_budgets(&regulation, platform, wish.value.cores_at, wish.at);
        }
        Some(regulation)
    }

    fn regulation(&mut self, wish: &BandwidthWish, platform: &Platform) -> Regulation {
        let strategy = self.strategy;
        let counted = self.wished_or(wish.counted, strategy.counted(), Decided::Counted);
        let (guaranteed, guaranteed_with_writes) = self.guaranteed(wish, platform, counted);
        Regulation {
            period: self.wished_or(wish.period, strategy.regulation_period(), Decided::RegulationPeriod),
            counted,
            cores: wish.cores.clone(),
            changes: wish.changes.iter().map(|change| change.value.clone()).collect(),
            tasks: self.task_budgets(),
            sharing: self.wished_or(wish.sharing, strategy.sharing(), Decided::Sharing),
            reclaim: self.wished_or(wish.reclaim, strategy.reclaim(), Decided::Reclaim),
            prediction: self.wished_or(wish.prediction.clone(), strategy.prediction(), Decided::Prediction),
            quantum: {
                let said = wish.quantum.map(|said| Wish { value: Events::new(said.value), at: said.at });
                self.wished_or(said, strategy.reclaim_quantum(), Decided::ReclaimQuantum)
            },
            wrong_donation: self.wished_or(
                wish.wrong_donation,
                strategy.wrong_donation(),
                Decided::WrongDonation,
            ),
            carry_over: wish.carry_over.is_some_and(|said| said.value),
            charge_per_mille: wish.charge.map_or(0, |said| said.value),
            guaranteed,
            guaranteed_with_writes,
            best_effort: wish.best_effort.is_some_and(|said| said.value),
            dma: wish.dma.iter().map(|master| master.value.clone()).collect(),
        }
    }

    fn wished_or<T: Clone>(
        &mut self,
        said: Option<Wish<T>>,
        because: Because<T>,
        what: fn(T) -> Decided,
    ) -> T {
        match said {
            Some(wish) => wish.value,
            None => self.decide(Of::Bandwidth, because, what),
        }
    }

    /// What memory guarantees of what is counted, and of reads and writes together where that is not what is counted: as
    /// stated, which then holds for both, else as the strategy decides.
    fn guaranteed(
        &mut self,
        wish: &BandwidthWish,
        platform: &Platform,
        counted: Counted,
    ) -> (Bandwidth, Option<Bandwidth>) {
        if let Some(stated) = wish.guaranteed {
            return (stated.value, None);
        }
        let because = self.strategy.guaranteed(platform, counted);
        let rate = self.decide(Of::Bandwidth, because, Decided::Guaranteed);
        match counted {
            Counted::ReadsAndWrites => (rate, Some(rate)),
            Counted::One(_) => (rate, Some(written_back(platform))),
        }
    }

    /// One entry for each task: what it gives away follows from its class where it does not say.
    fn task_budgets(&mut self) -> Vec<TaskBudget> {
        let mut budgets = Vec::with_capacity(self.tasks.len());
        for at in 0..self.tasks.len() as u32 {
            let wish = self.wish_of(at);
            let donates = match wish.and_then(|wish| wish.donates) {
                Some(said) => said.value,
                None => {
                    let because = self.strategy.donation(self.tasks[at as usize].class);
                    let owner = self.owner_of(at);
                    let (first, count) =
                        owner.map_or((at, 1), |owner| (owner.tasks.start, owner.tasks.len() as u32));
                    if first == at {
                        self.decide(Of::Tasks { first: TaskId(first), count }, because, Decided::Donation)
                    } else {
                        because.value
                    }
                }
            };
            let budget = wish.and_then(|wish| wish.budget).map(|said| said.value);
            budgets.push(TaskBudget { task: TaskId(at), budget, donates });
        }
        budgets
    }

    /// Budgets of tasks that nobody watches.
    fn doubt_unused_budgets(&mut self) {
        if !self.is_whole() {
            return;
        }
        let places = self.owners.iter().filter_map(|owner| Some(owner.wish.budget?.at));
        for at in places.collect::<Vec<TextRange>>() {
            self.doubt(at, Doubtful::UnusedBudget);
        }
    }

    /// Budgets that would silently do nothing.
    fn doubt_budgets(
        &mut self,
        regulation: &Regulation,
        platform: &Platform,
        cores: TextRange,
        table: TextRange,
    ) {
        for entry in &regulation.cores {
            let Budget::Rate(rate) = entry.budget else { continue };
            let reach = diagnose::reach(platform, entry.core);
            if let Some(warning) = diagnose::budget_in_reach(entry.core, rate, reach) {
                self.warn(cores, warning);
            }
        }
        if regulation.cores.is_empty() {
            return;
        }
        let regulated = |core: &CoreId| regulation.cores.iter().any(|entry| entry.core == *core);
        // Whoever only computes delays nobody on another core.
        let uses = self.tasks.iter().filter(|task| task.work.touches_memory());
        let mut open: Vec<CoreId> =
            uses.filter_map(|task| task.core).filter(|core| !regulated(core)).collect();
        open.sort_unstable();
        open.dedup();
        for core in open {
            self.warn(table, Warning::Unregulated { core });
        }
    }
}

/// The place of what is refused: of the change that can't be had, else of the budgets.
fn blamed(wish: &BandwidthWish, refusal: &IsolationRefusal) -> TextRange {
    let change = match refusal {
        IsolationRefusal::Later { at, .. } | IsolationRefusal::OutOfOrder { at } => {
            wish.changes.iter().rfind(|change| change.value.at == *at)
        }
        IsolationRefusal::NoBudget { core } => {
            let names =
                |change: &&Wish<BudgetChange>| change.value.cores.iter().any(|entry| entry.core == *core);
            wish.changes.iter().find(names)
        }
        _ => None,
    };
    change.map_or(wish.cores_at, |change| change.at)
}
