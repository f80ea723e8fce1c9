//! Sets of events that take turns on the counters of a monitor (PMCTrack 3, 4.1.2).
//!
//! ```text
//!   a period ends ──▶ sample of the set, to the monitor ──▶ which set next? ──▶ counters set to it
//!   a task leaves its core: what its set has counted is kept; it goes on counting where the task comes onto a core again
//! ```

use alloc::vec::Vec;
use solo_hal::{CounterId, Machine};
use solo_model::sample::{Sample, Subject, Why};
use solo_model::{CoreId, Counts, Duration, EventSet, Instant, KindId, ThreadId};
use solo_observe::monitor::{Derived, Followed, Heard};
use solo_observe::plan::Assigned;

/// A thread or core whose turns are followed.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Row {
    monitor: Heard,
    /// The set whose turn it is.
    set: usize,
    /// What it has counted in its turn, event by event.
    counted: Vec<u64>,
    span: Duration,
    /// The kind of core that it was counted on.
    kind: Option<KindId>,
    /// A counter was not set or read in the turn, or it was counted on cores of several kinds: it is told to nobody.
    lost: bool,
}

/// A monitor whose sets take turns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Turning {
    of: Followed,
    sets: Vec<EventSet>,
    /// The counters of each set, in the order of its events.
    counters: Vec<Vec<CounterId>>,
    /// Of each thread, then of each core.
    rows: Vec<Row>,
    threads: usize,
    /// The set that the counters of each core count; none where they were never set.
    loaded: Vec<Option<usize>>,
    /// A sample of each set, filled anew for each turn.
    samples: Vec<Sample>,
}

impl Turning {
    /// The turns of `monitor`, one copy for each thread and core, on these counters.
    pub(crate) fn new(
        monitor: &Heard,
        counters: impl Iterator<Item = Assigned>,
        threads: usize,
        cores: usize,
    ) -> Self {
        let turns = monitor.0.turns();
        let sets = turns.map_or(Vec::new(), |turns| turns.sets.to_vec());
        let most = sets.iter().map(EventSet::len).max().unwrap_or(0);
        let row = Row {
            monitor: monitor.clone(),
            set: next_of(monitor, sets.len()),
            counted: alloc::vec![0; most],
            span: Duration::ZERO,
            kind: None,
            lost: false,
        };
        let sample = |(number, set): (usize, &EventSet)| Sample {
            set: number as u16,
            ..Sample::of_core(CoreId(0), Instant::ZERO, Duration::ZERO, Counts::of(*set, |_| 0))
        };
        let assigned: Vec<Assigned> = counters.collect();
        Self {
            of: turns.map_or(Followed::Cores, |turns| turns.of),
            samples: sets.iter().enumerate().map(sample).collect(),
            counters: sets.iter().map(|set| counters_of(set, &assigned)).collect(),
            sets,
            rows: alloc::vec![row; threads + cores],
            threads,
            loaded: alloc::vec![None; cores],
        }
    }

    /// Whose turns go on on `core`, where `on` is on it: nobody's where the core is idle and tasks are followed.
    fn row(&self, core: CoreId, on: Option<ThreadId>) -> Option<usize> {
        match self.of {
            Followed::Tasks => on.map(ThreadId::index),
            Followed::Cores => Some(self.threads + core.index()),
        }
    }

    /// Lets the counters of `core` count the set whose turn it is. Returns how many of them did not do as they were asked.
    pub(crate) fn load<M: Machine>(&mut self, m: &mut M, core: CoreId, on: Option<ThreadId>) -> u64 {
        let Some(row) = self.row(core, on) else { return 0 };
        let set = self.rows[row].set;
        if self.loaded[core.index()] == Some(set) {
            return 0;
        }
        let mut silent = 0;
        for (event, &counter) in self.sets[set].iter().zip(&self.counters[set]) {
            let set = m.configure(core, counter, event).is_ok() && m.write(core, counter, 0).is_ok();
            silent += u64::from(!set);
        }
        self.rows[row].lost |= silent > 0;
        self.loaded[core.index()] = Some(set).filter(|_| silent == 0);
        silent
    }

    /// Reads the counters of `core`, of a kind, and sets them to zero: what they read belongs to the turn. Returns how many were
    /// silent.
    pub(crate) fn credit<M: Machine>(
        &mut self,
        m: &mut M,
        (core, kind): (CoreId, KindId),
        on: Option<ThreadId>,
        span: Duration,
    ) -> u64 {
        let counting = self.loaded[core.index()].unwrap_or(0);
        let row = self.row(core, on);
        let mut silent = 0;
        for (place, &counter) in self.counters[counting].iter().enumerate() {
            let (Ok(read), Ok(())) = (m.read(core, counter), m.write(core, counter, 0)) else {
                silent += 1;
                continue;
            };
            if let Some(row) = row {
                let counted = &mut self.rows[row].counted[place];
                *counted = counted.saturating_add(read);
            }
        }
        if let Some(row) = row.map(|row| &mut self.rows[row]) {
            row.span += span;
            let other = row.kind.replace(kind).is_some_and(|before| before != kind);
            row.lost |= silent > 0 || other;
        }
        silent
    }

    /// The sampling period is over in which the set of `row` had its turn: what the monitor makes of it.
    pub(crate) fn end(&mut self, row: usize, subject: Subject, now: Instant) -> Derived {
        let cores = row >= self.threads;
        if cores != (self.of == Followed::Cores) {
            return Derived::NONE;
        }
        let row = &mut self.rows[row];
        let sample = &mut self.samples[row.set];
        let mut counted = row.counted.iter().copied();
        sample.counts.refill(|_| counted.next().unwrap_or(0));
        (sample.at, sample.subject, sample.why) = (now, subject, Why::Tick);
        sample.span = core::mem::take(&mut row.span);
        row.counted.fill(0);
        let lost = core::mem::take(&mut row.lost);
        let kind = row.kind.take().unwrap_or_default();
        let derived = if lost { Derived::NONE } else { row.monitor.0.sample_on(kind, sample) };
        row.set = next_of(&row.monitor, self.sets.len());
        derived
    }

    /// `thread` has ended: nobody hears of the turn that it was in.
    pub(crate) fn forget(&mut self, thread: ThreadId) {
        let row = &mut self.rows[thread.index()];
        row.counted.fill(0);
        (row.span, row.kind, row.lost) = (Duration::ZERO, None, false);
    }
}

/// The counters of a set by the plan: those that are bound to its events, and the programmable ones for the rest.
fn counters_of(set: &EventSet, assigned: &[Assigned]) -> Vec<CounterId> {
    let mut programmable = assigned.iter().filter(|counter| !counter.fixed);
    let bound = |event| assigned.iter().find(|counter| counter.fixed && counter.event == event);
    set.iter().filter_map(|event| bound(event).or_else(|| programmable.next())).map(|of| of.counter).collect()
}

/// The set that is to be counted next; a monitor that names none that there is begins anew.
fn next_of(monitor: &Heard, sets: usize) -> usize {
    let next = monitor.0.turns().map_or(0, |turns| usize::from(turns.next));
    if next < sets { next } else { 0 }
}
