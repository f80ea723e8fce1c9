//! The bandwidth regulator (MemGuard): budgets in events, counted by hardware, enforced by stopping cores.
//!
//! ```text
//!                     ┌────────────── begin of a period ──────────────┐
//!                     ▼                                               │
//!   counting ──overflow──▶ ask: own gift, pool, peers ──nothing──▶ throttled
//!      ▲                        │ some                              │   │
//!      └────────────────────────┘          all active throttled ────┘   │
//!                                          spare: nobody is regulated   │
//!                                          proportional: a new period ──┘
//! ```
//!
//! A machine calls it with what happened, the time and the counters, and carries the [`Decision`] out: program
//! the overflows, stop or run the core, interrupt other cores so that they look in ([`on_period`](Regulator::on_period)). One
//! value regulates all cores, so that who is exhausted is compared in one place: two cores that throttle in the
//! same instant cannot miss each other. Periods need no master core: whoever comes first after a period's end
//! begins the next one for all, and each core begins its own part when its timer, an overflow or a request
//! brings it here. Of the [`LateCores`] that somebody has to interrupt, a throttled core would otherwise depend on its
//! own timer alone: were that interrupt lost, nothing else would ever bring it here.
//!
//! Published faults that this does not have, each with a test in `tests/faults.rs`: a donor that spends its
//! gift again, grants that never reach the counter, sharing that an idle core blocks, write-only use that
//! nobody sees, limits above the guaranteed bandwidth, percentages turned upside down, two last cores that miss
//! each other.

mod book;
pub mod budget;
mod config;
mod direction;
mod pool;
mod predict;
mod reclaim;
mod state;
mod weights;

pub use book::Conservation;
pub use config::{Allowance, Config, Machine, Step, TaskConfig};
pub use direction::{DIRECTIONS, Direction, PerDirection};
pub use predict::Predictor;
pub use state::{CoreAccount, PeriodReport, Rebudgeted};

use alloc::vec::Vec;
use book::Book;
use pool::Pool;
use solo_model::isolation::{Donation, Reclaim, Sharing};
use solo_model::{CoreId, CoreSet, Duration, Events, Instant, TaskId};
use state::{CoreState, TaskState};
use weights::Weights;

/// The value of a counter, modulo its width.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CounterValue(pub u64);

/// What a core must not run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Throttle {
    /// It runs what it likes.
    Off,
    /// It runs nothing until the next period.
    Core,
    /// It runs anything but this task until the next period.
    Task(TaskId),
}

/// What a core does about an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub struct Decision {
    /// What it must not run.
    pub throttle: Throttle,
    /// After how many more events each counter interrupts; `None` for not at all. Replaces what was programmed,
    /// and counts from this reading.
    pub arm: PerDirection<Option<Events>>,
    /// Cores to interrupt, so that they look in.
    pub call: CoreSet,
    /// The part of a period that has ended.
    pub report: Option<PeriodReport>,
    /// The core was throttled until now, since then.
    pub reopened: Option<Instant>,
    /// The core begins a period with another reservation than before, for it was changed.
    pub rebudgeted: Option<Rebudgeted>,
    /// By how much the time slice of the thread that was throttled is to be shortened.
    pub charge: Duration,
}

/// Cores that have not begun the current period.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct LateCores {
    /// Throttled in the period before: one request lets them go on, should their timers not come.
    pub throttled: CoreSet,
    /// They have missed a whole period, throttled or not: a timer was lost, and a request may have been lost, too.
    pub overdue: CoreSet,
}

/// The regulator of all cores of a machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Regulator {
    config: Config,
    cores: Vec<CoreState>,
    tasks: Vec<TaskState>,
    regulated: CoreSet,
    /// The number of the current period, from 1, and when it began.
    period: u64,
    began: Instant,
    /// The number of the one before; not always one less, for periods that no core saw are numbered too.
    previous: u64,
    /// When the first period began.
    start: Instant,
    /// How many of the configuration's steps hold.
    steps: usize,
    /// When the first period begins, where that is not to be when the first core comes.
    origin: Option<Instant>,
    /// What cores have in common.
    pool: Pool,
    /// Cores that have their share of the weights also while they are idle.
    standing: CoreSet,
    /// How the guaranteed bandwidth is divided by weight.
    weights: Weights,
    book: Book,
}

