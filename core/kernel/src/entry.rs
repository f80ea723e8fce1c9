//! The entry points: what a machine calls.

use crate::kernel::{Kernel, Switch};
use crate::lock::{Acquired, Released};
use crate::release::Tick;
use crate::steps::Steps;
use crate::thread::{State, Thread};
use solo_hal::{CounterId, Edge, Machine};
use solo_model::policy::Timing;
use solo_model::record::{LockAction, LockRecord, SwitchReason};
use solo_model::task::Release;
use solo_model::{CoreId, Duration, Instant, LockId, Overhead, Record, TaskId, ThreadId};
use solo_observe::plan::User;
use solo_schedule::{Criterion, Rank};

/// What a tick has found, to be carried out.
struct TickEnd {
    /// Until when alarms are due.
    horizon: Instant,
    /// The thread whose time slice is over.
    slice_over: Option<ThreadId>,
    /// The core has to decide anew.
    changed: bool,
}

impl<C: Criterion> Kernel<C> {
    /// `core` begins. The first call sets the time from which releases count, and releases every task of its
    /// part whose offset is zero; each call lets its core choose and programs its timer.
    pub fn start<M: Machine>(&mut self, m: &mut M, core: CoreId, now: Instant) -> Switch {
        if !self.exists(core) {
            return Switch::Idle;
        }
        self.cores[core.index()].begin(now);
        let first = self.epoch.is_none();
        if first {
            self.set_alarms(m, core, self.origin.unwrap_or(now));
        }
        let (horizon, _) = self.count_ticks(core, now);
        self.release_due(m, core, now, horizon);
        let domain = self.cores[core.index()].domain;
        self.domains[domain].bring_online(core);
        self.begin_counting(m, core, now);
        self.begin_listening(m, core, now, first);
        let _ = self.turn_window(m, core, now);
        self.settle(m, core, now, SwitchReason::Start)
    }

    /// The timer of `core` interrupts. Releases all threads that are due, ends the time slice where it is
    /// over, programs the timer anew. An interrupt that comes early does nothing but that last.
    pub fn timer<M: Machine>(&mut self, m: &mut M, core: CoreId, now: Instant) -> Switch {
        if !self.exists(core) {
            return Switch::Idle;
        }
        m.probe(core, Overhead::Tick, Edge::Enter);
        let Tick { horizon, ticks, due } = self.begin_tick(core, now);
        let regulated = self.attend(m, core, now);
        let slice_over = self.slice_over(core, ticks);
        m.probe(core, Overhead::Tick, Edge::Leave);
        let end = TickEnd { horizon, slice_over, changed: due || regulated };
        if self.attended {
            self.end_tick_attended(m, core, now, end)
        } else {
            self.end_tick(m, core, now, end)
        }
    }

    /// What a tick has found, carried out where nobody but the kernel has to hear of it.
    #[inline]
    fn end_tick<M: Machine>(&mut self, m: &mut M, core: CoreId, now: Instant, end: TickEnd) -> Switch {
        self.release_due(m, core, now, end.horizon);
        if let Some(thread) = end.slice_over {
            self.end_slice(core, thread);
        }
        self.decide_after_tick(m, core, now, end)
    }

    /// The same with budgets, or a policy that listens. Not inlined: nobody else pays for it.
    #[inline(never)]
    fn end_tick_attended<M: Machine>(
        &mut self,
        m: &mut M,
        core: CoreId,
        now: Instant,
        mut end: TickEnd,
    ) -> Switch {
        self.ask_late_cores(m, core, now);
        let turned = self.turn_window(m, core, now);
        self.release_due(m, core, now, end.horizon);
        if let Some(thread) = end.slice_over {
            self.end_slice(core, thread);
        }
        end.changed |= self.listen(m, core, now);
        if turned {
            return self.settle(m, core, now, SwitchReason::Window);
        }
        self.decide_after_tick(m, core, now, end)
    }

