//! Monitors: what turns samples into the metrics that policies ask for (PMCTrack 2.2, 4.1).
//!
//! ```text
//!            wants()                     sample(&Sample)                    metric(thread, id)
//!  monitor ─────────▶ machine counts ──────────────────▶ monitor ─▶ Board ◀──────────────────── policy
//! ```
//! A policy knows a metric by its [`MetricId`] alone, never the events behind it: the monitor can be exchanged without a
//! line of the policy. The same monitor runs in the kernel of the simulated machine, on bare metal and over rows of Linux.
//! It computes in fixed point and allocates nothing after its construction.

use crate::expr::{Expression, Metric};
use crate::formula::{Formula, FormulaError};
use alloc::vec::Vec;
use core::any::Any;
use core::fmt::Debug;
use solo_model::Fixed;
use solo_model::sample::{Sample, Why};
use solo_model::{EventId, EventSet, EventTable, MetricId};

/// What a monitor makes of a sample: a few metrics. What a sample says nothing about is absent, not zero.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Derived {
    values: [Option<(MetricId, Fixed)>; Self::MOST],
}

impl Derived {
    /// The most metrics of one monitor.
    pub const MOST: usize = 4;
    /// Nothing.
    pub const NONE: Self = Self { values: [None; Self::MOST] };

    /// One metric, where it has a value.
    pub fn one(metric: MetricId, value: Option<Fixed>) -> Self {
        let mut derived = Self::NONE;
        derived.values[0] = value.map(|value| (metric, value));
        derived
    }

    /// Adds a metric; `None` where there are [`Self::MOST`] of them already.
    pub fn push(&mut self, metric: MetricId, value: Fixed) -> Option<()> {
        *self.values.iter_mut().find(|place| place.is_none())? = Some((metric, value));
        Some(())
    }

    /// The value of a metric, where the sample gave one.
    pub fn get(&self, metric: MetricId) -> Option<Fixed> {
        self.iter().find(|(known, _)| *known == metric).map(|(_, value)| value)
    }

    /// The metrics that have a value.
    pub fn iter(&self) -> impl Iterator<Item = (MetricId, Fixed)> + '_ {
        self.values.iter().flatten().copied()
    }
}

/// A state machine from samples to metrics.
pub trait Monitor: MonitorValue {
    /// The events that it makes its metrics of: without them in a sample's counts it has nothing to say.
    fn wants(&self) -> &EventSet;
    /// Takes in a sample. `&mut`, for a monitor may remember: phases, averages, rounds of several sets.
    fn sample(&mut self, sample: &Sample) -> Derived;
}

/// What makes a monitor a value: it can be copied, for each thread has one of its own, and compared, as all that a kernel
/// keeps can. Every `Monitor` that is `Clone` and `PartialEq` has it.
pub trait MonitorValue: Any + Debug + Send + Sync {
    /// A copy.
    fn copied(&self) -> alloc::boxed::Box<dyn Monitor>;
    /// True where `other` is the same monitor in the same state.
    fn same(&self, other: &dyn Monitor) -> bool;
}

impl<T: Monitor + Clone + PartialEq + Debug + Send + Sync + 'static> MonitorValue for T {
    fn copied(&self) -> alloc::boxed::Box<dyn Monitor> {
        alloc::boxed::Box::new(self.clone())
    }

    fn same(&self, other: &dyn Monitor) -> bool {
        (other as &dyn Any).downcast_ref::<T>().is_some_and(|other| self == other)
    }
}

/// Any monitor, as a value that a kernel keeps.
#[derive(Debug)]
pub struct Heard(pub alloc::boxed::Box<dyn Monitor>);

impl Heard {
    /// `monitor`, whichever it is.
    pub fn new(monitor: impl Monitor) -> Self {
        Self(alloc::boxed::Box::new(monitor))
    }
}

impl Clone for Heard {
    fn clone(&self) -> Self {
        Self(self.0.copied())
    }
}

impl PartialEq for Heard {
    fn eq(&self, other: &Self) -> bool {
        self.0.same(other.0.as_ref())
    }
}

impl Eq for Heard {}

/// How often an event happened between two ticks. What comes between them, at a switch or when a counter overflows, is added
/// up: an overflow tells what has come so far, a tick and an exit tell all and begin anew (thesis 8.2.3: the counter is read
/// and set to zero each QUANTUM).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Count {
    metric: MetricId,
    event: EventId,
    wants: EventSet,
    so_far: u64,
}

impl Count {
    /// The monitor that fills `metric`.
    pub const fn new(metric: MetricId, event: EventId) -> Self {
        Self { metric, event, wants: EventSet::EMPTY.with(event), so_far: 0 }
    }
}

impl Monitor for Count {
    fn wants(&self) -> &EventSet {
        &self.wants
    }

    fn sample(&mut self, sample: &Sample) -> Derived {
        // An interval in which it was not counted belongs to no count.
        let Some(count) = sample.counts.get(self.event) else { return Derived::NONE };
        self.so_far = self.so_far.saturating_add(count);
        let told = self.so_far;
        match sample.why {
            Why::Switch | Why::Migration => return Derived::NONE,
            Why::Overflow => {}
            Why::Tick | Why::Exit | Why::End | Why::Own => self.so_far = 0,
        }
        Derived::one(self.metric, Some(Fixed::from(told)))
    }
}

