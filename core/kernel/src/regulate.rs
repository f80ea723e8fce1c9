//! Budgets inside the kernel: the enforcer decides, the kernel reads counters, stops cores and lets them go on.
//!
//! ```text
//!   any entry of a core ──▶ Period (is one over? was the core released?) ──┐
//!   PMU overflow        ──▶ Overflow                                       ├─▶ Enforcer ─▶ actions, carried out here
//!   another thread      ──▶ Switched                                       ┘
//! ```
//!
//! A throttled core is taken out of its scheduling domain: its thread is ready again, so that under clustered
//! and global policies another core may take it. A task that has used up a budget of its own is taken out of the
//! queue instead, and its core goes on with others.

use crate::budget::{Regulation, change_of, record_of};
use crate::kernel::Kernel;
use crate::listen::Listening;
use crate::steps::Steps;
use crate::thread::State;
use solo_hal::Machine;
use solo_isolate::Regulator;
use solo_isolate::enforce::{Action, Event};
use solo_model::record::{HeldRecord, ThrottleRecord};
use solo_model::{CoreId, Duration, Instant, Record, TaskId, ThreadId};
use solo_observe::plan::{CounterPlan, User};
use solo_schedule::Criterion;

impl<C: Criterion> Kernel<C> {
    /// The bandwidth regulator, where there is one.
    pub fn regulator(&self) -> Option<&Regulator> {
        self.regulation.as_ref().map(Regulation::regulator)
    }

    /// Requests to performance counters that the machine refused: what counts is not regulated, or heard, as it should be.
    pub fn counter_refusals(&self) -> u64 {
        let regulation = self.regulation.as_ref().map_or(0, Regulation::refused);
        regulation + self.listening.as_ref().map_or(0, |listening| listening.account().silent_counters)
    }

    /// Who has which counter.
    pub fn counters(&self) -> &CounterPlan {
        &self.counters
    }

    /// Sets the counters of a core up, before its first period.
    pub(crate) fn begin_counting<M: Machine>(&mut self, m: &mut M, core: CoreId, now: Instant) {
        set_up(m, core, &self.counters, self.regulation.as_mut(), self.listening.as_deref_mut());
        self.attend(m, core, now);
    }

    /// Looks whether a period has ended for `core` or it was released. True where something changed that the
    /// core has to decide about.
    #[inline]
    pub(crate) fn attend<M: Machine>(&mut self, m: &mut M, core: CoreId, now: Instant) -> bool {
        self.regulation.is_some() && self.attend_regulated(m, core, now)
    }

    /// Not inlined: without a regulator the tick stays as short as it was.
    #[inline(never)]
    fn attend_regulated<M: Machine>(&mut self, m: &mut M, core: CoreId, now: Instant) -> bool {
        let due = self.regulation.as_ref().is_some_and(|regulation| regulation.is_due(core, now));
        due && self.enforce(m, core, now, Event::Period)
    }

    /// A counter of `core` has overflowed; true where the core has to decide anew.
    pub(crate) fn regulate_overflow<M: Machine>(&mut self, m: &mut M, core: CoreId, now: Instant) -> bool {
        let changed = self.enforce(m, core, now, Event::Overflow);
        self.ask_late_cores(m, core, now);
        changed
    }

    /// Another thread is on `core`, or none. True where it may not stay there.
    pub(crate) fn regulate_switch<M: Machine>(&mut self, m: &mut M, core: CoreId, now: Instant) -> bool {
        let stopped = |regulation: &Regulation| regulation.is_stopped(core);
        if self.regulation.as_ref().is_none_or(stopped) || !self.is_online(core) {
            return false;
        }
        let occupant = self.cores[core.index()].current.map(|thread| TaskId(thread.0));
        self.enforce(m, core, now, Event::Switched(occupant))
    }

    /// Tells the enforcer and carries out what it answers. True where the core has to decide anew.
    #[inline(never)]
    fn enforce<M: Machine>(&mut self, m: &mut M, core: CoreId, now: Instant, event: Event) -> bool {
        let Some(regulation) = &mut self.regulation else { return false };
        let actions = regulation.hear(m, core, now, event);
        let mut changed = false;
        for action in actions {
            changed |= self.carry_out(m, core, now, action);
        }
        changed
    }

    /// Carries an action out; true where the core has to decide anew.
    fn carry_out<M: Machine>(&mut self, m: &mut M, core: CoreId, now: Instant, action: Action) -> bool {
        let Some(regulation) = &mut self.regulation else { return false };
        match action {
            Action::Arm(direction, events) => regulation.arm(m, core, direction, events),
            Action::Report(report) => m.record(core, Record::Regulation(record_of(&report))),
            Action::Rebudgeted(change) => m.record(core, Record::Budget(change_of(&change))),
            Action::Resumed { since, charge } => {
                m.record(core, Record::Throttle(ThrottleRecord { at: now, since, core }));
                self.charge(core, charge);
            }
            Action::Stop => return self.stop_core(core),
            Action::Go => return self.free_core(core),
            Action::StopTask(task) => return self.stop_task(core, now, ThreadId(task.0)),
            Action::Call(cores) => self.ask(m, core, now, cores),
            Action::GoTasks => return self.free_tasks(m, core, now),
        }
        false
    }

