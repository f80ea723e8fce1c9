//! What a regulator is built from: an experiment's wishes in events.

use super::budget::{events_in, share_of};
use super::direction::{DIRECTIONS, PerDirection};
use crate::capacity::capacity;
use alloc::vec::Vec;
use solo_model::isolation::{
    Budget, Counted, Donation, Prediction, Reclaim, Regulation, Sharing, WrongDonation,
};
use solo_model::{Bandwidth, Bytes, CoreId, CoreSet, Duration, EventId, Events, Platform, Task, TaskClass};

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
    /// Its own limit for each direction.
    pub limit: Option<PerDirection<Events>>,
    /// What it gives away.
    pub donates: Donation,
    /// The core that it runs on; `None` for any.
    pub home: Option<CoreId>,
    /// It is hard or soft: its core has its share of the weights also while it is idle, so that the task has it when it wakes up.
    pub stands: bool,
}

impl TaskConfig {
    /// A slot that nobody is in, or a task without wishes.
    pub const NONE: Self = Self { limit: None, donates: Donation::Surplus, home: None, stands: false };
}

/// What a regulator has to know of its machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Machine {
    /// How many cores there are.
    pub cores: usize,
    /// What an event moves: a cache line.
    pub line: Bytes,
    /// Bits of the counters.
    pub counter_width: u8,
    /// Events that may still come of a core after it was told to stop: its outstanding misses.
    pub in_flight: Events,
}

impl Machine {
    /// The numbers of a platform. Twice the outstanding misses are under way: those of the core, and those that its interrupt
    /// comes too late for.
    pub fn of(platform: &Platform) -> Self {
        let misses = platform.core_set().iter().map(|core| platform.kind(core).outstanding_misses).max();
        Self {
            cores: platform.cores.len(),
            line: platform.line(),
            counter_width: platform.pmu.width,
            in_flight: Events::new(2 * u64::from(misses.unwrap_or(1).max(1))),
        }
    }
}

/// Allowances from a moment of the run on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// When, since the beginning of the first period.
    pub at: Duration,
    /// The cores that were named: the others keep what they have.
    pub named: CoreSet,
    /// For each core of the machine.
    pub cores: Vec<Option<PerDirection<Allowance>>>,
    /// What weights divide in a period, in each direction.
    pub guaranteed: Events,
}

/// What a regulator is built from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The regulation period P, above zero.
    pub period: Duration,
    /// Directions in use: 1 or 2.
    pub directions: usize,
    /// The event of each direction.
    pub events: PerDirection<EventId>,
    /// Bits of the counters.
    pub counter_width: u8,
    /// For each core of the machine its allowances; `None` for a core that is not regulated.
    pub cores: Vec<Option<PerDirection<Allowance>>>,
    /// What they are later, in the order of time.
    pub steps: Vec<Step>,
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
    /// What weights divide in a period, in each direction.
    pub guaranteed: Events,
    /// Events that may still come of a core after it was told to stop: its outstanding misses.
    pub in_flight: Events,
}

impl Config {
    /// The regulator's part of an experiment, which [`crate::admit`] has admitted.
    pub fn new(regulation: &Regulation, platform: &Platform, tasks: &[Task]) -> Self {
        let slot = |task: &Task| TaskConfig {
            home: task.core,
            stands: task.class != TaskClass::BestEffort,
            ..TaskConfig::NONE
        };
        let countable = capacity(regulation, tasks).countable();
        Self::of_machine(regulation, &Machine::of(platform), countable, tasks.iter().map(slot).collect())
    }

    /// The same for any machine of these numbers, and so many slots for tasks, of which `countable` can be promised in all.
    pub fn of_machine(
        regulation: &Regulation,
        machine: &Machine,
        countable: Bandwidth,
        mut tasks: Vec<TaskConfig>,
    ) -> Self {
        let allow = |budget| Allowance::of(budget, regulation, machine.line);
        let (directions, events) = match regulation.counted {
            Counted::One(event) => (1, [event, event]),
            Counted::ReadsAndWrites => (DIRECTIONS, [EventId::DRAM_READS, EventId::DRAM_WRITES]),
        };
        let limit = |budget| match allow(budget) {
            Allowance::Fixed { events, .. } => PerDirection([events.max(Events::new(1)); DIRECTIONS]),
            Allowance::Weight(_) => PerDirection([Events::MAX; DIRECTIONS]),
        };
        for entry in &regulation.tasks {
            if let Some(task) = tasks.get_mut(entry.task.index()) {
                (task.limit, task.donates) = (entry.budget.map(limit), entry.donates);
            }
        }
        let mut config = Self {
            period: regulation.period.max(Duration::new(1)),
            directions,
            events: PerDirection(events),
            counter_width: machine.counter_width,
            idle_donates: alloc::vec![Donation::Surplus; machine.cores],
            cores: allowances(regulation, machine),
            steps: Vec::new(),
            tasks,
            sharing: regulation.sharing,
            reclaim: regulation.reclaim,
            prediction: regulation.prediction.clone(),
            quantum: regulation.quantum.max(Events::new(1)),
            wrong_donation: regulation.wrong_donation,
            carry_over: regulation.carry_over,
            charge_per_mille: regulation.charge_per_mille,
            guaranteed: Events::ZERO,
            in_flight: machine.in_flight,
        };
        config.settle_idle_gifts();
        config.guaranteed = config.divisible(&config.cores, regulation, countable, machine.line);
        for (change, (at, changed)) in regulation.changes.iter().zip(regulation.steps().skip(1)) {
            let named = change.cores.iter().map(|entry| entry.core).collect();
            let cores = allowances(&changed, machine);
            let guaranteed = config.divisible(&cores, regulation, countable, machine.line);
            config.steps.push(Step { at, named, cores, guaranteed });
        }
        config
    }

