//! From changed queues to a switch of this core and requests to others.

use crate::cores::TimerChange;
use crate::kernel::{Kernel, Switch};
use crate::steps::Steps;
use crate::thread::State;
use solo_hal::{Edge, Machine};
use solo_model::policy::Timing;
use solo_model::record::{IpiRecord, SwitchReason, SwitchRecord};
use solo_model::{CoreId, CoreSet, Instant, Overhead, Record, TaskId, ThreadId};
use solo_schedule::{Criterion, Rank};

impl<C: Criterion> Kernel<C> {
    /// Charges the time since the last entry of `core` to the thread that is on it.
    pub(crate) fn account(&mut self, core: CoreId, now: Instant) {
        let own = &mut self.cores[core.index()];
        let ran = own.account(now);
        if let Some(thread) = own.current {
            self.threads[thread.index()].charge(ran, self.timing);
        }
    }

    /// The rank of `thread`'s job as it is now, raised by the mutexes it holds; `None` between jobs.
    pub(crate) fn rank(&mut self, thread: ThreadId) -> Option<Rank> {
        let base = C::rank(&self.threads[thread.index()].view()?);
        Some(self.locks.set_base(thread, base))
    }

    /// Puts the thread of `core` back into its queue to compete for the core.
    pub(crate) fn put_back(&mut self, core: CoreId, thread: ThreadId) {
        let Some(rank) = self.rank(thread) else { return };
        let domain = self.cores[core.index()].domain;
        self.domains[domain].put_back(core, rank);
    }

    /// Decides for this core and for all others that what has happened concerns; sends the requests, switches
    /// and programs the timer.
    pub(crate) fn settle<M: Machine>(
        &mut self,
        m: &mut M,
        core: CoreId,
        now: Instant,
        reason: SwitchReason,
    ) -> Switch {
        m.probe(core, Overhead::Scheduling, Edge::Enter);
        let others = self.choose(core, now);
        m.probe(core, Overhead::Scheduling, Edge::Leave);
        self.ask(m, core, now, others);
        let before = self.cores[core.index()].current;
        let mut switch = self.change_over(m, core, now, reason);
        if self.attended {
            switch = self.settle_attended(m, core, now, before, switch);
        }
        self.arm(m, core);
        switch
    }

    /// Budgets and a policy that listens hear of the switch, and may not want the thread there. Not inlined: nobody else pays
    /// for it.
    #[inline(never)]
    fn settle_attended<M: Machine>(
        &mut self,
        m: &mut M,
        core: CoreId,
        now: Instant,
        before: Option<ThreadId>,
        first: Switch,
    ) -> Switch {
        let mut switch = first;
        // A thread whose own budget is used up leaves at once, and so does one that is held: each time there is one less. A
        // policy that calls threads to the core one after the other has as many tries as there are threads.
        for _ in 0..=self.threads.len() {
            let held = self.listen_switch(m, core, now);
            if !(self.regulate_switch(m, core, now) | held) {
                break;
            }
            let others = self.choose(core, now);
            self.ask(m, core, now, others);
            let _ = self.change_over(m, core, now, SwitchReason::Throttled);
            switch = match self.cores[core.index()].current {
                after if after == before => Switch::Stay,
                Some(thread) => Switch::To(thread),
                None => Switch::Idle,
            };
        }
        self.divide_ways(m, core, before);
        switch
    }

    /// What has happened to ranks reaches the queues; the domain of this core is touched. Returns it.
    #[inline(always)] // on the way to each decision
    fn begin_choice(&mut self, core: CoreId) -> usize {
        self.cores[core.index()].answer();
        let mut steps = Steps::at_most(self.threads.len());
        while let Some(thread) = self.locks.take_reranked() {
            steps.take();
            self.spread_rank(thread);
        }
        let own = self.cores[core.index()].domain;
        self.touched |= 1 << own;
        own
    }

    /// Lets this core choose and returns the other cores that must choose too.
    fn choose(&mut self, core: CoreId, now: Instant) -> CoreSet {
        if self.moves_up {
            return self.choose_by_speed(core, now);
        }
        let own = self.begin_choice(core);
        let mut ask = CoreSet::EMPTY;
        while self.touched != 0 {
            let domain = self.touched.trailing_zeros() as usize;
            self.touched &= self.touched - 1;
            if C::AGES {
                self.age(domain, now);
            }
            ask = ask.or(self.domains[domain].cores_to_ask(core));
        }
        if ask.contains(core) {
            // What was chosen is the domain's head from here on.
            let _ = self.domains[own].choose(core);
        }
        ask.without(core)
    }

    /// The same where the most urgent threads of a domain are to have the fastest cores.
    #[cold]
    #[inline(never)]
    fn choose_by_speed(&mut self, core: CoreId, now: Instant) -> CoreSet {
        let own = self.begin_choice(core);
        let mut ask = CoreSet::EMPTY;
        while self.touched != 0 {
            let domain = self.touched.trailing_zeros() as usize;
            self.touched &= self.touched - 1;
            if C::AGES {
                self.age(domain, now);
            }
            let of = &mut self.domains[domain];
            if !of.moves_up() {
                ask = ask.or(of.cores_to_ask(core));
                if domain == own && ask.contains(core) {
                    let _ = of.choose(core);
                }
                continue;
            }
            if domain == own && of.cores_to_change().contains(core) {
                let _ = of.choose_suited(core);
            }
            // What this core has put back may be what another waits for.
            ask = ask.or(of.cores_to_change());
        }
        ask.without(core)
    }