    #[inline]
    fn decide_after_tick<M: Machine>(
        &mut self,
        m: &mut M,
        core: CoreId,
        now: Instant,
        end: TickEnd,
    ) -> Switch {
        if end.changed || end.slice_over.is_some() || self.cores[core.index()].is_asked() {
            let quantum = end.slice_over.is_some();
            let reason = if quantum { SwitchReason::Quantum } else { SwitchReason::Preempted };
            self.settle(m, core, now, reason)
        } else {
            self.arm(m, core);
            Switch::Stay
        }
    }

    /// A reschedule request arrives at `core`. One that has become needless changes nothing.
    pub fn ipi<M: Machine>(&mut self, m: &mut M, core: CoreId, now: Instant) -> Switch {
        if !self.exists(core) {
            return Switch::Idle;
        }
        self.account(core, now);
        let reason = self.attend_before(m, core, now);
        self.settle(m, core, now, reason)
    }

    /// What budgets, windows and whoever listens have to say before a core decides anew; the reason of a switch.
    pub(crate) fn attend_before<M: Machine>(
        &mut self,
        m: &mut M,
        core: CoreId,
        now: Instant,
    ) -> SwitchReason {
        let mut reason = SwitchReason::Preempted;
        if self.attended {
            self.attend(m, core, now);
            self.ask_late_cores(m, core, now);
            if self.turn_window(m, core, now) {
                reason = SwitchReason::Window;
            }
            self.listen(m, core, now);
        }
        reason
    }

    /// A counter of `core` overflows: where it counts for the budgets, they decide whether the core may go on; where a
    /// monitor has it, a sample is taken; other overflows are counted. Handling it costs what handling a timer interrupt costs.
    pub fn overflow<M: Machine>(
        &mut self,
        m: &mut M,
        core: CoreId,
        now: Instant,
        counter: CounterId,
    ) -> Switch {
        if !self.exists(core) {
            return Switch::Idle;
        }
        self.account(core, now);
        self.cores[core.index()].overflowed();
        let owner = self.counters.owner(counter);
        if !matches!(owner, Some(User::Regulator | User::Monitor(_))) {
            return Switch::Stay;
        }
        m.probe(core, Overhead::Tick, Edge::Enter);
        m.probe(core, Overhead::Tick, Edge::Leave);
        let changed = match owner {
            Some(User::Regulator) => self.regulate_overflow(m, core, now),
            _ => self.listen_overflow(m, core, now, counter),
        };
        if changed {
            self.settle(m, core, now, SwitchReason::Throttled)
        } else {
            self.arm(m, core);
            Switch::Stay
        }
    }

    /// The thread of `core` has finished its job: the p operation on its private semaphore (thesis 4.2.1).
    /// It goes on at once with the next job where that is released already; a task that runs once ends.
    pub fn wait_next<M: Machine>(&mut self, m: &mut M, core: CoreId, now: Instant) -> Switch {
        let Some(thread) = self.running(core) else { return Switch::Idle };
        self.account(core, now);
        self.attend(m, core, now);
        self.ask_late_cores(m, core, now);
        self.finish_job(m, core, now, thread);
        let state = &mut self.threads[thread.index()];
        match state.parameters.release {
            Release::Once { .. } => return self.end(m, core, now, thread, SwitchReason::Finished),
            Release::Periodic { .. } | Release::Sporadic { .. } if state.backlog() > 0 => {
                let release = state.waiting_since();
                self.go_on(core, thread, release);
            }
            Release::Periodic { .. } | Release::Sporadic { .. } => {
                state.state = State::Waiting;
                self.vacate(core);
            }
            Release::Continuous { .. } => {
                self.record_release(m, core, now, thread, now);
                self.go_on(core, thread, now);
            }
        }
        self.settle(m, core, now, SwitchReason::Finished)
    }