    /// What weights divide: what fixed reservations and DMA leave of what can be promised; of all that memory guarantees where
    /// nothing is promised.
    fn divisible(
        &self,
        cores: &[Option<PerDirection<Allowance>>],
        regulation: &Regulation,
        countable: Bandwidth,
        line: Bytes,
    ) -> Events {
        let promised = if regulation.best_effort { regulation.guaranteed } else { countable };
        let dma = regulation.dma.iter().fold(Bandwidth::ZERO, |sum, master| sum.saturating_add(master.rate));
        let rate = promised.saturating_sub(dma);
        let fixed = |own: &PerDirection<Allowance>| -> Events {
            let directions = own.0.iter().take(self.directions);
            directions
                .map(|own| if let Allowance::Fixed { events, .. } = own { *events } else { Events::ZERO })
                .sum()
        };
        let reserved: Events = cores.iter().flatten().map(fixed).sum();
        let left = events_in(rate, regulation.period, line).0.saturating_sub(reserved);
        // Each direction divides its own part.
        left / self.directions as u64
    }

    /// While a core is idle it gives nothing away where a task may wake up that gives nothing.
    pub(crate) fn settle_idle_gifts(&mut self) {
        for (core, idle) in self.idle_donates.iter_mut().enumerate() {
            let wakes_here = |task: &&TaskConfig| task.home.is_none_or(|home| home.index() == core);
            let keeps = self.tasks.iter().filter(wakes_here).any(|task| task.donates == Donation::Nothing);
            *idle = if keeps { Donation::Nothing } else { Donation::Surplus };
        }
    }

    /// Cores that have their share of the weights also while they are idle.
    pub(crate) fn standing(&self) -> CoreSet {
        let lives_on = |core: usize| {
            let here = |task: &&TaskConfig| task.home.is_none_or(|home| home.index() == core);
            self.tasks.iter().filter(here).any(|task| task.stands)
        };
        (0..self.cores.len()).filter(|&core| lives_on(core)).map(|core| CoreId(core as u16)).collect()
    }

    /// The cores whose budgets depend on one another: all that are regulated where they share what is left over, give it away or
    /// divide the guaranteed bandwidth by weight; none where each has what it has.
    pub fn joined(&self) -> CoreSet {
        let all = || (0..self.cores.len()).map(|core| CoreId(core as u16));
        let by_weight =
            |own: &PerDirection<Allowance>| own.0.iter().any(|own| matches!(own, Allowance::Weight(_)));
        let steps = self.steps.iter().map(|step| &step.cores);
        let weighs =
            core::iter::once(&self.cores).chain(steps).any(|own| own.iter().flatten().any(by_weight));
        let alone = self.sharing == Sharing::None && self.reclaim == Reclaim::Off && !weighs;
        all().filter(|&core| !alone && self.regulates(core)).collect()
    }

    /// True where `core` is regulated.
    pub fn regulates(&self, core: CoreId) -> bool {
        self.cores.get(core.index()).is_some_and(Option::is_some)
    }
}

/// What each core of the machine may use; `None` for a core that is not regulated.
fn allowances(regulation: &Regulation, machine: &Machine) -> Vec<Option<PerDirection<Allowance>>> {
    let allow = |budget| Allowance::of(budget, regulation, machine.line);
    let mut cores = alloc::vec![None; machine.cores];
    for entry in &regulation.cores {
        let reads = allow(entry.budget);
        let writes = entry.writes.map_or(reads.halved(), allow);
        if let Some(core) = cores.get_mut(entry.core.index()) {
            *core = Some(PerDirection([reads, writes]));
        }
    }
    cores
}
