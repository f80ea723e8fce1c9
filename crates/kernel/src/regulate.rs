//! Bandwidth regulation inside the kernel: the regulator decides, the kernel reads counters, stops cores and
//! lets them go on.
//!
//! ```text
//!   any entry of a core ──▶ attend (is a period over? was it released?) ──┐
//!   PMU overflow        ──▶ overflow                                      ├─▶ carry out: arm, stop, ask others
//!   another thread      ──▶ switched                                      ┘
//! ```
//!
//! A throttled core is taken out of its scheduling domain: its thread is ready again, so that under clustered
//! and global policies another core may take it. A task that has used up a budget of its own is taken out of the
//! queue instead, and its core goes on with others.

use crate::kernel::Kernel;
use crate::thread::State;
use alloc::vec::Vec;
use solo_hal::{CounterId, Machine};
use solo_isolate::Regulator;
use solo_isolate::regulator::{
    Config, Conservation, Decision, Gate, LEDGERS, Ledger, PerLedger, PeriodReport, Reading,
};
use solo_model::record::{ConservationRecord, RegulationRecord, ThrottleRecord};
use solo_model::{CoreId, Duration, Instant, Record, TaskId, ThreadId};
use solo_schedule::Criterion;

/// The regulator and what the kernel keeps for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Regulation {
    regulator: Regulator,
    /// The thread that was on each core when it was stopped.
    stopped: Vec<Option<ThreadId>>,
    /// Threads in [`State::Throttled`].
    out: usize,
    /// Requests to counters that were refused.
    refused: u64,
}

impl Regulation {
    pub(crate) fn new(config: Config) -> Self {
        let cores = config.cores.len();
        Self { regulator: Regulator::new(config), stopped: alloc::vec![None; cores], out: 0, refused: 0 }
    }

    /// What the counters of a core stand at.
    fn readings<M: Machine>(&mut self, m: &M, core: CoreId) -> PerLedger<Reading> {
        let mut readings = PerLedger([Reading::default(); LEDGERS]);
        for ledger in Ledger::ALL.into_iter().take(self.regulator.config().ledgers) {
            match m.read(core, counter_of(ledger)) {
                Ok(value) => readings[ledger] = Reading(value),
                Err(_) => self.refused += 1,
            }
        }
        readings
    }

    /// Sets the counters of a core up.
    fn configure<M: Machine>(&mut self, m: &mut M, core: CoreId) {
        for ledger in Ledger::ALL.into_iter().take(self.regulator.config().ledgers) {
            let event = self.regulator.config().events[ledger];
            let done = m.configure(core, counter_of(ledger), event);
            self.refused += u64::from(done.is_err());
        }
    }

    fn arm<M: Machine>(&mut self, m: &mut M, core: CoreId, decision: &Decision) {
        for ledger in Ledger::ALL.into_iter().take(self.regulator.config().ledgers) {
            let events = decision.arm[ledger].map_or(u64::MAX, solo_model::Events::get);
            self.refused += u64::from(m.interrupt_after(core, counter_of(ledger), events).is_err());
        }
    }

    /// What became of the sum of reservations until `now`.
    pub(crate) fn conserved(&self, now: Instant) -> ConservationRecord {
        let Conservation { periods, exempt, violations, worst_excess, overdraft } =
            self.regulator.conservation();
        ConservationRecord { at: now, periods, exempt, violations, worst_excess, overdraft }
    }

    /// When the core has to look in next.
    pub(crate) fn boundary(&self) -> Instant {
        self.regulator.next_boundary()
    }
}

/// The counter that counts a ledger.
fn counter_of(ledger: Ledger) -> CounterId {
    CounterId(ledger as u8)
}

impl<C: Criterion> Kernel<C> {
    /// The bandwidth regulator, where there is one.
    pub fn regulator(&self) -> Option<&Regulator> {
        self.regulation.as_ref().map(|regulation| &regulation.regulator)
    }

    /// Requests to performance counters that the machine refused: bandwidth is not regulated as it should be.
    pub fn counter_refusals(&self) -> u64 {
        self.regulation.as_ref().map_or(0, |regulation| regulation.refused)
    }

    /// Sets the counters of a core up before its first period.
    pub(crate) fn begin_regulation<M: Machine>(&mut self, m: &mut M, core: CoreId, now: Instant) {
        if let Some(regulation) = &mut self.regulation {
            regulation.configure(m, core);
            self.attend(m, core, now);
        }
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
        let Some(regulation) = &mut self.regulation else { return false };
        if !regulation.regulator.is_due(core, now) {
            return false;
        }
        let readings = regulation.readings(m, core);
        let decision = regulation.regulator.attend(core, now, readings);
        let changed = self.carry_out(m, core, now, &decision);
        self.wake_throttled() | changed
    }