impl Regulator {
    /// The state that is kept of each core, in bytes.
    pub const BYTES_PER_CORE: usize = size_of::<CoreState>();

    /// A regulator with all its memory; periods count from the first [`on_period`](Self::on_period).
    pub fn new(config: Config) -> Self {
        let regulated = (0..config.cores.len()).map(|core| CoreId(core as u16));
        Self {
            regulated: regulated.filter(|&core| config.regulates(core)).collect(),
            pool: Pool::new(config.cores.len()),
            standing: config.standing(),
            cores: (0..config.cores.len()).map(|core| CoreState::new(&config, core)).collect(),
            tasks: alloc::vec![TaskState::default(); config.tasks.len()],
            config,
            period: 0,
            began: Instant::ZERO,
            previous: 0,
            start: Instant::ZERO,
            steps: 0,
            origin: None,
            weights: Weights::default(),
            book: Book::default(),
        }
    }

    /// Lets periods count from `origin`, and not from the first [`on_period`](Self::on_period), which comes later.
    pub fn count_from(&mut self, origin: Instant) {
        self.origin = Some(origin);
    }

    /// The task in `slot` is one of these wishes from here on; false where there is no such slot. What was used in this period stays
    /// used.
    pub fn join(&mut self, slot: TaskId, task: TaskConfig) -> bool {
        let Some(entry) = self.config.tasks.get_mut(slot.index()) else { return false };
        *entry = task;
        self.config.settle_idle_gifts();
        self.standing = self.config.standing();
        true
    }

    /// Nobody is in `slot` any more.
    pub fn leave(&mut self, slot: TaskId) {
        if self.join(slot, TaskConfig::NONE) {
            self.tasks[slot.index()] = TaskState::default();
        }
    }

    /// From the next period that it begins on, `core` may use this much, until a [step](Step) of the configuration says otherwise.
    /// False where it is not regulated: then nothing has changed.
    pub fn allow(&mut self, core: CoreId, allowances: PerDirection<Allowance>) -> bool {
        let own = self.config.cores.get_mut(core.index()).and_then(Option::as_mut);
        own.map(|own| *own = allowances).is_some()
    }

    /// What it was built from.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// When the current period ends: every regulated core must look in then.
    pub fn next_boundary(&self) -> Instant {
        self.began + self.config.period
    }

    /// True where `core` has to look in at `now`: a period has ended, another core has begun a new one, or it
    /// was released.
    pub fn is_due(&self, core: CoreId, now: Instant) -> bool {
        let Some(state) = self.cores.get(core.index()) else { return false };
        let freed = state.throttle == Throttle::Core && !self.pool.throttled().contains(core);
        self.period == 0 || now >= self.next_boundary() || state.period != self.period || freed
    }

    /// The cores that a lost timer interrupt would keep from the current period: whoever begins a period interrupts
    /// them. Those that come by themselves in the same instant are told needlessly.
    pub fn late_cores(&self, now: Instant) -> LateCores {
        let mut late_cores = LateCores::default();
        for state in self.cores.iter().filter(|state| state.period != 0 && state.period < self.period) {
            let core = state.report.core;
            let overdue =
                state.period < self.previous && now.since(state.report.from) >= self.config.period * 2;
            if overdue {
                late_cores.overdue = late_cores.overdue.with(core);
            } else if state.throttle == Throttle::Core {
                late_cores.throttled = late_cores.throttled.with(core);
            }
        }
        late_cores
    }

    /// The cores that are throttled in this period.
    pub fn throttled(&self) -> CoreSet {
        self.pool.throttled()
    }
    /// What happened on a core so far.
    pub fn account(&self, core: CoreId) -> Option<&CoreAccount> {
        self.cores.get(core.index()).map(|state| &state.account)
    }
    /// What became of conservation so far.
    pub fn conservation(&self) -> Conservation {
        self.book.result()
    }
    /// Gifts in this period that nobody has taken yet.
    pub fn unclaimed(&self, direction: Direction) -> Events {
        self.pool.unclaimed(direction)
    }
    /// What a core may use in this period as things stand.
    pub fn limit(&self, core: CoreId, direction: Direction) -> Option<Events> {
        self.cores.get(core.index()).map(|state| state.limit[direction])
    }

