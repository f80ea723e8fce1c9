//! What the kernel keeps for a policy that listens: counters of each thread and core, monitors, metrics, the policy itself.
//!
//! ```text
//!   counters of a core ──credit──▶ thread on it, core ──sample──▶ monitors of each ──▶ board ◀── placement asks
//! ```
//! Counters are virtual: each is read and set to zero where the core changes to another thread and where a sample is taken,
//! and what it read belongs to the thread that was on the core, and to the core. Memory is taken at construction only.

use crate::cores::Core;
use crate::thread::{Job, State, Thread};
use crate::turns::Turning;
use alloc::vec::Vec;
use solo_hal::{CounterId, Machine};
use solo_model::listening::CoreHeard;
use solo_model::record::MetricRecord;
use solo_model::sample::{Sample, Subject, Why};
use solo_model::{
    Bytes, Consumer, CoreId, CoreSet, Counts, Duration, Energy, EnergyRecord, EventSet, Events, Fixed,
    Instant, MetricId, MissRateCurve, PowerDomain, Rmid, TaskId, ThreadId,
};
use solo_observe::RmidPool;
use solo_observe::curve::Curve;
use solo_observe::monitor::{Board, Heard};
use solo_observe::plan::{Assigned, CounterPlan, User};
use solo_schedule::{Action, Actions, Hook, KindId, Placed, Situation, TaskParameters, Whose};

/// When the first counter of the first monitor interrupts on each core.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Interrupts {
    /// After so many events in a period, once: a sample before the period is over.
    Once(Events),
    /// After so many events, again and again: windows of equally many events. Samples are taken at their ends only, and
    /// each is recorded.
    EachWindow(Events),
}

impl Interrupts {
    /// After how many events.
    fn after(self) -> Events {
        match self {
            Self::Once(events) | Self::EachWindow(events) => events,
        }
    }
}

/// A policy that listens, and what it listens to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListeningConfig {
    /// The policy.
    pub placement: Placed,
    /// The monitors that make its metrics, at most 256. Each thread and each core has copies of its own.
    pub monitors: Vec<Heard>,
    /// All metrics have ids below this number.
    pub metrics: u16,
    /// The length of a sampling period on each core.
    pub period: Duration,
    /// How long a set counts, where those of a monitor take turns: not longer than the period, with which the last turn in it
    /// ends. Nothing for the whole period.
    pub turn: Option<Duration>,
    /// When a counter interrupts; `None` where only the clock ends a sample.
    pub interrupts: Option<Interrupts>,
    /// The kind of each core; cores beyond the list are of kind 0.
    pub kinds: Vec<KindId>,
    /// The meters that are read with the counters; empty where no monitor reads them.
    pub meters: Vec<PowerDomain>,
    /// Which process has which id, where a monitor reads how much of the last-level cache is held.
    pub rmids: Option<RmidPool>,
    /// All ways of each core's last level, where the policy gives ways to tasks; else empty.
    pub ways: Vec<u64>,
    /// The metric of tasks that is recorded at the end of each period.
    pub recorded: Option<MetricId>,
}

impl ListeningConfig {
    /// `placement`, told of a sample at the end of each `period`; no monitors yet, and nothing that only some of them read.
    pub fn new(placement: Placed, period: Duration) -> Self {
        Self {
            placement,
            monitors: Vec::new(),
            metrics: 0,
            period,
            turn: None,
            interrupts: None,
            kinds: Vec::new(),
            meters: Vec::new(),
            rmids: None,
            ways: Vec::new(),
            recorded: None,
        }
    }
}

/// What a policy has heard and what became of what it said.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PlacementAccount {
    /// Hooks that it was told.
    pub hooks: u64,
    /// Samples that were taken.
    pub samples: u64,
    /// Actions that were carried out.
    pub actions: u64,
    /// Actions that could not be: a task that is not there or not ready, a core of another part, no quantum to weight.
    pub refused: u64,
    /// Counters that the machine did not read or set.
    pub silent_counters: u64,
}