/// A metric by expression: instructions per cycle, a miss rate, whatever can be written down.
#[derive(Clone, PartialEq, Debug)]
pub struct Rate {
    metric: MetricId,
    formula: Formula,
    wants: EventSet,
}

impl Rate {
    /// A monitor for an expression over events of `table`, `virtN` and `seconds`.
    ///
    /// # Errors
    /// If a name is no event's, or the expression needs more than the formula's stack.
    pub fn new(metric: MetricId, expression: &Expression, table: &EventTable) -> Result<Self, FormulaError> {
        let formula = Formula::new(expression, table)?;
        Ok(Self { metric, wants: formula.events(), formula })
    }

    /// The same for an expression with a name.
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub fn of(metric: MetricId, named: &Metric, table: &EventTable) -> Result<Self, FormulaError> {
        Self::new(metric, &named.expression, table)
    }
}

impl Monitor for Rate {
    fn wants(&self) -> &EventSet {
        &self.wants
    }

    fn sample(&mut self, sample: &Sample) -> Derived {
        Derived::one(self.metric, self.formula.value(sample))
    }
}

/// Instructions retired in a cycle (thesis 8.2; PMCTrack's ipc-sampling).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ipc {
    metric: MetricId,
    wants: EventSet,
}

impl Ipc {
    /// The monitor that fills `metric`.
    pub const fn new(metric: MetricId) -> Self {
        Self { metric, wants: EventSet::EMPTY.with(EventId::INSTRUCTIONS).with(EventId::CYCLES) }
    }
}

impl Monitor for Ipc {
    fn wants(&self) -> &EventSet {
        &self.wants
    }

    fn sample(&mut self, sample: &Sample) -> Derived {
        let count = |event| sample.counts.get(event).map(Fixed::from);
        let value = || count(EventId::INSTRUCTIONS)?.divide(count(EventId::CYCLES)?);
        Derived::one(self.metric, value())
    }
}

/// Lines that other cores had changed, in a second (thesis 8.2.3: the counter that CA-P-RM listens to).
///
/// A sample shorter than the sampling period, at a switch or a migration, is added to those before it until a tick: a rate
/// over a few microseconds says nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HitmRate {
    metric: MetricId,
    wants: EventSet,
    /// What has come since the last tick, and in how many nanoseconds, thread by thread as the board numbers them.
    count: u64,
    nanoseconds: u64,
}

impl HitmRate {
    /// The monitor that fills `metric`, for one thread or core.
    pub const fn new(metric: MetricId) -> Self {
        Self { metric, wants: EventSet::EMPTY.with(EventId::SNOOP_HITM), count: 0, nanoseconds: 0 }
    }
}

impl Monitor for HitmRate {
    fn wants(&self) -> &EventSet {
        &self.wants
    }

    fn sample(&mut self, sample: &Sample) -> Derived {
        // An interval in which it was not counted belongs to no rate.
        let Some(count) = sample.counts.get(EventId::SNOOP_HITM) else { return Derived::NONE };
        self.count = self.count.saturating_add(count);
        self.nanoseconds = self.nanoseconds.saturating_add(sample.span.get());
        if matches!(sample.why, Why::Switch | Why::Migration) {
            return Derived::NONE;
        }
        let (count, nanoseconds) = (core::mem::take(&mut self.count), core::mem::take(&mut self.nanoseconds));
        Derived::one(self.metric, Fixed::from(count).divide(Fixed::seconds(nanoseconds)))
    }
}

/// The metrics of every thread, as policies ask for them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Board {
    /// A row for each thread.
    values: Vec<Option<Fixed>>,
    metrics: usize,
}

impl Board {
    /// Nothing known yet of `threads`, whose metrics have ids below `metrics`.
    pub fn new(threads: usize, metrics: u16) -> Self {
        let metrics = usize::from(metrics);
        Self { values: alloc::vec![None; threads * metrics], metrics }
    }

    /// Writes down what a monitor made of a sample of `thread`; metrics without a value keep their last one. Unknown
    /// threads and metrics are left out.
    pub fn note(&mut self, thread: usize, derived: &Derived) {
        for (metric, value) in derived.iter() {
            if let Some(place) = self.place(thread, metric) {
                self.values[place] = Some(value);
            }
        }
    }

    /// What is known of a metric of `thread` (PMCTrack's `current_metric`).
    pub fn metric(&self, thread: usize, metric: MetricId) -> Option<Fixed> {
        self.place(thread, metric).and_then(|place| self.values[place])
    }

    /// The thread has ended, or its phase: what was known of it holds no more.
    pub fn forget(&mut self, thread: usize) {
        let row = thread.saturating_mul(self.metrics);
        self.values.iter_mut().skip(row).take(self.metrics).for_each(|value| *value = None);
    }

    fn place(&self, thread: usize, metric: MetricId) -> Option<usize> {
        let column = Some(usize::from(metric.0)).filter(|column| *column < self.metrics)?;
        let place = thread.checked_mul(self.metrics)?.checked_add(column)?;
        (place < self.values.len()).then_some(place)
    }
}
