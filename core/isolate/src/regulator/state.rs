//! What the regulator remembers of a core, a task and a period.

use super::direction::{DIRECTIONS, Direction, PerDirection};
use super::predict::Predictor;
use super::{Config, CounterValue, Throttle};
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
    pub used: PerDirection<Events>,
    /// What it had reserved.
    pub reserved: PerDirection<Events>,
    /// What it was expected to use.
    pub predicted: PerDirection<Events>,
    /// What it gave away at the start.
    pub donated: PerDirection<Events>,
    /// What it took of others' or of its own gift.
    pub reclaimed: PerDirection<Events>,
    /// How long it was throttled.
    pub throttled: Duration,
    /// It was released before the period was over because all cores were exhausted.
    pub shared: bool,
    /// It used more than its limit and than may be under way: an overflow interrupt was lost or late.
    pub lost_overflow: bool,
}

/// The reservation of a core is another from here on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rebudgeted {
    /// When the core began its part of the first period with it.
    pub at: Instant,
    /// The core.
    pub core: CoreId,
    /// The number of that period.
    pub period: u64,
    /// What it had reserved in the period before.
    pub before: PerDirection<Events>,
    /// What it has reserved in this one.
    pub reserved: PerDirection<Events>,
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
    /// How many changes of budgets it has seen.
    pub(crate) steps: usize,
    /// The counters when its period began.
    pub(crate) base: PerDirection<CounterValue>,
    pub(crate) limit: PerDirection<Events>,
    pub(crate) fraction: PerDirection<u64>,
    pub(crate) debt: PerDirection<Events>,
    pub(crate) predictors: PerDirection<Predictor>,
    pub(crate) wrong: PerDirection<bool>,
    pub(crate) throttle: Throttle,
    pub(crate) stopped: Instant,
    pub(crate) occupant: Option<TaskId>,
    /// The counters when its occupant was last charged.
    pub(crate) charged: PerDirection<CounterValue>,
    pub(crate) report: PeriodReport,
    pub(crate) account: CoreAccount,
}

impl CoreState {
    pub(crate) fn new(config: &Config, core: usize) -> Self {
        let predictor = || Predictor::new(&config.prediction, core);
        Self {
            period: 0,
            steps: 0,
            base: PerDirection::default(),
            limit: PerDirection([Events::MAX; DIRECTIONS]),
            fraction: PerDirection::default(),
            debt: PerDirection::default(),
            predictors: PerDirection([predictor(), predictor()]),
            wrong: PerDirection::default(),
            throttle: Throttle::Off,
            stopped: Instant::ZERO,
            occupant: None,
            charged: PerDirection::default(),
            report: PeriodReport { core: CoreId(core as u16), ..PeriodReport::default() },
            account: CoreAccount::default(),
        }
    }

    /// Ends the throttling at `now`; how long it lasted.
    pub(crate) fn open(&mut self, now: Instant) -> Duration {
        if self.throttle == Throttle::Off {
            return Duration::ZERO;
        }
        self.throttle = Throttle::Off;
        let closed = now.since(self.stopped);
        self.report.throttled += closed;
        self.account.throttled += closed;
        closed
    }

    pub(crate) fn take(&mut self, direction: Direction, events: Events) {
        self.limit[direction] = self.limit[direction].saturating_add(events);
        self.report.reclaimed[direction] += events;
        self.account.reclaimed = self.account.reclaimed.saturating_add(events);
    }
}

/// What a task has used in its current period.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct TaskState {
    pub(crate) period: u64,
    pub(crate) used: PerDirection<Events>,
}