/// A core as the listener sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Post {
    /// The thread on it, as the policy was told.
    on: Option<ThreadId>,
    /// Until when its counts are credited.
    credited: Instant,
    /// The end of its sampling period, or of the turn of a set in it.
    next: Instant,
    /// The end of its sampling period.
    end: Instant,
    /// Since when what was made of its counts is known: the end of the last period but one.
    known_since: Instant,
    /// When its last period ended.
    began: Instant,
    /// What its first counter has counted in the period.
    counted: u64,
    /// The counter has said in this period that it passed its limit.
    told: bool,
    /// A window was full at the end of the last period, and no interrupt had ended it.
    overdue: bool,
    /// All that was heard.
    heard: CoreHeard,
}

impl Post {
    /// A core that begins at `now`, is looked at first at `next`, and whose first period ends at `end`.
    fn new(now: Instant, next: Instant, end: Instant) -> Self {
        let heard = CoreHeard::default();
        Self {
            on: None,
            credited: now,
            next,
            end,
            known_since: now,
            began: now,
            counted: 0,
            told: false,
            overdue: false,
            heard,
        }
    }
}

/// What was counted of a thread or core since its last sample, and over which time.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Tally {
    /// By counter, in the order of the plan.
    counted: Vec<u64>,
    span: Duration,
    /// What the meters stood at, at its last sample.
    metered: Energy,
    /// A counter was not read in that time: what the others counted belongs to no sample.
    lost: bool,
    monitors: Vec<Heard>,
}

/// What waits for the core of a thread: where it is to go, and until when it is to be held.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Pending {
    place: Option<Action>,
    hold: Option<Action>,
}

/// A policy at work.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Listening {
    placement: Placed,
    counters: Vec<Assigned>,
    /// The monitors whose sets take turns on counters of their own.
    turning: Vec<Turning>,
    period: Duration,
    /// How long each set counts, where sets take turns.
    turn: Option<Duration>,
    interrupts: Option<Interrupts>,
    kinds: Vec<KindId>,
    board: Board,
    /// Of each thread, then of each core.
    tallies: Vec<Tally>,
    threads: usize,
    /// Filled anew for each sample.
    sample: Sample,
    posts: Vec<Post>,
    /// Where each thread ran last.
    last_core: Vec<Option<CoreId>>,
    /// What is to be done with a thread as soon as its own core can do it.
    pending: Vec<Pending>,
    /// The time slice of each thread in thousandths of the quantum.
    weights: Vec<u32>,
    /// Who has which id of lines, where that is observed.
    rmids: Option<RmidPool>,
    /// The meters that are read with the counters; empty where nobody listens to them.
    meters: Vec<PowerDomain>,
    /// All ways of each core's last level; empty where the policy gives none.
    all_ways: Vec<u64>,
    /// The ways that the policy has given to each thread; zero for none of its own.
    ways: Vec<u64>,
    recorded: Option<MetricId>,
    account: PlacementAccount,
}

impl Listening {
    pub(crate) fn new(
        config: ListeningConfig,
        plan: &CounterPlan,
        tasks: &[TaskParameters],
        cores: usize,
    ) -> Self {
        let ListeningConfig {
            mut placement,
            monitors,
            metrics,
            period,
            turn,
            interrupts,
            kinds,
            meters,
            rmids,
            ways: all_ways,
            recorded,
        } = config;
        placement.prepare(tasks);
        let threads = tasks.len();
        let rows = threads + cores;
        let (mut plain, mut counters, mut turning) = (Vec::new(), Vec::new(), Vec::new());
        for (number, monitor) in monitors.into_iter().enumerate() {
            let own = plan.of(User::Monitor(number as u8));
            match monitor.0.turns().is_some() {
                true => turning.push(Turning::new(&monitor, own, threads, cores)),
                false => {
                    counters.extend(own);
                    plain.push(monitor);
                }
            }
        }
        let set = counters.iter().fold(EventSet::EMPTY, |set, counter| set.with(counter.event));
        let counted = alloc::vec![0; counters.len()];
        let tally =
            Tally { counted, span: Duration::ZERO, metered: Energy::ZERO, lost: false, monitors: plain };
        let post = Post::new(Instant::ZERO, Instant::MAX, Instant::MAX);
        let mut sample = Sample::of_core(CoreId(0), Instant::ZERO, Duration::ZERO, Counts::of(set, |_| 0));
        // Virtual counters: the bytes held, and what the meters have gone on by.
        let virtuals = match (&rmids, meters.is_empty()) {
            (_, false) => Sample::ENERGY + 1,
            (Some(_), true) => Sample::HELD + 1,
            (None, true) => 0,
        };
        sample.virtuals.resize(virtuals, None);
        Self {
            placement,
            counters,
            turning,
            period,
            turn,
            interrupts,
            kinds,
            board: Board::new(rows, metrics),
            tallies: alloc::vec![tally; rows],
            threads,
            sample,
            posts: alloc::vec![post; cores],
            last_core: alloc::vec![None; threads],
            pending: alloc::vec![Pending::default(); threads],
            weights: alloc::vec![1000; threads],
            rmids,
            meters,
            all_ways,
            ways: alloc::vec![0; threads],
            recorded,
            account: PlacementAccount::default(),
        }
    }

