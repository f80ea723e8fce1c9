//! A policy that listens at work: the kernel tells it what happens, and carries out what it says.
//!
//! Where nobody listens none of this is entered: the kernel knows by one flag, which it shares with budgets. Nothing here is
//! inlined: there is a kernel for each criterion, and each would hold several copies.

use crate::kernel::Kernel;
use crate::listen::{Listening, PlacementAccount};
use crate::thread::State;
use solo_hal::{CounterId, Edge, Machine};
use solo_model::listening::CoreHeard;
use solo_model::overhead::Overhead;
use solo_model::sample::Why;
use solo_model::{CoreId, CoreSet, Fixed, Instant, MetricId, MissRateCurve, Record, Rmid, TaskId, ThreadId};
use solo_schedule::{Action, Criterion, Hook, Whose};

impl<C: Criterion> Kernel<C> {
    /// What the policy that listens has heard and done; `None` where there is none.
    pub fn placement(&self) -> Option<PlacementAccount> {
        self.listening.as_deref().map(Listening::account)
    }

    /// What a policy that listens has heard of a core and done there; `None` without such a policy or core.
    pub fn heard(&self, core: CoreId) -> Option<CoreHeard> {
        self.listening.as_deref().and_then(|listening| listening.heard(core))
    }

    /// What was found out of a task's misses by what its process held of the cache; `None` without such a monitor or task.
    pub fn curve(&self, task: TaskId) -> Option<MissRateCurve> {
        self.listening.as_deref().and_then(|listening| listening.curve(task))
    }

    /// The id that lines of a task's process carry; `None` where it has none.
    pub fn rmid(&self, task: TaskId) -> Option<Rmid> {
        self.listening.as_deref().and_then(|listening| listening.rmid(task))
    }

    /// The last value of a metric (PMCTrack's `current_metric`); `None` where nothing is known.
    pub fn metric(&self, whose: Whose, metric: MetricId) -> Option<Fixed> {
        self.listening.as_deref().and_then(|listening| listening.metric(whose, metric))
    }

    /// `core` begins; the first one switches the policy on and tells it all tasks of the part.
    pub(crate) fn begin_listening<M: Machine>(&mut self, m: &mut M, core: CoreId, now: Instant, first: bool) {
        let epoch = self.epoch.unwrap_or(now);
        let Some(listening) = &mut self.listening else { return };
        listening.begin(m, core, now, epoch);
        if first {
            self.tell(m, core, now, Hook::Enable);
            for index in 0..self.threads.len() {
                if self.own.contains(self.threads[index].alarm_core) {
                    self.tell(m, core, now, Hook::Fork(TaskId(index as u32)));
                }
            }
        }
    }

    /// A timer interrupt or a request: does what waits for this core, and ends its sampling period where that is over. True
    /// where the core has to decide anew.
    #[inline(never)]
    pub(crate) fn listen<M: Machine>(&mut self, m: &mut M, core: CoreId, now: Instant) -> bool {
        let Some(listening) = &self.listening else { return false };
        let over = listening.boundary(core) <= now;
        let current = self.cores[core.index()].current;
        let mut changed = current.is_some_and(|thread| self.place_pending(m, core, now, thread));
        if over {
            changed |= self.look(m, core, now, None);
            let epoch = self.epoch.unwrap_or(now);
            if let Some(listening) = &mut self.listening {
                let ended = listening.roll(m, core, now, epoch);
                changed |= ended.is_some_and(|next| self.tell(m, core, now, Hook::Tick { core, next }));
            }
        }
        changed
    }

    /// A counter that a monitor has on `core` overflows. True where the core has to decide anew.
    pub(crate) fn listen_overflow<M: Machine>(
        &mut self,
        m: &mut M,
        core: CoreId,
        now: Instant,
        counter: CounterId,
    ) -> bool {
        self.look(m, core, now, Some(counter))
    }

    /// Samples of the thread on `core` and of the core, because a period is over or a counter overflowed.
    #[inline(never)]
    fn look<M: Machine>(
        &mut self,
        m: &mut M,
        core: CoreId,
        now: Instant,
        overflowed: Option<CounterId>,
    ) -> bool {
        let Some(listening) = &mut self.listening else { return false };
        if listening.in_windows() && overflowed.is_none() && !listening.window_is_lost(m, core) {
            return false;
        }
        m.probe(core, Overhead::Counters, Edge::Enter);
        listening.credit(m, core, now);
        if overflowed.is_some_and(|counter| !listening.believes(core, counter)) {
            m.probe(core, Overhead::Counters, Edge::Leave);
            return false;
        }
        let why = if overflowed.is_some() { Why::Overflow } else { Why::Tick };
        let thread = listening.on(core).map(|thread| Whose::Task(TaskId(thread.0)));
        let subjects = || thread.into_iter().chain([Whose::Core(core)]);
        let beside = (listening.held(m, core), listening.metered(m));
        for of in subjects() {
            listening.take_sample(of, core, now, why, beside);
            if listening.in_windows()
                && let Whose::Task(task) = of
            {
                m.record(core, Record::Energy(listening.window(task, core)));
            }
            if let (Whose::Task(task), Why::Tick) = (of, why)
                && let Some(told) = listening.told(task, core, now, self.threads[task.index()].job.as_ref())
            {
                m.record(core, Record::Metric(told));
            }
        }
        if listening.in_windows() {
            listening.begin_window(m, core);
        }
        listening.load(m, core);
        m.probe(core, Overhead::Counters, Edge::Leave);
        subjects()
            .fold(false, |changed, of| self.tell(m, core, now, Hook::Sample { of, core, why }) | changed)
    }

