//! Alarms: who is released when, and by which core's timer (thesis 4.2.3).

use crate::alarm::Alarm;
use crate::arrivals::MOST_ARRIVALS;
use crate::kernel::Kernel;
use crate::sporadic::await_next;
use crate::thread::State;
use solo_hal::{Edge, Machine};
use solo_model::policy::Timing;
use solo_model::record::{HeldRecord, ReleaseRecord, SleepRecord};
use solo_model::task::Release;
use solo_model::{CoreId, Duration, Instant, Overhead, Record, ThreadId};
use solo_schedule::Criterion;

/// What a timer interrupt finds.
pub(crate) struct Tick {
    /// Until when alarms are due: now, or the last tick.
    pub(crate) horizon: Instant,
    /// Ticks that have passed since the last look.
    pub(crate) ticks: u64,
    /// An alarm of its domain is due.
    pub(crate) due: bool,
}

impl<C: Criterion> Kernel<C> {
    /// Sets all alarms; on behalf of all cores, releases what is due at the start in the order of the tasks.
    pub(crate) fn set_alarms<M: Machine>(&mut self, m: &mut M, core: CoreId, epoch: Instant) {
        self.epoch = Some(epoch);
        if let Some(windows) = &mut self.windows {
            windows.count_from(epoch);
        }
        m.probe(core, Overhead::Release, Edge::Enter);
        for index in 0..self.threads.len() {
            let thread = ThreadId(index as u32);
            let alarm_core = self.threads[index].alarm_core;
            if !self.own.contains(alarm_core) {
                continue;
            }
            let first = self.threads[index].count_from(epoch);
            if self.threads[index].arrivals.is_some() {
                continue;
            }
            if first == epoch {
                self.release_job(m, alarm_core, epoch, thread, first);
            } else {
                self.cores[alarm_core.index()].alarms.set_release(thread, first);
            }
        }
        m.probe(core, Overhead::Release, Edge::Leave);
    }

    /// Until when alarms of this core are due: now, or the last tick. Counts the ticks that have passed since
    /// the core was last asked.
    pub(crate) fn count_ticks(&mut self, core: CoreId, now: Instant) -> (Instant, u64) {
        match (self.timing, self.epoch) {
            (Timing::Tick(tick), Some(epoch)) => self.cores[core.index()].count_ticks(tick, epoch, now),
            _ => (now, 0),
        }
    }

    /// The core of the domain of `core` whose first alarm is due at `horizon` and comes before those of the others; `core` where
    /// there is none.
    #[inline(never)] // a core that is alone in its domain does not ask
    fn first_to_ring(&self, core: CoreId, horizon: Instant) -> CoreId {
        let (mut first, mut earliest) = (core, (horizon, ThreadId(u32::MAX)));
        for at in self.cores[core.index()].peers.with(core).iter() {
            if let Some(alarm) = self.cores[at.index()].alarms.first()
                && alarm.0 <= horizon
                && alarm < earliest
            {
                (first, earliest) = (at, alarm);
            }
        }
        first
    }

    /// True where an alarm of the domain of `core` is due at `horizon`.
    #[inline]
    fn has_due(&self, core: CoreId, horizon: Instant) -> bool {
        let own = &self.cores[core.index()];
        own.alarms.is_due(horizon) || (!own.peers.is_empty() && self.has_due_elsewhere(core, horizon))
    }

    /// True where an alarm of a peer of `core` is due at `horizon`.
    #[inline(never)]
    fn has_due_elsewhere(&self, core: CoreId, horizon: Instant) -> bool {
        self.cores[core.index()].peers.iter().any(|peer| self.cores[peer.index()].alarms.is_due(horizon))
    }

    /// A timer interrupt of `core`: accounts for the time until now, counts ticks, and looks for alarms that are due. The
    /// core and its thread are looked up once: this is the path that every tick takes.
    #[inline]
    pub(crate) fn begin_tick(&mut self, core: CoreId, now: Instant) -> Tick {
        let own = &mut self.cores[core.index()];
        let ran = own.account(now);
        own.timer_fired();
        let (horizon, ticks) = match (self.timing, self.epoch) {
            (Timing::Tick(tick), Some(epoch)) => own.count_ticks(tick, epoch, now),
            _ => (now, 0),
        };
        let (due, alone) = (own.alarms.is_due(horizon), own.peers.is_empty());
        if let Some(thread) = own.current {
            self.threads[thread.index()].charge(ran, self.timing);
        }
        let due = due || (!alone && self.has_due_elsewhere(core, horizon));
        Tick { horizon, ticks, due }
    }

