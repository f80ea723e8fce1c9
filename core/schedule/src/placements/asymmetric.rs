//! Threads on big and small cores: who is where and for how long, and how the big cores change hands. What all placements have in
//! common that go by kinds of cores.
//!
//! ```text
//!   hooks ──▶ Stage: time of each thread on either kind ──▶ the period is over on all cores ──▶ the policy marks who deserves a
//!   big core ──▶ moves: who deserves one and has none changes places with one who has and does not
//! ```

use crate::job::TaskParameters;
use crate::placement::{Action, Actions, Hook, Situation, Whose};
use crate::sort::sort_by_key;
use alloc::vec::Vec;
use core::cmp::Reverse;
use solo_model::{
    Application, CoreId, CoreSet, Duration, Fixed, Instant, Listening, MetricId, Platform, TaskClass, TaskId,
};

/// A speedup of one, in thousandths.
pub(super) const ONE: u64 = 1_000;
/// More than any core is worth: keeps products within 128 bits.
const MOST: u64 = 1_000_000;

/// A thread, as far as its place matters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Seat {
    /// Nobody moves it: it is of another class, has no core, or has ended.
    pub(super) out: bool,
    /// The position of its application.
    pub(super) application: usize,
    /// What its application weighs.
    pub(super) weight: u64,
    /// Where it is, or waits.
    pub(super) core: CoreId,
    /// It can run now.
    pub(super) ready: bool,
    /// How much faster it is on a big core, in thousandths; or by what else it deserves one.
    pub(super) factor: u64,
    /// That is known, and not assumed.
    pub(super) known: bool,
    /// How much faster its whole application is with the big cores that it can use, in thousandths.
    pub(super) speedup: u64,
    /// How long it has been on big and on small cores.
    pub(super) on_big: Duration,
    pub(super) on_small: Duration,
    /// The same in the period that has ended.
    pub(super) lately: [Duration; 2],
    /// What it has used up or made so far, in the policy's own unit.
    pub(super) spent: u128,
    /// It could not run at the end of the last period.
    away: bool,
    /// Whether it is to be on a big core.
    deserves: bool,
    /// Since when its time on the core is not counted yet.
    since: Option<Instant>,
}

/// An application, as far as its threads share.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Group {
    /// How long its threads have been on big cores, all together.
    pub(super) on_big: Duration,
    /// How many of its threads are marked.
    pub(super) marks: u32,
    /// Threads that can run now, and the sum of their factors.
    ready: u64,
    factors: u64,
}

/// All threads and where they are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Stage {
    metric: MetricId,
    classes: Vec<TaskClass>,
    pub(super) big: CoreSet,
    pub(super) seats: Vec<Seat>,
    pub(super) groups: Vec<Group>,
    /// Threads in the order in which they deserve a big core, filled anew each time.
    order: Vec<u32>,
    /// The end of the next period, and the cores that have told of it.
    next: Instant,
    told: CoreSet,
}

impl Stage {
    /// An empty stage on the cores of `platform`.
    pub(super) fn new(listening: &Listening, platform: &Platform) -> Self {
        Self {
            metric: MetricId(0),
            classes: listening.classes.clone(),
            big: platform.big_cores(),
            seats: Vec::new(),
            groups: Vec::new(),
            order: Vec::new(),
            next: Instant::ZERO,
            told: CoreSet::EMPTY,
        }
    }

    /// Takes the memory for these tasks. A task of no application is one by itself.
    pub(super) fn prepare(&mut self, tasks: &[TaskParameters]) {
        let applications =
            tasks.iter().filter_map(|task| task.member).map(|member| member.application.index() + 1);
        let known = applications.max().unwrap_or(0);
        let seat = |(number, task): (usize, &TaskParameters)| Seat {
            out: task.core.is_none() || !self.classes.contains(&task.class),
            application: task.member.map_or(known + number, |member| member.application.index()),
            weight: task.member.map_or(Application::WEIGHT, |member| member.weight.max(1)).into(),
            core: task.core.unwrap_or_default(),
            ready: false,
            factor: ONE,
            known: false,
            speedup: ONE,
            on_big: Duration::ZERO,
            on_small: Duration::ZERO,
            lately: [Duration::ZERO; 2],
            spent: 0,
            away: false,
            deserves: false,
            since: None,
        };
        self.seats = tasks.iter().enumerate().map(seat).collect();
        self.groups = alloc::vec![Group::default(); known + tasks.len()];
        self.order = Vec::with_capacity(tasks.len());
    }

