//! Budgets enforced: what happened goes in, what the machine has to do comes out.
//!
//! ```text
//!   Overflow, Period, Switched, Reading ──▶ Enforcer ──▶ Arm, Report, Rebudgeted, Resumed, Stop | Go | StopTask, Call, GoTasks
//! ```
//!
//! The [`Enforcer`] decides by its [`Regulator`] and remembers whom it has stopped, so that whoever carries its actions out needs no
//! memory of their own: a kernel that takes cores out of their domains, or a guard that stops threads of stock Linux. It reads no
//! counter and knows no clock; it allocates nothing after its construction.

mod actions;

pub use actions::{Action, Actions};

use crate::regulator::{
    Allowance, Config, CounterValue, LateCores, PerDirection, Regulator, TaskConfig, Throttle,
};
use alloc::vec::Vec;
use solo_model::{CoreId, CoreSet, Instant, TaskId};

/// What happened on a core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// One of its counters has overflowed.
    Overflow,
    /// It looks in because [`Enforcer::is_due`] says so: a period is over, or it was released.
    Period,
    /// It goes on with this task, or with none.
    Switched(Option<TaskId>),
    /// Its counters were read, and nothing else happened.
    Reading,
}

/// Budgets, and who is stopped for want of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Enforcer {
    regulator: Regulator,
    /// Cores that were told to stop and not to go on.
    stopped: CoreSet,
    /// Tasks that were told to stop, by slot, and how many they are.
    held: Vec<bool>,
    out: usize,
}

impl Enforcer {
    /// An enforcer with all its memory.
    pub fn new(config: Config) -> Self {
        let held = alloc::vec![false; config.tasks.len()];
        Self { regulator: Regulator::new(config), stopped: CoreSet::EMPTY, held, out: 0 }
    }

    /// Lets periods count from `origin`, and not from the first event, which comes later.
    pub fn count_from(&mut self, origin: Instant) {
        self.regulator.count_from(origin);
    }

    /// What decides.
    pub fn regulator(&self) -> &Regulator {
        &self.regulator
    }

    /// True where `core` has to look in: tell [`Event::Period`]. It is cheaper to ask than to read counters in vain.
    #[inline]
    pub fn is_due(&self, core: CoreId, now: Instant) -> bool {
        self.regulator.is_due(core, now)
    }

    /// When every core has to look in next.
    #[inline]
    pub fn boundary(&self) -> Instant {
        self.regulator.next_boundary()
    }

    /// True where `core` was told to stop and not to go on.
    pub fn is_stopped(&self, core: CoreId) -> bool {
        self.stopped.contains(core)
    }

    /// The cores that have not begun the current period; whoever begins it calls them.
    pub fn late_cores(&self, now: Instant) -> LateCores {
        self.regulator.late_cores(now)
    }

    /// As [`Regulator::allow`].
    pub fn allow(&mut self, core: CoreId, allowances: PerDirection<Allowance>) -> bool {
        self.regulator.allow(core, allowances)
    }

    /// A task with these wishes is in `slot` from here on; false where there is no such slot.
    pub fn join(&mut self, slot: TaskId, task: TaskConfig) -> bool {
        self.regulator.join(slot, task)
    }

    /// Nobody is in `slot` any more.
    pub fn leave(&mut self, slot: TaskId) {
        self.regulator.leave(slot);
        self.unhold(slot);
    }

    /// What `core` and those that it calls have to do about what happened on it at `now`, when its counters read `counters`.
    ///
    /// A core that is [stopped](Self::is_stopped) runs nothing and is not switched.
    #[inline(never)] // large: a kernel for each criterion would hold a copy
    pub fn on(
        &mut self,
        now: Instant,
        core: CoreId,
        counters: PerDirection<CounterValue>,
        event: Event,
    ) -> Actions {
        let decision = match event {
            Event::Period => self.regulator.on_period(core, now, counters),
            Event::Overflow => self.regulator.overflow(core, now, counters),
            Event::Reading => self.regulator.reading(core, now, counters),
            Event::Switched(task) => self.regulator.switched(core, now, counters, task),
        };
        let throttle = match decision.throttle {
            Throttle::Off if self.stopped.contains(core) => {
                self.stopped = self.stopped.without(core);
                Some(Action::Go)
            }
            Throttle::Off => None,
            Throttle::Core if self.stopped.contains(core) => None,
            Throttle::Core => {
                self.stopped = self.stopped.with(core);
                Some(Action::Stop)
            }
            Throttle::Task(task) => {
                self.hold(task);
                Some(Action::StopTask(task))
            }
        };
        let looks = event == Event::Period || decision.report.is_some();
        Actions::new(decision, self.regulator.config().directions, throttle, looks && self.out > 0)
    }

    /// The first task from `slot` on that was told to stop and may go on: it is told now.
    pub fn freed(&mut self, slot: usize) -> Option<TaskId> {
        let from = self.held.iter().enumerate().skip(slot);
        let mut held = from.filter(|(_, held)| **held).map(|(slot, _)| TaskId(slot as u32));
        let task = held.find(|&task| !self.regulator.is_exhausted(task))?;
        self.unhold(task);
        Some(task)
    }

    fn hold(&mut self, task: TaskId) {
        let known = self.held.get_mut(task.index()).is_none_or(|held| core::mem::replace(held, true));
        self.out += usize::from(!known);
    }

    fn unhold(&mut self, task: TaskId) {
        let held = self.held.get_mut(task.index()).is_some_and(core::mem::take);
        self.out -= usize::from(held);
    }
}
