//! The monitors that schedulers listen to, over the counters of stock Linux: the same values as in the kernel.

use solo_model::listening::{MonitorKind, Takes};
use solo_model::sample::{Sample, Subject, Why};
use solo_model::{Counts, Duration, EventId, EventTable, Fixed, Instant, MetricId};
use solo_observe::module::{Kind, Reading};
use solo_observe::{Heard, Input, MonitoringModule, VirtualCounter, monitor};

/// What a module's only metric is called by its monitor.
const METRIC: MetricId = MetricId(0);
/// Virtual counters are whole numbers: a metric is told in thousandths.
const PARTS: u64 = 1000;

/// One of the house's monitors as a monitoring module.
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
    let monitor = monitor::of(METRIC, &observed, &table).ok()?;
    let inputs = observed.events.iter().map(|&event| Input::Count(table.name(event).to_string())).collect();
    let counter = VirtualCounter {
        name: format!("{}_per_mille", super::plain(kind.name())),
        meaning: format!("{}, in thousandths", kind.meaning()),
        kind: Kind::Level,
    };
    let (events, name) = (observed.events, kind.name());
    Some(Box::new(Metric { monitor, counters: [counter], events, inputs, name, at: Instant::ZERO }))
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
