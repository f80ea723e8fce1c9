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
    pub(crate) time: Picoseconds,
    pub(crate) agent: usize,
    pub(crate) interrupt: Option<Interrupt>,
    /// The earliest thing that anything else does, this agent's own interrupts included.
    pub(crate) rest: Picoseconds,
}

/// Nothing at all.
const NEVER: Next =
    Next { time: Picoseconds::MAX, agent: usize::MAX, interrupt: None, rest: Picoseconds::MAX };

impl Next {
    /// The earlier of two agents' next things. Of equal times operations go before interrupts, since a job that ends
    /// when another is released has ended; then overflows, reschedule requests, timers; lower numbers before higher
    /// ones. The corpus states the same order.
    #[inline]
    fn first(a: Self, b: Self) -> Self {
        // `None`, an operation, is less than any interrupt.
        let b_first = b.time < a.time
            || b.time == a.time
                && (b.interrupt < a.interrupt || b.interrupt == a.interrupt && b.agent < a.agent);
        let (first, second) = if b_first { (b, a) } else { (a, b) };
        Self { rest: first.rest.min(second.time), ..first }
    }
}

pub(crate) struct Agenda {
    /// That of the agent in focus is out of date.
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
        self.look_at_others(self.focus);
        self.next = Next::first(self.entries[self.focus], self.others);
    }

    fn look_at_others(&mut self, focus: usize) {
        self.focus = focus;
        let entries = self.entries.iter().enumerate();
        let others = entries.filter(|(agent, _)| *agent != focus).map(|(_, entry)| *entry);
        self.others = others.fold(NEVER, Next::first);
    }
}

/// An agent's operation and its first interrupt, in the order in which they happen.
#[inline]
fn entry(index: usize, agent: &impl Agent, (line, interrupt): (Picoseconds, Option<Interrupt>)) -> Next {
    let action = agent.next_action();
    if interrupt.is_none() || !agent.takes_interrupts() {
        return Next { time: action, agent: index, interrupt: None, rest: Picoseconds::MAX };
    }
    // What became due while the agent waited for data is taken before its next operation, and so is an overflow,
    // which stops the program where it is.
    let before = line < agent.time() || line == agent.time() && interrupt == Some(Interrupt::Overflow);
    let line = line.max(agent.time());
    if action <= line && !before {
        Next { time: action, agent: index, interrupt: None, rest: line }
    } else {
        Next { time: line, agent: index, interrupt, rest: action }
    }
}
