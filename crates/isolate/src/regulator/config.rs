//! What a regulator is built from: an experiment's wishes in events.

use super::budget::{events_in, share_of};
use super::ledger::{LEDGERS, PerLedger};
use alloc::vec::Vec;
use solo_model::isolation::{
    Budget, Counted, Donation, Prediction, Reclaim, Regulation, Sharing, WrongDonation,
};
use solo_model::{Bytes, CoreId, Duration, Event, Events, Platform, Task};

/// An allowance of events in a period.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Allowance {
    /// So many, and so many billionths of one.
    Fixed {
        /// Whole events.
        events: Events,
        /// Billionths of an event.
        fraction: u64,
    },
    /// A part of the guaranteed bandwidth by weight.
    Weight(u32),
}

impl Allowance {
    /// What a budget allows.
    pub fn of(budget: Budget, regulation: &Regulation, line: Bytes) -> Self {
        let rate = match budget {
            Budget::Events(events) => return Self::Fixed { events, fraction: 0 },
            Budget::Weight(weight) => return Self::Weight(weight),
            Budget::Rate(rate) => rate,
            Budget::Share(per_mille) => share_of(regulation.guaranteed, per_mille),
        };
        let (events, fraction) = events_in(rate, regulation.period, line);
        Self::Fixed { events, fraction }
    }

    fn halved(self) -> Self {
        match self {
            Self::Fixed { events, fraction } => {
                let odd = events.get() % 2 * 1_000_000_000;
                Self::Fixed { events: events / 2, fraction: (odd + fraction) / 2 }
            }
            Self::Weight(weight) => Self::Weight((weight / 2).max(1)),
        }
    }
}

/// A task as the regulator sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TaskConfig {
    /// Its own limit for each ledger.
    pub limit: Option<PerLedger<Events>>,
    /// What it gives away.
    pub donates: Donation,
}

/// What a regulator is built from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The regulation period P, above zero.
    pub period: Duration,
    /// Ledgers in use: 1 or 2.
    pub ledgers: usize,
    /// The event of each ledger.
    pub events: PerLedger<Event>,
    /// Bits of the counters.
    pub counter_width: u8,
    /// For each core of the machine its allowances; `None` for a core that is not regulated.
    pub cores: Vec<Option<PerLedger<Allowance>>>,
    /// For each task.
    pub tasks: Vec<TaskConfig>,
    /// What each core gives away while it is idle: nothing where a task may wake up that gives nothing.
    pub idle_donates: Vec<Donation>,
    /// When all active cores are exhausted.
    pub sharing: Sharing,
    /// Unused reservations.
    pub reclaim: Reclaim,
    /// How use is predicted.
    pub prediction: Prediction,
    /// The least that is asked for, Qmin; above zero.
    pub quantum: Events,
    /// Of a core that gave too much away.
    pub wrong_donation: WrongDonation,
    /// Overshoot and fractions are carried over.
    pub carry_over: bool,
    /// Thousandths of the throttled time that are charged to a throttled thread.
    pub charge_per_mille: u32,
    /// What memory guarantees in a period.
    pub guaranteed: Events,
    /// Events that may still come of a core after it was told to stop: its outstanding misses.
    pub in_flight: Events,
}

impl Config {
    /// The regulator's part of an experiment, which [`crate::admit`] has admitted.
    pub fn new(regulation: &Regulation, platform: &Platform, tasks: &[Task]) -> Self {
        let line = platform.line();
        let allow = |budget| Allowance::of(budget, regulation, line);
        let mut cores = alloc::vec![None; platform.cores.len()];
        for entry in &regulation.cores {
            let reads = allow(entry.budget);
            let writes = entry.writes.map_or(reads.halved(), allow);
            if let Some(core) = cores.get_mut(entry.core.index()) {
                *core = Some(PerLedger([reads, writes]));
            }
        }
        let (ledgers, events) = match regulation.counted {
            Counted::One(event) => (1, [event, event]),
            Counted::ReadsAndWrites => (LEDGERS, [Event::DramRead, Event::DramWrite]),
        };
        let limit = |budget| match allow(budget) {
            Allowance::Fixed { events, .. } => PerLedger([events.max(Events::new(1)); LEDGERS]),
            Allowance::Weight(_) => PerLedger([Events::MAX; LEDGERS]),
        };
        let keeps = |core: CoreId| {
            regulation.tasks.iter().filter(|task| task.donates == Donation::Nothing).any(|task| {
                let home = tasks.get(task.task.index()).and_then(|task| task.core);
                home.is_none_or(|home| home == core)
            })
        };
        let idle = |core| if keeps(core) { Donation::Nothing } else { Donation::Surplus };
        let mut configs = alloc::vec![TaskConfig { limit: None, donates: Donation::Surplus }; tasks.len()];
        for entry in &regulation.tasks {
            if let Some(task) = configs.get_mut(entry.task.index()) {
                *task = TaskConfig { limit: entry.budget.map(limit), donates: entry.donates };
            }
        }
        let misses = platform.core_set().iter().map(|core| platform.kind(core).outstanding_misses).max();
        Self {
            period: regulation.period.max(Duration::new(1)),
            ledgers,
            events: PerLedger(events),
            counter_width: platform.pmu.width,
            cores,
            tasks: configs,
            idle_donates: platform.core_set().iter().map(idle).collect(),
            sharing: regulation.sharing,
            reclaim: regulation.reclaim,
            prediction: regulation.prediction.clone(),
            quantum: regulation.quantum.max(Events::new(1)),
            wrong_donation: regulation.wrong_donation,
            carry_over: regulation.carry_over,
            charge_per_mille: regulation.charge_per_mille,
            guaranteed: events_in(regulation.guaranteed, regulation.period, line).0,
            in_flight: Events::new(2 * u64::from(misses.unwrap_or(1).max(1))),
        }
    }

    /// True where `core` is regulated.
    pub fn regulates(&self, core: CoreId) -> bool {
        self.cores.get(core.index()).is_some_and(Option::is_some)
    }
}