    pub(crate) fn account(&self) -> PlacementAccount {
        self.account
    }

    /// Notes what became of an action.
    pub(crate) fn note(&mut self, done: bool) {
        self.account.actions += u64::from(done);
        self.account.refused += u64::from(!done);
    }

    /// Notes whether the machine did what a counter was asked to do.
    pub(crate) fn note_counter(&mut self, done: bool) {
        self.account.silent_counters += u64::from(!done);
    }

    /// The last value of a metric.
    pub(crate) fn metric(&self, whose: Whose, metric: MetricId) -> Option<Fixed> {
        last_of(&self.board, self.threads, whose, metric).map(|(value, _)| value)
    }

    /// `core` begins at `now`; periods count from `epoch`.
    #[inline(never)] // once, not for each criterion
    pub(crate) fn begin<M: Machine>(&mut self, m: &mut M, core: CoreId, now: Instant, epoch: Instant) {
        let (next, end) = (self.look_after(now, epoch), self.boundary_after(now, epoch));
        self.posts[core.index()] = Post::new(now, next, end);
        self.arm(m, core);
        self.load(m, core);
    }

    /// When the sampling period of `core` is over, or the turn of a set.
    pub(crate) fn boundary(&self, core: CoreId) -> Instant {
        self.posts[core.index()].next
    }

    /// The first boundary of periods after `now`.
    fn boundary_after(&self, now: Instant, epoch: Instant) -> Instant {
        epoch + self.period * (now.since(epoch) / self.period + 1)
    }

    /// The end of the first turn after `now`; the last one in a period ends with it.
    fn look_after(&self, now: Instant, epoch: Instant) -> Instant {
        let end = self.boundary_after(now, epoch);
        let Some(turn) = self.turn.filter(|turn| *turn < self.period) else { return end };
        let begin = epoch + self.period * (now.since(epoch) / self.period);
        let turns = now.since(begin) / turn + 1;
        if turns < self.period / turn { begin + turn * turns } else { end }
    }

    /// The sampling period of `core` has ended at `now`, or a turn in it. Returns when the next period ends, where one has.
    pub(crate) fn roll<M: Machine>(
        &mut self,
        m: &mut M,
        core: CoreId,
        now: Instant,
        epoch: Instant,
    ) -> Option<Instant> {
        let (next, end) = (self.look_after(now, epoch), self.boundary_after(now, epoch));
        let in_windows = self.in_windows();
        let post = &mut self.posts[core.index()];
        post.next = next;
        if now < post.end {
            return None;
        }
        post.end = end;
        (post.known_since, post.began) = (post.began, now);
        if in_windows {
            return Some(end);
        }
        let passed = self.interrupts.is_some_and(|interrupts| post.counted >= interrupts.after().get());
        post.heard.lost_overflows += u64::from(passed && !post.told);
        (post.counted, post.told) = (0, false);
        self.arm(m, core);
        Some(end)
    }

