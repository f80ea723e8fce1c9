//! What the kernel keeps of budgets: the enforcer, the counters that it has by the plan, whom it stopped.

use crate::config::CounterWish;
use alloc::vec::Vec;
use solo_hal::{CounterId, Machine};
use solo_isolate::Regulator;
use solo_isolate::enforce::{Actions, Enforcer, Event};
use solo_isolate::regulator::{
    Config, Conservation, CounterValue, DIRECTIONS, Direction, LateCores, PerDirection, PeriodReport,
    Rebudgeted,
};
use solo_model::record::{BudgetRecord, ConservationRecord, RegulationRecord};
use solo_model::{Caps, CoreId, CoreSet, Events, Instant, TaskId, ThreadId};
use solo_observe::plan::{CounterPlan, PlanError, User};
use solo_schedule::PolicyRefusal;

/// The enforcer and what the kernel keeps for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Regulation {
    enforcer: Enforcer,
    /// The counter of each direction, by the plan.
    counters: PerDirection<CounterId>,
    /// The thread that was on each core when it was stopped.
    stopped: Vec<Option<ThreadId>>,
    /// Requests to counters that were refused.
    refused: u64,
}

/// Who has which counter: budgets first, then the others in their order.
pub(crate) fn plan_counters(
    regulation: Option<&Config>,
    others: &[CounterWish],
    caps: &Caps,
) -> Result<CounterPlan, PolicyRefusal> {
    let mut plan = CounterPlan::new(caps);
    let refusal = |error| match error {
        PlanError::TooFew { needed, taken, counters, .. } => {
            PolicyRefusal::TooFewCounters { needed, taken, counters }
        }
        PlanError::NoOverflow { .. } => PolicyRefusal::NoCounterOverflow,
        PlanError::Twice { .. } => PolicyRefusal::CountedTwice,
    };
    if let Some(config) = regulation {
        let directions = config.directions.min(DIRECTIONS);
        plan.ask(User::Regulator, &config.events.0[..directions], true).map_err(refusal)?;
    }
    for wish in others {
        plan.ask_in_turns(wish.user, &wish.sets, wish.interrupt).map_err(refusal)?;
    }
    Ok(plan)
}

impl Regulation {
    pub(crate) fn new(config: Config, plan: &CounterPlan) -> Self {
        let cores = config.cores.len();
        let mut counters = PerDirection([CounterId(0); DIRECTIONS]);
        for (direction, assigned) in Direction::ALL.into_iter().zip(plan.of(User::Regulator)) {
            counters[direction] = assigned.counter;
        }
        Self { enforcer: Enforcer::new(config), counters, stopped: alloc::vec![None; cores], refused: 0 }
    }

    pub(crate) fn count_from(&mut self, epoch: Instant) {
        self.enforcer.count_from(epoch);
    }

    fn directions(&self) -> impl Iterator<Item = Direction> + use<> {
        Direction::ALL.into_iter().take(self.enforcer.regulator().config().directions)
    }

    /// What the counters of a core stand at.
    fn readings<M: Machine>(&mut self, m: &M, core: CoreId) -> PerDirection<CounterValue> {
        let mut readings = PerDirection([CounterValue::default(); DIRECTIONS]);
        for direction in self.directions() {
            match m.read(core, self.counters[direction]) {
                Ok(value) => readings[direction] = CounterValue(value),
                Err(_) => self.refused += 1,
            }
        }
        readings
    }

    /// What became of the sum of reservations until `now`; nothing where no core of `own` is regulated.
    pub(crate) fn conserved(&self, now: Instant, own: CoreSet) -> Option<ConservationRecord> {
        let regulator = self.enforcer.regulator();
        let Conservation { periods, exempt, violations, worst_excess, overdraft } = regulator.conservation();
        let record = ConservationRecord { at: now, periods, exempt, violations, worst_excess, overdraft };
        own.iter().any(|core| regulator.config().regulates(core)).then_some(record)
    }

    /// The regulator, to look at.
    pub(crate) fn regulator(&self) -> &Regulator {
        self.enforcer.regulator()
    }

    /// Tells the enforcer what has happened on `core`, whose counters are read.
    #[inline(never)] // once, not for each criterion
    pub(crate) fn hear<M: Machine>(&mut self, m: &M, core: CoreId, now: Instant, event: Event) -> Actions {
        let readings = self.readings(m, core);
        self.enforcer.on(now, core, readings, event)
    }

    /// Lets the counter of a direction interrupt after so many events; never, where there is no number.
    #[inline(never)] // once, not for each criterion
    pub(crate) fn arm<M: Machine>(
        &mut self,
        m: &mut M,
        core: CoreId,
        direction: Direction,
        events: Option<Events>,
    ) {
        let events = events.map_or(u64::MAX, Events::get);
        let done = m.interrupt_after(core, self.counters[direction], events);
        self.note(done.is_ok());
    }

    /// Notes whether the machine did what a counter was asked to do.
    pub(crate) fn note(&mut self, done: bool) {
        self.refused += u64::from(!done);
    }

    /// Requests to counters that were refused.
    pub(crate) fn refused(&self) -> u64 {
        self.refused
    }

    /// `core` is stopped, and `thread` was on it.
    pub(crate) fn stop(&mut self, core: CoreId, thread: Option<ThreadId>) {
        self.stopped[core.index()] = thread;
    }

    /// The thread that was on `core` when it was stopped; asked once.
    pub(crate) fn take_stopped(&mut self, core: CoreId) -> Option<ThreadId> {
        self.stopped[core.index()].take()
    }

    /// True where a period is over for `core`, or it was let go.
    pub(crate) fn is_due(&self, core: CoreId, now: Instant) -> bool {
        self.enforcer.is_due(core, now)
    }

    /// True where `core` has used up its budget.
    pub(crate) fn is_stopped(&self, core: CoreId) -> bool {
        self.enforcer.is_stopped(core)
    }

    /// The first task from number `from` on that may go on, told once.
    pub(crate) fn freed(&mut self, from: usize) -> Option<TaskId> {
        self.enforcer.freed(from)
    }

    /// The cores that have not come into the period.
    pub(crate) fn late_cores(&self, now: Instant) -> LateCores {
        self.enforcer.late_cores(now)
    }

    /// When the core has to look in next.
    pub(crate) fn boundary(&self) -> Instant {
        self.enforcer.boundary()
    }
}

/// What a period's report says, as a record.
#[inline(never)] // once, not for each criterion
pub(crate) fn record_of(report: &PeriodReport) -> RegulationRecord {
    RegulationRecord {
        at: report.to,
        since: report.from,
        core: report.core,
        period: report.period,
        used: report.used.0,
        reserved: report.reserved.0,
        predicted: report.predicted.0,
        donated: report.donated.0,
        reclaimed: report.reclaimed.0,
        throttled: report.throttled,
        shared: report.shared,
        lost_overflow: report.lost_overflow,
    }
}

/// A change of a core's reservation, as a record.
#[inline(never)] // once, not for each criterion
pub(crate) fn change_of(change: &Rebudgeted) -> BudgetRecord {
    let Rebudgeted { at, core, period, before, reserved } = *change;
    BudgetRecord { at, core, period, before: before.0, reserved: reserved.0 }
}
