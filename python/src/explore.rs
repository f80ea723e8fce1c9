//! Policies written in Python, tried out on the simulated machine.

use crate::convert::repr;
use crate::error;
use crate::monitor::Asked as AskedMonitor;
use crate::placement::Asked as AskedPlacement;
use crate::run::{Keeping, Run, Wanted};
use crate::view::Job;
use crate::watch::{Failure, beside};
use pyo3::prelude::*;
use solo_lab::Recordings;
use solo_lab::explore::{Exploration, Ranking, When};
use solo_model::Experiment;
use solo_observe::monitor::Heard;
use solo_schedule::{JobView, Placed};

/// The policies that a caller passed.
pub(crate) struct Policies {
    pub(crate) criterion: Option<Py<PyAny>>,
    pub(crate) placement: Option<Py<PyAny>>,
    pub(crate) monitor: Option<Py<PyAny>>,
}

impl Policies {
    pub(crate) const fn is_none(&self) -> bool {
        self.criterion.is_none() && self.placement.is_none() && self.monitor.is_none()
    }
}

/// Runs an experiment under them.
pub(crate) fn run(
    py: Python<'_>,
    (value, recordings): (&Experiment, &Recordings),
    wanted: &Wanted,
    progress: Option<&Py<PyAny>>,
    policies: Policies,
) -> PyResult<Run> {
    let failure = Failure::default();
    let when = policies.criterion.as_ref().map(|criterion| when(py, criterion)).transpose()?;
    let placement =
        policies.placement.map(|placement| AskedPlacement::new(py, placement, &failure)).transpose()?;
    let monitor = match policies.monitor {
        Some(monitor) => {
            let Some(listening) = &value.listening else {
                return Err(error::policy(py, "an experiment with [scheduler.monitor]", "none", "monitor"));
            };
            Some(AskedMonitor::new(py, monitor, &listening.observed, &value.platform.events, &failure)?)
        }
        None => None,
    };
    let asking = failure.clone();
    let criterion = policies.criterion;
    let ran = beside(py, progress, &failure, |control| {
        let mut kept = Keeping::new(wanted, value);
        // Made in the thread that asks it.
        let ranking = criterion.zip(when).map(|(criterion, when)| (ranking(criterion, asking), when));
        let exploration = Exploration {
            experiment: value,
            recordings,
            control,
            ranking,
            placement: placement.map(Placed::new),
            monitor: monitor.map(Heard::new),
        };
        let report = exploration.report(|record| kept.add(record))?;
        Ok(kept.finish(report))
    })?;
    Run::of(py, value, ran)
}

/// When a criterion written in Python decides: its `preemptive` and `ages`.
fn when(py: Python<'_>, criterion: &Py<PyAny>) -> PyResult<When> {
    let is = |name: &str, default: bool| match criterion.bind(py).getattr_opt(name)? {
        Some(value) => value.is_truthy(),
        None => Ok(default),
    };
    match (is("preemptive", true)?, is("ages", false)?) {
        (true, false) => Ok(When::Preemptive),
        (false, false) => Ok(When::Cooperative),
        (true, true) => Ok(When::Aging),
        (false, true) => {
            Err(error::policy(py, "preemptive = True where ages = True", "preemptive = False", "criterion"))
        }
    }
}

/// Asks `criterion.rank(job)`. After its first exception it is not asked any more, and the run stops.
fn ranking(criterion: Py<PyAny>, failure: Failure) -> Ranking {
    Box::new(move |job: &JobView<'_>| {
        if failure.cancel.requested() {
            return None;
        }
        let answer = Python::attach(|py| {
            let answer = criterion.bind(py).call_method1("rank", (Job::from(job),))?;
            if answer.is_none() {
                return Ok(None);
            }
            answer.extract::<i64>().map(Some).map_err(|_| {
                error::policy(
                    py,
                    "a whole number of 64 bits, or None",
                    &repr(&answer),
                    "rank of the criterion",
                )
            })
        });
        answer.unwrap_or_else(|error| {
            failure.tell(error);
            None
        })
    })
}