    fn arm<M: Machine>(&mut self, m: &mut M, core: CoreId) {
        if let (Some(interrupts), Some(first)) = (self.interrupts, self.counters.first()) {
            let done = m.interrupt_after(core, first.counter, interrupts.after().get()).is_ok();
            self.note_counter(done);
        }
    }

    /// True where an overflow of `counter` can be believed, once a period: what was counted says so too. An interrupt that came
    /// late, twice or for nothing says that a task is to blame which is not.
    pub(crate) fn believes(&mut self, core: CoreId, counter: CounterId) -> bool {
        let first = self.counters.first().is_some_and(|first| first.counter == counter);
        let post = &mut self.posts[core.index()];
        let passed = self.interrupts.is_some_and(|interrupts| post.counted >= interrupts.after().get());
        let believed = first && passed && !post.told;
        post.told |= believed;
        post.heard.false_overflows += u64::from(!believed);
        believed
    }

    /// What was heard of `core`, and done there.
    pub(crate) fn heard(&self, core: CoreId) -> Option<CoreHeard> {
        self.posts.get(core.index()).map(|post| post.heard)
    }

    /// Notes that `core` has held a task.
    pub(crate) fn note_hold(&mut self, core: CoreId) {
        self.posts[core.index()].heard.held += 1;
    }

    /// Notes that `core` has moved a task.
    pub(crate) fn note_move(&mut self, core: CoreId) {
        self.posts[core.index()].heard.moved += 1;
    }

    /// The thread on `core`, as the policy was told.
    pub(crate) fn on(&self, core: CoreId) -> Option<ThreadId> {
        self.posts[core.index()].on
    }

    /// Reads the counters of `core` and sets them to zero: what they read belongs to the core and to the thread on it.
    #[inline(never)]
    pub(crate) fn credit<M: Machine>(&mut self, m: &mut M, core: CoreId, now: Instant) {
        let post = &mut self.posts[core.index()];
        let span = now.since(post.credited);
        post.credited = post.credited.max(now);
        let rows = [post.on.map(ThreadId::index), Some(self.threads + core.index())];
        for row in rows.into_iter().flatten() {
            self.tallies[row].span += span;
        }
        for (place, counter) in self.counters.iter().enumerate() {
            let read = m.read(core, counter.counter);
            let set = m.write(core, counter.counter, 0);
            let (Ok(read), Ok(())) = (read, set) else {
                self.account.silent_counters += 1;
                rows.into_iter().flatten().for_each(|row| self.tallies[row].lost = true);
                continue;
            };
            if place == 0 {
                post.counted = post.counted.saturating_add(read);
                post.heard.counted = post.heard.counted.saturating_add(read);
            }
            for row in rows.into_iter().flatten() {
                let counted = &mut self.tallies[row].counted[place];
                *counted = counted.saturating_add(read);
            }
        }
        for turning in &mut self.turning {
            let kind = kind_of(&self.kinds, core);
            self.account.silent_counters += turning.credit(m, (core, kind), post.on, span);
        }
    }

    /// Lets the set whose turn it is count on `core`.
    #[inline(never)]
    pub(crate) fn load<M: Machine>(&mut self, m: &mut M, core: CoreId) {
        let on = self.posts[core.index()].on;
        for turning in &mut self.turning {
            self.account.silent_counters += turning.load(m, core, on);
        }
    }