    /// `core` looks whether a new period has begun or it was released. Nothing happens where neither is so.
    pub fn on_period(
        &mut self,
        core: CoreId,
        now: Instant,
        counters: PerDirection<CounterValue>,
    ) -> Decision {
        if core.index() >= self.cores.len() {
            return self.decision(core, counters);
        }
        if self.period == 0 || now >= self.next_boundary() {
            self.roll(now);
        }
        if self.cores[core.index()].period != self.period {
            return self.begin(core, now, counters);
        }
        let since = self.cores[core.index()].stopped;
        let freed =
            self.cores[core.index()].throttle == Throttle::Core && !self.pool.throttled().contains(core);
        let closed = if freed { self.cores[core.index()].open(now) } else { Duration::ZERO };
        let mut decision = self.decision(core, counters);
        if freed {
            decision.reopened = Some(since);
            decision.charge = self.charge(closed);
        }
        decision
    }

    /// A counter of `core` has overflowed.
    pub fn overflow(&mut self, core: CoreId, now: Instant, counters: PerDirection<CounterValue>) -> Decision {
        let Some(state) = self.cores.get_mut(core.index()) else { return self.decision(core, counters) };
        state.account.overflows += 1;
        self.look(core, now, counters, true)
    }

    /// The counters of `core` were read although none has overflowed: for machines whose counters don't interrupt in time.
    pub fn reading(&mut self, core: CoreId, now: Instant, counters: PerDirection<CounterValue>) -> Decision {
        if core.index() >= self.cores.len() {
            return self.decision(core, counters);
        }
        self.look(core, now, counters, false)
    }

    /// Whether the core has used up what it may.
    fn look(
        &mut self,
        core: CoreId,
        now: Instant,
        counters: PerDirection<CounterValue>,
        overflow: bool,
    ) -> Decision {
        if self.is_due(core, now) {
            return self.on_period(core, now, counters);
        }
        self.charge_occupant(core, counters);
        if self.pool.is_released() || self.cores[core.index()].throttle == Throttle::Core {
            return self.decision(core, counters);
        }
        let mut stale = overflow;
        for direction in self.directions() {
            let used = self.used(core, direction, counters);
            if used < self.cores[core.index()].limit[direction] {
                continue;
            }
            stale = false;
            if !self.extend(core, direction, used) {
                return self.throttle(core, now, counters);
            }
        }
        if let Some(task) = self.exhausted_task(core) {
            let state = &mut self.cores[core.index()];
            state.throttle = Throttle::Task(task);
            state.stopped = now;
        } else {
            self.cores[core.index()].account.stale_overflows += u64::from(stale);
        }
        self.decision(core, counters)
    }

    /// `core` goes on with another task, or with none. Use up to here is charged to the task it leaves.
    ///
    /// A core that is throttled keeps its occupant and is not switched.
    pub fn switched(
        &mut self,
        core: CoreId,
        now: Instant,
        counters: PerDirection<CounterValue>,
        occupant: Option<TaskId>,
    ) -> Decision {
        if core.index() >= self.cores.len() {
            return self.decision(core, counters);
        }
        self.charge_occupant(core, counters);
        let state = &mut self.cores[core.index()];
        state.occupant = occupant;
        if matches!(state.throttle, Throttle::Task(task) if Some(task) != occupant) {
            state.open(now);
        }
        if occupant.is_some() && !self.pool.active().contains(core) {
            self.wake(core);
        }
        self.pool.set_active(core, occupant.is_some());
        if occupant.is_none() && self.pool.all_exhausted(self.regulated) {
            return self.share(core, now, counters);
        }
        if let Some(task) = self.exhausted_task(core) {
            let state = &mut self.cores[core.index()];
            state.throttle = Throttle::Task(task);
            state.stopped = now;
        }
        self.decision(core, counters)
    }

    /// True where `task` may not run before the next period, on any core.
    pub fn is_exhausted(&self, task: TaskId) -> bool {
        let limit = self.config.tasks.get(task.index()).and_then(|task| task.limit);
        let (Some(limit), Some(state)) = (limit, self.tasks.get(task.index())) else { return false };
        let over = |direction: &Direction| state.used[*direction] >= limit[*direction];
        !self.pool.is_released()
            && state.period == self.period
            && self.directions().any(|direction| over(&direction))
    }

    /// The directions in use.
    fn directions(&self) -> impl Iterator<Item = Direction> + use<> {
        Direction::ALL.into_iter().take(self.config.directions)
    }