    /// The thread of `core` decrements a semaphore or takes a mutex; it waits where it cannot.
    pub fn acquire<M: Machine>(&mut self, m: &mut M, core: CoreId, now: Instant, lock: LockId) -> Switch {
        let Some(thread) = self.running(core) else { return Switch::Idle };
        self.account(core, now);
        if C::AGES {
            self.rank(thread);
        }
        let ceiling = self.ceiling(lock, Some(thread), now);
        match self.locks.acquire(thread, lock, ceiling) {
            Acquired::Refused => Switch::Stay,
            Acquired::Taken => {
                record_lock(m, core, now, thread, lock, LockAction::Acquired);
                self.settle_if_reranked(m, core, now)
            }
            Acquired::Waits { circle } => {
                record_lock(m, core, now, thread, lock, LockAction::Waits);
                if circle {
                    record_lock(m, core, now, thread, lock, LockAction::Deadlock);
                }
                self.threads[thread.index()].state = State::Blocked(lock);
                self.vacate(core);
                self.settle(m, core, now, SwitchReason::Blocked)
            }
        }
    }

    /// The thread of `core` increments a semaphore or gives a mutex back; the most urgent waiter has it then.
    pub fn release<M: Machine>(&mut self, m: &mut M, core: CoreId, now: Instant, lock: LockId) -> Switch {
        let Some(thread) = self.running(core) else { return Switch::Idle };
        self.account(core, now);
        if self.give_back(m, core, now, thread, lock) {
            self.settle(m, core, now, SwitchReason::Preempted)
        } else {
            self.settle_if_reranked(m, core, now)
        }
    }

    /// The thread of `core` leaves it for `length`; without length it goes on.
    pub fn sleep<M: Machine>(&mut self, m: &mut M, core: CoreId, now: Instant, length: Duration) -> Switch {
        let Some(thread) = self.running(core) else { return Switch::Idle };
        self.account(core, now);
        if length.is_zero() {
            return Switch::Stay;
        }
        let state = &mut self.threads[thread.index()];
        state.state = State::Asleep;
        state.away_since = now;
        self.cores[core.index()].alarms.set_wake_up(thread, now + length);
        self.vacate(core);
        self.settle(m, core, now, SwitchReason::Asleep)
    }

    /// The thread of `core` gives its core to the next thread of the same key, if there is one.
    pub fn yield_now<M: Machine>(&mut self, m: &mut M, core: CoreId, now: Instant) -> Switch {
        let Some(thread) = self.running(core) else { return Switch::Idle };
        self.account(core, now);
        self.join_line(thread);
        if let Some(job) = &mut self.threads[thread.index()].job {
            job.yielded = true;
        }
        self.put_back(core, thread);
        self.settle(m, core, now, SwitchReason::Yielded)
    }

    /// The thread of `core` ends, and its job with it. Mutexes it still holds go to their waiters.
    pub fn exit<M: Machine>(&mut self, m: &mut M, core: CoreId, now: Instant) -> Switch {
        let Some(thread) = self.running(core) else { return Switch::Idle };
        self.account(core, now);
        self.finish_job(m, core, now, thread);
        self.end(m, core, now, thread, SwitchReason::Exited)
    }

    fn end<M: Machine>(
        &mut self,
        m: &mut M,
        core: CoreId,
        now: Instant,
        thread: ThreadId,
        reason: SwitchReason,
    ) -> Switch {
        let mut steps = Steps::at_most(self.locks.count());
        while let Some(lock) = self.locks.left_behind(thread) {
            steps.take();
            self.give_back(m, core, now, thread, lock);
        }
        let state = &mut self.threads[thread.index()];
        state.end();
        let alarm_core = state.alarm_core;
        self.cores[alarm_core.index()].alarms.cancel_release(thread);
        self.vacate(core);
        self.settle(m, core, now, reason)
    }

    fn exists(&self, core: CoreId) -> bool {
        self.own.contains(core)
    }

    fn vacate(&mut self, core: CoreId) {
        let domain = self.cores[core.index()].domain;
        self.domains[domain].vacate(core);
    }