    /// Lets the monitors of a thread or core look at what was counted of it on `core`, which begins anew.
    #[inline(never)]
    pub(crate) fn take_sample(
        &mut self,
        whose: Whose,
        core: CoreId,
        now: Instant,
        why: Why,
        (held, metered): (Option<Bytes>, Option<Energy>),
    ) {
        let row = row(self.threads, whose);
        let Some(tally) = self.tallies.get_mut(row) else { return };
        let counters = &self.counters;
        let place = |event| counters.iter().position(|counter| counter.event == event);
        self.sample.counts.refill(|event| place(event).map_or(0, |place| tally.counted[place]));
        self.sample.at = now;
        self.sample.span = core::mem::take(&mut tally.span);
        self.sample.why = why;
        if let Some(place) = self.sample.virtuals.get_mut(Sample::ENERGY) {
            let used = metered.map(|metered| metered.since(core::mem::replace(&mut tally.metered, metered)));
            *place = used.and_then(|used| i64::try_from(used.get()).ok());
        }
        if let Some(place) = self.sample.virtuals.get_mut(Sample::HELD) {
            *place = held.and_then(|held| i64::try_from(held.get()).ok());
        }
        self.sample.subject = match whose {
            Whose::Task(task) => Subject::Task(task),
            Whose::Core(core) => Subject::Core(core),
        };
        tally.counted.fill(0);
        let lost = core::mem::take(&mut tally.lost);
        let kind = kind_of(&self.kinds, core);
        for monitor in tally.monitors.iter_mut().filter(|_| !lost) {
            self.board.note(row, &monitor.0.sample_on(kind, &self.sample), now);
            if let Some(points) = monitor.0.curve().and_then(Curve::points) {
                self.board.note_points(row, MissRateCurve::point(0), points, now);
            }
        }
        if why == Why::Tick {
            for turning in &mut self.turning {
                self.board.note(row, &turning.end(row, self.sample.subject, now), now);
            }
        }
        self.account.samples += 1;
        if let Whose::Core(core) = whose {
            self.posts[core.index()].heard.samples += 1;
        }
    }

    /// What the process of the thread on `core` holds of the core's last level; `None` where that is not observed, or nobody is
    /// there or has an id.
    pub(crate) fn held<M: Machine>(&self, m: &M, core: CoreId) -> Option<Bytes> {
        let thread = self.posts[core.index()].on?;
        m.occupancy(core, self.rmids.as_ref()?.of(thread.index())?)
    }

    /// What the meters stand at, all together; `None` where nobody listens to them, or one does not answer.
    pub(crate) fn metered<M: Machine>(&self, m: &M) -> Option<Energy> {
        let (first, rest) = self.meters.split_first()?;
        rest.iter().try_fold(m.energy(*first)?, |sum, domain| {
            Some(Energy::new(sum.get().wrapping_add(m.energy(*domain)?.get())))
        })
    }

    /// What is recorded of a task whose period has ended on `core`; `None` where nothing is.
    pub(crate) fn told(
        &self,
        task: TaskId,
        core: CoreId,
        now: Instant,
        job: Option<&Job>,
    ) -> Option<MetricRecord> {
        let metric = self.recorded?;
        Some(MetricRecord {
            at: now,
            core,
            task,
            value: self.metric(Whose::Task(task), metric),
            job: job.map(|job| job.index),
            executed: job.map_or(Duration::ZERO, |job| job.executed),
            retired: None,
        })
    }

    /// True where samples are taken at the ends of windows only.
    pub(crate) fn in_windows(&self) -> bool {
        matches!(self.interrupts, Some(Interrupts::EachWindow(_)))
    }

    /// What was used in the window of `task` whose sample was taken last, on `core`.
    pub(crate) fn window(&self, task: TaskId, core: CoreId) -> EnergyRecord {
        let Sample { at, span, counts, virtuals, .. } = &self.sample;
        let read = virtuals.get(Sample::ENERGY).copied().flatten();
        let used = Energy::new(read.and_then(|read| u64::try_from(read).ok()).unwrap_or(0));
        let events = self.counters.first().and_then(|first| counts.get(first.event));
        let window = Consumer::Window {
            task,
            kind: kind_of(&self.kinds, core),
            events: Events::new(events.unwrap_or(0)),
            span: *span,
        };
        EnergyRecord { at: *at, of: window, dynamic: used, fixed: Energy::ZERO, dram: Energy::ZERO }
    }

    /// True where a window of `core` was full at the ends of two periods, and no interrupt ended it: it was lost. Whoever is
    /// late by less than a period is waited for.
    pub(crate) fn window_is_lost<M: Machine>(&mut self, m: &M, core: CoreId) -> bool {
        let (Some(interrupts), Some(first)) = (self.interrupts, self.counters.first()) else { return false };
        let read = m.read(core, first.counter);
        self.note_counter(read.is_ok());
        let post = &mut self.posts[core.index()];
        let counted = post.counted.saturating_add(read.unwrap_or(0));
        let full = counted >= interrupts.after().get();
        let lost = full && post.overdue;
        post.overdue = full;
        post.heard.lost_overflows += u64::from(lost);
        lost
    }

