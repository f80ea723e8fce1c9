//! A monitor written in Python, as a value that the kernel keeps one of for each task and core.

use crate::convert::{fixed, repr};
use crate::error;
use crate::watch::Failure;
use pyo3::prelude::*;
use solo_model::listening::Observed;
use solo_model::sample::Subject;
use solo_model::{EventId, EventSet, EventTable, MetricId};
use solo_observe::monitor::{Derived, Monitor};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// What was counted in an interval, of a core or a task. Times are nanoseconds.
#[pyclass(frozen, get_all, module = "solocore")]
pub(crate) struct Sample {
    /// The end of the interval, since the start of the run.
    at_ns: u64,
    /// Its length.
    span_ns: u64,
    /// The core whose counts these are; `None` where they are a task's.
    core: Option<u16>,
    /// The task whose counts these are; `None` where they are a core's.
    task: Option<u32>,
    /// Why there is a sample: `tick`, `ebs` (a counter overflowed), `exit`, ...
    why: &'static str,
    /// How often each event that the experiment names happened, by its name. What was not counted is not there: absent is not zero.
    counts: BTreeMap<String, u64>,
}

/// Asks `monitor.sample(sample)` for metric 0. Each task and core has a deep copy of the Python object of its own.
pub(crate) struct Asked {
    object: Py<PyAny>,
    wants: EventSet,
    names: Arc<Vec<(EventId, String)>>,
    failure: Failure,
}

impl Asked {
    pub(crate) fn new(
        py: Python<'_>,
        object: Py<PyAny>,
        observed: &Observed,
        events: &EventTable,
        failure: &Failure,
    ) -> PyResult<Self> {
        if !observed.sets.is_empty() {
            let found = "sets that take turns";
            return Err(error::policy(
                py,
                "events that are counted all the time",
                found,
                "[scheduler.monitor]",
            ));
        }
        let names = observed.events.iter().map(|&event| (event, events.name(event).to_owned())).collect();
        let wants = observed.events.iter().fold(EventSet::EMPTY, |wants, &event| wants.with(event));
        Ok(Self { object, wants, names: Arc::new(names), failure: failure.clone() })
    }

    fn ask(&self, sample: &solo_model::Sample) -> PyResult<Derived> {
        let of = |name: &(EventId, String)| Some((name.1.clone(), sample.counts.get(name.0)?));
        let told = Sample {
            at_ns: sample.at.get(),
            span_ns: sample.span.get(),
            core: sample.core().map(|core| core.0),
            task: match sample.subject {
                Subject::Task(task) => Some(task.0),
                _ => None,
            },
            why: sample.why.name(),
            counts: self.names.iter().filter_map(of).collect(),
        };
        Python::attach(|py| {
            let answer = self.object.bind(py).call_method1("sample", (told,))?;
            if answer.is_none() {
                return Ok(Derived::NONE);
            }
            let value = answer.extract::<f64>().ok().and_then(fixed);
            let wrong = || {
                let expected = "a finite number below 2^63, or None";
                error::policy(py, expected, &repr(&answer), "sample of the monitor")
            };
            Ok(Derived::one(MetricId(0), Some(value.ok_or_else(wrong)?)))
        })
    }
}

impl Clone for Asked {
    fn clone(&self) -> Self {
        let object = Python::attach(|py| {
            let copied = py.import("copy").and_then(|copy| copy.getattr("deepcopy")?.call1((&self.object,)));
            copied.map(Bound::unbind).unwrap_or_else(|error| {
                self.failure.tell(error);
                self.object.clone_ref(py)
            })
        });
        let (wants, names) = (self.wants, Arc::clone(&self.names));
        Self { object, wants, names, failure: self.failure.clone() }
    }
}

impl fmt::Debug for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a monitor written in Python")
    }
}

impl PartialEq for Asked {
    fn eq(&self, other: &Self) -> bool {
        self.object.as_ptr() == other.object.as_ptr()
    }
}

impl Monitor for Asked {
    fn wants(&self) -> &EventSet {
        &self.wants
    }

    fn sample(&mut self, sample: &solo_model::Sample) -> Derived {
        if self.failure.cancel.requested() {
            return Derived::NONE;
        }
        self.ask(sample).unwrap_or_else(|error| {
            self.failure.tell(error);
            Derived::NONE
        })
    }
}