    /// What `core` has used since its period began. Counters wrap.
    fn used(&self, core: CoreId, direction: Direction, counters: PerDirection<CounterValue>) -> Events {
        self.between(self.cores[core.index()].base[direction], counters[direction])
    }

    fn between(&self, from: CounterValue, to: CounterValue) -> Events {
        let width = u32::from(self.config.counter_width);
        let mask = if width >= u64::BITS { u64::MAX } else { (1 << width) - 1 };
        Events::new(to.0.wrapping_sub(from.0) & mask)
    }

    /// Begins the period that `now` lies in, for all.
    fn roll(&mut self, now: Instant) {
        if self.period == 0 {
            self.began = self.origin.unwrap_or(now);
            self.start = self.began;
        }
        let elapsed = now.since(self.began) / self.config.period;
        let first = u64::from(self.period == 0);
        self.open_period(elapsed + first, self.began + self.config.period * elapsed);
    }

    fn open_period(&mut self, elapsed: u64, began: Instant) {
        self.previous = self.period;
        self.period += elapsed;
        self.began = began;
        self.take_steps();
        self.pool.open();
        self.weights.open(&self.config, self.standing.or(self.pool.active()));
        self.book.open(self.period);
    }

    /// Budgets that were to change until the period under way begins, change now, for all cores together: each takes its own when it
    /// begins its part.
    fn take_steps(&mut self) {
        let (config, since) = (&mut self.config, self.began.since(self.start));
        while let Some(step) = config.steps.get_mut(self.steps).filter(|step| step.at <= since) {
            core::mem::swap(&mut config.cores, &mut step.cores);
            config.guaranteed = step.guaranteed;
            self.steps += 1;
        }
    }

    /// Whether the reservation of `core`, which begins its part of a period, was changed since the last that it began.
    fn rebudgeted(&self, core: CoreId, now: Instant, reserved: PerDirection<Events>) -> Option<Rebudgeted> {
        let state = &self.cores[core.index()];
        let named =
            self.config.steps.get(state.steps..self.steps)?.iter().any(|step| step.named.contains(core));
        let before = state.report.reserved;
        (named && state.period != 0).then_some(Rebudgeted {
            at: now,
            core,
            period: self.period,
            before,
            reserved,
        })
    }

    /// `core` begins its part of the current period.
    fn begin(&mut self, core: CoreId, now: Instant, counters: PerDirection<CounterValue>) -> Decision {
        self.charge_occupant(core, counters);
        let report = self.close(core, now, counters);
        let donates = self.donation(core);
        let mut reserved = PerDirection::default();
        for direction in self.directions() {
            reserved[direction] = self.reservation(core, direction);
            self.predict(core, direction, &report, reserved[direction], donates);
        }
        if self.regulated.contains(core) {
            self.book.begin(self.period, reserved, self.config.in_flight);
        }
        let rebudgeted = self.rebudgeted(core, now, reserved);
        let steps = self.steps;
        let state = &mut self.cores[core.index()];
        let since = state.stopped;
        let was_closed = state.throttle != Throttle::Off;
        let charge = report.map_or(Duration::ZERO, |report| report.throttled);
        state.open(now);
        state.period = self.period;
        state.steps = steps;
        state.base = counters;
        state.wrong = PerDirection::default();
        state.report.period = self.period;
        state.report.from = now;
        state.report.reserved = reserved;
        state.report.reclaimed = PerDirection::default();
        state.report.throttled = Duration::ZERO;
        state.report.shared = self.pool.is_released();
        let charge = if was_closed { self.charge(charge) } else { Duration::ZERO };
        let reopened = was_closed.then_some(since);
        Decision { report, reopened, charge, rebudgeted, ..self.decision(core, counters) }
    }