    fn finish_job<M: Machine>(&mut self, m: &mut M, core: CoreId, now: Instant, thread: ThreadId) {
        if let Some(record) = self.threads[thread.index()].finish_job(core, now) {
            m.record(core, Record::Job(record));
        }
    }

    /// The thread of `core` goes on with its next job, which competes for the core like any other, or for that to which it migrates.
    fn go_on(&mut self, core: CoreId, thread: ThreadId, release: Instant) {
        if self.threads[thread.index()].begin_job(release) {
            self.vacate(core);
            self.make_ready(thread);
            return;
        }
        self.join_line(thread);
        self.put_back(core, thread);
    }

    /// The thread whose time slice is over on `core`, after `ticks` ticks.
    fn slice_over(&mut self, core: CoreId, ticks: u64) -> Option<ThreadId> {
        self.quantum?;
        let thread = self.running(core)?;
        let slice = &mut self.threads[thread.index()].slice_left;
        if let Timing::Tick(tick) = self.timing {
            *slice = slice.saturating_sub(Duration::new(tick.get().saturating_mul(ticks)));
        }
        slice.is_zero().then_some(thread)
    }

    fn end_slice(&mut self, core: CoreId, thread: ThreadId) {
        if C::ROTATES {
            self.join_line(thread);
            self.put_back(core, thread);
        } else {
            self.threads[thread.index()].slice_left = self.quantum.unwrap_or(Duration::ZERO);
        }
    }

    /// The rank of the most urgent job that may ask for a ceiling mutex while `holder` has it.
    ///
    /// For a criterion with fixed priorities that is the priority ceiling. Where ranks change from job to job it is the
    /// most urgent of the other users' jobs: those that are under way (one that sleeps, or was released before the
    /// mutex was taken, can be more urgent than any that is released now), and those to come. A release counts from
    /// its nominal time, which lies behind where a tick or an interrupt is still to bring it.
    fn ceiling(&self, lock: LockId, holder: Option<ThreadId>, now: Instant) -> Option<Rank> {
        if !C::DYNAMIC {
            return self.fixed_ceilings.get(lock.index()).copied().flatten();
        }
        let users = self.locks.ceiling_users(lock)?.iter().map(|user| &self.threads[user.index()]);
        let to_come = users.clone().map(|user| user.view_of_job_released_at(user.next_release().min(now)));
        let under_way = users.filter(|user| holder.is_none_or(|holder| holder.0 != user.task.0));
        to_come.chain(under_way.filter_map(Thread::view)).map(|job| C::rank(&job)).min()
    }

    /// Gives `lock` back and wakes who had waited for it. True where someone had.
    fn give_back<M: Machine>(
        &mut self,
        m: &mut M,
        core: CoreId,
        now: Instant,
        thread: ThreadId,
        lock: LockId,
    ) -> bool {
        let ceiling = self.ceiling(lock, self.locks.first_waiter(lock), now);
        match self.locks.release(thread, lock, ceiling) {
            Released::Refused => false,
            Released::Free => {
                record_lock(m, core, now, thread, lock, LockAction::Released);
                false
            }
            Released::Granted(waiter) => {
                record_lock(m, core, now, thread, lock, LockAction::Released);
                record_lock(m, core, now, waiter, lock, LockAction::Granted);
                self.make_ready(waiter);
                true
            }
        }
    }

    /// Decides anew where a lock has raised or lowered the rank of the running thread.
    fn settle_if_reranked<M: Machine>(&mut self, m: &mut M, core: CoreId, now: Instant) -> Switch {
        if self.locks.any_reranked() {
            self.settle(m, core, now, SwitchReason::Preempted)
        } else {
            Switch::Stay
        }
    }
}

fn record_lock<M: Machine>(
    m: &mut M,
    core: CoreId,
    now: Instant,
    thread: ThreadId,
    lock: LockId,
    action: LockAction,
) {
    m.record(core, Record::Lock(LockRecord { at: now, task: TaskId(thread.0), lock, action }));
}