    /// Takes in what happened. True where a period is over on all cores: then everything is up to date.
    pub(super) fn hear(&mut self, now: Instant, hook: Hook, situation: &dyn Situation) -> bool {
        match hook {
            Hook::SwitchIn { task, core } => {
                if let Some(seat) = self.seats.get_mut(task.index()) {
                    (seat.core, seat.since) = (core, Some(now));
                }
            }
            Hook::SwitchOut { task, .. } => {
                self.credit(task.index(), now);
                if let Some(seat) = self.seats.get_mut(task.index()) {
                    seat.since = None;
                }
            }
            Hook::Exit(task) => {
                if let Some(seat) = self.seats.get_mut(task.index()) {
                    seat.out = true;
                }
            }
            Hook::Tick { core, next } => return self.ends(core, next, now, situation),
            _ => {}
        }
        false
    }

    /// The period is over on `core`; true where it was the last one.
    fn ends(&mut self, core: CoreId, next: Instant, now: Instant, situation: &dyn Situation) -> bool {
        if next != self.next {
            (self.next, self.told) = (next, CoreSet::EMPTY);
        }
        self.told = self.told.with(core);
        if self.told.and(situation.cores()) != situation.cores() {
            return false;
        }
        for task in 0..self.seats.len() {
            self.credit(task, now);
        }
        self.look(situation);
        true
    }

    /// Counts the time that a thread has been on its core.
    fn credit(&mut self, task: usize, now: Instant) {
        let Some(seat) = self.seats.get_mut(task) else { return };
        let Some(since) = &mut seat.since else { return };
        let span = now.since(*since);
        *since = now;
        let [big, small] = &mut seat.lately;
        if self.big.contains(seat.core) {
            (seat.on_big, *big) = (seat.on_big + span, *big + span);
            self.groups[seat.application].on_big += span;
        } else {
            (seat.on_small, *small) = (seat.on_small + span, *small + span);
        }
    }

    /// Who can run, what is believed of it, and what that comes to for its application: with `N` threads that can run, of which
    /// `B` find a big core, `1 + B/N (SF - 1)`.
    fn look(&mut self, situation: &dyn Situation) {
        self.groups.iter_mut().for_each(|group| (group.ready, group.factors) = (0, 0));
        for (number, seat) in self.seats.iter_mut().enumerate().filter(|(_, seat)| !seat.out) {
            let task = TaskId(number as u32);
            seat.ready = situation.is_ready(task);
            let factor = situation.metric(Whose::Task(task), self.metric);
            (seat.factor, seat.known) = (factor.map_or(ONE, thousandths), factor.is_some());
            let group = &mut self.groups[seat.application];
            group.ready += u64::from(seat.ready);
            group.factors += if seat.ready { seat.factor } else { 0 };
        }
        let big = self.big.len() as u64;
        for seat in self.seats.iter_mut().filter(|seat| !seat.out) {
            let group = &self.groups[seat.application];
            let threads = group.ready.max(1);
            let factor = if group.ready == 0 { seat.factor } else { group.factors / threads };
            seat.speedup = ONE + factor.saturating_sub(ONE) * big.min(threads) / threads;
        }
    }

    /// True where a thread is on a big core, or waits there.
    pub(super) fn is_big(&self, seat: &Seat) -> bool {
        self.big.contains(seat.core)
    }

    /// The threads that can run and may be moved, with their positions.
    pub(super) fn ready(&self) -> impl Iterator<Item = (usize, &Seat)> {
        self.seats.iter().enumerate().filter(|(_, seat)| seat.ready && !seat.out)
    }

