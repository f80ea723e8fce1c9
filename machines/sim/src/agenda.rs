//! What each core does next, remembered: only the cores to which something has happened are looked at again.

use crate::execute::SimCore;
use crate::hardware::{Interrupt, Lines};
use solo_model::{CoreId, CoreSet, Picoseconds};

/// The next thing that a core does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Next {
    pub(crate) time: Picoseconds,
    pub(crate) core: usize,
    pub(crate) interrupt: Option<Interrupt>,
    /// The earliest thing that anything else does, this core's own interrupts included.
    pub(crate) rest: Picoseconds,
}

/// Nothing at all.
const NEVER: Next =
    Next { time: Picoseconds::MAX, core: usize::MAX, interrupt: None, rest: Picoseconds::MAX };

impl Next {
    /// The earlier of two cores' next things. Of equal times operations go before interrupts, since a job that ends
    /// when another is released has ended; then overflows, reschedule requests, timers; lower cores before higher
    /// ones. The corpus states the same order.
    #[inline]
    fn first(a: Self, b: Self) -> Self {
        // `None`, an operation, is less than any interrupt.
        let b_first = b.time < a.time
            || b.time == a.time
                && (b.interrupt < a.interrupt || b.interrupt == a.interrupt && b.core < a.core);
        let (first, second) = if b_first { (b, a) } else { (a, b) };
        Self { rest: first.rest.min(second.time), ..first }
    }
}

pub(crate) struct Agenda {
    /// That of the core in focus is out of date.
    entries: Box<[Next]>,
    /// The first interrupt of each core.
    lines: Box<[(Picoseconds, Option<Interrupt>)]>,
    /// The cores whose entries have to be made anew.
    stale: CoreSet,
    /// So have all, and their interrupts.
    all_stale: bool,
    /// The core that was looked at last,
    focus: usize,
    /// and the first of all others.
    others: Next,
    next: Next,
}

impl Agenda {
    /// For cores of which nothing is known yet.
    pub(crate) fn new(cores: usize) -> Self {
        Self {
            entries: vec![NEVER; cores].into(),
            lines: vec![(Picoseconds::MAX, None); cores].into(),
            stale: CoreSet::EMPTY,
            all_stale: true,
            focus: 0,
            others: NEVER,
            next: NEVER,
        }
    }

    /// `core` has gone on with its program, or data have come back to it.
    #[inline]
    pub(crate) fn touch(&mut self, core: usize) {
        self.stale = self.stale.with(CoreId(core as u16));
    }

    /// Something may have happened to any core or its interrupts.
    pub(crate) fn touch_all(&mut self) {
        self.all_stale = true;
    }

    /// The next thing that any core does.
    #[inline(always)]
    pub(crate) fn next(&mut self, cores: &[SimCore], lines: &[Lines]) -> Next {
        if self.all_stale {
            self.look_at_all(cores, lines);
        } else if !self.stale.is_empty() {
            self.look_at_stale(cores);
        }
        self.next
    }

    /// Mostly one core goes on for a while: then the first of the others stays the same.
    #[inline(always)]
    fn look_at_stale(&mut self, cores: &[SimCore]) {
        let focus = CoreId(self.focus as u16);
        if self.stale != CoreSet::only(focus) {
            for core in self.stale.with(focus).iter() {
                let index = core.index();
                self.entries[index] = entry(index, &cores[index], self.lines[index]);
            }
            self.look_at_others(self.stale.lowest().map_or(0, CoreId::index));
        }
        self.stale = CoreSet::EMPTY;
        let focus = self.focus;
        self.next = Next::first(entry(focus, &cores[focus], self.lines[focus]), self.others);
    }

    #[cold]
    fn look_at_all(&mut self, cores: &[SimCore], lines: &[Lines]) {
        for (index, core) in cores.iter().enumerate() {
            self.lines[index] = match lines[index].next() {
                Some((due, interrupt)) => (due, Some(interrupt)),
                None => (Picoseconds::MAX, None),
            };
            self.entries[index] = entry(index, core, self.lines[index]);
        }
        (self.stale, self.all_stale) = (CoreSet::EMPTY, false);
        self.look_at_others(self.focus);
        self.next = Next::first(self.entries[self.focus], self.others);
    }

    fn look_at_others(&mut self, focus: usize) {
        self.focus = focus;
        let entries = self.entries.iter().enumerate();
        let others = entries.filter(|(core, _)| *core != focus).map(|(_, entry)| *entry);
        self.others = others.fold(NEVER, Next::first);
    }
}

/// A core's operation and its first interrupt, in the order in which they happen.
#[inline]
fn entry(index: usize, core: &SimCore, (line, interrupt): (Picoseconds, Option<Interrupt>)) -> Next {
    let action = core.next_action();
    if interrupt.is_none() || !core.takes_interrupts() {
        return Next { time: action, core: index, interrupt: None, rest: Picoseconds::MAX };
    }
    // What became due while the core waited for data is taken before its next operation, and so is an overflow,
    // which stops the program where it is.
    let before = line < core.time || line == core.time && interrupt == Some(Interrupt::Overflow);
    let line = line.max(core.time);
    if action <= line && !before {
        Next { time: action, core: index, interrupt: None, rest: line }
    } else {
        Next { time: line, core: index, interrupt, rest: action }
    }
}
