//! The monitors that schedulers listen to, over the counters of stock Linux: the same values as in the kernel.

use crate::machine::Maker;
use solo_model::listening::{MonitorKind, Observed, Takes};
use solo_model::sample::{Sample, Subject, Why};
use solo_model::{Counts, Duration, EventId, EventTable, Fixed, Instant, MetricId};
use solo_observe::module::{Kind, Reading};
use solo_observe::{Heard, Input, MonitorError, MonitoringModule, VirtualCounter, monitor};
use std::rc::Rc;

/// What a module's only metric is called by its monitor.
const METRIC: MetricId = MetricId(0);
/// Virtual counters are whole numbers: a metric is told in thousandths.
const PARTS: u64 = 1000;

/// One of the house's monitors as a monitoring module.
#[derive(Clone)]
struct Metric {
    monitor: Heard,
    counters: [VirtualCounter; 1],
    events: Vec<EventId>,
    inputs: Vec<Input>,
    name: &'static str,
    at: Instant,
}

/// The module of a monitor that needs nothing but its events; `None` for one that has to be told what to count.
pub(super) fn of(kind: MonitorKind) -> Option<Box<dyn MonitoringModule>> {
    if kind.takes() != Takes::Nothing {
        return None;
    }
    let table = EventTable::default();
    let observed = monitor::observed(kind, None, "", &[], &table).ok()?;
    Some(Box::new(metric(&observed, &table).ok()?))
}

/// Why what a scheduler listens to is no column of a watch.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unwatched {
    /// It can't be made.
    #[error(transparent)]
    Monitor(#[from] MonitorError),
    /// It takes more than what is counted of a row.
    #[error("`{0}` takes more than counts: what a cache holds, energy, or kinds of cores")]
    More(&'static str),
    /// Its sets take turns by themselves.
    #[error("the sets of `{0}` take turns when the scheduler says so; -e with several sets takes turns here")]
    InTurns(&'static str),
}

/// What a scheduler listens to as a module, with its own parameters: the value that the kernel has. Its column is `MONITOR_per_mille`.
///
/// # Errors
/// If it takes more than counts.
pub fn listened(
    observed: &Observed,
    table: &EventTable,
) -> Result<(Box<dyn MonitoringModule>, Maker), Unwatched> {
    let name = observed.monitor.name();
    match observed.monitor.takes() {
        Takes::Nothing | Takes::Event | Takes::Expression => {}
        Takes::Sets => return Err(Unwatched::InTurns(name)),
        Takes::Occupancy | Takes::Energy | Takes::Kinds | Takes::Model => return Err(Unwatched::More(name)),
    }
    let metric = metric(observed, table)?;
    let again = metric.clone();
    Ok((Box::new(metric), Rc::new(move |_| Some(Box::new(again.clone())))))
}

fn metric(observed: &Observed, table: &EventTable) -> Result<Metric, MonitorError> {
    let monitor = monitor::of(METRIC, observed, table)?;
    let events = observed.events.clone();
    let inputs = events.iter().map(|&event| Input::Count(table.name(event).to_string())).collect();
    let (kind, names) = (observed.monitor, events.iter().map(|event| table.name(*event).to_string()));
    let what = match kind.takes() {
        Takes::Event => names.collect::<Vec<_>>().join(", "),
        Takes::Expression => observed.expression.clone(),
        _ => kind.meaning().to_owned(),
    };
    let counter = VirtualCounter {
        name: format!("{}_per_mille", super::plain(kind.name())),
        meaning: format!("{what}, in thousandths"),
        kind: Kind::Level,
    };
    Ok(Metric { monitor, counters: [counter], events, inputs, name: kind.name(), at: Instant::ZERO })
}

impl MonitoringModule for Metric {
    fn name(&self) -> &str {
        self.name
    }
    fn counters(&self) -> &[VirtualCounter] {
        &self.counters
    }
    fn inputs(&self) -> &[Input] {
        &self.inputs
    }
    fn sample(&mut self, span: Duration, readings: &[Reading], values: &mut Vec<Option<i64>>) {
        let count = |(&event, reading): (&EventId, &Reading)| match reading {
            Reading::Count(count) => Some((event, *count)),
            Reading::Text(_) | Reading::Absent => None,
        };
        let counts: Counts = self.events.iter().zip(readings).filter_map(count).collect();
        self.at += span;
        let sample = Sample {
            at: self.at,
            span,
            subject: Subject::Machine,
            why: Why::Tick,
            set: 0,
            counts,
            virtuals: Vec::new(),
        };
        let value = self.monitor.0.sample(&sample).get(METRIC);
        let parts = value.and_then(|value| value.multiply(Fixed::from(PARTS)));
        values.push(parts.and_then(|parts| i64::try_from(parts.whole()).ok()));
    }
}
