//! What the regulator remembers of a core, a task and a period.

use super::ledger::{LEDGERS, Ledger, PerLedger};
use super::predict::Predictor;
use super::{Config, Gate, Reading};
use solo_model::{CoreId, Duration, Events, Instant, TaskId};

/// A core's part of a period that is over.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PeriodReport {
    /// The core.
    pub core: CoreId,
    /// The number of the period, from 1.
    pub period: u64,
    /// When it began on this core.
    pub from: Instant,
    /// When the core began the next one.
    pub to: Instant,
    /// What it used.
    pub used: PerLedger<Events>,
    /// What it had reserved.
    pub reserved: PerLedger<Events>,
    /// What it was expected to use.
    pub predicted: PerLedger<Events>,
    /// What it gave away at the start.
    pub donated: PerLedger<Events>,
    /// What it took of others' or of its own gift.
    pub reclaimed: PerLedger<Events>,
    /// How long it was throttled.
    pub throttled: Duration,
    /// It was released before the period was over because all cores were exhausted.
    pub shared: bool,
    /// It used more than its limit and than may be under way: an overflow interrupt was lost or late.
    pub lost_overflow: bool,
}

/// What has happened on a core since the start.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CoreAccount {
    /// Periods that ended.
    pub periods: u64,
    /// Of these, periods in which it was throttled.
    pub throttled_periods: u64,
    /// How long it was throttled.
    pub throttled: Duration,
    /// Overflow interrupts.
    pub overflows: u64,
    /// Overflow interrupts that came before the limit was reached: answered by arming the rest.
    pub stale_overflows: u64,
    /// Periods in which more was used than allowed: an overflow interrupt was lost or late.
    pub lost_overflows: u64,
    /// Periods that the core's timer missed.
    pub overruns: u64,
    /// Events given away.
    pub donated: Events,
    /// Events taken back or taken from others.
    pub reclaimed: Events,
    /// Times that it needed what it had given away and nobody had it any more.
    pub wrong_donations: u64,
    /// Of its use in those periods, how much was missing: tenths of the reservation.
    pub missing_tenths: [u32; 10],
    /// Sum of the differences between predicted and actual use.
    pub prediction_error: Events,
}

/// What the regulator remembers of a core.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct CoreState {
    /// The period it is in; 0 before it has begun any.
    pub(crate) period: u64,
    /// The counters when its period began.
    pub(crate) base: PerLedger<Reading>,
    pub(crate) limit: PerLedger<Events>,
    pub(crate) fraction: PerLedger<u64>,
    pub(crate) debt: PerLedger<Events>,
    pub(crate) predictors: PerLedger<Predictor>,
    pub(crate) wrong: PerLedger<bool>,
    pub(crate) gate: Gate,
    pub(crate) stopped: Instant,
    pub(crate) occupant: Option<TaskId>,
    /// The counters when its occupant was last charged.
    pub(crate) charged: PerLedger<Reading>,
    pub(crate) report: PeriodReport,
    pub(crate) account: CoreAccount,
}

impl CoreState {
    pub(crate) fn new(config: &Config, core: usize) -> Self {
        let predictor = || Predictor::new(&config.prediction, core);
        Self {
            period: 0,
            base: PerLedger::default(),
            limit: PerLedger([Events::MAX; LEDGERS]),
            fraction: PerLedger::default(),
            debt: PerLedger::default(),
            predictors: PerLedger([predictor(), predictor()]),
            wrong: PerLedger::default(),
            gate: Gate::Open,
            stopped: Instant::ZERO,
            occupant: None,
            charged: PerLedger::default(),
            report: PeriodReport { core: CoreId(core as u16), ..PeriodReport::default() },
            account: CoreAccount::default(),
        }
    }

    /// Opens the gate at `now`; how long it was closed.
    pub(crate) fn open(&mut self, now: Instant) -> Duration {
        if self.gate == Gate::Open {
            return Duration::ZERO;
        }
        self.gate = Gate::Open;
        let closed = now.since(self.stopped);
        self.report.throttled += closed;
        self.account.throttled += closed;
        closed
    }

    pub(crate) fn take(&mut self, ledger: Ledger, events: Events) {
        self.limit[ledger] = self.limit[ledger].saturating_add(events);
        self.report.reclaimed[ledger] += events;
        self.account.reclaimed = self.account.reclaimed.saturating_add(events);
    }
}

/// What a task has used in its current period.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct TaskState {
    pub(crate) period: u64,
    pub(crate) used: PerLedger<Events>,
}
