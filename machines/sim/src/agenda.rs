//! What each agent does next, remembered: only those to which something has happened are looked at again.
//!
//! An agent is whatever acts on its own: a core is one.

use crate::hardware::{Interrupt, Lines};
use solo_model::{CoreId, CoreSet, Picoseconds};

/// What acts on its own, at times that it names.
pub(crate) trait Agent {
    /// Until when it has acted.
    fn time(&self) -> Picoseconds;
    /// When it acts next, if nothing happens to it before.
    fn next_action(&self) -> Picoseconds;
    /// An interrupt can stop what it does.
    fn takes_interrupts(&self) -> bool;
}

/// The next thing that an agent does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Next {
    /// When, and in the low half what comes first of what happens at the same time.
    key: u128,
    /// The earliest thing that anything else does, this agent's own interrupts included; never before this one.
    pub(crate) rest: Picoseconds,
}

/// Nothing at all.
const NEVER: Next = Next { key: u128::MAX, rest: Picoseconds::MAX };

/// Where an interrupt, or an operation as zero, stands in a key: above the agent's number.
const INTERRUPT_SHIFT: u32 = 32;

impl Next {
    #[inline]
    fn new(time: Picoseconds, agent: usize, interrupt: Option<Interrupt>, rest: Picoseconds) -> Self {
        // Of equal times operations go before interrupts, since a job that ends when another is released has ended;
        // then overflows, reschedule requests, timers; lower numbers before higher ones. The corpus states the same
        // order.
        let interrupt = interrupt.map_or(0, |interrupt| 1 + interrupt as u128);
        let key = u128::from(time.get()) << 64 | interrupt << INTERRUPT_SHIFT | agent as u128;
        Self { key, rest }
    }

    #[inline]
    pub(crate) fn time(&self) -> Picoseconds {
        Picoseconds::new((self.key >> 64) as u64)
    }

    #[inline]
    pub(crate) fn agent(&self) -> usize {
        self.key as u32 as usize
    }

    /// The interrupt that it is, unless it is an operation.
    #[inline]
    pub(crate) fn interrupt(&self) -> Option<Interrupt> {
        Interrupt::IN_ORDER.get((self.key >> INTERRUPT_SHIFT) as u32 as usize).copied().flatten()
    }

    /// The earlier of two agents' next things.
    #[inline]
    fn first(a: Self, b: Self) -> Self {
        // Without a branch: no host guesses which core of a simulated machine goes first.
        let second = Picoseconds::new((a.key.max(b.key) >> 64) as u64);
        Self { key: a.key.min(b.key), rest: a.rest.min(b.rest).min(second) }
    }
}

pub(crate) struct Agenda {
    /// That of the agent in focus is [`NEVER`].
    entries: Box<[Next]>,
    /// The first interrupt of each agent.
    lines: Box<[(Picoseconds, Option<Interrupt>)]>,
    /// The agents whose entries have to be made anew.
    stale: CoreSet,
    /// So have all, and their interrupts.
    all_stale: bool,
    /// The agent that was looked at last,
    focus: usize,
    /// and the first of all others.
    others: Next,
    next: Next,
}

impl Agenda {
    /// For agents of which nothing is known yet.
    pub(crate) fn new(agents: usize) -> Self {
        Self {
            entries: vec![NEVER; agents].into(),
            lines: vec![(Picoseconds::MAX, None); agents].into(),
            stale: CoreSet::EMPTY,
            all_stale: true,
            focus: 0,
            others: NEVER,
            next: NEVER,
        }
    }

    /// An agent has gone on, or data have come back to it.
    #[inline]
    pub(crate) fn touch(&mut self, agent: usize) {
        self.stale = self.stale.with(CoreId(agent as u16));
    }

    /// Something may have happened to any agent or its interrupts.
    pub(crate) fn touch_all(&mut self) {
        self.all_stale = true;
    }

    /// The next thing that any agent does.
    #[inline(always)]
    pub(crate) fn next(&mut self, agents: &[impl Agent], lines: &[Lines]) -> Next {
        if self.all_stale {
            self.look_at_all(agents, lines);
        } else if !self.stale.is_empty() {
            self.look_at_stale(agents);
        }
        self.next
    }

    /// Mostly one agent goes on for a while: then the first of the others stays the same.
    #[inline(always)]
    fn look_at_stale(&mut self, agents: &[impl Agent]) {
        let focus = CoreId(self.focus as u16);
        if self.stale != CoreSet::only(focus) {
            for core in self.stale.with(focus).iter() {
                let index = core.index();
                self.entries[index] = entry(index, &agents[index], self.lines[index]);
            }
            self.look_at_others(self.stale.lowest().map_or(0, CoreId::index));
        }
        self.stale = CoreSet::EMPTY;
        let focus = self.focus;
        self.next = Next::first(entry(focus, &agents[focus], self.lines[focus]), self.others);
    }

    #[cold]
    fn look_at_all(&mut self, agents: &[impl Agent], lines: &[Lines]) {
        for (index, agent) in agents.iter().enumerate() {
            self.lines[index] = match lines[index].next() {
                Some((due, interrupt)) => (due, Some(interrupt)),
                None => (Picoseconds::MAX, None),
            };
            self.entries[index] = entry(index, agent, self.lines[index]);
        }
        (self.stale, self.all_stale) = (CoreSet::EMPTY, false);
        let of_focus = self.entries[self.focus];
        self.look_at_others(self.focus);
        self.next = Next::first(of_focus, self.others);
    }

    #[inline(always)]
    fn look_at_others(&mut self, focus: usize) {
        self.focus = focus;
        self.entries[focus] = NEVER;
        self.others = self.entries.iter().copied().fold(NEVER, Next::first);
    }
}

/// An agent's operation and its first interrupt, in the order in which they happen.
#[inline]
fn entry(index: usize, agent: &impl Agent, (line, interrupt): (Picoseconds, Option<Interrupt>)) -> Next {
    let action = agent.next_action();
    if interrupt.is_none() || !agent.takes_interrupts() {
        return Next::new(action, index, None, Picoseconds::MAX);
    }
    // What became due while the agent waited for data is taken before its next operation, and so is an overflow,
    // which stops the program where it is.
    let before = line < agent.time() || line == agent.time() && interrupt == Some(Interrupt::Overflow);
    let line = line.max(agent.time());
    if action <= line && !before {
        Next::new(action, index, None, line)
    } else {
        Next::new(line, index, interrupt, action)
    }
}