    /// Ends a core's part of the period it was in; `None` for its first period.
    fn close(
        &mut self,
        core: CoreId,
        now: Instant,
        counters: PerDirection<CounterValue>,
    ) -> Option<PeriodReport> {
        let current = self.period;
        let mut used = PerDirection::default();
        for direction in self.directions() {
            used[direction] = self.used(core, direction, counters);
        }
        let in_flight = self.config.in_flight;
        let (regulated, directions) = (self.regulated.contains(core), self.directions());
        let state = &mut self.cores[core.index()];
        if state.period == 0 {
            return None;
        }
        let mut report = state.report;
        if state.throttle != Throttle::Off {
            report.throttled += now.since(state.stopped);
        }
        report.to = now;
        report.used = used;
        for direction in directions {
            let over = used[direction].saturating_sub(state.limit[direction]);
            report.lost_overflow |= regulated && !report.shared && over > in_flight;
            if self.config.carry_over && !report.shared {
                state.debt[direction] += over;
            }
        }
        let account = &mut state.account;
        account.periods += 1;
        account.throttled_periods += u64::from(!report.throttled.is_zero());
        account.lost_overflows += u64::from(report.lost_overflow);
        account.overruns += current - state.period - 1;
        if regulated {
            self.book.close(state.period, used, true);
        }
        Some(report)
    }

    /// What a core reserves in the period that begins, debts and fractions included; at least one event.
    fn reservation(&mut self, core: CoreId, direction: Direction) -> Events {
        let Some(allowance) = self.config.cores[core.index()].map(|own| own[direction]) else {
            return Events::MAX;
        };
        let state = &mut self.cores[core.index()];
        let whole = match allowance {
            Allowance::Fixed { events, fraction } if self.config.carry_over => {
                let sum = state.fraction[direction] + fraction;
                state.fraction[direction] = sum % 1_000_000_000;
                events.saturating_add(Events::new(sum / 1_000_000_000))
            }
            Allowance::Fixed { events, .. } => events,
            Allowance::Weight(weight) => self.weights.share(&self.config, core, direction, weight),
        };
        let left = whole.saturating_sub(state.debt[direction]).max(Events::new(1));
        state.debt[direction] = state.debt[direction].saturating_sub(whole.saturating_sub(left));
        left
    }

    /// `core` has something to run in a period that began without it: by weight it gets its part of what nobody holds.
    fn wake(&mut self, core: CoreId) {
        if self.cores[core.index()].period != self.period {
            return;
        }
        let granted = self.weights.wake(&self.config, core);
        for direction in self.directions() {
            let state = &mut self.cores[core.index()];
            // Without a share it had one event already.
            let more = granted[direction].saturating_sub(state.report.reserved[direction]);
            state.limit[direction] = state.limit[direction].saturating_add(more);
            state.report.reserved[direction] = state.report.reserved[direction].saturating_add(more);
            self.book.raise(self.period, direction, more);
        }
    }

    /// Predicts a core's use, gives away what it will not need, and sets its limit.
    fn predict(
        &mut self,
        core: CoreId,
        direction: Direction,
        last: &Option<PeriodReport>,
        reserved: Events,
        donates: Donation,
    ) {
        let state = &mut self.cores[core.index()];
        let mut expected = Events::ZERO;
        if let Some(last) = last {
            let used = last.used[direction];
            let error = Events::new(last.predicted[direction].get().abs_diff(used.get()));
            state.account.prediction_error = state.account.prediction_error.saturating_add(error);
            expected = state.predictors[direction].next(used);
            let missing = last.reserved[direction].saturating_sub(used);
            if state.wrong[direction] && !missing.is_zero() {
                // It gave too much away: this time it gives nothing (error compensation of 2013).
                let tenth =
                    u128::from(missing.get()) * 10 / u128::from(last.reserved[direction].get().max(1));
                state.account.missing_tenths[tenth.min(9) as usize] += 1;
                expected = reserved.saturating_add(missing);
            }
        }
        let surplus = match donates {
            _ if last.is_none() || self.config.reclaim == Reclaim::Off || reserved == Events::MAX => {
                Events::ZERO
            }
            Donation::Nothing => Events::ZERO,
            Donation::Surplus => reserved.saturating_sub(expected),
            Donation::Everything => reserved,
        };
        let gift = surplus.min(reserved.saturating_sub(Events::new(1)));
        state.report.predicted[direction] = expected;
        state.report.donated[direction] = gift;
        state.account.donated = state.account.donated.saturating_add(gift);
        state.limit[direction] = reserved.saturating_sub(gift);
        match self.config.reclaim {
            Reclaim::Off => {}
            Reclaim::Pool => self.pool.give(direction, gift),
            Reclaim::Peers => self.pool.offer(core, direction, gift),
        }
    }