    /// Tells that another thread is on `core`, or none. True where it may not stay there.
    #[inline(never)]
    pub(crate) fn listen_switch<M: Machine>(&mut self, m: &mut M, core: CoreId, now: Instant) -> bool {
        let current = self.cores[core.index()].current;
        let Some(listening) = &mut self.listening else { return false };
        let before = listening.on(core);
        if before == current {
            return false;
        }
        listening.credit(m, core, now);
        let mut changed = before.is_some_and(|thread| self.left(m, core, now, thread));
        let Some(listening) = &mut self.listening else { return changed };
        let came = listening.occupy(core, current);
        listening.tag(m, core);
        listening.load(m, core);
        let Some(thread) = current else { return changed };
        let state = &mut self.threads[thread.index()];
        if self.quantum.is_some_and(|quantum| state.slice_left == quantum) {
            state.slice_left = listening.slice(thread, state.slice_left);
        }
        let task = TaskId(thread.0);
        changed |= self.tell(m, core, now, Hook::SwitchIn { task, core });
        if let Some(from) = came {
            changed |= self.tell(m, core, now, Hook::Migrate { task, from, to: core });
        }
        changed
    }

    /// `thread` has left `core`: a sample, and what was waiting for this.
    #[inline(never)]
    fn left<M: Machine>(&mut self, m: &mut M, core: CoreId, now: Instant, thread: ThreadId) -> bool {
        let task = TaskId(thread.0);
        let ended = self.threads[thread.index()].state == State::Exited;
        let elsewhere = self.threads[thread.index()].domain != self.cores[core.index()].domain;
        let Some(listening) = &mut self.listening else { return false };
        let why = match ended {
            true => Why::Exit,
            false if elsewhere || listening.is_moving(thread) => Why::Migration,
            false => Why::Switch,
        };
        let beside = (listening.held(m, core), listening.metered(m));
        listening.take_sample(Whose::Task(task), core, now, why, beside);
        let mut changed = self.tell(m, core, now, Hook::Sample { of: Whose::Task(task), core, why });
        changed |= self.tell(m, core, now, Hook::SwitchOut { task, core });
        if ended {
            changed |= self.tell(m, core, now, Hook::Exit(task));
            if let Some(listening) = &mut self.listening {
                listening.forget(thread);
            }
        }
        changed | self.place_pending(m, core, now, thread)
    }

    /// Does what has waited for the core of `thread`. True where `core` has to decide anew.
    #[inline(never)]
    fn place_pending<M: Machine>(&mut self, m: &mut M, core: CoreId, now: Instant, thread: ThreadId) -> bool {
        let Some(listening) = &mut self.listening else { return false };
        let pending = listening.take_pending(thread).into_iter().flatten();
        pending.fold(false, |changed, action| changed | self.place(m, core, now, action))
    }

    /// Tells the policy what has happened and carries out what it says. True where `core` has to decide anew.
    #[inline(never)]
    fn tell<M: Machine>(&mut self, m: &mut M, core: CoreId, now: Instant, hook: Hook) -> bool {
        let Some(listening) = &mut self.listening else { return false };
        let actions = listening.tell(now, hook, &self.threads, &self.cores, self.own);
        actions.iter().fold(false, |changed, action| changed | self.place(m, core, now, action))
    }