    /// The next window of `core` begins.
    pub(crate) fn begin_window<M: Machine>(&mut self, m: &mut M, core: CoreId) {
        let post = &mut self.posts[core.index()];
        (post.counted, post.told, post.overdue) = (0, false, false);
        self.arm(m, core);
    }

    /// Lines that `core` brings in are those of the process of the thread that is on it now.
    pub(crate) fn tag<M: Machine>(&mut self, m: &mut M, core: CoreId) {
        let on = self.posts[core.index()].on;
        if let Some(rmids) = &mut self.rmids {
            let rmid = on.and_then(|thread| rmids.enter(thread.index()));
            m.tag_lines(core, rmid.unwrap_or(Rmid::NOBODY));
        }
    }

    /// The id of the process of a task, where it has one.
    pub(crate) fn rmid(&self, task: TaskId) -> Option<Rmid> {
        self.rmids.as_ref()?.of(task.index())
    }

    /// What was found out of a task's misses by what its process held of the cache.
    pub(crate) fn curve(&self, task: TaskId) -> Option<MissRateCurve> {
        let tally = self.tallies.get(task.index()).filter(|_| task.index() < self.threads)?;
        let curve = tally.monitors.iter().find_map(|monitor| monitor.0.curve())?;
        let points = curve.points().unwrap_or(&[]).to_vec();
        Some(MissRateCurve { task, capacity: curve.capacity(), bins: curve.bins().to_vec(), points })
    }

    /// Gives ways to `thread`; false where the policy gives none, or none of these is there.
    pub(crate) fn give_ways(&mut self, thread: ThreadId, mask: u64) -> bool {
        let any = self.all_ways.iter().any(|all| mask & all != 0);
        if any {
            self.ways[thread.index()] = mask;
        }
        any
    }

    /// What `thread` fills on `core` where the policy has given it ways.
    pub(crate) fn ways(&self, core: CoreId, thread: ThreadId) -> Option<u64> {
        let all = self.all_ways.get(core.index())?;
        Some(self.ways[thread.index()] & all).filter(|mask| *mask != 0)
    }

    /// All ways of the last level of `core`, where the policy gives any.
    pub(crate) fn all_ways(&self, core: CoreId) -> Option<u64> {
        self.all_ways.get(core.index()).copied()
    }

    /// `thread` is on `core` now, or nobody. Returns where the thread ran before, where that was another core.
    pub(crate) fn occupy(&mut self, core: CoreId, thread: Option<ThreadId>) -> Option<Option<CoreId>> {
        self.posts[core.index()].on = thread;
        let last = self.last_core[thread?.index()].replace(core);
        (last != Some(core)).then_some(last)
    }

    /// Nothing that was known of `thread` holds any more.
    pub(crate) fn forget(&mut self, thread: ThreadId) {
        self.board.forget(thread.index());
        self.turning.iter_mut().for_each(|turning| turning.forget(thread));
        self.take_pending(thread).iter().flatten().for_each(|_| self.note(false));
        if let Some(rmids) = &mut self.rmids {
            rmids.leave(thread.index());
        }
    }

    /// Keeps an action until the core of `thread` can carry it out. One of the same kind that waited is not carried out.
    pub(crate) fn postpone(&mut self, thread: ThreadId, action: Action) {
        let waiting = &mut self.pending[thread.index()];
        let place = match action {
            Action::Hold { .. } => &mut waiting.hold,
            // Ways and clocks wait for nobody.
            Action::Move { .. }
            | Action::Kind { .. }
            | Action::Weight { .. }
            | Action::Ways { .. }
            | Action::Slow { .. } => &mut waiting.place,
        };
        if place.replace(action).is_some() {
            self.note(false);
        }
    }