    /// Gives the big cores to the threads of the greatest `key` that can run; of equal ones to those that are there.
    pub(super) fn give_to_greatest<K: Ord>(&mut self, key: impl Fn(&Seat) -> K) -> Actions {
        let mut order = core::mem::take(&mut self.order);
        order.clear();
        order.extend(self.ready().map(|(number, _)| number as u32));
        sort_by_key(&mut order, |&number| {
            let seat = &self.seats[number as usize];
            (Reverse(key(seat)), !self.is_big(seat), number)
        });
        self.begin();
        for &number in order.iter().take(self.big.len()) {
            self.mark(number as usize);
        }
        self.order = order;
        self.change_places()
    }

    /// Who comes back has used up or made as much as the last of those that were there: nobody saves up while away.
    pub(super) fn catch_up(&mut self) {
        let last = self.ready().filter(|(_, seat)| !seat.away).map(|(_, seat)| seat.spent).min();
        for seat in self.seats.iter_mut().filter(|seat| !seat.out) {
            if core::mem::replace(&mut seat.away, !seat.ready) && seat.ready {
                seat.spent = seat.spent.max(last.unwrap_or(0));
            }
        }
    }

    /// Nobody deserves a big core yet.
    pub(super) fn begin(&mut self) {
        self.seats.iter_mut().for_each(|seat| seat.deserves = false);
        self.groups.iter_mut().for_each(|group| group.marks = 0);
    }

    /// Whoever can run and is on a big core deserves it, as many as there are; then whoever is next, where some are left.
    pub(super) fn mark_those_there(&mut self) {
        self.begin();
        let mut left = self.big.len();
        for there in [true, false] {
            for number in 0..self.seats.len() {
                let seat = &self.seats[number];
                if left > 0 && seat.ready && !seat.out && self.is_big(seat) == there {
                    self.mark(number);
                    left -= 1;
                }
            }
        }
    }

    /// A thread deserves a big core.
    pub(super) fn mark(&mut self, thread: usize) {
        let seat = &mut self.seats[thread];
        seat.deserves = true;
        self.groups[seat.application].marks += 1;
    }

    /// It does not, after all.
    pub(super) fn unmark(&mut self, thread: usize) {
        self.seats[thread].deserves = false;
    }

    /// True where a thread was marked.
    pub(super) fn is_marked(&self, thread: usize) -> bool {
        self.seats[thread].deserves
    }

    /// Moves those who deserve a big core onto one on which nobody does, and whoever is there to where they come from.
    pub(super) fn change_places(&mut self) -> Actions {
        let mut actions = Actions::NONE;
        let mut free = self.big;
        for seat in self.seats.iter().filter(|seat| seat.deserves && !seat.out) {
            free = free.without(seat.core);
        }
        // One of them stays on each of the others; who shares it with that one goes on.
        let mut kept: CoreSet = self.big.iter().filter(|core| !free.contains(*core)).collect();
        for number in 0..self.seats.len() {
            let seat = &self.seats[number];
            if seat.out || !seat.deserves {
                continue;
            }
            if kept.contains(seat.core) {
                kept = kept.without(seat.core);
                continue;
            }
            let Some(to) = free.lowest() else { break };
            let from = seat.core;
            free = free.without(to);
            self.seat(number, to, &mut actions);
            for other in 0..self.seats.len() {
                let there = &self.seats[other];
                if other != number && !there.out && there.core == to && !there.deserves {
                    self.seat(other, from, &mut actions);
                }
            }
        }
        self.seats.iter_mut().for_each(|seat| seat.lately = [Duration::ZERO; 2]);
        actions
    }

    /// A thread goes to a core, where there is room for one more action; else it goes the next time.
    fn seat(&mut self, thread: usize, core: CoreId, actions: &mut Actions) {
        let task = TaskId(thread as u32);
        if actions.push(Action::Move { task, core }).is_some() {
            self.seats[thread].core = core;
        }
    }
}

/// A factor in thousandths, at least a thousandth.
fn thousandths(factor: Fixed) -> u64 {
    let scaled = factor.multiply(Fixed::from(ONE)).map_or(0, Fixed::whole);
    u64::try_from(scaled).unwrap_or(1).clamp(1, MOST)
}