    /// A counter of `core` has overflowed; true where the core has to decide anew.
    pub(crate) fn regulate_overflow<M: Machine>(&mut self, m: &mut M, core: CoreId, now: Instant) -> bool {
        let Some(regulation) = &mut self.regulation else { return false };
        let readings = regulation.readings(m, core);
        let decision = regulation.regulator.overflow(core, now, readings);
        let changed = self.carry_out(m, core, now, &decision);
        let woken = decision.report.is_some() && self.wake_throttled();
        self.ask_laggards(m, core, now);
        changed || woken
    }

    /// Another thread is on `core`, or none. True where it may not stay there.
    pub(crate) fn regulate_switch<M: Machine>(&mut self, m: &mut M, core: CoreId, now: Instant) -> bool {
        if self.regulation.is_none() || !self.is_online(core) {
            return false;
        }
        let occupant = self.cores[core.index()].current.map(|thread| TaskId(thread.0));
        let Some(regulation) = &mut self.regulation else { return false };
        let readings = regulation.readings(m, core);
        let decision = regulation.regulator.switched(core, now, readings, occupant);
        let changed = self.carry_out(m, core, now, &decision);
        changed | (decision.report.is_some() && self.wake_throttled())
    }

    /// Carries a decision out as far as the calling core is concerned, and asks the others.
    fn carry_out<M: Machine>(&mut self, m: &mut M, core: CoreId, now: Instant, decision: &Decision) -> bool {
        let Some(regulation) = &mut self.regulation else { return false };
        regulation.arm(m, core, decision);
        if let Some(report) = &decision.report {
            m.record(core, Record::Regulation(record_of(report)));
        }
        if let Some(since) = decision.reopened {
            m.record(core, Record::Throttle(ThrottleRecord { at: now, since, core }));
        }
        let stopped = decision.reopened.and_then(|_| regulation.stopped[core.index()].take());
        if let Some(thread) = stopped.filter(|_| !decision.charge.is_zero()) {
            let slice = &mut self.threads[thread.index()].slice_left;
            *slice = slice.saturating_sub(decision.charge).max(Duration::new(1));
        }
        let changed = match decision.gate {
            Gate::Open if !self.is_online(core) => {
                let domain = self.cores[core.index()].domain;
                self.domains[domain].bring_online(core);
                self.touched |= 1 << domain;
                true
            }
            Gate::Open => false,
            Gate::Closed => self.stop_core(core),
            Gate::ClosedFor(task) => self.stop_task(core, ThreadId(task.0)),
        };
        self.ask(m, core, now, decision.call);
        changed
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
            regulation.stopped[core.index()] = thread;
        }
        true
    }

    /// Takes a thread off its core and out of the queue.
    fn stop_task(&mut self, core: CoreId, thread: ThreadId) -> bool {
        if self.cores[core.index()].current != Some(thread) {
            return false;
        }
        let domain = self.cores[core.index()].domain;
        self.domains[domain].vacate(core);
        let state = &mut self.threads[thread.index()];
        state.state = State::Throttled;
        if let Some(job) = &mut state.job {
            job.displaced = job.start.is_some();
        }
        if let Some(regulation) = &mut self.regulation {
            regulation.out += 1;
        }
        true
    }

    /// Makes the threads ready again whose own budgets allow it; true where there are any.
    fn wake_throttled(&mut self) -> bool {
        let waiting = self.regulation.as_ref().map_or(0, |regulation| regulation.out);
        if waiting == 0 {
            return false;
        }
        let mut woken = 0;
        for index in 0..self.threads.len() {
            let exhausted = |r: &Regulation| r.regulator.is_exhausted(TaskId(index as u32));
            if self.threads[index].state == State::Throttled
                && !self.regulation.as_ref().is_some_and(exhausted)
            {
                self.make_ready(ThreadId(index as u32));
                woken += 1;
            }
        }
        if let Some(regulation) = &mut self.regulation {
            regulation.out = waiting - woken;
        }
        woken > 0
    }

    /// Asks the cores that a lost timer interrupt would keep throttled, so that each has two ways into a period: its
    /// own timer, and the request of whoever comes first. Those that have missed a whole one are asked again, for the
    /// request may have been lost as well. Requests are a kernel path of their own: while another is open, as the tick
    /// is around [`attend`](Self::attend), this must wait.
    pub(crate) fn ask_laggards<M: Machine>(&mut self, m: &mut M, core: CoreId, now: Instant) {
        let Some(regulation) = &self.regulation else { return };
        let laggards = regulation.regulator.laggards(now);
        for overdue in laggards.overdue.without(core).iter() {
            self.cores[overdue.index()].asked = false;
        }
        let late = laggards.throttled.or(laggards.overdue).without(core);
        if !late.is_empty() {
            self.ask(m, core, now, late);
        }
    }

    fn is_online(&self, core: CoreId) -> bool {
        let domain = self.cores[core.index()].domain;
        self.domains[domain].is_online(core)
    }
}

fn record_of(report: &PeriodReport) -> RegulationRecord {
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