    /// Brings a rank that a lock has raised or lowered to the thread's domain.
    fn spread_rank(&mut self, thread: ThreadId) {
        if let Some(rank) = self.locks.rank(thread) {
            let domain = self.threads[thread.index()].domain;
            self.domains[domain].rerank(thread, rank);
            self.touched |= 1 << domain;
        }
    }

    /// Computes the ranks of the running threads anew, where they change with execution.
    fn age(&mut self, domain: usize, now: Instant) {
        for core in self.domains[domain].cores().iter() {
            self.account(core, now);
            let head = self.domains[domain].running(core);
            if let Some(thread) = head.map(|head| head.thread)
                && let Some(rank) = self.rank(thread)
            {
                self.domains[domain].rerank(thread, rank);
            }
        }
    }

    /// Sends reschedule requests to those of `others` that have none under way.
    pub(crate) fn ask<M: Machine>(&mut self, m: &mut M, from: CoreId, now: Instant, others: CoreSet) {
        for to in others.iter() {
            if self.cores[to.index()].ask() {
                continue;
            }
            m.probe(from, Overhead::Ipi, Edge::Enter);
            m.send_reschedule(from, to, now);
            m.probe(from, Overhead::Ipi, Edge::Leave);
            m.record(from, Record::Ipi(IpiRecord { at: now, from, to }));
        }
    }

    /// Makes what the domain chose the core's current thread.
    fn change_over<M: Machine>(
        &mut self,
        m: &mut M,
        core: CoreId,
        now: Instant,
        reason: SwitchReason,
    ) -> Switch {
        let domain = self.cores[core.index()].domain;
        let from = self.cores[core.index()].current;
        let to = self.domains[domain].running(core).map(|head| head.thread);
        if from == to {
            return match to {
                Some(thread) => {
                    self.occupy(core, now, thread);
                    Switch::Stay
                }
                None if reason == SwitchReason::Start => Switch::Idle,
                None => Switch::Stay,
            };
        }
        if let Some(thread) = from {
            self.leave(core, thread, reason);
        }
        self.cores[core.index()].current = to;
        m.probe(core, Overhead::ContextSwitch, Edge::Enter);
        m.probe(core, Overhead::ContextSwitch, Edge::Leave);
        if let Some(thread) = to
            && self.occupy(core, now, thread)
        {
            m.probe(core, Overhead::CacheAffinity, Edge::Enter);
            m.probe(core, Overhead::CacheAffinity, Edge::Leave);
        }
        let task = |thread: ThreadId| TaskId(thread.0);
        let reason =
            if from.is_none() && reason != SwitchReason::Start { SwitchReason::Idle } else { reason };
        let record = SwitchRecord { at: now, core, from: from.map(task), to: to.map(task), reason };
        m.record(core, Record::Switch(record));
        to.map_or(Switch::Idle, Switch::To)
    }

    /// `thread` is off `core`. If it could have gone on, another took its core away.
    fn leave(&mut self, core: CoreId, thread: ThreadId, reason: SwitchReason) {
        let thread = &mut self.threads[thread.index()];
        if thread.state != State::Running(core) {
            return;
        }
        thread.state = State::Ready;
        if let Some(job) = thread.job.as_mut().filter(|job| job.start.is_some()) {
            job.displaced = true;
            let taken =
                matches!(reason, SwitchReason::Preempted | SwitchReason::Quantum | SwitchReason::Window);
            job.preemptions += u32::from(taken);
        }
    }

    /// `thread` is on `core`. True where it resumes a job that had lost its core.
    fn occupy(&mut self, core: CoreId, now: Instant, thread: ThreadId) -> bool {
        let thread = &mut self.threads[thread.index()];
        thread.state = State::Running(core);
        let elsewhere = thread.last_core.replace(core).is_some_and(|last| last != core);
        let Some(job) = &mut thread.job else { return false };
        job.migrations += u32::from(elsewhere && job.start.is_some());
        job.start.get_or_insert(now);
        core::mem::take(&mut job.displaced)
    }

    /// Programs the core's timer for the next release, slice end or tick.
    pub(crate) fn arm<M: Machine>(&mut self, m: &mut M, core: CoreId) {
        let next = self.next_event(core);
        match self.cores[core.index()].reprogram(next) {
            TimerChange::Keep => {}
            TimerChange::Arm(at) => m.arm(core, at),
            TimerChange::Disarm => m.disarm(core),
        }
    }

    fn next_event(&self, core: CoreId) -> Option<Instant> {
        let state = &self.cores[core.index()];
        match (self.timing, self.epoch) {
            (Timing::Tick(tick), Some(epoch)) => Some(state.next_tick(tick, epoch)),
            _ => {
                let alarm = state.alarms.first().map(|(due, _)| due);
                let slice = state.current.filter(|_| self.quantum.is_some());
                let slice = slice.map(|thread| state.accounted() + self.threads[thread.index()].slice_left);
                let attended = if self.attended { self.next_attendance(core) } else { None };
                alarm.into_iter().chain(slice).chain(attended).min()
            }
        }
    }
}
