//! What stood in the way of a plan, as a value.

use pyo3::prelude::*;
use solo_plan::NoPlan;

/// What stood in the way of a plan: how much of what is asked for and how much there is, where that is counted, and whom it is about.
/// The same as `lack` of `solo plan --json` (docs/plan.md).
#[pyclass(frozen, eq, get_all, skip_from_py_object, module = "solocore")]
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Lack {
    /// Of what there is too little: `processors`, `colors`, `banks`, `bandwidth`, `room` (a core for a task), `time` (until a deadline),
    /// `windows`, `io`, `partition`, `common-memory`, `lock`, `execution-time`, `refused` (the scenario contradicts a choice) or `rounds`.
    resource: &'static str,
    /// What is asked for, in `unit`; `None` where nothing is counted.
    needed: Option<u64>,
    /// What there is, in `unit`; `None` where nothing is counted.
    there: Option<u64>,
    /// What both count: `ppm` (millionths of a core's or device's time), `colors`, `banks`, `bytes`, `bytes_per_second` or `ns`.
    unit: Option<&'static str>,
    /// The name of the task that it is about.
    task: Option<String>,
    /// The number of the core.
    core: Option<u16>,
    /// The name of the partition.
    partition: Option<String>,
}

impl From<&NoPlan> for Lack {
    fn from(why: &NoPlan) -> Self {
        let shortage = why.shortage();
        Self {
            resource: shortage.scarce.name(),
            needed: shortage.gauge.map(|gauge| gauge.needed),
            there: shortage.gauge.map(|gauge| gauge.there),
            unit: shortage.gauge.map(|gauge| gauge.unit.name()),
            task: shortage.task.map(str::to_owned),
            core: shortage.core.map(|core| core.0),
            partition: shortage.partition.map(str::to_owned),
        }
    }
}

#[pymethods]
impl Lack {
    fn __repr__(&self) -> String {
        let mut text = format!("<solocore.Lack {}", self.resource);
        if let (Some(needed), Some(there), Some(unit)) = (self.needed, self.there, self.unit) {
            text += &format!(": {needed} {unit} needed, {there} there");
        }
        for (what, who) in [("task", &self.task), ("partition", &self.partition)] {
            text += &who.as_ref().map_or(String::new(), |name| format!(", {what} {name}"));
        }
        text += &self.core.map_or(String::new(), |core| format!(", core {core}"));
        text + ">"
    }
}
