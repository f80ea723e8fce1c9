//! What each core does next, remembered: only the cores to which something has happened are looked at again.

use crate::execute::SimCore;
use crate::hardware::{Interrupt, Lines};
use solo_model::{CoreId, CoreSet, Picoseconds};

/// The next thing that a core does.
#[derive(Clone, Copy)]
pub(crate) struct Next {
    pub(crate) time: Picoseconds,
    pub(crate) core: usize,
    pub(crate) interrupt: Option<Interrupt>,
    /// The earliest thing that anything else does, this core's own interrupts included.
    pub(crate) rest: Picoseconds,
}

/// A core's operation and its first interrupt, in the order in which they happen.
#[derive(Clone, Copy)]
struct Entry {
    first: Picoseconds,
    second: Picoseconds,
    /// What comes first; `None` for the operation.
    interrupt: Option<Interrupt>,
}

pub(crate) struct Agenda {
    entries: Box<[Entry]>,
    /// The cores whose entries have to be made anew.
    stale: CoreSet,
    all: CoreSet,
    next: Next,
}

impl Agenda {
    /// For cores of which nothing is known yet.
    pub(crate) fn new(cores: usize) -> Self {
        let entry = Entry { first: Picoseconds::MAX, second: Picoseconds::MAX, interrupt: None };
        let all = CoreSet::first(cores);
        let next = Next { time: Picoseconds::MAX, core: 0, interrupt: None, rest: Picoseconds::MAX };
        Self { entries: vec![entry; cores].into(), stale: all, all, next }
    }

    /// Something has happened to `core` alone.
    #[inline]
    pub(crate) fn touch(&mut self, core: usize) {
        self.stale = self.stale.with(CoreId(core as u16));
    }

    /// Something may have happened to any core.
    pub(crate) fn touch_all(&mut self) {
        self.stale = self.all;
    }

    /// The next thing that any core does. Of equal times operations go before interrupts, since a job that ends
    /// when another is released has ended; then overflows, reschedule requests, timers; lower cores before higher
    /// ones. The corpus states the same order.
    #[inline]
    pub(crate) fn next(&mut self, cores: &[SimCore], lines: &[Lines]) -> Next {
        if !self.stale.is_empty() {
            self.refresh(cores, lines);
        }
        self.next
    }

    fn refresh(&mut self, cores: &[SimCore], lines: &[Lines]) {
        for core in self.stale.iter() {
            let index = core.index();
            self.entries[index] = entry(&cores[index], &lines[index]);
        }
        self.stale = CoreSet::EMPTY;
        let (mut first, mut rest) = (0, Picoseconds::MAX);
        let mut best = self.entries[0];
        for (core, entry) in self.entries.iter().enumerate().skip(1) {
            // `None`, an operation, is less than any interrupt.
            if entry.first < best.first || entry.first == best.first && entry.interrupt < best.interrupt {
                rest = rest.min(best.first).min(best.second);
                (first, best) = (core, *entry);
            } else {
                rest = rest.min(entry.first);
            }
        }
        self.next =
            Next { time: best.first, core: first, interrupt: best.interrupt, rest: rest.min(best.second) };
    }
}

#[inline]
fn entry(core: &SimCore, lines: &Lines) -> Entry {
    let action = core.next_action();
    let (line, interrupt) = match lines.next() {
        Some((due, interrupt)) if core.takes_interrupts() => (due, Some(interrupt)),
        _ => return Entry { first: action, second: Picoseconds::MAX, interrupt: None },
    };
    // What became due while the core waited for data is taken before its next operation, and so is an overflow,
    // which stops the program where it is.
    let before = line < core.time || line == core.time && interrupt == Some(Interrupt::Overflow);
    let line = line.max(core.time);
    if action <= line && !before {
        Entry { first: action, second: line, interrupt: None }
    } else {
        Entry { first: line, second: action, interrupt }
    }
}