    /// Releases *all* threads of the domain of `core` whose alarms are due at `horizon`, in the order of their releases,
    /// those of the same time by their index. Which core's timer came first does not matter: the jobs compete together.
    ///
    /// A published mirror of EPOS releases one a tick, so that simultaneous releases slip.
    pub(crate) fn release_due<M: Machine>(
        &mut self,
        m: &mut M,
        core: CoreId,
        now: Instant,
        horizon: Instant,
    ) {
        if !self.has_due(core, horizon) {
            return;
        }
        m.probe(core, Overhead::Release, Edge::Enter);
        let alone = self.cores[core.index()].peers.is_empty();
        loop {
            let set_on = if alone { core } else { self.first_to_ring(core, horizon) };
            match self.cores[set_on.index()].alarms.take_due(horizon) {
                Some((due, Alarm::Release(thread))) => self.release_job(m, core, now, thread, due),
                Some((_, Alarm::WakeUp(thread))) => self.wake(m, core, now, thread),
                None => break,
            }
        }
        m.probe(core, Overhead::Release, Edge::Leave);
    }

    /// A thread that slept is ready again.
    fn wake<M: Machine>(&mut self, m: &mut M, core: CoreId, now: Instant, thread: ThreadId) {
        let state = &self.threads[thread.index()];
        let (task, since) = (state.task, state.away_since);
        let record = match state.state {
            State::Held => Record::Held(HeldRecord { at: now, since, task }),
            _ => Record::Sleep(SleepRecord { at: now, since, task }),
        };
        m.record(core, record);
        self.make_ready(thread);
    }

    /// The v operation on the thread's private semaphore: wakes it, or is counted while a job is under way
    /// (thesis 6.4). Sets the next alarm.
    pub(crate) fn release_job<M: Machine>(
        &mut self,
        m: &mut M,
        core: CoreId,
        now: Instant,
        thread: ThreadId,
        due: Instant,
    ) {
        let limit = self.backlog_limit;
        let state = &mut self.threads[thread.index()];
        if let Release::Periodic { period, .. } = state.parameters.release {
            let alarms = &mut self.cores[state.alarm_core.index()].alarms;
            alarms.set_release(thread, due + period);
        } else if state.arrivals.is_some() {
            await_next(&mut self.threads, &mut self.cores, thread, due);
        }
        self.record_release(m, core, now, thread, due);
        let state = &mut self.threads[thread.index()];
        match &mut state.job {
            Some(job) => {
                job.backlog += 1;
                let limit = if state.arrivals.is_some() { limit.min(MOST_ARRIVALS) } else { limit };
                if state.backlog() > limit {
                    let skipped = state.skip(now);
                    m.record(core, Record::Skipped(skipped));
                }
            }
            None => {
                let _ = state.begin_job(due);
                self.make_ready(thread);
            }
        }
    }

    /// Counts a release and records it.
    pub(crate) fn record_release<M: Machine>(
        &mut self,
        m: &mut M,
        core: CoreId,
        now: Instant,
        thread: ThreadId,
        due: Instant,
    ) {
        let state = &mut self.threads[thread.index()];
        let (job, deadline) = state.release(due);
        let record = ReleaseRecord { at: now, core, task: state.task, job, release: due, deadline };
        m.record(core, Record::Release(record));
    }

    /// Puts a thread with a job, which is on no core, at the end of the line of its domain.
    pub(crate) fn make_ready(&mut self, thread: ThreadId) {
        self.join_line(thread);
        let Some(rank) = self.rank(thread) else { return };
        let state = &mut self.threads[thread.index()];
        if self.windows.as_deref().is_some_and(|windows| !windows.lets_run(thread)) {
            state.state = State::OutsideWindow;
            return;
        }
        state.state = State::Ready;
        let domain = state.domain;
        self.domains[domain].insert(thread, rank);
        self.touched |= 1 << domain;
    }

    /// Gives `thread` the next number in line and a whole time slice.
    pub(crate) fn join_line(&mut self, thread: ThreadId) {
        self.turns += 1;
        let quantum = self.quantum.unwrap_or(Duration::ZERO);
        let state = &mut self.threads[thread.index()];
        state.turn = self.turns;
        state.slice_left = quantum;
    }
}