    /// What is to be done with `thread`, in this order; told once.
    pub(crate) fn take_pending(&mut self, thread: ThreadId) -> [Option<Action>; 2] {
        let Pending { place, hold } = core::mem::take(&mut self.pending[thread.index()]);
        [place, hold]
    }

    /// True where `thread` leaves its core for another.
    pub(crate) fn is_moving(&self, thread: ThreadId) -> bool {
        self.pending[thread.index()].place.is_some()
    }

    /// Sets the time slice of `thread`.
    pub(crate) fn weigh(&mut self, thread: ThreadId, per_mille: u32) {
        self.weights[thread.index()] = per_mille;
    }

    /// A whole time slice of `thread`.
    pub(crate) fn slice(&self, thread: ThreadId, quantum: Duration) -> Duration {
        let weight = u64::from(self.weights[thread.index()]);
        Duration::new((quantum.get().saturating_mul(weight) / 1000).max(1))
    }

    /// The first of `cores` of this kind.
    pub(crate) fn core_of_kind(&self, cores: CoreSet, kind: KindId) -> Option<CoreId> {
        cores.iter().find(|core| kind_of(&self.kinds, *core) == kind)
    }

    /// Tells the policy what has happened.
    #[inline(never)]
    pub(crate) fn tell(
        &mut self,
        now: Instant,
        hook: Hook,
        threads: &[Thread],
        cores: &[Core],
        own: CoreSet,
    ) -> Actions {
        self.account.hooks += 1;
        let seen =
            Seen { now, board: &self.board, posts: &self.posts, kinds: &self.kinds, threads, cores, own };
        self.placement.on(now, hook, &seen)
    }
}

/// What a policy may look at.
struct Seen<'k> {
    now: Instant,
    board: &'k Board,
    posts: &'k [Post],
    kinds: &'k [KindId],
    threads: &'k [Thread],
    cores: &'k [Core],
    own: CoreSet,
}

impl Seen<'_> {
    /// The last value and when it was made, unless it is of a core and too old.
    fn last(&self, whose: Whose, metric: MetricId) -> Option<(Fixed, Instant)> {
        let (value, at) = last_of(self.board, self.threads.len(), whose, metric)?;
        let old = |core: CoreId| self.posts.get(core.index()).is_some_and(|post| at <= post.known_since);
        match whose {
            Whose::Core(core) if old(core) => None,
            _ => Some((value, at)),
        }
    }
}

impl Situation for Seen<'_> {
    fn metric(&self, whose: Whose, metric: MetricId) -> Option<Fixed> {
        self.last(whose, metric).map(|(value, _)| value)
    }

    fn age(&self, whose: Whose, metric: MetricId) -> Option<Duration> {
        self.last(whose, metric).map(|(_, at)| self.now.since(at))
    }

    fn running(&self, core: CoreId) -> Option<TaskId> {
        let core = self.cores.get(core.index()).filter(|_| self.own.contains(core))?;
        core.current.map(|thread| TaskId(thread.0))
    }

    fn parameters(&self, task: TaskId) -> Option<TaskParameters> {
        self.threads.get(task.index()).map(|thread| thread.parameters)
    }

    fn cores(&self) -> CoreSet {
        self.own
    }

    fn is_ready(&self, task: TaskId) -> bool {
        let thread = self.threads.get(task.index());
        thread.is_some_and(|thread| matches!(thread.state, State::Ready | State::Running(_)))
    }

    fn kind(&self, core: CoreId) -> Option<KindId> {
        self.own.contains(core).then(|| kind_of(self.kinds, core))
    }
}

fn last_of(board: &Board, threads: usize, whose: Whose, metric: MetricId) -> Option<(Fixed, Instant)> {
    if matches!(whose, Whose::Task(task) if task.index() >= threads) {
        return None;
    }
    board.last(row(threads, whose), metric)
}

fn row(threads: usize, whose: Whose) -> usize {
    match whose {
        Whose::Task(task) => task.index(),
        Whose::Core(core) => threads + core.index(),
    }
}

fn kind_of(kinds: &[KindId], core: CoreId) -> KindId {
    kinds.get(core.index()).copied().unwrap_or(KindId(0))
}