    /// What the core gives away: by its occupant, which a throttled core keeps.
    pub(super) fn donation(&self, core: CoreId) -> Donation {
        match self.cores[core.index()].occupant {
            Some(task) => self.config.tasks.get(task.index()).map_or(Donation::Surplus, |task| task.donates),
            None => self.config.idle_donates.get(core.index()).copied().unwrap_or(Donation::Surplus),
        }
    }

    fn throttle(&mut self, core: CoreId, now: Instant, counters: PerDirection<CounterValue>) -> Decision {
        let state = &mut self.cores[core.index()];
        state.throttle = Throttle::Core;
        state.stopped = now;
        self.pool.throttle(core);
        if self.pool.all_exhausted(self.regulated) {
            return self.share(core, now, counters);
        }
        self.decision(core, counters)
    }

    /// All active cores are exhausted.
    fn share(&mut self, core: CoreId, now: Instant, counters: PerDirection<CounterValue>) -> Decision {
        let others = self.pool.throttled().without(core);
        match self.config.sharing {
            Sharing::None => self.decision(core, counters),
            Sharing::Spare => {
                self.pool.release();
                self.book.exempt(self.period);
                self.cores.iter_mut().for_each(|state| state.report.shared = true);
                self.cores[core.index()].open(now);
                Decision { call: others, ..self.decision(core, counters) }
            }
            Sharing::Proportional => {
                // The caller too, unless it has only just become idle and shares what the others have left.
                let exhausted = self.pool.throttled();
                self.cores
                    .iter_mut()
                    .for_each(|state| state.report.shared |= exhausted.contains(state.report.core));
                self.open_period(1, now);
                Decision { call: others, ..self.begin(core, now, counters) }
            }
        }
    }

    fn charge(&self, throttled: Duration) -> Duration {
        let charge = u128::from(throttled.get()) * u128::from(self.config.charge_per_mille) / 1000;
        Duration::new(u64::try_from(charge).unwrap_or(u64::MAX))
    }

    /// Charges what was used since the last look to the task on the core.
    fn charge_occupant(&mut self, core: CoreId, counters: PerDirection<CounterValue>) {
        let before = core::mem::replace(&mut self.cores[core.index()].charged, counters);
        let Some(task) = self.cores[core.index()].occupant else { return };
        for direction in self.directions() {
            let more = self.between(before[direction], counters[direction]);
            let Some(state) = self.tasks.get_mut(task.index()) else { return };
            if state.period != self.period {
                *state = TaskState { period: self.period, used: PerDirection::default() };
            }
            state.used[direction] = state.used[direction].saturating_add(more);
        }
    }

    fn exhausted_task(&self, core: CoreId) -> Option<TaskId> {
        self.cores[core.index()].occupant.filter(|&task| self.is_exhausted(task))
    }

    /// What the core does as things stand.
    fn decision(&self, core: CoreId, counters: PerDirection<CounterValue>) -> Decision {
        let mut arm = PerDirection([None; DIRECTIONS]);
        let throttle = self.cores.get(core.index()).map_or(Throttle::Off, |state| state.throttle);
        if throttle == Throttle::Off && !self.pool.is_released() && core.index() < self.cores.len() {
            for direction in self.directions() {
                arm[direction] = self.room(core, direction, counters);
            }
        }
        Decision {
            throttle,
            arm,
            call: CoreSet::EMPTY,
            report: None,
            reopened: None,
            rebudgeted: None,
            charge: Duration::ZERO,
        }
    }

    /// How many more events may happen before somebody has to be asked; at least one, `None` without limit.
    fn room(
        &self,
        core: CoreId,
        direction: Direction,
        counters: PerDirection<CounterValue>,
    ) -> Option<Events> {
        let state = &self.cores[core.index()];
        let limit = Some(state.limit[direction]).filter(|&limit| limit != Events::MAX);
        let own = limit.map(|limit| limit.saturating_sub(self.used(core, direction, counters)));
        let of_task = state.occupant.and_then(|task| {
            let limit = self.config.tasks.get(task.index())?.limit?[direction];
            let used = self.tasks.get(task.index()).filter(|state| state.period == self.period);
            Some(limit.saturating_sub(used.map_or(Events::ZERO, |state| state.used[direction])))
        });
        own.into_iter().chain(of_task).min().map(|room| room.max(Events::new(1)))
    }
}