    /// Carries an action out, or keeps it until the core of its task can.
    #[inline(never)]
    fn place<M: Machine>(&mut self, m: &mut M, core: CoreId, now: Instant, action: Action) -> bool {
        let (Action::Move { task, .. }
        | Action::Hold { task, .. }
        | Action::Weight { task, .. }
        | Action::Ways { task, .. }
        | Action::Kind { task, .. }) = action
        else {
            return self.slow(m, action);
        };
        let thread = ThreadId(task.0);
        let Some(state) = self.state(thread).filter(|state| *state != State::Exited) else {
            return self.note(false);
        };
        if let State::Running(other) = state
            && other != core
            && !matches!(action, Action::Weight { .. } | Action::Ways { .. })
        {
            // Its own core takes it off, for another core may not while it runs.
            if let Some(listening) = &mut self.listening {
                listening.postpone(thread, action);
            }
            self.ask(m, core, now, CoreSet::only(other));
            return false;
        }
        match action {
            Action::Move { core: to, .. } => self.move_to(core, thread, Some(to)),
            Action::Kind { kind, .. } => {
                let own = self.own;
                let listening = self.listening.as_deref();
                let domain = self.domains[self.threads[thread.index()].domain].cores();
                let of_kind = |cores| listening.and_then(|listening| listening.core_of_kind(cores, kind));
                let to = of_kind(domain).or_else(|| of_kind(own));
                self.move_to(core, thread, to)
            }
            Action::Hold { until, .. } => self.hold(core, now, thread, until),
            Action::Weight { per_mille, .. } => {
                if let Some(listening) = &mut self.listening {
                    listening.weigh(thread, per_mille);
                }
                self.note(self.quantum.is_some());
                false
            }
            Action::Ways { mask, .. } => self.give_ways(m, thread, mask),
            Action::Slow { .. } => self.note(false),
        }
    }

    /// `thread` fills these ways from now on. False, for nothing has to be decided anew.
    #[inline(never)]
    fn give_ways<M: Machine>(&mut self, m: &mut M, thread: ThreadId, mask: u64) -> bool {
        let Some(listening) = &mut self.listening else { return false };
        let given = listening.give_ways(thread, mask);
        listening.note(given);
        if let (true, State::Running(on)) = (given, self.threads[thread.index()].state)
            && let Some(ways) = listening.ways(on, thread)
        {
            m.fill_ways_now(on, ways);
        }
        false
    }

    /// The clock of a core runs for part of the time. False, for nothing has to be decided anew.
    #[inline(never)]
    fn slow<M: Machine>(&mut self, m: &mut M, action: Action) -> bool {
        let Action::Slow { core, duty } = action else { return self.note(false) };
        let own = self.own.contains(core);
        if own {
            m.slow(core, duty);
        }
        self.note(own);
        false
    }

    /// Notes what became of an action; false, for nothing has to be decided about one that was not carried out.
    fn note(&mut self, done: bool) -> bool {
        if let Some(listening) = &mut self.listening {
            listening.note(done);
        }
        done
    }

    /// `thread` runs on the domain of core `to` from now on.
    #[inline(never)]
    fn move_to(&mut self, core: CoreId, thread: ThreadId, to: Option<CoreId>) -> bool {
        let Some(to) = to.filter(|to| self.own.contains(*to)) else { return self.note(false) };
        let home = self.cores[to.index()].domain;
        let from = core::mem::replace(&mut self.threads[thread.index()].domain, home);
        self.note(true);
        if let Some(listening) = self.listening.as_mut().filter(|_| from != home) {
            listening.note_move(core);
        }
        let ready = matches!(self.threads[thread.index()].state, State::Ready | State::Running(_));
        if from == home || !ready {
            return false;
        }
        self.take_off(core, from, thread);
        self.make_ready(thread);
        true
    }

    /// `thread` is not ready before `until`. A thread that others may wait for is not held, nor one that is not ready.
    #[inline(never)]
    fn hold(&mut self, core: CoreId, now: Instant, thread: ThreadId, until: Instant) -> bool {
        let state = &self.threads[thread.index()];
        let ready = matches!(state.state, State::Ready | State::Running(_));
        if !ready || until <= now || self.locks.holds_any(thread) {
            return self.note(false);
        }
        let domain = state.domain;
        self.take_off(core, domain, thread);
        let state = &mut self.threads[thread.index()];
        state.state = State::Held;
        state.away_since = now;
        self.cores[core.index()].alarms.set_wake_up(thread, until);
        if let Some(listening) = &mut self.listening {
            listening.note_hold(core);
        }
        self.note(true)
    }

    /// Takes a ready thread, or the one of `core`, out of its domain.
    fn take_off(&mut self, core: CoreId, domain: usize, thread: ThreadId) {
        let _ = self.domains[domain].remove(thread);
        self.touched |= 1 << domain;
        if self.cores[core.index()].current == Some(thread)
            && let Some(job) = &mut self.threads[thread.index()].job
        {
            job.displaced = job.start.is_some();
        }
    }

    /// When a core has to look in for budgets, for a policy that listens, or because a window begins or ends.
    pub(crate) fn next_attendance(&self, core: CoreId) -> Option<Instant> {
        let regulation = self.regulation.as_ref().map(|regulation| regulation.boundary());
        let listening = self.listening.as_deref().map(|listening| listening.boundary(core));
        let window = self.windows.as_deref().and_then(|windows| windows.boundary(core));
        regulation.into_iter().chain(listening).chain(window).min()
    }
}