    /// Shortens the time slice of the thread that was on `core` when it was stopped.
    fn charge(&mut self, core: CoreId, charge: Duration) {
        let Some(regulation) = &mut self.regulation else { return };
        let stopped = regulation.take_stopped(core);
        if let Some(thread) = stopped.filter(|_| !charge.is_zero()) {
            let slice = &mut self.threads[thread.index()].slice_left;
            *slice = slice.saturating_sub(charge).max(Duration::new(1));
        }
    }

    /// Takes a core out of its domain; its thread is ready again.
    fn stop_core(&mut self, core: CoreId) -> bool {
        if !self.is_online(core) {
            return false;
        }
        let domain = self.cores[core.index()].domain;
        let thread = self.cores[core.index()].current;
        if let Some(thread) = thread {
            self.put_back(core, thread);
        }
        self.domains[domain].take_offline(core);
        self.touched |= 1 << domain;
        if let Some(regulation) = &mut self.regulation {
            regulation.stop(core, thread);
        }
        true
    }

    /// Puts a core back into its domain.
    fn free_core(&mut self, core: CoreId) -> bool {
        let domain = self.cores[core.index()].domain;
        self.domains[domain].bring_online(core);
        self.touched |= 1 << domain;
        true
    }

    /// Takes a thread off its core and out of the queue. One that a policy holds since it came onto the core is off already, and
    /// is stopped when it comes back, if it must be.
    fn stop_task(&mut self, core: CoreId, now: Instant, thread: ThreadId) -> bool {
        let running = self.threads[thread.index()].state == State::Running(core);
        if !running || self.cores[core.index()].current != Some(thread) {
            return false;
        }
        let domain = self.cores[core.index()].domain;
        self.domains[domain].vacate(core);
        let state = &mut self.threads[thread.index()];
        state.state = State::Throttled;
        state.away_since = now;
        if let Some(job) = &mut state.job {
            job.displaced = job.start.is_some();
        }
        true
    }

    /// Makes the threads ready again whose own budgets allow it; true where there are any.
    fn free_tasks<M: Machine>(&mut self, m: &mut M, core: CoreId, now: Instant) -> bool {
        let (mut from, mut any) = (0, false);
        let mut steps = Steps::at_most(self.threads.len());
        while let Some(task) = self.regulation.as_mut().and_then(|own| own.freed(from)) {
            steps.take();
            from = task.index() + 1;
            if self.threads[task.index()].state == State::Throttled {
                let since = self.threads[task.index()].away_since;
                m.record(core, Record::Held(HeldRecord { at: now, since, task }));
                self.make_ready(ThreadId(task.0));
                any = true;
            }
        }
        any
    }

    /// Asks the cores that a lost timer interrupt would keep throttled, so that each has two ways into a period: its
    /// own timer, and the request of whoever comes first. Those that have missed a whole one are asked again, for the
    /// request may have been lost as well. Requests are a kernel path of their own: while another is open, as the tick
    /// is around [`attend`](Self::attend), this must wait.
    pub(crate) fn ask_late_cores<M: Machine>(&mut self, m: &mut M, core: CoreId, now: Instant) {
        let Some(regulation) = &self.regulation else { return };
        let late_cores = regulation.late_cores(now);
        for overdue in late_cores.overdue.without(core).iter() {
            self.cores[overdue.index()].answer();
        }
        let late = late_cores.throttled.or(late_cores.overdue).without(core);
        if !late.is_empty() {
            self.ask(m, core, now, late);
        }
    }

    fn is_online(&self, core: CoreId) -> bool {
        let domain = self.cores[core.index()].domain;
        self.domains[domain].is_online(core)
    }
}

/// Sets the counters of a core up for those who have them.
#[inline(never)] // once, not for each criterion
fn set_up<M: Machine>(
    m: &mut M,
    core: CoreId,
    counters: &CounterPlan,
    mut regulation: Option<&mut Regulation>,
    mut listening: Option<&mut Listening>,
) {
    for assigned in counters.assigned() {
        let done = m.configure(core, assigned.counter, assigned.event).is_ok();
        match (assigned.user, &mut regulation, &mut listening) {
            (User::Monitor(_), _, Some(listening)) => listening.note_counter(done),
            (_, Some(regulation), _) => regulation.note(done),
            _ => {}
        }
    }
}
